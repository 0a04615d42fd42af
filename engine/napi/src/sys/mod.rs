//! Node-API with results instead of status codes.
//!
//! The rules that make it sound, for the whole crate:
//!
//! - An [`Env`] is used on the thread of its JavaScript runtime only. It is neither `Send` nor `Sync`.
//! - A [`Js`] is a handle. Its lifetime is that of the scope in which it was made: that of the native function that got
//!   it, or a [`Scope`] of ours. What must live longer is a [`Ref`].
//! - Every call of Node-API checks its handles and says so by its status; a handle of the wrong type is an error, never
//!   a fault.
//! - A function that JavaScript calls catches panics.

pub(crate) mod function;

pub use sampan_js_contract::Thrown;
pub(crate) use sampan_js_contract::{Failure, Kind};

use napi_sys as sys;
use napi_sys::{Status, TypedarrayType, ValueType};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, Ordering};

/// A handle of a JavaScript value, in a scope that is open for `'s`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Js<'s>(sys::napi_value, PhantomData<&'s ()>);

impl Js<'_> {
    /// No value: every question about it fails.
    pub(crate) const NONE: Js<'static> = Js(null_mut(), PhantomData);

    /// A handle that Node-API gave.
    ///
    /// # Safety
    /// It must be of the environment of this thread, and live for as long as the lifetime says.
    pub unsafe fn from_raw(value: sys::napi_value) -> Self {
        Self(value, PhantomData)
    }

    /// Returns the handle as Node-API has it.
    pub fn raw(self) -> sys::napi_value {
        self.0
    }
}

/// The environment of one JavaScript runtime. Handles are made in a scope only: see [`Env`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment(sys::napi_env);

/// An environment with a handle scope that is open for `'s`, in which handles are made.
#[derive(Clone, Copy, Debug)]
pub struct Env<'s>(sys::napi_env, PhantomData<&'s ()>);

#[inline]
fn check(status: sys::napi_status) -> Result<(), Thrown> {
    if status == Status::napi_ok {
        Ok(())
    } else {
        Err(Thrown)
    }
}

/// Asks Node-API for a value.
macro_rules! ask {
    ($function:ident, $env:expr $(, $argument:expr)*) => {{
        let mut result = null_mut();
        // SAFETY: the environment is that of this thread, each `Js` is a handle whose scope is open for its lifetime,
        // and the result is a local variable that Node-API writes.
        let status = unsafe { sys::$function($env.0 $(, $argument)*, &raw mut result) };
        check(status).map(|()| Js(result, PhantomData))
    }};
}

impl Environment {
    /// The environment in the scope that is open.
    ///
    /// # Safety
    /// The innermost scope that is open now must stay open for `'s`.
    pub(crate) unsafe fn in_scope<'s>(self) -> Env<'s> {
        Env(self.0, PhantomData)
    }

    /// Opens a scope: the handles that are made until it ends go with it.
    ///
    /// # Safety
    /// While it is open, an [`Env`] of a scope around it must not make handles that are used after its end.
    pub unsafe fn scope(self) -> Scope {
        let mut scope = null_mut();
        // SAFETY: the result is writable; where the call fails it stays null.
        let _ = unsafe { sys::napi_open_handle_scope(self.0, &raw mut scope) };
        Scope { env: self, scope }
    }
}

impl<'s> Env<'s> {
    /// The environment that Node-API hands to a module or a callback.
    ///
    /// # Safety
    /// It must belong to this thread, and be live for `'s`, with a scope open: that of the call.
    pub unsafe fn from_raw(env: sys::napi_env) -> Self {
        Self(env, PhantomData)
    }

    /// The environment alone.
    pub fn environment(self) -> Environment {
        Environment(self.0)
    }

    /// Returns the environment as Node-API has it.
    pub fn raw(self) -> sys::napi_env {
        self.0
    }

