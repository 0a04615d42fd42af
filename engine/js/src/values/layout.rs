//! The places of an object's shape and values.
//!
//! Objects that got the same names in the same order share one shape, which tells names, flags and prototype; the
//! values lie in an array beside it, in that order. QuickJS has no function to read or fill that array at once, and
//! going through names costs some hundred instructions for each value. Arrays keep their items in an array of their
//! own. The places are those of `JSObject` in its sources, which are a part of the build; a probe makes sure of them
//! (see [`Layout::find`]), and without them everything works but less quickly.

mod shared;
mod text;

pub(crate) use shared::SharedShape;
pub(crate) use text::TextLayout;

use crate::vm::sys::{Cx, RawValue, Thrown, Val, address, class_id, int_of, tag, whole};
use rquickjs::qjs;
use std::ffi::c_void;

/// The address of a shape. It means the same shape for as long as some object has it.
pub(crate) type Shape = *mut c_void;

/// Says that the words lie where they are expected.
#[derive(Clone, Copy)]
pub(crate) struct Layout(());

/// Behind the links to two other objects and two bytes of flags stands the number of the class, in two bytes.
const CLASS_HALF_WORD: usize = 9;

/// The shape follows it.
const SHAPE_WORD: usize = 3;

/// The address of the values follows it.
const VALUES_WORD: usize = 4;

/// The address of an array's items, of which the half of a word behind it says how many there are.
const ITEMS_WORD: usize = 7;

impl Layout {
    /// Looks for the shape, which is the same in objects with equal names and another in others, and for the values of
    /// objects that are known. `None` where they are not in place.
    pub(crate) fn find(cx: Cx<'_>) -> Result<Option<Self>, Thrown> {
        if size_of::<usize>() != 8 {
            return Ok(None);
        }
        let (x, y) = (ProbeName::new(cx, "x"), ProbeName::new(cx, "y"));
        let make = |names: &[&ProbeName<'_>], first: i32| -> Result<Val, Thrown> {
            let object = cx.object()?;
            for (value, name) in (first..).zip(names) {
                cx.define_atom(object.raw(), name.0, cx.own(whole(value)))?;
            }
            Ok(object)
        };
        let (one, two, other) = (
            make(&[&x, &y], 1)?,
            make(&[&x, &y], 3)?,
            make(&[&y, &x], 5)?,
        );
        let layout = Self(());
        let shapes = [&one, &two, &other].map(|object| layout.shape(object.raw()));
        if shapes[0] != shapes[1] || shapes[0] == shapes[2] {
            return Ok(None);
        }
        let holds = |object: &Val, first: i32| {
            // SAFETY: what follows the shape of these objects is the address of two values.
            let values = unsafe { std::slice::from_raw_parts(layout.values(object.raw()), 2) };
            (first..).zip(values).all(|(expected, value)| {
                tag(*value) == qjs::JS_TAG_INT && int_of(*value) == expected
            })
        };
        if !(holds(&one, 1) && holds(&two, 3) && holds(&other, 5)) {
            return Ok(None);
        }
        let array =
            |items: &[i32]| cx.array(items.iter().map(|item| cx.own(whole(*item))).collect());
        let (long, short) = (array(&[5, 6, 7])?, array(&[8])?);
        let has_items = |array: &Val, expected: &[i32]| {
            // SAFETY: these are arrays; no item is looked at where there are more or less than expected.
            let items = unsafe { layout.items(array.raw()) };
            let is_item = |(item, expected): (&RawValue, &i32)| {
                tag(*item) == qjs::JS_TAG_INT && int_of(*item) == *expected
            };
            items.len() == expected.len() && items.iter().zip(expected).all(is_item)
        };
        let has_class = |object: &Val| layout.class(object.raw()) == class_id(object.raw());
        let is_found = has_class(&one)
            && has_class(&long)
            && has_items(&long, &[5, 6, 7])
            && has_items(&short, &[8]);
        if !is_found {
            return Ok(None);
        }
        Ok(Some(layout))
    }

    /// The shape of an object.
    #[inline]
    pub(crate) fn shape(self, object: RawValue) -> Shape {
        // SAFETY: the word is there in every object, and the value is one.
        unsafe { address(object).cast::<Shape>().add(SHAPE_WORD).read() }
    }

    /// The number of an object's class.
    #[inline]
    pub(crate) fn class(self, object: RawValue) -> qjs::JSClassID {
        // SAFETY: the half word is there in every object, and the value is one.
        unsafe {
            let class = address(object).cast::<u16>().add(CLASS_HALF_WORD).read();
            class.into()
        }
    }

    /// The items of an array that lie one after the other: all of them, unless it has gaps or something stranger.
    ///
    /// # Safety
    /// The object must be an array. The items are there until anything happens to it.
    #[inline]
    pub(crate) unsafe fn items<'a>(self, array: RawValue) -> &'a [RawValue] {
        // SAFETY: the words are there in every array; their number is 0 where the items lie elsewhere.
        unsafe {
            let words = address(array).cast::<usize>().add(ITEMS_WORD);
            let count = words.add(1).cast::<u32>().read();
            match count {
                0 => &[],
                _ => std::slice::from_raw_parts(
                    words.cast::<*const RawValue>().read(),
                    count as usize,
                ),
            }
        }
    }

    /// The values of an object, in the order of its names. Only as many are there as it has names, and only until it
    /// changes.
    #[inline]
    pub(crate) fn values(self, object: RawValue) -> *mut RawValue {
        // SAFETY: the word is there in every object, and the value is one.
        unsafe {
            address(object)
                .cast::<*mut RawValue>()
                .add(VALUES_WORD)
                .read()
        }
    }
}

/// A property name for the probe.
struct ProbeName<'a>(qjs::JSAtom, Cx<'a>);

impl<'a> ProbeName<'a> {
    fn new(cx: Cx<'a>, name: &str) -> Self {
        Self(cx.atom(name), cx)
    }
}

impl Drop for ProbeName<'_> {
    fn drop(&mut self) {
        // SAFETY: the name is owned.
        unsafe { qjs::JS_FreeAtom(self.1.raw(), self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_shapes_is_found() {
        let runtime = rquickjs::Runtime::new().expect("a runtime");
        let context = rquickjs::Context::full(&runtime).expect("a context");
        // SAFETY: the context is alive and runs nothing.
        let cx = unsafe { Cx::from_raw(context.as_raw().as_ptr()) };
        // As every isolate does.
        let empty = cx.object().expect("memory");
        let layout = Layout::find(cx).expect("memory");
        drop(empty);
        assert!(layout.is_some());
    }
}
