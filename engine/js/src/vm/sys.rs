//! The few safe words in which the rest of this crate talks to QuickJS.
//!
//! Three rules make the raw calls below sound, and every module of this crate keeps them:
//!
//! - A [`Cx`] is only made from a context that is alive: by [`crate::vm::isolate::Core`], which owns the context, by a
//!   callback, which QuickJS hands it to, or by [`crate::vm::probe::Probe`], which owns one too.
//! - A [`Val`] is dropped before the `Core` that its context belongs to: a type that keeps a `Val` beyond a call keeps
//!   an `Rc<Core>` too.
//! - A [`RawValue`] carries the lifetime of its holder: a `Val`, or QuickJS, which holds the arguments of a native
//!   function until that returns. Only unsafe code makes one of a value of QuickJS, or a `Val` of a reference.

mod cx;
mod own_script;
mod raw_value;
mod slot;

pub(crate) use cx::Cx;
pub(crate) use own_script::own_function;
pub(crate) use raw_value::{NULL, RawValue, UNDEFINED};
pub(crate) use sampan_js_contract::{Failure, Thrown};
pub(crate) use slot::Slot;

use rquickjs::qjs;
use sampan_host::{Error, ErrorKind};
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a string's bytes: a surrogate without a partner, which has three bytes there, becomes U+FFFD.
#[inline]
pub(crate) fn well_formed(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        // SAFETY: `is_ascii` has found that all bytes are ASCII, which is UTF-8.
        return unsafe { String::from_utf8_unchecked(bytes.to_owned()) };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => repaired(bytes),
    }
}

#[cold]
fn repaired(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // Rust takes such a sequence for three errors, of which only the first byte is no continuation.
        if chunk.invalid().first().is_some_and(|byte| *byte >= 0xc0) {
            text.push('\u{fffd}');
        }
    }
    text
}

/// A reference to a script's value, counted.
pub(crate) struct Val {
    ctx: *mut qjs::JSContext,
    raw: qjs::JSValue,
}

impl Drop for Val {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reference is owned and the context is alive (rules of this module).
        unsafe {
            if qjs::JS_VALUE_HAS_REF_COUNT(self.raw) {
                qjs::JS_FreeValue(self.ctx, self.raw);
            }
        }
    }
}

impl Clone for Val {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the value is alive, and so is the context.
        let raw = unsafe { qjs::JS_DupValue(self.ctx, self.raw) };
        Self { ctx: self.ctx, raw }
    }
}

impl Val {
    /// The value, still owned by `self`.
    #[inline]
    pub(crate) fn raw(&self) -> RawValue<'_> {
        // SAFETY: `self` holds the value, and is borrowed for as long.
        unsafe { RawValue::from_js(self.raw) }
    }

    /// The value as QuickJS wants it, still owned by `self`.
    #[inline]
    pub(crate) fn js(&self) -> qjs::JSValue {
        self.raw
    }

    /// Gives the reference away.
    #[inline]
    pub(crate) fn into_raw(self) -> qjs::JSValue {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }
}

/// The tag of a value.
#[inline]
pub(crate) fn tag(value: RawValue<'_>) -> i32 {
    // SAFETY: reads the tag that every value has.
    unsafe { qjs::JS_VALUE_GET_NORM_TAG(value.js()) }
}

/// Reports whether it is an object (a function is one too).
#[inline]
pub(crate) fn is_object(value: RawValue<'_>) -> bool {
    tag(value) == qjs::JS_TAG_OBJECT
}

/// Reports whether it is a string.
#[inline]
pub(crate) fn is_string(value: RawValue<'_>) -> bool {
    matches!(tag(value), qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE)
}

/// Reports whether it is `undefined`.
#[inline]
pub(crate) fn is_undefined(value: RawValue<'_>) -> bool {
    tag(value) == qjs::JS_TAG_UNDEFINED
}

/// Reports whether it is `null` or `undefined`.
#[inline]
pub(crate) fn is_nothing(value: RawValue<'_>) -> bool {
    matches!(tag(value), qjs::JS_TAG_NULL | qjs::JS_TAG_UNDEFINED)
}

/// The address behind an object, a string or a symbol: what makes it the same one.
#[inline]
pub(crate) fn address(value: RawValue<'_>) -> *mut c_void {
    // SAFETY: reads the pointer of the value without following it.
    unsafe { qjs::JS_VALUE_GET_PTR(value.js()) }
}

/// The class of an object, 0 for other values.
#[inline]
pub(crate) fn class_id(value: RawValue<'_>) -> qjs::JSClassID {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_GetClassID(value.js()) }
}

