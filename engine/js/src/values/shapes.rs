//! Keeps the shapes of objects that requests make again and again.
//!
//! QuickJS forgets a shape (the list of names that equal objects share) with its last object. A handler that returns `{
//! greeting }` would have that shape built and dropped with every request, which costs more than the object itself. So
//! one object of each shape that is written as JSON is kept, with nothing in it; and one of each shape on the way
//! there, because an object gets its properties one by one, and each step looks for a shape that is there already.

use crate::values::json_write::strings::write_text;
use crate::values::layout::{Layout, Shape};
use crate::vm::sys::{Cx, RawValue, Thrown, Val};
use rquickjs::qjs;
use std::cell::RefCell;
use std::rc::Rc;

/// Objects that are kept for their shapes.
pub(crate) struct Shapes {
    /// By a hash of the names; another shape with the same slot replaces the one that is there.
    written: RefCell<Vec<Option<KeptShape>>>,
    /// The hashes that came last, by slot.
    seen: RefCell<Vec<Option<u64>>>,
    /// By the address of the shape; another with the same slot replaces the one that is there.
    plans: RefCell<Vec<Option<Rc<WritePlan>>>>,
    /// Of the engine's own objects.
    own: RefCell<Vec<Val>>,
}

/// The objects of one set of names.
struct KeptShape {
    hash: u64,
    _objects: Vec<Val>,
    plan: Option<Rc<WritePlan>>,
}

/// The way plain objects of one shape are written, whose values lie one after the other.
pub(crate) struct WritePlan {
    /// Keeps the shape.
    _object: Val,
    pub(crate) shape: Shape,
    pub(crate) members: Box<[PlannedMember]>,
}

/// A member of such an object.
pub(crate) struct PlannedMember {
    /// The name, which the object keeps alive.
    pub(crate) name: qjs::JSAtom,
    /// The name as it is written, with the comma in front.
    pub(crate) text: Box<[u8]>,
}

impl WritePlan {
    /// The plan of objects like `object`, which was made by giving these names plain values one after the other, and
    /// which no script can reach. `None` where objects cannot be looked into, or where they have a `toJSON`.
    pub(crate) fn new(
        cx: Cx<'_>,
        object: &Val,
        names: &[qjs::JSAtom],
    ) -> Result<Option<Rc<Self>>, Thrown> {
        let Some(layout) = cx.core().layout.get() else {
            return Ok(None);
        };
        let Some(shape) = layout.shape_of(object) else {
            return Ok(None);
        };
        if names.contains(&cx.core().atoms.to_json) {
            return Ok(None);
        }
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let mut text = vec![b','];
            let string = cx.name(*name)?;
            cx.with_bytes(string.raw(), |bytes| write_text(&mut text, bytes))?;
            text.push(b':');
            members.push(PlannedMember {
                name: *name,
                text: text.into(),
            });
        }
        Ok(Some(Rc::new(Self {
            _object: object.clone(),
            shape,
            members: members.into(),
        })))
    }

    /// Reports whether this is the plan of objects like this one, which is plain by class.
    ///
    /// # Safety
    /// The value must be an object that is alive.
    #[inline]
    pub(crate) unsafe fn fits(&self, layout: Layout, object: RawValue<'_>) -> bool {
        // SAFETY: the caller promises an object that is alive.
        unsafe { layout.shape(object) == self.shape }
    }
}

/// The hash of the names of one object, while they are written.
#[derive(Clone, Copy)]
pub(crate) struct ShapeHash(u64);

impl ShapeHash {
    /// Of an object made by a literal.
    pub(crate) const PLAIN: Self = Self(0xcbf2_9ce4_8422_2325);
    /// Of an object without a prototype.
    pub(crate) const BARE: Self = Self(0x8422_2325_cbf2_9ce4);

    /// Takes in the next name.
    #[inline]
    pub(crate) fn add(&mut self, name: qjs::JSAtom) {
        self.0 = (self.0 ^ u64::from(name))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
    }
}

/// Objects with more names than this are not kept whole.
pub(crate) const NAMES_MAX: usize = 64;

/// Up to here the shapes on the way are kept: each is as large as its names are many.
const STEPS_MAX: usize = 24;