    /// `undefined`.
    pub fn undefined(self) -> Js<'s> {
        ask!(napi_get_undefined, self).unwrap_or(Js::NONE)
    }

    pub(crate) fn null(self) -> Js<'s> {
        ask!(napi_get_null, self).unwrap_or(Js::NONE)
    }

    /// `true` or `false`.
    pub fn boolean(self, value: bool) -> Js<'s> {
        ask!(napi_get_boolean, self, value).unwrap_or(Js::NONE)
    }

    /// A number.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn number(self, value: f64) -> Result<Js<'s>, Thrown> {
        ask!(napi_create_double, self, value)
    }

    /// A `Date`, by its milliseconds since 1970; an invalid one beyond the range of dates.
    pub(crate) fn date(self, millis: f64) -> Result<Js<'s>, Thrown> {
        ask!(napi_create_date, self, millis)
    }

    #[inline]
    pub(crate) fn whole(self, value: i32) -> Result<Js<'s>, Thrown> {
        ask!(napi_create_int32, self, value)
    }

    pub(crate) fn big_int(self, value: i64) -> Result<Js<'s>, Thrown> {
        ask!(napi_create_bigint_int64, self, value)
    }

    /// An empty object.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn object(self) -> Result<Js<'s>, Thrown> {
        ask!(napi_create_object, self)
    }

    /// An array of these.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn array(self, items: &[Js<'_>]) -> Result<Js<'s>, Thrown> {
        let array = ask!(napi_create_array_with_length, self, items.len())?;
        for (at, item) in items.iter().enumerate() {
            self.set_at(array, at as u32, *item)?;
        }
        Ok(array)
    }

    /// A string.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    #[inline]
    pub fn string(self, text: &str) -> Result<Js<'s>, Thrown> {
        self.string_from(text.as_bytes())
    }

    /// A string of bytes that are UTF-8. ASCII takes a quicker way.
    #[inline]
    pub(crate) fn string_from(self, text: &[u8]) -> Result<Js<'s>, Thrown> {
        let (start, length) = (text.as_ptr().cast::<c_char>(), text.len() as isize);
        if text.is_ascii() {
            return ask!(napi_create_string_latin1, self, start, length);
        }
        ask!(napi_create_string_utf8, self, start, length)
    }

    /// A string in which each byte is a character.
    pub(crate) fn latin1(self, text: &[u8]) -> Result<Js<'s>, Thrown> {
        let (start, length) = (text.as_ptr().cast::<c_char>(), text.len() as isize);
        ask!(napi_create_string_latin1, self, start, length)
    }

    /// A `Uint8Array` with a copy of the bytes.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<Js<'s>, Thrown> {
        let mut start: *mut c_void = null_mut();
        let buffer = ask!(napi_create_arraybuffer, self, bytes.len(), &raw mut start)?;
        if !bytes.is_empty() {
            // SAFETY: the new buffer has room for so many bytes, and no other code knows it.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.cast::<u8>(), bytes.len());
            }
        }
        let kind = TypedarrayType::uint8_array;
        ask!(napi_create_typedarray, self, kind, bytes.len(), buffer.0, 0)
    }

    /// Memory that JavaScript sees as an `ArrayBuffer`: the buffer and where it lies. It lies there for as long as the
    /// buffer lives.
    pub(crate) fn shared(self, length: usize) -> Result<(Js<'s>, *mut c_void), Thrown> {
        let mut start: *mut c_void = null_mut();
        let buffer = ask!(napi_create_arraybuffer, self, length, &raw mut start)?;
        Ok((buffer, start))
    }

    #[inline]
    pub(crate) fn kind(self, value: Js<'_>) -> Kind {
        let mut kind = ValueType::napi_undefined;
        // SAFETY: the handle is live, the result writable. Where the call fails it stays undefined.
        let _ = unsafe { sys::napi_typeof(self.0, value.0, &raw mut kind) };
        match kind {
            ValueType::napi_null => Kind::Null,
            ValueType::napi_boolean => Kind::Bool,
            ValueType::napi_number => Kind::Number,
            ValueType::napi_string => Kind::Text,
            ValueType::napi_symbol => Kind::Symbol,
            ValueType::napi_object | ValueType::napi_external => Kind::Object,
            ValueType::napi_function => Kind::Function,
            ValueType::napi_bigint => Kind::BigInt,
            _ => Kind::Undefined,
        }
    }

    /// Reports whether a value is `true`.
    pub fn is_true(self, value: Js<'_>) -> bool {
        let mut is_true = false;
        // SAFETY: the handle is live, the result writable.
        let status = unsafe { sys::napi_get_value_bool(self.0, value.0, &raw mut is_true) };
        status == Status::napi_ok && is_true
    }

    /// The number that a value is.
    #[inline]
    pub fn number_of(self, value: Js<'_>) -> Option<f64> {
        let mut number = 0.0;
        // SAFETY: the handle is live, the result writable.
        let status = unsafe { sys::napi_get_value_double(self.0, value.0, &raw mut number) };
        (status == Status::napi_ok).then_some(number)
    }

    /// A BigInt of at most 64 bits.
    pub(crate) fn big_int_of(self, value: Js<'_>) -> Option<i64> {
        let (mut number, mut is_exact) = (0, false);
        // SAFETY: the handle is live, the results writable.
        let status = unsafe {
            sys::napi_get_value_bigint_int64(self.0, value.0, &raw mut number, &raw mut is_exact)
        };
        (status == Status::napi_ok && is_exact).then_some(number)
    }

    #[inline]
    pub(crate) fn is_array(self, value: Js<'_>) -> bool {
        let mut is_array = false;
        // SAFETY: the handle is live, the result writable.
        let _ = unsafe { sys::napi_is_array(self.0, value.0, &raw mut is_array) };
        is_array
    }

    /// The length of an array.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn length(self, array: Js<'_>) -> Result<u32, Thrown> {
        let mut length = 0;
        // SAFETY: the handle is live, the result writable.
        check(unsafe { sys::napi_get_array_length(self.0, array.0, &raw mut length) })?;
        Ok(length)
    }

    /// Appends the text of a string, as UTF-8; surrogates without a partner are replaced.
    pub(crate) fn append_text(self, value: Js<'_>, out: &mut Vec<u8>) -> Result<(), Thrown> {
        /// Most texts fit, and then one call is enough.
        const ROOM: usize = 512;
        let begin = out.len();
        out.reserve(ROOM);
        let room = out.capacity() - begin;
        let written = self.write_text(value, out, room)?;
        // The longest character has four bytes, and a zero ends the text: with less room left there may be more.
        if written + 5 <= room {
            return Ok(());
        }
        let mut length = 0;
        // SAFETY: the handle is live, the result writable; no text is written where there is no room for any.
        check(unsafe {
            sys::napi_get_value_string_utf8(self.0, value.0, null_mut(), 0, &raw mut length)
        })?;
        out.truncate(begin);
        out.reserve(length + 1);
        self.write_text(value, out, length + 1)?;
        Ok(())
    }

    /// Appends as much of a text as `room` bytes hold, with a zero behind it that is not counted.
    fn write_text(self, value: Js<'_>, out: &mut Vec<u8>, room: usize) -> Result<usize, Thrown> {
        let (begin, mut written) = (out.len(), 0);
        debug_assert!(out.capacity() - begin >= room);
        // SAFETY: the handle is live, the vector has room for so many bytes behind its end, and so many as are said to
        // be written are.
        unsafe {
            let start = out.as_mut_ptr().add(begin).cast::<c_char>();
            check(sys::napi_get_value_string_utf8(
                self.0,
                value.0,
                start,
                room,
                &raw mut written,
            ))?;
            out.set_len(begin + written);
        }
        Ok(written)
    }

    /// The text of a string.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn text(self, value: Js<'_>) -> Result<String, Thrown> {
        let mut bytes = Vec::new();
        self.append_text(value, &mut bytes)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// A property.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn get(self, object: Js<'_>, name: &str) -> Result<Js<'s>, Thrown> {
        let key = self.string(name)?;
        self.get_by(object, key)
    }

    pub(crate) fn get_by(self, object: Js<'_>, key: Js<'_>) -> Result<Js<'s>, Thrown> {
        ask!(napi_get_property, self, object.0, key.0)
    }

    /// Sets a property; the name has no zero byte.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn set(self, object: Js<'_>, name: &str, value: Js<'_>) -> Result<(), Thrown> {
        let name = CString::new(name).map_err(|_| Thrown)?;
        // SAFETY: the handles are live, the name ends with a zero.
        check(unsafe { sys::napi_set_named_property(self.0, object.0, name.as_ptr(), value.0) })
    }

    /// Defines an own property of any name, which becomes an own property whatever it is called.
    pub(crate) fn define(self, object: Js<'_>, name: &str, value: Js<'_>) -> Result<(), Thrown> {
        let property = sys::napi_property_descriptor {
            utf8name: std::ptr::null(),
            name: self.string(name)?.0,
            method: None,
            getter: None,
            setter: None,
            value: value.0,
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: null_mut(),
        };
        // SAFETY: the handles are live, and there is one descriptor.
        check(unsafe { sys::napi_define_properties(self.0, object.0, 1, &raw const property) })
    }

    /// An item of an array.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    #[inline]
    pub fn at(self, array: Js<'_>, index: u32) -> Result<Js<'s>, Thrown> {
        ask!(napi_get_element, self, array.0, index)
    }

    #[inline]
    pub(crate) fn set_at(self, array: Js<'_>, index: u32, value: Js<'_>) -> Result<(), Thrown> {
        // SAFETY: the environment is that of this thread, and each `Js` is a handle whose scope is still open.
        check(unsafe { sys::napi_set_element(self.0, array.0, index, value.0) })
    }

    /// The names of an object's own enumerable properties that are strings, as an array.
    pub(crate) fn keys(self, object: Js<'_>) -> Result<Js<'s>, Thrown> {
        ask!(
            napi_get_all_property_names,
            self,
            object.0,
            sys::KeyCollectionMode::own_only,
            sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols,
            sys::KeyConversion::numbers_to_strings
        )
    }

    /// Calls a function without `this`.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    #[inline]
    pub fn call(self, function: Js<'_>, args: &[Js<'_>]) -> Result<Js<'s>, Thrown> {
        let this = self.undefined();
        ask!(
            napi_call_function,
            self,
            this.0,
            function.0,
            args.len(),
            args.as_ptr().cast()
        )
    }

    /// Runs a script of ours, and gives its value.
    pub(crate) fn run(self, script: &str) -> Result<Js<'s>, Thrown> {
        let script = self.string(script)?;
        ask!(napi_run_script, self, script.0)
    }

    /// Throws a value.
    pub fn throw(self, value: Js<'_>) {
        // SAFETY: the environment is that of this thread, and the `Js` is a handle whose scope is still open.
        let _ = unsafe { sys::napi_throw(self.0, value.0) };
    }

    /// Takes the pending exception; nothing where none is.
    pub fn exception(self) -> Option<Js<'s>> {
        let mut is_pending = false;
        // SAFETY: the environment is that of this thread, and `is_pending` is a local variable that Node-API writes.
        let _ = unsafe { sys::napi_is_exception_pending(self.0, &raw mut is_pending) };
        if !is_pending {
            return None;
        }
        ask!(napi_get_and_clear_last_exception, self).ok()
    }

    /// Drops the pending exception, if there is one.
    pub(crate) fn clear(self) {
        let _dropped = self.exception();
    }

    /// A promise, and what settles it.
    pub(crate) fn promise(self) -> Result<(Deferred, Js<'s>), Thrown> {
        let mut deferred = null_mut();
        let promise = ask!(napi_create_promise, self, &raw mut deferred)?;
        Ok((Deferred(deferred), promise))
    }

    /// Settles a promise.
    pub(crate) fn settle(self, deferred: Deferred, result: Result<Js<'_>, Js<'_>>) {
        // SAFETY: a deferred is settled once, since this takes it; the handle is live.
        let _ = unsafe {
            match result {
                Ok(value) => sys::napi_resolve_deferred(self.0, deferred.0, value.0),
                Err(reason) => sys::napi_reject_deferred(self.0, deferred.0, reason.0),
            }
        };
    }

    /// Appends the bytes of an `ArrayBuffer` or of a view of one. Reports whether the value is one.
    pub(crate) fn append_bytes(self, value: Js<'_>, out: &mut Vec<u8>) -> bool {
        let Some(place) = self.place_of_bytes(value) else {
            return false;
        };
        let (start, length) = (place.start.cast::<u8>(), place.length);
        if length == 0 || start.is_null() {
            return true;
        }
        if place.is_shared {
            // SAFETY: the value is alive, and so is its memory. Another thread of the platform may write to it at the
            // same time, so each byte is read as an atomic one.
            out.extend(
                (0..length)
                    .map(|at| unsafe { AtomicU8::from_ptr(start.add(at)).load(Ordering::Relaxed) }),
            );
        } else {
            // SAFETY: the value is alive, and so is its memory, which only this thread can reach. No script runs before
            // the bytes are copied.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(start, length) });
        }
        true
    }

    fn place_of_bytes(self, value: Js<'_>) -> Option<BytesPlace> {
        let (mut start, mut length) = (null_mut(), 0_usize);
        let (mut buffer, mut offset) = (null_mut(), 0_usize);
        let (mut is_it, mut is_buffer) = (false, false);
        // SAFETY: the handle is live, the results writable. Each question is asked only where the one before says that
        // it may be.
        let status = unsafe {
            let env = self.0;
            let _ = sys::napi_is_arraybuffer(env, value.0, &raw mut is_buffer);
            if is_buffer {
                sys::napi_get_arraybuffer_info(env, value.0, &raw mut start, &raw mut length)
            } else {
                let mut kind = KIND_UNKNOWN;
                let _ = sys::napi_is_typedarray(env, value.0, &raw mut is_it);
                let status = if is_it {
                    sys::napi_get_typedarray_info(
                        env,
                        value.0,
                        &raw mut kind,
                        &raw mut length,
                        &raw mut start,
                        &raw mut buffer,
                        &raw mut offset,
                    )
                } else {
                    let _ = sys::napi_is_dataview(env, value.0, &raw mut is_it);
                    if !is_it {
                        return None;
                    }
                    // Its length is in bytes.
                    kind = TypedarrayType::uint8_array;
                    sys::napi_get_dataview_info(
                        env,
                        value.0,
                        &raw mut length,
                        &raw mut start,
                        &raw mut buffer,
                        &raw mut offset,
                    )
                };
                length *= bytes_of_element(kind);
                // A `SharedArrayBuffer` is not an `ArrayBuffer`.
                let _ = sys::napi_is_arraybuffer(env, buffer, &raw mut is_buffer);
                status
            }
        };
        (status == Status::napi_ok).then_some(BytesPlace {
            start,
            length,
            is_shared: !is_buffer,
        })
    }

    /// Keeps an object or function.
    ///
    /// # Errors
    /// An exception is pending, or a value is of the wrong type.
    pub fn keep(self, value: Js<'_>) -> Result<Ref, Thrown> {
        let mut raw = null_mut();
        // SAFETY: the handle is live, the result writable.
        check(unsafe { sys::napi_create_reference(self.0, value.0, 1, &raw mut raw) })?;
        Ok(Ref {
            env: self.environment(),
            raw,
        })
    }
}

