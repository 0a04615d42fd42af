//! Rows of a query as plain objects of one shape.
//!
//! For each set of columns the prelude makes a function that has their names in an object literal: the runtime gives
//! its objects one shape. Cells are its arguments, many rows at a time.

use crate::sys::{Js, Thrown};
use crate::values::columns::KnownColumns;
use crate::values::numbers::integer;
use crate::vm::core::Cx;
use sampan_host::Rows;
use sampan_host::rows::RawCell;
use std::rc::Rc;
use std::sync::Arc;

/// About how many cells one call gets.
const CELLS_MAX: usize = 512;

/// Returns the function that makes rows of these columns, made where they are new.
fn known(cx: Cx<'_>, columns: &Arc<[String]>) -> Result<Rc<KnownColumns>, Thrown> {
    if let Some(known) = cx.core().columns.get(columns) {
        return Ok(known);
    }
    let names = columns.iter().map(|name| cx.string(name));
    let names = cx.array(&names.collect::<Result<Vec<_>, _>>()?)?;
    let make = cx.call_own("rowsOf", &[names]).map_err(|_| Thrown)?;
    Ok(cx.core().columns.keep(columns, cx.keep(make)?))
}

/// A list of rows.
pub(crate) fn list<'a>(cx: Cx<'a>, rows: &Rows) -> Result<Js<'a>, Thrown> {
    if rows.is_empty() {
        return cx.array(&[]);
    }
    let known = known(cx, rows.columns())?;
    let make = known.make.get(cx.env());
    let width = rows.columns().len();
    let at_once = (CELLS_MAX / width).max(1);
    let mut all: Option<Js<'_>> = None;
    let mut cells = Vec::with_capacity(at_once.min(rows.len()) * width);
    let mut first = 0;
    while first < rows.len() {
        let count = at_once.min(rows.len() - first);
        let made = {
            cells.clear();
            for row in first..first + count {
                for column in 0..width {
                    cells.push(cell(cx, rows.raw(row, column))?);
                }
            }
            cx.call(make, &cells)?
        };
        all = Some(match all {
            None => made,
            Some(all) => cx.call_own("append", &[all, made]).map_err(|_| Thrown)?,
        });
        first += count;
    }
    all.ok_or(Thrown)
}

/// The first row of a batch that has one.
pub(crate) fn first<'a>(cx: Cx<'a>, rows: &Rows) -> Result<Js<'a>, Thrown> {
    let known = known(cx, rows.columns())?;
    let cells = (0..rows.columns().len()).map(|column| cell(cx, rows.raw(0, column)));
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    cx.at(cx.call(known.make.get(cx.env()), &cells)?, 0)
}

#[inline]
fn cell<'a>(cx: Cx<'a>, cell: RawCell<'_>) -> Result<Js<'a>, Thrown> {
    match cell {
        RawCell::Null => Ok(cx.null()),
        RawCell::Int(value) => integer(cx, value),
        RawCell::Float(value) => cx.number(value),
        RawCell::Date(millis) => cx.date(millis as f64),
        RawCell::Text(text) => cx.string_from(text),
        RawCell::Bytes(bytes) => cx.bytes(bytes),
    }
}
