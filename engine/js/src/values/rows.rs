//! Rows of a query as plain objects of one shape.
//!
//! The property names of a set of columns and the shape of its rows are kept with the `Arc` of its batch, which all
//! results of one prepared statement share. Without that QuickJS would forget the shape with the last row.

use crate::values::integers::integer;
use crate::values::layout::shared::SharedShape;
use crate::values::shapes::{NAMES_MAX, WritePlan, keep_shapes};
use crate::vm::sys::{Cx, NULL, Thrown, Val, number};
use rquickjs::qjs;
use sampan_host::Rows;
use sampan_host::rows::RawCell;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The number of sets of columns that are remembered; a power of two.
const SETS_MAX: usize = 128;

/// The state kept for one set of columns.
struct KnownColumns {
    /// Holds the address that it is found by.
    columns: Arc<[String]>,
    names: Vec<ColumnName>,
    /// Makes a row at once, where QuickJS lets it.
    shared: Option<SharedShape>,
    /// Writes rows as JSON at once, if they can be.
    plan: Option<Rc<WritePlan>>,
    /// Objects that keep the shapes which a row passes through that is made name by name.
    _shapes: Vec<Val>,
    // Last: the context of the names.
    ctx: *mut qjs::JSContext,
}

impl Drop for KnownColumns {
    fn drop(&mut self) {
        for name in &self.names {
            // SAFETY: the name is owned, and the context lives: the core clears its sets of columns before it goes.
            unsafe { qjs::JS_FreeAtom(self.ctx, *name) };
        }
    }
}

/// A property name.
type ColumnName = qjs::JSAtom;

/// The sets of columns that an isolate remembers: a set with the same slot replaces the one that is there.
pub(crate) struct Columns(RefCell<Vec<Option<Rc<KnownColumns>>>>);

impl Columns {
    pub(crate) fn new() -> Self {
        Self(RefCell::new((0..SETS_MAX).map(|_| None).collect()))
    }

    fn slot(columns: &Arc<[String]>) -> usize {
        // Blocks are aligned to 16 bytes.
        let address = Arc::as_ptr(columns).cast::<u8>() as usize;
        ((address >> 4) ^ (address >> 11)) & (SETS_MAX - 1)
    }

    #[inline]
    fn get(&self, cx: Cx<'_>, columns: &Arc<[String]>) -> Result<Rc<KnownColumns>, Thrown> {
        let known = self.0.borrow()[Self::slot(columns)].clone();
        let known = known.filter(|known| Arc::ptr_eq(&known.columns, columns));
        known.map_or_else(|| self.learn(cx, columns), Ok)
    }

    #[cold]
    fn learn(&self, cx: Cx<'_>, columns: &Arc<[String]>) -> Result<Rc<KnownColumns>, Thrown> {
        let mut known = KnownColumns {
            columns: columns.clone(),
            names: Vec::with_capacity(columns.len()),
            shared: None,
            plan: None,
            _shapes: Vec::new(),
            ctx: cx.raw(),
        };
        for column in columns.iter() {
            let name = cx.atom(column);
            if name == qjs::JS_ATOM_NULL {
                return Err(Thrown);
            }
            known.names.push(name);
        }
        let shapes = keep_shapes(cx, || cx.object(), &known.names)?;
        if let Some(object) = shapes.last()
            && are_in_order(columns)
        {
            known.plan = WritePlan::new(cx, object, &known.names)?;
            if let Some(layout) = cx.core().layout.get() {
                known.shared = SharedShape::new(cx, layout, cx.prototype(object)?, &known.names)?;
            }
        }
        known._shapes = shapes;
        let known = Rc::new(known);
        let old = self.0.borrow_mut()[Self::slot(columns)].replace(known.clone());
        drop(old);
        Ok(known)
    }

    /// Lets all go; to be called before the context goes.
    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *self.0.borrow_mut()));
    }
}

/// Reports whether an object with these names has them in this order: none comes twice, and none is an index, which
/// would come first.
fn are_in_order(columns: &[String]) -> bool {
    let is_plain = |(at, name): (usize, &String)| {
        !columns[..at].contains(name) && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    columns.len() <= NAMES_MAX && columns.iter().enumerate().all(is_plain)
}

/// A list of rows.
pub(crate) fn list(cx: Cx<'_>, rows: &Rows) -> Result<Val, Thrown> {
    if rows.is_empty() {
        return cx.array(Vec::new());
    }
    let known = known(cx, rows)?;
    let objects = (0..rows.len())
        .map(|row| object(cx, rows, &known, row))
        .collect::<Result<Vec<_>, Thrown>>()?;
    cx.array(objects)
}

/// The first row of a batch that has one.
pub(crate) fn first(cx: Cx<'_>, rows: &Rows) -> Result<Val, Thrown> {
    let known = known(cx, rows)?;
    object(cx, rows, &known, 0)
}

fn known(cx: Cx<'_>, rows: &Rows) -> Result<Rc<KnownColumns>, Thrown> {
    let known = cx.core().columns.get(cx, rows.columns())?;
    if let Some(plan) = &known.plan {
        // They are likely to be written.
        cx.core().shapes.offer(plan);
    }
    Ok(known)
}

#[inline]
fn object(cx: Cx<'_>, rows: &Rows, known: &KnownColumns, row: usize) -> Result<Val, Thrown> {
    let names = &known.names;
    if let Some(shared) = &known.shared {
        let values = (0..names.len()).map(|column| cell(cx, rows.raw(row, column)));
        if let Ok(object) = shared.object(cx, values)? {
            return Ok(object);
        }
    }
    let object = cx.object()?;
    for (column, name) in names.iter().enumerate() {
        cx.define_atom(object.raw(), *name, cell(cx, rows.raw(row, column))?)?;
    }
    Ok(object)
}

#[inline]
fn cell(cx: Cx<'_>, cell: RawCell<'_>) -> Result<Val, Thrown> {
    match cell {
        RawCell::Null => Ok(cx.dup(NULL)),
        RawCell::Int(value) => integer(cx, value),
        RawCell::Float(value) => Ok(cx.dup(number(value))),
        RawCell::Date(millis) => cx.date(millis as f64),
        RawCell::Text(text) => cx.string_from(text),
        RawCell::Bytes(bytes) => cx.bytes(bytes),
    }
}