/// Reports whether it is a promise.
#[inline]
pub(crate) fn is_promise(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_IsPromise(value.js()) }
}

/// The integer of a value with the tag `JS_TAG_INT`; nonsense for others.
#[inline]
pub(crate) fn int_of(value: RawValue<'_>) -> i32 {
    // SAFETY: reads plain bits of the value, whatever they mean.
    unsafe { qjs::JS_VALUE_GET_INT(value.js()) }
}

/// The number of a value with the tag `JS_TAG_FLOAT64`; nonsense for others.
#[inline]
pub(crate) fn float_of(value: RawValue<'_>) -> f64 {
    // SAFETY: reads plain bits of the value, whatever they mean.
    unsafe { qjs::JS_VALUE_GET_FLOAT64(value.js()) }
}

/// Reports whether a value is `true`.
#[inline]
pub(crate) fn is_true(value: RawValue<'_>) -> bool {
    tag(value) == qjs::JS_TAG_BOOL && int_of(value) != 0
}

/// Reports whether a value is `false`.
pub(crate) fn is_false(value: RawValue<'_>) -> bool {
    tag(value) == qjs::JS_TAG_BOOL && int_of(value) == 0
}

/// A boolean.
#[inline]
pub(crate) fn boolean(value: bool) -> RawValue<'static> {
    // SAFETY: a boolean lies in the value itself and has no reference count, so it is valid for ever.
    unsafe { RawValue::from_js(qjs::JS_MKVAL(qjs::JS_TAG_BOOL, i32::from(value))) }
}

/// A number that fits into 32 bits.
#[inline]
pub(crate) fn whole(value: i32) -> RawValue<'static> {
    // SAFETY: a number lies in the value itself and has no reference count, so it is valid for ever.
    unsafe { RawValue::from_js(qjs::JS_MKVAL(qjs::JS_TAG_INT, value)) }
}

/// A number, kept as an integer where it is one.
#[inline]
pub(crate) fn number(value: f64) -> RawValue<'static> {
    // SAFETY: a number lies in the value itself and has no reference count, so it is valid for ever.
    unsafe { RawValue::from_js(qjs::JS_NewFloat64(value)) }
}

/// The value of a whole number.
pub(crate) fn whole_number(value: RawValue<'_>) -> Option<i64> {
    match tag(value) {
        qjs::JS_TAG_INT => Some(i64::from(int_of(value))),
        qjs::JS_TAG_FLOAT64 => {
            let number = float_of(value);
            (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0)
                .then_some(number as i64)
        }
        _ => None,
    }
}

/// Defines a property that is writable but not listed.
pub(crate) fn hidden(
    cx: Cx<'_>,
    object: RawValue<'_>,
    name: &CStr,
    value: Val,
) -> Result<(), Thrown> {
    let flags = (qjs::JS_PROP_WRITABLE | qjs::JS_PROP_CONFIGURABLE) as c_int;
    // SAFETY: the object is alive, the name terminated, the value's reference is taken.
    let done = unsafe {
        qjs::JS_DefinePropertyValueStr(
            cx.raw(),
            object.js(),
            name.as_ptr(),
            value.into_raw(),
            flags,
        )
    };
    if done < 0 { Err(Thrown) } else { Ok(()) }
}

/// Throws a `RangeError`.
pub(crate) fn throw_range(cx: Cx<'_>, text: &str) -> Failure {
    if let Ok(text) = std::ffi::CString::new(text) {
        // SAFETY: both texts are terminated, and the format takes one.
        unsafe { qjs::JS_ThrowRangeError(cx.raw(), c"%s".as_ptr(), text.as_ptr()) };
    }
    Failure::Thrown
}

/// Throws a `SyntaxError`.
pub(crate) fn throw_syntax(cx: Cx<'_>, text: &CStr) -> Failure {
    // SAFETY: both texts are terminated, and the format takes one.
    unsafe { qjs::JS_ThrowSyntaxError(cx.raw(), c"%s".as_ptr(), text.as_ptr()) };
    Failure::Thrown
}

/// Throws a `TypeError`.
pub(crate) fn throw_type(cx: Cx<'_>, text: &CStr) -> Failure {
    // SAFETY: both texts are terminated, and the format takes one.
    unsafe { qjs::JS_ThrowTypeError(cx.raw(), c"%s".as_ptr(), text.as_ptr()) };
    Failure::Thrown
}

