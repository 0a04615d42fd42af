//! The classes of objects: the numbers of their classes, and `Object.prototype`.

use crate::request::object;
use crate::values::objects::{self, BoundClass};
use crate::vm::sys::{Cx, address, class_id};
use rquickjs::qjs;
use sampan_host::{Error, ErrorKind, Module};
use std::ffi::{CStr, c_void};

/// The numbers of classes that the engine asks for.
pub(crate) struct Classes {
    pub(crate) object: qjs::JSClassID,
    pub(crate) array: qjs::JSClassID,
    pub(crate) request: qjs::JSClassID,
    pub(crate) async_function: qjs::JSClassID,
    pub(crate) generator_function: qjs::JSClassID,
    pub(crate) async_generator_function: qjs::JSClassID,
    /// The class of generator objects.
    pub(crate) generator: qjs::JSClassID,
    pub(crate) async_generator: qjs::JSClassID,
    /// Those of iterators: of lists, maps, sets and texts, and of those that `Iterator` makes.
    pub(crate) iterators: Vec<qjs::JSClassID>,
    /// Those of `WeakMap` and `WeakSet`.
    pub(crate) weak: Vec<qjs::JSClassID>,
    /// The class of `Object(1n)`.
    pub(crate) boxed_big_int: qjs::JSClassID,
    pub(crate) date: qjs::JSClassID,
    /// Those of native objects.
    pub(crate) objects: Vec<BoundClass>,
}

/// An iterator of each class.
const ITERATORS: &CStr = c"[[].values(), new Map().keys(), new Set().keys(), ''[Symbol.iterator](), \
    ''.matchAll(/x/g), [].values().map((item) => item), Iterator.from({ next() {} }), Iterator.concat(), \
    new (class extends Iterator {})()]";

/// Asks for the numbers.
pub(super) fn classes(cx: Cx<'_>, modules: &'static [&'static Module]) -> Result<Classes, Error> {
    let failed = |_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate");
    let object = cx.object().map_err(failed)?;
    let array = cx.array(Vec::new()).map_err(failed)?;
    // The numbers of these classes are no part of QuickJS's API, so each is read from a sample. No script has run yet.
    let class_of = |sample| {
        let sample = cx.eval(sample, c"<probe>").map_err(failed)?;
        Ok(class_id(sample.raw()))
    };
    let classes_of = |samples: &CStr| -> Result<Vec<qjs::JSClassID>, Error> {
        let samples = cx.eval(samples, c"<probe>").map_err(failed)?;
        let length = cx.length(samples.raw()).map_err(failed)?;
        let mut classes = Vec::new();
        for index in 0..u32::try_from(length).unwrap_or_default() {
            let sample = cx.at(samples.raw(), index).map_err(failed)?;
            classes.push(class_id(sample.raw()));
        }
        Ok(classes)
    };
    Ok(Classes {
        object: class_id(object.raw()),
        array: class_id(array.raw()),
        request: object::register_class(cx).map_err(failed)?,
        async_function: class_of(c"async () => {}")?,
        generator_function: class_of(c"(function* () {})")?,
        async_generator_function: class_of(c"(async function* () {})")?,
        generator: class_of(c"(function* () {})()")?,
        async_generator: class_of(c"(async function* () {})()")?,
        iterators: classes_of(ITERATORS)?,
        weak: classes_of(c"[new WeakMap(), new WeakSet()]")?,
        boxed_big_int: class_of(c"Object(1n)")?,
        date: class_of(c"new Date(0)")?,
        objects: objects::register_classes(cx, modules).map_err(failed)?,
    })
}

/// The address of `Object.prototype`.
pub(super) fn object_prototype(cx: Cx<'_>) -> Result<*mut c_void, Error> {
    let object = cx
        .object()
        .map_err(|_| Error::new(ErrorKind::Load, "no memory for a JavaScript isolate"))?;
    // SAFETY: the object is alive; its prototype lives as long as the context. The reference that comes back is owned.
    let prototype = unsafe { cx.own(qjs::JS_GetPrototype(cx.raw(), object.js())) };
    Ok(address(prototype.raw()))
}