/// The memory of some bytes, which stays until a script runs.
struct BytesPlace {
    start: *mut c_void,
    /// The number of bytes.
    length: usize,
    /// True if other threads may reach the memory.
    is_shared: bool,
}

/// The kind of an array for which the platform has written none.
const KIND_UNKNOWN: sys::napi_typedarray_type = -1;

/// Returns the size of an element of a typed array, in bytes. A `Float16Array` has a kind of its own on some platforms,
/// and none that is written on others: it is the only one that has no name here.
fn bytes_of_element(kind: sys::napi_typedarray_type) -> usize {
    match kind {
        TypedarrayType::int8_array
        | TypedarrayType::uint8_array
        | TypedarrayType::uint8_clamped_array => 1,
        TypedarrayType::int32_array
        | TypedarrayType::uint32_array
        | TypedarrayType::float32_array => 4,
        TypedarrayType::float64_array
        | TypedarrayType::bigint64_array
        | TypedarrayType::biguint64_array => 8,
        _ => 2,
    }
}

/// Settles one promise.
pub(crate) struct Deferred(sys::napi_deferred);

/// A value that is kept.
pub struct Ref {
    env: Environment,
    raw: sys::napi_ref,
}

impl Ref {
    /// A handle of it.
    #[inline]
    pub fn get<'s>(&self, env: Env<'s>) -> Js<'s> {
        // It cannot fail: the reference is strong.
        ask!(napi_get_reference_value, env, self.raw).unwrap_or(Js::NONE)
    }
}