impl Cx<'_> {
    /// A native function; `magic` is handed to it.
    pub(crate) fn function(
        self,
        name: &CStr,
        length: c_int,
        magic: c_int,
        body: Native,
    ) -> Result<Val, Thrown> {
        // SAFETY: `generic_magic` says that the function takes the fifth argument, which C's union type cannot express.
        // The reference that comes back is owned.
        unsafe {
            self.check({
                let body = std::mem::transmute::<
                    Native,
                    unsafe extern "C" fn(
                        *mut qjs::JSContext,
                        qjs::JSValue,
                        c_int,
                        *mut qjs::JSValue,
                    ) -> qjs::JSValue,
                >(body);
                let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic_magic;
                qjs::JS_NewCFunction2(self.raw(), Some(body), name.as_ptr(), length, kind, magic)
            })
        }
    }

    /// Makes a class of native objects with this name.
    pub(crate) fn class(
        self,
        name: &CStr,
        finalizer: qjs::JSClassFinalizer,
        gc_mark: qjs::JSClassGCMark,
        exotic: Option<&'static qjs::JSClassExoticMethods>,
    ) -> Result<qjs::JSClassID, Thrown> {
        let definition = qjs::JSClassDef {
            class_name: name.as_ptr(),
            finalizer,
            gc_mark,
            call: None,
            // QuickJS only reads it.
            exotic: exotic.map_or(std::ptr::null_mut(), |exotic| {
                std::ptr::from_ref(exotic).cast_mut()
            }),
        };
        let mut id = 0;
        // SAFETY: the runtime is alive; the definition and its name are copied.
        unsafe {
            qjs::JS_NewClassID(self.runtime(), &raw mut id);
            if qjs::JS_NewClass(self.runtime(), id, &raw const definition) < 0 {
                return Err(Thrown);
            }
        }
        Ok(id)
    }
}

/// A native function as QuickJS calls it.
pub(crate) type Native = unsafe extern "C" fn(
    *mut qjs::JSContext,
    qjs::JSValue,
    c_int,
    *mut qjs::JSValue,
    c_int,
) -> qjs::JSValue;

/// The arguments of a native call.
///
/// # Safety
/// `argv` must point to `argc` values that live as long as the call.
pub(crate) unsafe fn arguments<'a>(argc: c_int, argv: *mut qjs::JSValue) -> &'a [RawValue<'a>] {
    if argc <= 0 || argv.is_null() {
        return &[];
    }
    // SAFETY: the caller promises `argc` values that live as long as the call, and a `RawValue` is nothing but one.
    unsafe { std::slice::from_raw_parts(argv.cast(), argc as usize) }
}

/// Runs the body of a native function: a failure becomes an exception, a panic too, so that none crosses C.
#[inline]
pub(crate) fn native<'a>(
    cx: Cx<'a>,
    body: impl FnOnce(Cx<'a>) -> Result<Val, Failure>,
) -> qjs::JSValue {
    match catch_unwind(AssertUnwindSafe(|| body(cx))) {
        Ok(Ok(value)) => value.into_raw(),
        Ok(Err(failure)) => cx.throw(failure),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            let text = format!("panic: {text}");
            cx.throw(Failure::Error(Error::new(ErrorKind::Internal, text)))
        }
    }
}

/// Returns the native function of QuickJS for a body in safe words. The body is known by its type alone, so it has no
/// data.
pub(crate) const fn entry<F>(body: F) -> Native
where
    F: Fn(Cx<'_>, RawValue<'_>, &[RawValue<'_>]) -> Result<Val, Failure> + Copy,
{
    indexed_entry(move |cx: Cx<'_>, this, args: &[RawValue<'_>], _| body(cx, this, args))
}

/// Returns the native function for a body that serves several functions: it gets the number of the function as `magic`.
pub(crate) const fn indexed_entry<F>(_: F) -> Native
where
    F: Fn(Cx<'_>, RawValue<'_>, &[RawValue<'_>], c_int) -> Result<Val, Failure> + Copy,
{
    const { assert!(size_of::<F>() == 0, "the body has data") };
    enter_body::<F>
}

// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn enter_body<F>(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue
where
    F: Fn(Cx<'_>, RawValue<'_>, &[RawValue<'_>], c_int) -> Result<Val, Failure> + Copy,
{
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: `indexed_entry` was given such a body, which has no bytes and may be copied. QuickJS passes `argc`
        // values, and holds all until this returns.
        let (body, this, args) = unsafe {
            let body = std::ptr::NonNull::<F>::dangling().read();
            (body, RawValue::from_js(this), arguments(argc, argv))
        };
        body(cx, this, args, magic)
    })
}
