//! Operations on a context: values are made, read, called and thrown.

use super::{NULL, RawValue, Thrown, UNDEFINED, Val, is_string, tag, throw_range, well_formed};
use crate::vm::limits::INTEGER_BYTES_MAX;
use rquickjs::qjs;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;

/// Access to a live context.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    raw: *mut qjs::JSContext,
    alive: PhantomData<&'a ()>,
}

impl<'a> Cx<'a> {
    /// # Safety
    /// The context must be alive for `'a`.
    #[inline]
    pub(crate) unsafe fn from_raw(raw: *mut qjs::JSContext) -> Self {
        Self {
            raw,
            alive: PhantomData,
        }
    }

    /// The context as QuickJS wants it.
    #[inline]
    pub(crate) fn raw(self) -> *mut qjs::JSContext {
        self.raw
    }

    /// The runtime.
    #[inline]
    pub(crate) fn runtime(self) -> *mut qjs::JSRuntime {
        // SAFETY: a `Cx` is there only while its context is alive; this reads a pointer of it.
        unsafe { qjs::JS_GetRuntime(self.raw) }
    }

    /// Reports whether a job waits to be run.
    #[inline]
    pub(crate) fn has_jobs(self) -> bool {
        // SAFETY: a `Cx` is there only while its context is alive, which keeps its runtime alive.
        unsafe { qjs::JS_IsJobPending(self.runtime()) }
    }

    /// Takes over a reference, such as one that a function of QuickJS has returned.
    ///
    /// # Safety
    /// The reference must be the caller's to give, and the value one of this context's runtime.
    #[inline]
    pub(crate) unsafe fn own(self, raw: qjs::JSValue) -> Val {
        Val { ctx: self.raw, raw }
    }

    /// Takes over what a fallible function of QuickJS has returned.
    ///
    /// # Safety
    /// As of [`Self::own`]: the reference must be the caller's to give, and the value one of this context's runtime.
    #[inline]
    pub(crate) unsafe fn check(self, raw: qjs::JSValue) -> Result<Val, Thrown> {
        // SAFETY: the value is looked at before anything else happens to it. Its reference is the caller's to give.
        unsafe {
            if tag(RawValue::from_js(raw)) == qjs::JS_TAG_EXCEPTION {
                Err(Thrown)
            } else {
                Ok(self.own(raw))
            }
        }
    }

    /// A further reference to a value.
    #[inline]
    pub(crate) fn dup(self, value: RawValue<'_>) -> Val {
        // SAFETY: the value is alive by its lifetime, and the new reference is given on.
        unsafe { self.own(qjs::JS_DupValue(self.raw, value.js())) }
    }

    /// `undefined`.
    #[inline]
    pub(crate) fn undefined(self) -> Val {
        self.dup(UNDEFINED)
    }

    /// A string.
    #[inline]
    pub(crate) fn string(self, text: &str) -> Result<Val, Thrown> {
        self.string_from(text.as_bytes())
    }

    /// A string from UTF-8; what is not UTF-8 is replaced.
    #[inline]
    pub(crate) fn string_from(self, text: &[u8]) -> Result<Val, Thrown> {
        // SAFETY: the pointer and the length describe `text`. The reference that comes back is owned.
        unsafe {
            self.check(qjs::JS_NewStringLen(
                self.raw,
                text.as_ptr().cast::<c_char>(),
                text.len() as _,
            ))
        }
    }