thread_local! {
    /// True if the environment of this thread has ended: then nothing of it may be touched.
    static HAS_ENDED: Cell<bool> = const { Cell::new(false) };
}

/// The environment of this thread has ended. To be called by its cleanup hook.
pub fn end() {
    HAS_ENDED.set(true);
}

/// Reports whether the environment of this thread has ended.
pub(crate) fn has_ended() -> bool {
    HAS_ENDED.get()
}

impl Drop for Ref {
    fn drop(&mut self) {
        if has_ended() {
            return;
        }
        // SAFETY: the reference is owned, and dropped on the thread of its environment.
        let _ = unsafe { sys::napi_delete_reference(self.env.0, self.raw) };
    }
}

/// A handle scope.
pub struct Scope {
    env: Environment,
    scope: sys::napi_handle_scope,
}

impl Scope {
    /// The environment, which makes handles in this scope.
    pub fn env(&self) -> Env<'_> {
        // SAFETY: the scope stays open while it is borrowed. Scopes within it end before it, and their handles are not
        // those of this `Env`, as is promised where they are opened.
        unsafe { self.env.in_scope() }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if !self.scope.is_null() {
            // SAFETY: scopes end in the reverse order of their beginning, as values of Rust do.
            let _ = unsafe { sys::napi_close_handle_scope(self.env.0, self.scope) };
        }
    }
}
