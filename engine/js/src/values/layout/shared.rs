//! Makes rows of queries and responses at once, where their shape allows it.
//!
//! An object gets a reference of a shape that QuickJS shares between objects, and its values in one pass: name by name
//! a page of 20 rows costs a tenth more (`bench db`, `/read`), a response made by `html` a twentieth.
//!
//! This is sound because of what [`SharedShape`] keeps. QuickJS changes a shape in place only while a single object has
//! it (`add_property` and `js_shape_prepare_update` in its sources), or while the shape is not in its table of shapes.
//! A shape is taken only if two objects, made independently by QuickJS's public functions, have it: QuickJS gives a
//! shape to a second object only out of that table. One of the two is kept, and no script can reach it. So nothing
//! changes the shape while a `SharedShape` lives, and each further object makes two that have it: a script that adds,
//! deletes, freezes or re-parents anything changes a copy.

use super::{Layout, SHAPE_WORD, Shape, VALUES_WORD};
use crate::vm::sys::{Cx, RawValue, Thrown, UNDEFINED, Val, address, int_of, tag, whole};
use rquickjs::qjs;
use std::ffi::c_void;

/// A shape that objects of one prototype share.
pub(crate) struct SharedShape {
    layout: Layout,
    /// The context of the objects.
    ctx: *mut qjs::JSContext,
    prototype: Val,
    shape: Shape,
    /// The number of names.
    count: usize,
    /// The size of the array of values in an object that QuickJS made: it may use all of that later.
    room_bytes: usize,
    /// The shape of objects without properties, kept by `_empty`.
    empty_shape: Shape,
    _empty: Val,
    /// Has the shape.
    _kept: Val,
}

