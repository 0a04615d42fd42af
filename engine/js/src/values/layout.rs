//! The places of an object's shape and values.
//!
//! Objects that got the same names in the same order share one shape, which tells names, flags and prototype; the
//! values lie in an array beside it, in that order. QuickJS has no function to read or fill that array at once, and
//! going through names costs some hundred instructions for each value. Arrays keep their items in an array of their
//! own. The places are those of `JSObject` in its sources, which are a part of the build; a probe makes sure of them
//! (see [`Layout::find`]), and without them everything works but less quickly.

pub(crate) mod shared;
pub(crate) mod text;

use crate::vm::probe::Probe;
use crate::vm::sys::{RawValue, Thrown, Val, address, class_id, is_object, whole};
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

/// The distance from the number of references of a value or a shape to the value or shape itself, in bytes.
const REFERENCES_BEFORE: usize = 4;

/// Numbers of names that the probe tries: an object that QuickJS makes has room for two values, and grows several
/// times on the way to the last of these.
const NAME_COUNTS: &[usize] = &[1, 2, 3, 4, 5, 8, 9, 21, 64];

const WORD: usize = size_of::<usize>();

impl Layout {
    /// Looks for the shape, the values, the items and the class of objects that are known, of all sizes. `None` where
    /// they are not in place.
    pub(crate) fn find(probe: &Probe) -> Option<Self> {
        if size_of::<usize>() != 8 {
            return None;
        }
        let look = || -> Result<bool, Thrown> {
            for count in NAME_COUNTS {
                if !has_known_objects(probe, *count)? {
                    return Ok(false);
                }
            }
            Ok(has_counted_references(probe)?
                && has_known_arrays(probe)?
                && has_known_classes(probe)?)
        };
        look().unwrap_or(false).then_some(Self(()))
    }

    /// The shape of an object.
    ///
    /// # Safety
    /// The value must be an object that is alive.
    #[inline]
    pub(crate) unsafe fn shape(self, object: RawValue<'_>) -> Shape {
        // SAFETY: the word is there in every object (`find`), and the value is one.
        unsafe { address(object).cast::<Shape>().add(SHAPE_WORD).read() }
    }

    /// The shape of a value that is held, if it is an object.
    #[inline]
    pub(crate) fn shape_of(self, value: &Val) -> Option<Shape> {
        // SAFETY: the value is an object, and alive because it is held.
        is_object(value.raw()).then(|| unsafe { self.shape(value.raw()) })
    }

