//! Native objects as objects of a native class each: what such an object holds is an [`Object`], two numbers. Scripts
//! cannot make one, and what they put into its place is not of the class.

mod keyed;

use crate::vm::sys::hidden;
use crate::vm::sys::{Cx, RawValue, Thrown, Val, class_id, entry};
use rquickjs::qjs;
use sampan_host::{Class, Error, Lifetime, Module, Object, Objects};
use std::ffi::{CString, c_int, c_void};

/// A class of a module, with its number.
pub(crate) struct BoundClass {
    pub(crate) class: &'static Class,
    id: qjs::JSClassID,
}

/// The content of an object of such a class holds.
struct ObjectHandle {
    object: Object,
    /// They outlive the runtime that way, whose end finalizes all objects.
    objects: Objects,
}

/// Makes the classes of the modules.
pub(crate) fn register_classes(
    cx: Cx<'_>,
    modules: &'static [&'static Module],
) -> Result<Vec<BoundClass>, Thrown> {
    let classes = modules.iter().flat_map(|module| module.classes);
    let register = |class: &&'static Class| {
        let name = CString::new(class.name).map_err(|_| Thrown)?;
        let exotic = class.is_keyed.then_some(&keyed::METHODS);
        let id = cx.class(&name, Some(finalize), None, exotic)?;
        Ok(BoundClass { class, id })
    };
    classes.map(register).collect()
}

/// Gives a class its prototype, which has these methods.
pub(crate) fn install(
    cx: Cx<'_>,
    bound: &BoundClass,
    methods: Vec<(String, Val)>,
) -> Result<(), Thrown> {
    let proto = cx.object()?;
    for (name, method) in methods {
        let name = CString::new(name).map_err(|_| Thrown)?;
        hidden(cx, proto.raw(), &name, method)?;
    }
    let name = CString::new(bound.class.name).map_err(|_| Thrown)?;
    let constructor = cx.function(&name, 0, 0, entry(|cx, _, _| Ok(cx.undefined())))?;
    hidden(cx, proto.raw(), c"constructor", constructor)?;
    let tag = cx.eval(c"Symbol.toStringTag", c"sampan:objects")?;
    // SAFETY: the symbol is alive; the atom is released after its last use.
    let tagged = unsafe {
        let atom = qjs::JS_ValueToAtom(cx.raw(), tag.js());
        let tagged = cx.string(bound.class.name).and_then(|text| {
            let flags = qjs::JS_PROP_CONFIGURABLE as c_int;
            let done =
                qjs::JS_DefinePropertyValue(cx.raw(), proto.js(), atom, text.into_raw(), flags);
            if done < 0 { Err(Thrown) } else { Ok(()) }
        });
        qjs::JS_FreeAtom(cx.raw(), atom);
        tagged
    };
    tagged?;
    // The Web surface tells these objects by a hidden key.
    let key = cx.core().hidden.atom(cx, "object")?;
    let kept = cx
        .string(bound.class.name)
        .and_then(|text| cx.define_atom(proto.raw(), key, text));
    // SAFETY: the atom is owned; the class takes the prototype's reference.
    unsafe {
        qjs::JS_FreeAtom(cx.raw(), key);
        qjs::JS_SetClassProto(cx.raw(), bound.id, proto.into_raw());
    }
    kept
}

/// A native object for a script.
pub(crate) fn new(cx: Cx<'_>, object: Object) -> Result<Val, Thrown> {
    let mut classes = cx.core().classes.objects.iter();
    let Some(bound) = classes.find(|bound| bound.class == object.class()) else {
        let text = format!("no module lists the class {}", object.class().name);
        cx.throw(Error::script(text).into());
        return Err(Thrown);
    };
    // SAFETY: the class is registered and has its prototype. The reference that comes back is owned.
    let made = unsafe { cx.check(qjs::JS_NewObjectClass(cx.raw(), bound.id)) }?;
    let objects = cx.core().contract.context.objects().clone();
    if object.class().lifetime == Lifetime::Collector {
        objects.hold(object);
    }
    let handle = Box::new(ObjectHandle { object, objects });
    // SAFETY: the object is of our class; the finalizer takes the box back.
    unsafe { qjs::JS_SetOpaque(made.js(), Box::into_raw(handle).cast::<c_void>()) };
    Ok(made)
}

/// The native object that a value is, if it is one.
pub(crate) fn at(cx: Cx<'_>, value: RawValue<'_>) -> Option<Object> {
    let id = class_id(value);
    let is_ours = id != 0 && cx.core().classes.objects.iter().any(|bound| bound.id == id);
    if !is_ours {
        return None;
    }
    // SAFETY: asks for the opaque pointer of that very class, which is a `ObjectHandle` for as long as the object
    // lives; a prototype has none.
    let handle = unsafe {
        qjs::JS_GetOpaque(value.js(), id)
            .cast::<ObjectHandle>()
            .as_ref()
    };
    handle.map(|handle| handle.object)
}

// SAFETY: called by QuickJS alone, once for each object of our classes.
unsafe extern "C" fn finalize(_: *mut qjs::JSRuntime, object: qjs::JSValue) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its pointer is null or a box that nothing else owns.
    let handle = unsafe {
        let pointer = qjs::JS_GetAnyOpaque(object, &raw mut id).cast::<ObjectHandle>();
        if pointer.is_null() {
            return;
        }
        Box::from_raw(pointer)
    };
    let forgotten = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        if handle.object.class().lifetime == Lifetime::Collector {
            handle.objects.forget(handle.object);
        }
        drop(handle);
    }));
    drop(forgotten);
}