    /// A `Uint8Array` with a copy of `bytes`.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<Val, Thrown> {
        /// Fewer bytes are not worth a block of our own.
        const FEW_BYTES: usize = 4 * 1024;
        // SAFETY: the pointers and lengths describe `bytes` and a block of their size; the array takes the block over.
        // Only where there is no memory even for the array itself does the block stay until the runtime ends. The
        // reference that comes back is owned.
        unsafe {
            self.check({
                if bytes.len() < FEW_BYTES {
                    qjs::JS_NewUint8ArrayCopy(self.raw, bytes.as_ptr(), bytes.len() as _)
                } else {
                    // QuickJS's own copy fills the block with zeros first.
                    let block = qjs::js_malloc(self.raw, bytes.len() as _).cast::<u8>();
                    if block.is_null() {
                        return Err(Thrown);
                    }
                    block.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                    let resize = Some(resize_block as _);
                    qjs::JS_NewUint8Array(
                        self.raw,
                        block,
                        bytes.len() as _,
                        resize,
                        std::ptr::null_mut(),
                        false,
                    )
                }
            })
        }
    }

    /// A `Date`, by its milliseconds since 1970; an invalid one beyond the range of dates.
    pub(crate) fn date(self, millis: f64) -> Result<Val, Thrown> {
        // SAFETY: the context is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_NewDate(self.raw, millis)) }
    }

    /// `{}`.
    #[inline]
    pub(crate) fn object(self) -> Result<Val, Thrown> {
        // SAFETY: the context is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_NewObject(self.raw)) }
    }

    /// An object without a prototype.
    pub(crate) fn bare_object(self) -> Result<Val, Thrown> {
        // SAFETY: the context is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_NewObjectProto(self.raw, NULL.js())) }
    }

    /// Returns a new object with this prototype.
    pub(crate) fn object_of(self, prototype: &Val) -> Result<Val, Thrown> {
        // SAFETY: the context and the prototype are alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_NewObjectProto(self.raw, prototype.js())) }
    }

    /// Returns the prototype of an object.
    pub(crate) fn prototype(self, object: &Val) -> Result<Val, Thrown> {
        // SAFETY: the context and the object are alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_GetPrototype(self.raw, object.js())) }
    }

    /// An array of `items`.
    pub(crate) fn array(self, items: Vec<Val>) -> Result<Val, Thrown> {
        let raws: Vec<qjs::JSValue> = items.into_iter().map(Val::into_raw).collect();
        // SAFETY: the pointer and the length describe `raws`, whose references the function takes.
        unsafe {
            self.check(qjs::JS_NewArrayFrom(
                self.raw,
                raws.len() as c_int,
                raws.as_ptr(),
            ))
        }
    }

    /// The property called `name`.
    pub(crate) fn get(self, object: RawValue<'_>, name: &CStr) -> Result<Val, Thrown> {
        // SAFETY: the object is alive, the name is terminated. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_GetPropertyStr(self.raw, object.js(), name.as_ptr())) }
    }

    /// The property of an atom.
    #[inline]
    pub(crate) fn get_atom(self, object: RawValue<'_>, atom: qjs::JSAtom) -> Result<Val, Thrown> {
        // SAFETY: the object and the atom are alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_GetProperty(self.raw, object.js(), atom)) }
    }

    /// The element at `index`.
    #[inline]
    pub(crate) fn at(self, object: RawValue<'_>, index: u32) -> Result<Val, Thrown> {
        // SAFETY: the object is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_GetPropertyUint32(self.raw, object.js(), index)) }
    }

    /// Sets the element at `index`.
    pub(crate) fn set_at(self, object: RawValue<'_>, index: u32, value: Val) -> Result<(), Thrown> {
        // SAFETY: the object is alive, the function takes the value's reference.
        let done =
            unsafe { qjs::JS_SetPropertyUint32(self.raw, object.js(), index, value.into_raw()) };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// The `length` of an object.
    #[inline]
    pub(crate) fn length(self, object: RawValue<'_>) -> Result<i64, Thrown> {
        let mut length = 0;
        // SAFETY: the object is alive, `length` is writable.
        if unsafe { qjs::JS_GetLength(self.raw, object.js(), &raw mut length) } < 0 {
            Err(Thrown)
        } else {
            Ok(length)
        }
    }

    /// Defines an ordinary property.
    pub(crate) fn define(
        self,
        object: RawValue<'_>,
        name: &CStr,
        value: Val,
    ) -> Result<(), Thrown> {
        let flags = qjs::JS_PROP_C_W_E as c_int;
        // SAFETY: the object is alive, the function takes the value's reference.
        let done = unsafe {
            qjs::JS_DefinePropertyValueStr(
                self.raw,
                object.js(),
                name.as_ptr(),
                value.into_raw(),
                flags,
            )
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Defines an ordinary property under an atom.
    #[inline]
    pub(crate) fn define_atom(
        self,
        object: RawValue<'_>,
        atom: qjs::JSAtom,
        value: Val,
    ) -> Result<(), Thrown> {
        let flags = qjs::JS_PROP_C_W_E as c_int;
        // SAFETY: the object and the atom are alive, the function takes the value's reference.
        let done = unsafe {
            qjs::JS_DefinePropertyValue(self.raw, object.js(), atom, value.into_raw(), flags)
        };
        if done < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Calls a function.
    #[inline]
    pub(crate) fn call(
        self,
        function: RawValue<'_>,
        this: RawValue<'_>,
        args: &[RawValue<'_>],
    ) -> Result<Val, Thrown> {
        // SAFETY: all values are alive; QuickJS does not write to the arguments. The reference that comes back is
        // owned.
        unsafe {
            self.check(qjs::JS_Call(
                self.raw,
                function.js(),
                this.js(),
                args.len() as c_int,
                args.as_ptr().cast::<qjs::JSValue>().cast_mut(),
            ))
        }
    }

    /// `String(value)`, but that a symbol is an error.
    #[inline]
    pub(crate) fn to_string(self, value: RawValue<'_>) -> Result<Val, Thrown> {
        if is_string(value) {
            return Ok(self.dup(value));
        }
        // SAFETY: the value is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_ToString(self.raw, value.js())) }
    }

    /// Reports whether a value can be called.
    #[inline]
    pub(crate) fn is_function(self, value: RawValue<'_>) -> bool {
        // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
        unsafe { qjs::JS_IsFunction(self.raw, value.js()) }
    }

    /// The bytes of a string: UTF-8, but for surrogates without a partner, which take three bytes each.
    #[inline]
    pub(crate) fn with_bytes<R>(
        self,
        value: RawValue<'_>,
        each: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Thrown> {
        if let Some(layout) = self.text_layout() {
            // Whatever `each` does, the string stays.
            let value = self.dup(value);
            if let Some(bytes) = layout.ascii(&value) {
                return Ok(each(bytes));
            }
        }
        if tag(value) == qjs::JS_TAG_BIG_INT && self.integer_bytes(value) > INTEGER_BYTES_MAX {
            throw_range(self, "the integer has too many digits to become text");
            return Err(Thrown);
        }
        let mut length = 0_usize;
        // SAFETY: something else holds the value, and `length` is a local variable. The text that comes back is freed
        // once, after its last use.
        let text = unsafe { qjs::JS_ToCStringLen(self.raw, (&raw mut length).cast(), value.js()) };
        if text.is_null() {
            return Err(Thrown);
        }
        // SAFETY: QuickJS returned `length` bytes at `text`, which stay until `JS_FreeCString`.
        let result = each(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) });
        // SAFETY: `text` came from `JS_ToCStringLen`, is not null, and is not used afterwards.
        unsafe { qjs::JS_FreeCString(self.raw, text) };
        Ok(result)
    }

    /// About how large a BigInt is, in bytes. The API has no function for that, but what it writes is as long.
    #[cold]
    pub(crate) fn integer_bytes(self, value: RawValue<'_>) -> usize {
        let mut length: qjs::size_t = 0;
        // SAFETY: the value is alive; what was written is released at once.
        unsafe {
            let written = qjs::JS_WriteObject(self.raw, &raw mut length, value.js(), 0);
            qjs::js_free(self.raw, written.cast());
        }
        length as usize
    }

    /// A value as text, converted as `String(value)` does it; surrogates without a partner are replaced.
    pub(crate) fn text(self, value: RawValue<'_>) -> Result<String, Thrown> {
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
        // SAFETY: the atom is alive. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_AtomToString(self.raw, atom)) }
    }

    /// Takes the pending exception.
    pub(crate) fn exception(self) -> Val {
        // SAFETY: the context is alive. The reference that comes back is owned.
        unsafe { self.own(qjs::JS_GetException(self.raw)) }
    }

    /// Runs a script (not a module) and returns its value. `source` must end with NUL.
    pub(crate) fn eval(self, source: &CStr, name: &CStr) -> Result<Val, Thrown> {
        let length = source.to_bytes().len();
        let flags = (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT) as c_int;
        // SAFETY: both texts are terminated. The reference that comes back is owned.
        unsafe {
            self.check(qjs::JS_Eval(
                self.raw,
                source.as_ptr(),
                length as _,
                name.as_ptr(),
                flags,
            ))
        }
    }
}

/// Resizes a buffer's memory, or frees it if that is 0.
// SAFETY: called by QuickJS alone, with a block that it allocated.
unsafe extern "C" fn resize_block(
    runtime: *mut qjs::JSRuntime,
    _: *mut std::ffi::c_void,
    block: *mut std::ffi::c_void,
    size: qjs::size_t,
) -> *mut std::ffi::c_void {
    // SAFETY: QuickJS calls this with its runtime and a block of that runtime, as `js_realloc_rt` needs.
    unsafe { qjs::js_realloc_rt(runtime, block, size) }
}