impl SharedShape {
    /// Finds the shape of objects of this prototype with these names. `None` where QuickJS does not share it, or where
    /// the values are not in the order of the names, as with a name that stands twice.
    pub(crate) fn new(
        cx: Cx<'_>,
        layout: Layout,
        prototype: Val,
        names: &[qjs::JSAtom],
    ) -> Result<Option<Self>, Thrown> {
        let make = || -> Result<Val, Thrown> {
            let object = cx.object_of(&prototype)?;
            for (at, name) in names.iter().enumerate() {
                cx.define_atom(object.raw(), *name, cx.dup(whole(at as i32)))?;
            }
            Ok(object)
        };
        let (empty, another_empty) = (cx.object_of(&prototype)?, cx.object_of(&prototype)?);
        let (kept, other) = (make()?, make()?);
        let shapes = [&empty, &another_empty, &kept, &other].map(|object| layout.shape_of(object));
        let [
            Some(empty_shape),
            Some(another_empty),
            Some(shape),
            Some(other),
        ] = shapes
        else {
            return Ok(None);
        };
        if names.is_empty()
            || empty_shape != another_empty
            || shape != other
            || shape == empty_shape
        {
            return Ok(None);
        }
        // SAFETY: `kept` is an object, which has properties, so QuickJS has allocated the array of its values.
        let (values, room_bytes) = unsafe {
            let values = layout.values(kept.raw());
            let bytes = qjs::js_malloc_usable_size(cx.raw(), values.cast::<c_void>());
            (values, bytes as usize)
        };
        if room_bytes < names.len() * size_of::<qjs::JSValue>() {
            return Ok(None);
        }
        // An object has as many values as different names: if one stands twice, a value before the last one differs
        // from its index, and none behind it is read.
        let is_in_order = (0..names.len()).all(|at| {
            // SAFETY: the array has room for as many values as names, and the object keeps them.
            is_whole(
                unsafe { RawValue::from_js(values.add(at).read()) },
                at as i32,
            )
        });
        if !is_in_order {
            return Ok(None);
        }
        Ok(Some(Self {
            layout,
            ctx: cx.raw(),
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
        if values.len() != self.count || cx.raw() != self.ctx {
            return Ok(Err(values));
        }
        let object = cx.object_of(&self.prototype)?;
        // SAFETY: `object_of` returns an object, and it is held.
        if unsafe { self.layout.shape(object.raw()) } != self.empty_shape {
            return Ok(Err(values));
        }
        let room = self.make_room(cx, &object)?;
        let mut written = 0;
        for value in values.take(self.count) {
            match value {
                // SAFETY: the array has room for `count` values, of which `take` lets no more through.
                Ok(value) => unsafe { room.add(written).write(value.into_raw()) },
                Err(thrown) => {
                    // SAFETY: these were written, and the object, which has no names, does not own them. The reference
                    // that comes back is owned.
                    (0..written).for_each(|at| drop(unsafe { cx.own(room.add(at).read()) }));
                    return Err(thrown);
                }
            }
            written += 1;
        }
        // An iterator may promise more values than it has.
        for at in written..self.count {
            // SAFETY: the array has room for `count` values.
            unsafe { room.add(at).write(UNDEFINED.js()) };
        }
        // SAFETY: the object has a value for each name of the shape, in the order of the names (`new`), in an array of
        // the size that QuickJS gave the kept object of this shape. The object takes a reference of the shape and gives
        // up that of the empty one: both counts stand where those of objects do (`Layout::find`). `_kept` and `_empty`
        // have a reference each, so neither count reaches zero, at which QuickJS would take the shape for an object.
        // Nothing has changed the object since it was made: no script runs before it is returned.
        unsafe {
            qjs::JS_DupValue(cx.raw(), qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, self.shape));
            address(object.raw())
                .cast::<Shape>()
                .add(SHAPE_WORD)
                .write(self.shape);
            qjs::JS_FreeValue(
                cx.raw(),
                qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, self.empty_shape),
            );
        }
        Ok(Ok(object))
    }

    /// Gives a new object, which has the empty shape, an array for its values. QuickJS reads none of them until the
    /// object has another shape.
    #[inline]
    fn make_room(&self, cx: Cx<'_>, object: &Val) -> Result<*mut qjs::JSValue, Thrown> {
        // SAFETY: the object is held, and its array of values is a block of its own, which QuickJS made for the empty
        // shape. The block that replaces it may have another size: nothing is added to the object before it has the
        // other shape. If there is no memory, the old block stays in place.
        unsafe {
            let old = self.layout.values(object.raw());
            let room = qjs::js_realloc(cx.raw(), old.cast(), self.room_bytes as _);
            if room.is_null() {
                return Err(Thrown);
            }
            address(object.raw())
                .cast::<*mut c_void>()
                .add(VALUES_WORD)
                .write(room);
            Ok(room.cast())
        }
    }
}

/// Reports whether a value is this integer.
fn is_whole(value: RawValue<'_>, expected: i32) -> bool {
    tag(value) == qjs::JS_TAG_INT && int_of(value) == expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::probe::Probe;
    use crate::vm::probe::places::places;
    use std::ffi::CStr;

    /// An iterator that claims to have `claimed` values and has others.
    struct Liar<'a> {
        cx: Cx<'a>,
        claimed: usize,
        left: usize,
    }

    impl Iterator for Liar<'_> {
        type Item = Result<Val, Thrown>;

