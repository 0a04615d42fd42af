//! The few safe words in which the rest of this crate talks to QuickJS.
//!
//! Two rules make the raw calls below sound, and every module of this crate keeps them. A [`Cx`] is only made from a
//! context that is alive (by [`crate::vm::isolate::Core`], which owns it, or by a callback, which QuickJS hands it to), and a
//! [`Val`] is dropped before the `Core` that its context belongs to: whatever keeps a `Val` beyond a call keeps an `Rc<Core>` too.

use crate::vm::isolate::Core;
use crate::vm::limits::INTEGER_BYTES_MAX;
use rquickjs::qjs;
use sampan_host::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A value as QuickJS passes it: no reference is owned by it.
pub(crate) type RawValue = qjs::JSValue;

pub(crate) const UNDEFINED: RawValue = qjs::JS_UNDEFINED;
pub(crate) const NULL: RawValue = qjs::JS_NULL;

/// A script's exception is pending in the context.
#[derive(Debug)]
pub(crate) struct Thrown;

/// Why a native function failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An exception is pending already.
    Thrown,
    /// This error is to be thrown.
    Error(Error),
}

impl From<Thrown> for Failure {
    fn from(_: Thrown) -> Self {
        Self::Thrown
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The text of a string's bytes: a surrogate without a partner, which has three bytes there, becomes U+FFFD.
#[inline]
pub(crate) fn well_formed(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
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

/// Access to a live context.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    raw: *mut qjs::JSContext,
    core: PhantomData<&'a Core>,
}

/// A reference to a script's value, counted.
pub(crate) struct Val {
    ctx: *mut qjs::JSContext,
    raw: RawValue,
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
    pub(crate) fn raw(&self) -> RawValue {
        self.raw
    }

    /// Gives the reference away.
    #[inline]
    pub(crate) fn into_raw(self) -> RawValue {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }
}

/// The tag of a value.
#[inline]
pub(crate) fn tag(value: RawValue) -> i32 {
    // SAFETY: reads the tag that every value has.
    unsafe { qjs::JS_VALUE_GET_NORM_TAG(value) }
}

/// Whether it is an object (a function is one too).
#[inline]
pub(crate) fn is_object(value: RawValue) -> bool {
    tag(value) == qjs::JS_TAG_OBJECT
}

/// Whether it is a string.
#[inline]
pub(crate) fn is_string(value: RawValue) -> bool {
    matches!(tag(value), qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE)
}

/// Whether it is `undefined`.
#[inline]
pub(crate) fn is_undefined(value: RawValue) -> bool {
    tag(value) == qjs::JS_TAG_UNDEFINED
}

/// Whether it is `null` or `undefined`.
#[inline]
pub(crate) fn is_nothing(value: RawValue) -> bool {
    matches!(tag(value), qjs::JS_TAG_NULL | qjs::JS_TAG_UNDEFINED)
}

/// The address behind an object, a string or a symbol: what makes it the same one.
#[inline]
pub(crate) fn address(value: RawValue) -> *mut c_void {
    // SAFETY: reads the pointer of the value without following it.
    unsafe { qjs::JS_VALUE_GET_PTR(value) }
}

/// The class of an object, 0 for other values.
#[inline]
pub(crate) fn class_id(value: RawValue) -> qjs::JSClassID {
    // SAFETY: looks at a live value.
    unsafe { qjs::JS_GetClassID(value) }
}

/// Whether it is a promise.
#[inline]
pub(crate) fn is_promise(value: RawValue) -> bool {
    // SAFETY: looks at a live value.
    unsafe { qjs::JS_IsPromise(value) }
}

/// The integer of a value with the tag `JS_TAG_INT`; nonsense for others.
#[inline]
pub(crate) fn int_of(value: RawValue) -> i32 {
    // SAFETY: reads plain bits of the value, whatever they mean.
    unsafe { qjs::JS_VALUE_GET_INT(value) }
}

/// The number of a value with the tag `JS_TAG_FLOAT64`; nonsense for others.
#[inline]
pub(crate) fn float_of(value: RawValue) -> f64 {
    // SAFETY: reads plain bits of the value, whatever they mean.
    unsafe { qjs::JS_VALUE_GET_FLOAT64(value) }
}

/// Whether a value is `true`.
#[inline]
pub(crate) fn is_true(value: RawValue) -> bool {
    tag(value) == qjs::JS_TAG_BOOL && int_of(value) != 0
}

/// A boolean.
#[inline]
pub(crate) fn boolean(value: bool) -> RawValue {
    qjs::JS_MKVAL(qjs::JS_TAG_BOOL, i32::from(value))
}

/// A number that fits into 32 bits.
#[inline]
pub(crate) fn whole(value: i32) -> RawValue {
    qjs::JS_MKVAL(qjs::JS_TAG_INT, value)
}

/// A number, kept as an integer where it is one.
#[inline]
pub(crate) fn number(value: f64) -> RawValue {
    qjs::JS_NewFloat64(value)
}

/// A native function as QuickJS calls it.
pub(crate) type Native =
    unsafe extern "C" fn(*mut qjs::JSContext, RawValue, c_int, *mut RawValue, c_int) -> RawValue;

/// The arguments of a native call.
///
/// # Safety
/// `argv` must point to `argc` values that live as long as the call.
pub(crate) unsafe fn arguments<'a>(argc: c_int, argv: *mut RawValue) -> &'a [RawValue] {
    if argc <= 0 || argv.is_null() {
        return &[];
    }
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(argv, argc as usize) }
}

/// Runs the body of a native function: a failure becomes an exception, a panic too, so that none crosses C.
#[inline]
pub(crate) fn native<'a>(
    ctx: *mut qjs::JSContext,
    body: impl FnOnce(Cx<'a>) -> Result<Val, Failure>,
) -> RawValue {
    // SAFETY: QuickJS calls native functions with a live context.
    let cx = unsafe { Cx::from_raw(ctx) };
    match catch_unwind(AssertUnwindSafe(|| body(cx))) {
        Ok(Ok(value)) => value.into_raw(),
        Ok(Err(failure)) => cx.throw(failure),
        Err(_) => cx.throw(Failure::Error(Error::new(
            sampan_host::ErrorKind::Internal,
            "a native function panicked",
        ))),
    }
}

/// What QuickJS calls for a body in safe words. The body is known by its type alone, so it has no data.
pub(crate) const fn entry<F>(_: F) -> Native
where
    F: Fn(Cx<'_>, RawValue, &[RawValue]) -> Result<Val, Failure> + Copy,
{
    const { assert!(size_of::<F>() == 0, "the body has data") };
    enter_body::<F>
}

// SAFETY: called by QuickJS alone, with a context that has a core and `argc` values.
unsafe extern "C" fn enter_body<F>(
    ctx: *mut qjs::JSContext,
    this: RawValue,
    argc: c_int,
    argv: *mut RawValue,
    _: c_int,
) -> RawValue
where
    F: Fn(Cx<'_>, RawValue, &[RawValue]) -> Result<Val, Failure> + Copy,
{
    native(ctx, |cx| {
        // SAFETY: `entry` was given such a body, which has no bytes and may be copied. QuickJS passes `argc` values.
        let (body, args) = unsafe {
            let body = std::ptr::NonNull::<F>::dangling().read();
            (body, arguments(argc, argv))
        };
        body(cx, this, args)
    })
}

impl<'a> Cx<'a> {
    /// # Safety
    /// The context must be alive for `'a`.
    #[inline]
    pub(crate) unsafe fn from_raw(raw: *mut qjs::JSContext) -> Self {
        Self {
            raw,
            core: PhantomData,
        }
    }

    /// The context as QuickJS wants it.
    #[inline]
    pub(crate) fn raw(self) -> *mut qjs::JSContext {
        self.raw
    }

    /// The isolate that the context belongs to.
    #[inline]
    pub(crate) fn core(self) -> &'a Core {
        // SAFETY: `Core::new` put its own address there, and it lives at least as long as the context.
        unsafe { &*qjs::JS_GetContextOpaque(self.raw).cast::<Core>() }
    }

    /// The runtime.
    #[inline]
    pub(crate) fn runtime(self) -> *mut qjs::JSRuntime {
        // SAFETY: the context is alive.
        unsafe { qjs::JS_GetRuntime(self.raw) }
    }

    /// Takes over a reference that QuickJS returned.
    #[inline]
    pub(crate) fn own(self, raw: RawValue) -> Val {
        Val { ctx: self.raw, raw }
    }

    /// Takes over what a fallible function returned.
    #[inline]
    pub(crate) fn check(self, raw: RawValue) -> Result<Val, Thrown> {
        if tag(raw) == qjs::JS_TAG_EXCEPTION {
            Err(Thrown)
        } else {
            Ok(self.own(raw))
        }
    }

    /// A further reference to a value.
    #[inline]
    pub(crate) fn dup(self, raw: RawValue) -> Val {
        // SAFETY: the value is alive.
        self.own(unsafe { qjs::JS_DupValue(self.raw, raw) })
    }

    /// `undefined`.
    #[inline]
    pub(crate) fn undefined(self) -> Val {
        self.own(UNDEFINED)
    }

    /// A string.
    #[inline]
    pub(crate) fn string(self, text: &str) -> Result<Val, Thrown> {
        self.string_from(text.as_bytes())
    }

    /// A string from UTF-8; what is not UTF-8 is replaced.
    #[inline]
    pub(crate) fn string_from(self, text: &[u8]) -> Result<Val, Thrown> {
        // SAFETY: the pointer and the length describe `text`.
        self.check(unsafe {
            qjs::JS_NewStringLen(self.raw, text.as_ptr().cast::<c_char>(), text.len() as _)
        })
    }

    /// A `Uint8Array` with a copy of `bytes`.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<Val, Thrown> {
        // SAFETY: the pointer and the length describe `bytes`, which are copied.
        self.check(unsafe { qjs::JS_NewUint8ArrayCopy(self.raw, bytes.as_ptr(), bytes.len() as _) })
    }

    /// `{}`.
    #[inline]
    pub(crate) fn object(self) -> Result<Val, Thrown> {
        // SAFETY: the context is alive.
        self.check(unsafe { qjs::JS_NewObject(self.raw) })
    }

    /// An object without a prototype.
    pub(crate) fn bare_object(self) -> Result<Val, Thrown> {
        // SAFETY: the context is alive.
        self.check(unsafe { qjs::JS_NewObjectProto(self.raw, NULL) })
    }

    /// An array of `items`.
    pub(crate) fn array(self, items: Vec<Val>) -> Result<Val, Thrown> {
        let raws: Vec<RawValue> = items.into_iter().map(Val::into_raw).collect();
        // SAFETY: the pointer and the length describe `raws`, whose references the function takes.
        self.check(unsafe { qjs::JS_NewArrayFrom(self.raw, raws.len() as c_int, raws.as_ptr()) })
    }

    /// The property called `name`.
    pub(crate) fn get(self, object: RawValue, name: &CStr) -> Result<Val, Thrown> {
        // SAFETY: the object is alive, the name is terminated.
        self.check(unsafe { qjs::JS_GetPropertyStr(self.raw, object, name.as_ptr()) })
    }

    /// The property of an atom.
    #[inline]
    pub(crate) fn get_atom(self, object: RawValue, atom: qjs::JSAtom) -> Result<Val, Thrown> {
        // SAFETY: the object and the atom are alive.
        self.check(unsafe { qjs::JS_GetProperty(self.raw, object, atom) })
    }

    /// The element at `index`.
    #[inline]
    pub(crate) fn at(self, object: RawValue, index: u32) -> Result<Val, Thrown> {
        // SAFETY: the object is alive.
        self.check(unsafe { qjs::JS_GetPropertyUint32(self.raw, object, index) })
    }

    /// Sets the element at `index`.
    pub(crate) fn set_at(self, object: RawValue, index: u32, value: Val) -> Result<(), Thrown> {
        // SAFETY: the object is alive, the function takes the value's reference.
        let done = unsafe { qjs::JS_SetPropertyUint32(self.raw, object, index, value.into_raw()) };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// The `length` of an object.
    #[inline]
    pub(crate) fn length(self, object: RawValue) -> Result<i64, Thrown> {
        let mut length = 0;
        // SAFETY: the object is alive, `length` is writable.
        if unsafe { qjs::JS_GetLength(self.raw, object, &raw mut length) } < 0 {
            Err(Thrown)
        } else {
            Ok(length)
        }
    }

    /// Defines an ordinary property.
    pub(crate) fn define(self, object: RawValue, name: &CStr, value: Val) -> Result<(), Thrown> {
        let flags = qjs::JS_PROP_C_W_E as c_int;
        // SAFETY: the object is alive, the function takes the value's reference.
        let done = unsafe {
            qjs::JS_DefinePropertyValueStr(self.raw, object, name.as_ptr(), value.into_raw(), flags)
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Defines an ordinary property under an atom.
    #[inline]
    pub(crate) fn define_atom(
        self,
        object: RawValue,
        atom: qjs::JSAtom,
        value: Val,
    ) -> Result<(), Thrown> {
        let flags = qjs::JS_PROP_C_W_E as c_int;
        // SAFETY: the object and the atom are alive, the function takes the value's reference.
        let done =
            unsafe { qjs::JS_DefinePropertyValue(self.raw, object, atom, value.into_raw(), flags) };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Calls a function.
    #[inline]
    pub(crate) fn call(
        self,
        function: RawValue,
        this: RawValue,
        args: &[RawValue],
    ) -> Result<Val, Thrown> {
        // SAFETY: all values are alive; QuickJS does not write to the arguments.
        self.check(unsafe {
            qjs::JS_Call(
                self.raw,
                function,
                this,
                args.len() as c_int,
                args.as_ptr().cast_mut(),
            )
        })
    }

    /// `String(value)`, but that a symbol is an error.
    #[inline]
    pub(crate) fn to_string(self, value: RawValue) -> Result<Val, Thrown> {
        if is_string(value) {
            return Ok(self.dup(value));
        }
        // SAFETY: the value is alive.
        self.check(unsafe { qjs::JS_ToString(self.raw, value) })
    }

    /// Whether a value can be called.
    #[inline]
    pub(crate) fn is_function(self, value: RawValue) -> bool {
        // SAFETY: the value is alive.
        unsafe { qjs::JS_IsFunction(self.raw, value) }
    }

    /// The bytes of a string: UTF-8, but for surrogates without a partner, which take three bytes each.
    #[inline]
    pub(crate) fn with_bytes<R>(
        self,
        value: RawValue,
        each: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Thrown> {
        if tag(value) == qjs::JS_TAG_BIG_INT && self.integer_bytes(value) > INTEGER_BYTES_MAX {
            crate::vm::error::throw_range(self, "the integer has too many digits to become text");
            return Err(Thrown);
        }
        let mut length = 0_usize;
        // SAFETY: the value is alive; the text is released below, after its last use.
        let text = unsafe { qjs::JS_ToCStringLen(self.raw, (&raw mut length).cast(), value) };
        if text.is_null() {
            return Err(Thrown);
        }
        // SAFETY: QuickJS returned `length` bytes.
        let result = each(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) });
        // SAFETY: `text` came from `JS_ToCStringLen`.
        unsafe { qjs::JS_FreeCString(self.raw, text) };
        Ok(result)
    }

    /// About how large a BigInt is, in bytes. The API has no function for that, but what it writes is as long.
    #[cold]
    pub(crate) fn integer_bytes(self, value: RawValue) -> usize {
        let mut length: qjs::size_t = 0;
        // SAFETY: the value is alive; what was written is released at once.
        unsafe {
            let written = qjs::JS_WriteObject(self.raw, &raw mut length, value, 0);
            qjs::js_free(self.raw, written.cast());
        }
        length as usize
    }

    /// A value as text, converted as `String(value)` does it; surrogates without a partner are replaced.
    pub(crate) fn text(self, value: RawValue) -> Result<String, Thrown> {
        self.with_bytes(value, well_formed)
    }

    /// An atom for `name`. The caller releases it.
    pub(crate) fn atom(self, name: &str) -> qjs::JSAtom {
        // SAFETY: the pointer and the length describe `name`.
        unsafe { qjs::JS_NewAtomLen(self.raw, name.as_ptr().cast::<c_char>(), name.len() as _) }
    }

    /// An atom for the registered symbol `name`. The caller releases it.
    pub(crate) fn symbol_atom(self, name: &CStr) -> qjs::JSAtom {
        // SAFETY: the name is terminated; the symbol's reference is released after the atom took its own.
        unsafe {
            let symbol = qjs::JS_NewSymbol(self.raw, name.as_ptr(), true);
            let atom = qjs::JS_ValueToAtom(self.raw, symbol);
            qjs::JS_FreeValue(self.raw, symbol);
            atom
        }
    }

    /// The text of a property name, as a string.
    pub(crate) fn name(self, atom: qjs::JSAtom) -> Result<Val, Thrown> {
        // SAFETY: the atom is alive.
        self.check(unsafe { qjs::JS_AtomToString(self.raw, atom) })
    }

    /// A native function; `magic` is handed to it.
    pub(crate) fn function(
        self,
        name: &CStr,
        length: c_int,
        magic: c_int,
        body: Native,
    ) -> Result<Val, Thrown> {
        // SAFETY: `generic_magic` says that the function takes the fifth argument, which C's union type cannot express.
        self.check(unsafe {
            let body = std::mem::transmute::<
                Native,
                unsafe extern "C" fn(
                    *mut qjs::JSContext,
                    RawValue,
                    c_int,
                    *mut RawValue,
                ) -> RawValue,
            >(body);
            let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic_magic;
            qjs::JS_NewCFunction2(self.raw, Some(body), name.as_ptr(), length, kind, magic)
        })
    }

    /// Takes the pending exception.
    pub(crate) fn exception(self) -> Val {
        // SAFETY: the context is alive.
        self.own(unsafe { qjs::JS_GetException(self.raw) })
    }

    /// Throws, and gives back what a native function then returns.
    pub(crate) fn throw(self, failure: Failure) -> RawValue {
        if let Failure::Error(error) = failure {
            crate::vm::error::throw(self, &error);
        }
        qjs::JS_EXCEPTION
    }

    /// Runs a script (not a module) and returns its value. `source` must end with NUL.
    pub(crate) fn eval(self, source: &CStr, name: &CStr) -> Result<Val, Thrown> {
        let length = source.to_bytes().len();
        let flags = (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT) as c_int;
        // SAFETY: both texts are terminated.
        self.check(unsafe {
            qjs::JS_Eval(self.raw, source.as_ptr(), length as _, name.as_ptr(), flags)
        })
    }
}