/// Objects whose shapes are all those through which one with these names passes. `empty` makes an empty one of its
/// kind.
pub(crate) fn keep_shapes(
    cx: Cx<'_>,
    empty: impl Fn() -> Result<Val, Thrown>,
    names: &[qjs::JSAtom],
) -> Result<Vec<Val>, Thrown> {
    let names = &names[..names.len().min(NAMES_MAX)];
    let mut objects = Vec::with_capacity(names.len());
    // The shorter ones first: a shape is changed in place where no other object has it.
    for length in (1..=names.len()).filter(|&at| at <= STEPS_MAX || at == names.len()) {
        let object = empty()?;
        for name in &names[..length] {
            cx.define_atom(object.raw(), *name, cx.undefined())?;
        }
        objects.push(object);
    }
    Ok(objects)
}

impl Shapes {
    /// The number of shapes that are kept; a power of two.
    const SLOTS: usize = 256;

    pub(crate) fn new() -> Self {
        Self {
            written: RefCell::new((0..Self::SLOTS).map(|_| None).collect()),
            seen: RefCell::new(vec![None; Self::SLOTS]),
            plans: RefCell::new(vec![None; Self::SLOTS]),
            own: RefCell::default(),
        }
    }

    /// Reports whether the shape of an object with these names is kept already.
    #[inline]
    pub(crate) fn knows(&self, hash: ShapeHash) -> bool {
        match &self.written.borrow()[Self::slot(hash)] {
            Some(kept) if kept.hash == hash.0 => {
                // Another shape may have taken its slot meanwhile.
                if let Some(plan) = &kept.plan {
                    self.offer(plan);
                }
                true
            }
            _ => false,
        }
    }

    /// The plan for a plain object, if there is one.
    ///
    /// # Safety
    /// The value must be an object that is alive.
    #[inline]
    pub(crate) unsafe fn plan(
        &self,
        layout: Layout,
        object: RawValue<'_>,
    ) -> Option<Rc<WritePlan>> {
        // SAFETY: the caller promises an object that is alive.
        let shape = unsafe { layout.shape(object) };
        let plans = self.plans.borrow();
        let plan = plans[Self::slot_of_shape(shape)].as_ref();
        plan.filter(|plan| plan.shape == shape).cloned()
    }

    /// Has a plan found by its shape.
    #[inline]
    pub(crate) fn offer(&self, plan: &Rc<WritePlan>) {
        let slot = Self::slot_of_shape(plan.shape);
        let is_there = |there: &Rc<WritePlan>| Rc::ptr_eq(there, plan);
        if self.plans.borrow()[slot].as_ref().is_some_and(is_there) {
            return;
        }
        let old = self.plans.borrow_mut()[slot].replace(plan.clone());
        drop(old);
    }

    #[inline]
    fn slot_of_shape(shape: Shape) -> usize {
        let address = shape as usize;
        ((address >> 3) ^ (address >> 12)) & (Self::SLOTS - 1)
    }

    fn slot(hash: ShapeHash) -> usize {
        (hash.0 >> 32) as usize & (Self::SLOTS - 1)
    }

    /// Keeps the shape of an object with these names, which is made by a literal if it is plain, and has no prototype
    /// otherwise.
    #[cold]
    pub(crate) fn keep(
        &self,
        cx: Cx<'_>,
        hash: ShapeHash,
        is_plain: bool,
        names: impl Iterator<Item = qjs::JSAtom>,
    ) -> Result<(), Thrown> {
        // Names that come but once, such as those of a dictionary, are not worth it.
        if self.seen.borrow_mut()[Self::slot(hash)].replace(hash.0) != Some(hash.0) {
            return Ok(());
        }
        let names: Vec<qjs::JSAtom> = names.take(NAMES_MAX + 1).collect();
        let empty = || {
            if is_plain {
                cx.object()
            } else {
                cx.bare_object()
            }
        };
        let objects = keep_shapes(cx, empty, &names)?;
        let plan = match objects.last() {
            Some(object) if is_plain && names.len() <= NAMES_MAX => {
                WritePlan::new(cx, object, &names)?
            }
            _ => None,
        };
        if let Some(plan) = &plan {
            self.offer(plan);
        }
        let kept = KeptShape {
            hash: hash.0,
            _objects: objects,
            plan,
        };
        let old = self.written.borrow_mut()[Self::slot(hash)].replace(kept);
        drop(old);
        Ok(())
    }

    /// Keeps an object of the engine's own.
    pub(crate) fn keep_own(&self, object: Val) {
        self.own.borrow_mut().push(object);
    }

    /// Lets all go; to be called before the context goes.
    pub(crate) fn clear(&self) {
        drop(std::mem::take(&mut *self.own.borrow_mut()));
        drop(std::mem::take(&mut *self.plans.borrow_mut()));
        self.written.borrow_mut().clear();
    }
}