        fn next(&mut self) -> Option<Self::Item> {
            self.left = self.left.checked_sub(1)?;
            Some(self.cx.string("a text that is counted"))
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.claimed, Some(self.claimed))
        }
    }

    impl ExactSizeIterator for Liar<'_> {
        fn len(&self) -> usize {
            self.claimed
        }
    }

    fn shared(cx: Cx<'_>, names: &[&str]) -> Option<SharedShape> {
        let atoms: Vec<_> = names.iter().map(|name| cx.atom(name)).collect();
        let prototype = cx
            .prototype(&cx.object().expect("memory"))
            .expect("a prototype");
        let layout = places().objects.expect("a layout");
        let shared = SharedShape::new(cx, layout, prototype, &atoms).expect("memory");
        for atom in atoms {
            // SAFETY: `cx.atom` gave this test a reference of each name, which is freed once.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
        shared
    }

    fn json(cx: Cx<'_>, value: &Val) -> String {
        let function = cx
            .eval(c"(value) => JSON.stringify(value)", c"<test>")
            .expect("a function");
        let text = cx
            .call(function.raw(), UNDEFINED, &[value.raw()])
            .expect("a text");
        cx.text(text.raw()).expect("memory")
    }

    #[test]
    fn names_that_stand_twice_share_nothing() {
        let probe = Probe::new().expect("memory");
        for names in [&["a", "a"][..], &["a", "b", "a"], &["a", "b", "b"]] {
            assert!(shared(probe.cx(), names).is_none(), "{names:?}");
        }
        assert!(shared(probe.cx(), &["a", "b", "c"]).is_some());
    }

    #[test]
    fn an_iterator_of_another_length_writes_no_other_memory() {
        let probe = Probe::new().expect("memory");
        let cx = probe.cx();
        let shape = shared(cx, &["a", "b", "c"]).expect("a shape");
        let make = |left: usize| {
            let values = Liar {
                cx,
                claimed: 3,
                left,
            };
            shape
                .object(cx, values)
                .expect("memory")
                .ok()
                .expect("an object")
        };
        let text = r#""a text that is counted""#;
        assert_eq!(json(cx, &make(1)), format!(r#"{{"a":{text}}}"#));
        assert_eq!(
            json(cx, &make(100)),
            format!(r#"{{"a":{text},"b":{text},"c":{text}}}"#)
        );
    }

    /// QuickJS ends the process where a shape that two objects have is changed in place.
    #[test]
    fn scripts_change_objects_of_a_shared_shape_in_all_ways() {
        const CHANGES: &[&CStr] = &[
            c"(o) => { o.d = 1; o.e = 2; o.f = 3; o[0] = 4; }",
            c"(o) => { delete o.a; o.a = 5; }",
            c"(o) => { delete o.c; delete o.b; delete o.a; }",
            c"(o) => Object.freeze(o)",
            c"(o) => Object.setPrototypeOf(o, null)",
            c"(o) => Object.defineProperty(o, 'b', { get() { return 7; } })",
            c"(o) => { for (let i = 0; i < 100; i++) o['k' + i] = i; }",
            c"(o) => { o.self = o; }",
            c"(o) => { class A { constructor(o) { return o; } } class B extends A { #x = 1; } new B(o); }",
        ];
        let probe = Probe::new().expect("memory");
        let cx = probe.cx();
        for names in [
            &["a"][..],
            &["a", "b"],
            &["a", "b", "c"],
            &["a", "b", "c", "g", "h", "i", "j", "k", "l"],
        ] {
            let shape = shared(cx, names).expect("a shape");
            let make = || {
                let values = Liar {
                    cx,
                    claimed: names.len(),
                    left: names.len(),
                };
                shape
                    .object(cx, values)
                    .expect("memory")
                    .ok()
                    .expect("an object")
            };
            let untouched = make();
            let before = json(cx, &untouched);
            for first in CHANGES {
                for second in CHANGES {
                    let object = make();
                    for change in [first, second] {
                        let function = cx.eval(change, c"<test>").expect("a function");
                        if cx.call(function.raw(), UNDEFINED, &[object.raw()]).is_err() {
                            drop(cx.exception());
                        }
                    }
                }
            }
            // SAFETY: the runtime is alive and runs nothing.
            unsafe { qjs::JS_RunGC(cx.runtime()) };
            assert_eq!(json(cx, &untouched), before);
            drop(shape);
            // SAFETY: the runtime is alive and runs nothing.
            unsafe { qjs::JS_RunGC(cx.runtime()) };
            assert_eq!(json(cx, &untouched), before);
        }
    }
}