    /// The number of an object's class.
    ///
    /// # Safety
    /// The value must be an object that is alive.
    #[inline]
    pub(crate) unsafe fn class(self, object: RawValue<'_>) -> qjs::JSClassID {
        // SAFETY: the half word is there in every object (`find`), and the value is one.
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
    pub(crate) unsafe fn items(self, array: RawValue<'_>) -> &[RawValue<'_>] {
        // SAFETY: the words are there in every array (`find`); their number is 0 where the items lie elsewhere.
        unsafe {
            let words = address(array).cast::<usize>().add(ITEMS_WORD);
            let count = words.add(1).cast::<u32>().read();
            match count {
                0 => &[],
                _ => std::slice::from_raw_parts(
                    words.cast::<*const RawValue<'_>>().read(),
                    count as usize,
                ),
            }
        }
    }

    /// The values of an object, in the order of its names. Only as many are there as it has names, and only until it
    /// changes.
    ///
    /// # Safety
    /// The value must be an object that is alive.
    #[inline]
    pub(crate) unsafe fn values(self, object: RawValue<'_>) -> *mut qjs::JSValue {
        // SAFETY: the word is there in every object (`find`), and the value is one.
        unsafe {
            address(object)
                .cast::<*mut qjs::JSValue>()
                .add(VALUES_WORD)
                .read()
        }
    }
}

/// Returns the address of what a value refers to.
fn start(value: &Val) -> usize {
    address(value.raw()).addr()
}

/// Reports whether at an address there are the integers from `first` on, `count` of them.
fn are_integers(probe: &Probe, at: usize, first: i32, count: usize) -> bool {
    // SAFETY: reads the tag that every value has.
    let tag = unsafe { qjs::JS_VALUE_GET_TAG(whole(first).js()) } as u32;
    let is_there = |(index, expected): (usize, i32)| {
        let found = probe.tag_and_int(at + index * size_of::<qjs::JSValue>());
        found.is_some_and(|(found, value)| found as u32 == tag && value == expected)
    };
    (0..count).zip(first..).all(is_there)
}

/// Makes an object with these names. Its values are the integers from `first` on.
fn numbered(probe: &Probe, names: &[ProbeName<'_>], first: i32) -> Result<Val, Thrown> {
    let cx = probe.cx();
    let object = cx.object()?;
    for (value, name) in (first..).zip(names) {
        cx.define_atom(object.raw(), name.atom, cx.dup(whole(value)))?;
    }
    Ok(object)
}

/// Reports whether objects of `count` names have shapes and values in place: the same shape for the same names in the
/// same order, another one for others, and room for all values.
fn has_known_objects(probe: &Probe, count: usize) -> Result<bool, Thrown> {
    let names: Vec<_> = (0..=count).map(|at| ProbeName::new(probe, at)).collect();
    let others = &names[1..];
    let (one, two, other) = (
        numbered(probe, &names[..count], 1)?,
        numbered(probe, &names[..count], 101)?,
        numbered(probe, others, 201)?,
    );
    let shape = |object: &Val| probe.word(start(object) + SHAPE_WORD * WORD);
    let has_values = |object: &Val, first: i32| {
        let Some(values) = probe.word(start(object) + VALUES_WORD * WORD) else {
            return false;
        };
        // QuickJS's own word about the block stands in front of it.
        let word = probe.word(values.wrapping_sub(WORD));
        let Some((_, block)) = word.zip(probe.pointer(values)) else {
            return false;
        };
        let cx = probe.cx();
        // SAFETY: the probe has found that `block` and QuickJS's word in front of it lie in a live block. This reads
        // that word, and the allocator's header in front of all.
        let bytes = unsafe { qjs::js_malloc_usable_size(cx.raw(), block.cast()) } as usize;
        bytes >= count * size_of::<qjs::JSValue>()
            && probe.room(values) >= bytes
            && are_integers(probe, values, first, count)
    };
    let is_shape = |shape: usize| probe.word(shape).is_some();
    Ok(shape(&one).is_some_and(is_shape)
        && shape(&one) == shape(&two)
        && shape(&one) != shape(&other)
        && has_values(&one, 1)
        && has_values(&two, 101)
        && has_values(&other, 201))
}

/// Reports whether the number of references of an object and that of a shape stand at the same distance in front of
/// them: then QuickJS's functions that count references of an object count those of a shape too.
fn has_counted_references(probe: &Probe) -> Result<bool, Thrown> {
    let names = [ProbeName::new(probe, 0), ProbeName::new(probe, 1)];
    let mut objects = Vec::new();
    let references = |address: usize| probe.int(address.wrapping_sub(REFERENCES_BEFORE));
    for count in 1..=4 {
        objects.push(numbered(probe, &names, 1)?);
        let shape = probe.word(start(&objects[0]) + SHAPE_WORD * WORD);
        if shape.and_then(references) != Some(count) || references(start(&objects[0])) != Some(1) {
            return Ok(false);
        }
    }
    let shape = probe.word(start(&objects[0]) + SHAPE_WORD * WORD);
    let another = objects[0].clone();
    let is_counted = references(start(&another)) == Some(2);
    drop(another);
    objects.truncate(2);
    Ok(is_counted
        && references(start(&objects[0])) == Some(1)
        && shape.and_then(references) == Some(2))
}

/// Reports whether arrays have their items in place: short ones, long ones that grew, and those that have gaps.
fn has_known_arrays(probe: &Probe) -> Result<bool, Thrown> {
    let cx = probe.cx();
    let array = |items: i32| cx.array((0..items).map(|item| cx.dup(whole(item))).collect());
    let eval = |source| cx.eval(source, c"<probe>");
    let has_items = |array: &Val, expected: usize| {
        let place = start(array) + ITEMS_WORD * WORD;
        let Some((items, count)) = probe.word(place).zip(probe.int(place + WORD)) else {
            return false;
        };
        count as usize == expected && are_integers(probe, items, 0, expected)
    };
    Ok(has_items(&array(0)?, 0)
        && has_items(&array(1)?, 1)
        && has_items(&array(3)?, 3)
        && has_items(&array(1000)?, 1000)
        && has_items(
            &eval(
                c"(() => { const a = []; for (let i = 0; i < 300; i++) a.push(i); return a; })()",
            )?,
            300,
        )
        && has_items(&eval(c"[0, 1, 2, 3].slice(0, 2)")?, 2)
        && has_items(
            &eval(c"(() => { const a = [0, 1, 2]; a[9] = 1; return a; })()")?,
            0,
        )
        && has_items(
            &eval(c"(() => { const a = [0, 1, 2]; delete a[1]; return a; })()")?,
            0,
        ))
}

/// Reports whether objects have the number of their class in place.
fn has_known_classes(probe: &Probe) -> Result<bool, Thrown> {
    let cx = probe.cx();
    let sources = [
        c"({ a: 1 })",
        c"[1]",
        c"(() => 1)",
        c"new Map()",
        c"new Uint8Array(4)",
        c"/a/",
    ];
    let mut classes = Vec::new();
    for source in sources {
        let object = cx.eval(source, c"<probe>")?;
        let class = class_id(object.raw());
        if probe
            .short(start(&object) + CLASS_HALF_WORD * size_of::<u16>())
            .map(u32::from)
            != Some(class)
        {
            return Ok(false);
        }
        classes.push(class);
    }
    classes.sort_unstable();
    classes.dedup();
    Ok(classes.len() == sources.len())
}

/// A property name for the probe.
struct ProbeName<'a> {
    atom: qjs::JSAtom,
    probe: &'a Probe,
}

impl<'a> ProbeName<'a> {
    fn new(probe: &'a Probe, number: usize) -> Self {
        let atom = probe.cx().atom(&format!("name{number}"));
        Self { atom, probe }
    }
}

impl Drop for ProbeName<'_> {
    fn drop(&mut self) {
        // SAFETY: the name is owned, and the context of the probe is alive.
        unsafe { qjs::JS_FreeAtom(self.probe.cx().raw(), self.atom) };
    }
}
