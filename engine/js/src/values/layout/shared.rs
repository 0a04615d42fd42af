//! Makes rows of queries and responses at once, where their shape allows it.
//!
//! An object gets a reference of a shape that QuickJS shares between objects, and its values in one pass: name by name
//! a page of 20 rows costs a tenth more (`bench db`, `/read`), a response made by `html` a twentieth. QuickJS changes a
//! shape in place only while one object has it, or while it is not in its table of shapes. So a shape is taken only if
//! two objects, made independently by QuickJS's public functions, have it; and one of them is kept, which no script can
//! reach.

use super::{Layout, SHAPE_WORD, Shape, VALUES_WORD};
use crate::vm::sys::{Cx, RawValue, Thrown, Val, address, whole};
use rquickjs::qjs;
use std::ffi::c_void;

/// A shape that objects of one prototype share.
pub(crate) struct SharedShape {
    layout: Layout,
    prototype: Val,
    shape: Shape,
    /// The number of names.
    count: usize,
    /// As large as the array of values of an object that QuickJS made: it may use all of that later.
    room_bytes: usize,
    /// The shape of objects without properties, kept by `_empty`.
    empty_shape: Shape,
    _empty: Val,
    /// Has the shape.
    _kept: Val,
}

impl SharedShape {
    /// Finds the shape of objects of this prototype with these names, none of which is an index or stands twice. `None`
    /// where QuickJS does not share it.
    pub(crate) fn new(
        cx: Cx<'_>,
        layout: Layout,
        prototype: Val,
        names: &[qjs::JSAtom],
    ) -> Result<Option<Self>, Thrown> {
        let empty = cx.object_of(&prototype)?;
        let make = || -> Result<Val, Thrown> {
            let object = cx.object_of(&prototype)?;
            for (at, name) in names.iter().enumerate() {
                cx.define_atom(object.raw(), *name, cx.own(whole(at as i32)))?;
            }
            Ok(object)
        };
        let (kept, other) = (make()?, make()?);
        let shape = layout.shape(kept.raw());
        let empty_shape = layout.shape(empty.raw());
        let another_empty = cx.object_of(&prototype)?;
        if names.is_empty()
            || shape != layout.shape(other.raw())
            || shape == empty_shape
            || empty_shape != layout.shape(another_empty.raw())
        {
            return Ok(None);
        }
        // SAFETY: the array of values is a block of its own in an object with properties.
        let room_bytes = unsafe {
            qjs::js_malloc_usable_size(cx.raw(), layout.values(kept.raw()).cast::<c_void>())
        } as usize;
        if room_bytes < names.len() * size_of::<RawValue>() {
            return Ok(None);
        }
        Ok(Some(Self {
            layout,
            prototype,
            shape,
            count: names.len(),
            room_bytes,
            empty_shape,
            _empty: empty,
            _kept: kept,
        }))
    }

    /// Makes an object of the shape with these values, of which there are as many as names. Gives the values back where
    /// a new object is not like the one that is kept.
    #[inline]
    pub(crate) fn object<I: ExactSizeIterator<Item = Result<Val, Thrown>>>(
        &self,
        cx: Cx<'_>,
        values: I,
    ) -> Result<Result<Val, I>, Thrown> {
        let object = cx.object_of(&self.prototype)?;
        if values.len() != self.count || self.layout.shape(object.raw()) != self.empty_shape {
            return Ok(Err(values));
        }
        // Until the shape is written the object has no names, so QuickJS reads none of its values. Afterwards it has a
        // value for each name, in an array of the size that QuickJS gave the kept object of this shape.
        // SAFETY: the array has room for `count` values, and all are written before the shape is. Both shapes live as
        // long as `self`, so neither count of references reaches zero here. Neither changes in place: both are shared.
        unsafe {
            let words = address(object.raw()).cast::<*mut c_void>();
            let room = qjs::js_realloc(
                cx.raw(),
                self.layout.values(object.raw()).cast(),
                self.room_bytes as _,
            )
            .cast::<RawValue>();
            if room.is_null() {
                return Err(Thrown);
            }
            words.add(VALUES_WORD).write(room.cast());
            for (written, value) in values.enumerate() {
                match value {
                    Ok(value) => room.add(written).write(value.into_raw()),
                    Err(thrown) => {
                        (0..written).for_each(|at| drop(cx.own(room.add(at).read())));
                        return Err(thrown);
                    }
                }
            }
            qjs::JS_DupValue(cx.raw(), qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, self.shape));
            words.add(SHAPE_WORD).write(self.shape);
            qjs::JS_FreeValue(
                cx.raw(),
                qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, self.empty_shape),
            );
        }
        Ok(Ok(object))
    }
}
