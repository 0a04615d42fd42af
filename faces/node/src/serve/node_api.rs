//! The few things of Node-API that `serve` needs.
//!
//! All of it is used on the JavaScript thread, inside of a call from JavaScript. Node-API checks every handle, and
//! tells by its status what is wrong with one; then the functions here give nothing.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use napi_sys as sys;
use napi_sys::Status;

pub(super) type Js = sys::napi_value;

/// The call of a native function: its arguments.
pub(super) struct NativeCall {
    pub(super) env: sys::napi_env,
    args: [Js; ARGS_MAX],
}

const ARGS_MAX: usize = 10;

/// The body of a native function. An error is thrown.
pub(super) type Body = fn(&NativeCall) -> Result<Js, String>;

impl NativeCall {
    /// The whole number that an argument is; 0 if it is none.
    pub(super) fn int(&self, index: usize) -> i32 {
        let mut value = 0;
        // SAFETY: `env` and the handle are those of the call that runs, and `value` is a local variable for the result.
        let _ = unsafe { sys::napi_get_value_int32(self.env, self.args[index], &raw mut value) };
        value
    }

    /// The number that an argument is.
    pub(super) fn number(&self, index: usize) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: `env` and the handle are those of the call that runs, and `value` is a local variable for the result.
        let status =
            unsafe { sys::napi_get_value_double(self.env, self.args[index], &raw mut value) };
        (status == Status::napi_ok).then_some(value)
    }

    pub(super) fn bool(&self, index: usize) -> bool {
        let mut value = false;
        // SAFETY: `env` and the handle are those of the call that runs, and `value` is a local variable for the result.
        let _ = unsafe { sys::napi_get_value_bool(self.env, self.args[index], &raw mut value) };
        value
    }

    /// The text of a string, as UTF-8.
    pub(super) fn text(&self, index: usize) -> Option<String> {
        let bytes = self.string_bytes(index, sys::napi_get_value_string_utf8)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The bytes of a string in which each character is one byte.
    pub(super) fn latin1(&self, index: usize) -> Option<Vec<u8>> {
        self.string_bytes(index, sys::napi_get_value_string_latin1)
    }

    fn string_bytes(&self, index: usize, get: GetString) -> Option<Vec<u8>> {
        let mut len = 0;
        let value = self.args[index];
        // SAFETY: without a buffer it only tells the length.
        if unsafe { get(self.env, value, null_mut(), 0, &raw mut len) } != Status::napi_ok {
            return None;
        }
        let mut bytes = vec![0u8; len + 1];
        // SAFETY: the buffer has as many bytes as it is said to have.
        let status = unsafe {
            get(
                self.env,
                value,
                bytes.as_mut_ptr().cast::<c_char>(),
                bytes.len(),
                &raw mut len,
            )
        };
        bytes.truncate(len);
        (status == Status::napi_ok).then_some(bytes)
    }

    /// The memory of a typed array: where it begins, and how many elements it has.
    fn typed(&self, index: usize, kind: sys::napi_typedarray_type) -> Option<(*mut c_void, usize)> {
        let (mut found, mut len, mut start) = (0, 0, null_mut());
        // SAFETY: a live handle and writable results; what is not asked for may be null.
        let status = unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                self.args[index],
                &raw mut found,
                &raw mut len,
                &raw mut start,
                null_mut(),
                null_mut(),
            )
        };
        (status == Status::napi_ok && found == kind && (len == 0 || !start.is_null()))
            .then_some((start, len))
    }

    /// A copy of the bytes of a `Uint8Array`.
    pub(super) fn bytes(&self, index: usize) -> Option<Vec<u8>> {
        let (start, len) = self.typed(index, sys::TypedarrayType::uint8_array)?;
        if len == 0 {
            return Some(Vec::new());
        }
        // SAFETY: the array has so many bytes there, and no JavaScript runs while they are copied.
        Some(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
    }

    /// Shows the memory of an `Int32Array` and of the `Uint8Array` behind it among the arguments. They must not
    /// overlap.
    pub(super) fn with_memory<R>(
        &self,
        index: usize,
        body: impl FnOnce(&mut [i32], &mut [u8]) -> R,
    ) -> Result<R, String> {
        let fault = || "the memory of a batch is missing".to_owned();
        let numbers = self
            .typed(index, sys::TypedarrayType::int32_array)
            .ok_or_else(fault)?;
        let bytes = self
            .typed(index + 1, sys::TypedarrayType::uint8_array)
            .ok_or_else(fault)?;
        let (numbers_start, bytes_start) = (numbers.0 as usize, bytes.0 as usize);
        let is_apart =
            numbers_start + 4 * numbers.1 <= bytes_start || bytes_start + bytes.1 <= numbers_start;
        if numbers.1 == 0 || bytes.1 == 0 || !is_apart {
            return Err(fault());
        }
        // SAFETY: the arrays have so many elements there, they do not overlap, and no JavaScript runs inside of `body`:
        // it has no way to call any.
        let (numbers, bytes) = unsafe {
            (
                std::slice::from_raw_parts_mut(numbers.0.cast::<i32>(), numbers.1),
                std::slice::from_raw_parts_mut(bytes.0.cast::<u8>(), bytes.1),
            )
        };
        Ok(body(numbers, bytes))
    }

    pub(super) fn undefined(&self) -> Js {
        let mut result = null_mut();
        // SAFETY: `env` is that of the call that runs, and `result` is a local variable that Node-API writes.
        let _ = unsafe { sys::napi_get_undefined(self.env, &raw mut result) };
        result
    }

    pub(super) fn whole(&self, value: i32) -> Js {
        let mut result = null_mut();
        // SAFETY: `env` is that of the call that runs, and `result` is a local variable that Node-API writes.
        let _ = unsafe { sys::napi_create_int32(self.env, value, &raw mut result) };
        result
    }

    pub(super) fn truth(&self, value: bool) -> Js {
        let mut result = null_mut();
        // SAFETY: `env` is that of the call that runs, and `result` is a local variable that Node-API writes.
        let _ = unsafe { sys::napi_get_boolean(self.env, value, &raw mut result) };
        result
    }

    pub(super) fn string(&self, text: &str) -> Js {
        let mut result = null_mut();
        let start = text.as_ptr().cast::<c_char>();
        // SAFETY: the text has its length; a writable result.
        let _ = unsafe {
            sys::napi_create_string_utf8(self.env, start, text.len() as isize, &raw mut result)
        };
        result
    }

    /// A string with one character for each byte.
    pub(super) fn string_of_bytes(&self, bytes: &[u8]) -> Js {
        let mut result = null_mut();
        let start = bytes.as_ptr().cast::<c_char>();
        // SAFETY: the bytes have their length; a writable result.
        let _ = unsafe {
            sys::napi_create_string_latin1(self.env, start, bytes.len() as isize, &raw mut result)
        };
        result
    }

    /// A `Uint8Array` with a copy of the bytes.
    pub(super) fn bytes_of(&self, bytes: &[u8]) -> Js {
        let (mut start, mut buffer, mut result) = (null_mut(), null_mut(), null_mut());
        // SAFETY: writable results; the new buffer has room for the bytes, and has no other owner.
        unsafe {
            let status = sys::napi_create_arraybuffer(
                self.env,
                bytes.len(),
                &raw mut start,
                &raw mut buffer,
            );
            if status == Status::napi_ok && !bytes.is_empty() {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.cast::<u8>(), bytes.len());
            }
            let kind = sys::TypedarrayType::uint8_array;
            let _ = sys::napi_create_typedarray(
                self.env,
                kind,
                bytes.len(),
                buffer,
                0,
                &raw mut result,
            );
        }
        result
    }

    pub(super) fn array(&self, items: &[Js]) -> Js {
        let mut result = null_mut();
        // SAFETY: `env` and the handles are those of the call that runs, and `result` is a local variable for the
        // result.
        unsafe {
            let _ = sys::napi_create_array_with_length(self.env, items.len(), &raw mut result);
            for (at, item) in items.iter().enumerate() {
                let _ = sys::napi_set_element(self.env, result, at as u32, *item);
            }
        }
        result
    }

    /// Returns a caller that calls a function among the arguments from any thread, each time without arguments.
    pub(super) fn caller(&self, index: usize) -> Result<Caller, String> {
        let name = self.string("sampan");
        let mut raw = null_mut();
        // SAFETY: the argument is checked to be a function by Node-API, and all that may be null is.
        let status = unsafe {
            sys::napi_create_threadsafe_function(
                self.env,
                self.args[index],
                null_mut(),
                name,
                0,
                1,
                null_mut(),
                None,
                null_mut(),
                None,
                &raw mut raw,
            )
        };
        match status {
            Status::napi_ok => Ok(Caller(raw)),
            _ => Err("the function to wake is missing".into()),
        }
    }
}

type GetString = unsafe fn(sys::napi_env, Js, *mut c_char, usize, *mut usize) -> sys::napi_status;

/// Calls one JavaScript function from any thread. The program stays alive while it is there, unless [`Caller::hold`]
/// says otherwise.
pub(super) struct Caller(sys::napi_threadsafe_function);

// SAFETY: Node-API lets any thread call a thread-safe function and release it; `hold` takes the environment, which only
// its own thread has.
unsafe impl Send for Caller {}
// SAFETY: all that is done with it are calls of thread-safe functions, which any number of threads may make at once.
unsafe impl Sync for Caller {}

impl Caller {
    /// Has it called soon.
    pub(super) fn call(&self) {
        let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
        // SAFETY: the function was made by `caller` and is released only when this is dropped, so it is live.
        let _ = unsafe { sys::napi_call_threadsafe_function(self.0, null_mut(), mode) };
    }

    /// Reports whether it keeps the program alive.
    pub(super) fn hold(&self, env: sys::napi_env, is_held: bool) {
        // SAFETY: the environment is that of this thread, and the function is live.
        let _ = unsafe {
            match is_held {
                true => sys::napi_ref_threadsafe_function(env, self.0),
                false => sys::napi_unref_threadsafe_function(env, self.0),
            }
        };
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mode = sys::ThreadsafeFunctionReleaseMode::abort;
        // SAFETY: this value owns the function, releases it once, and does not use it afterwards.
        let _ = unsafe { sys::napi_release_threadsafe_function(self.0, mode) };
    }
}

/// Adds native functions to an object.
///
/// # Safety
/// `env` is the environment of this thread, `object` a live handle.
pub(super) unsafe fn define(env: sys::napi_env, object: Js, functions: &'static [(&CStr, Body)]) {
    for function in functions {
        let (name, _) = function;
        let mut made = null_mut();
        // SAFETY: the name ends with a zero, the callback is of the right type, and the data it gets is static.
        unsafe {
            let status = sys::napi_create_function(
                env,
                name.as_ptr(),
                name.count_bytes() as isize,
                Some(called),
                std::ptr::from_ref(function).cast_mut().cast::<c_void>(),
                &raw mut made,
            );
            if status == Status::napi_ok {
                let _ = sys::napi_set_named_property(env, object, name.as_ptr(), made);
            }
        }
    }
}

/// Calls `end` when the environment goes: its thread ends, or the process.
///
/// # Safety
/// `env` is the environment of this thread.
pub(super) unsafe fn at_end(env: sys::napi_env, end: unsafe extern "C" fn(*mut c_void)) {
    // SAFETY: the caller promises that `env` is this thread's environment.
    let _ = unsafe { sys::napi_add_env_cleanup_hook(env, Some(end), null_mut()) };
}

// SAFETY: called by Node-API alone, with the environment of this thread.
unsafe extern "C" fn called(env: sys::napi_env, info: sys::napi_callback_info) -> Js {
    let mut call = NativeCall {
        env,
        args: [null_mut(); ARGS_MAX],
    };
    let (mut count, mut data) = (ARGS_MAX, null_mut());
    // SAFETY: the results are writable, and there is room for so many arguments. Missing ones become undefined.
    unsafe {
        let _ = sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            call.args.as_mut_ptr(),
            null_mut(),
            &raw mut data,
        );
    }
    // SAFETY: each function was made with a static entry.
    let (_, body) = unsafe { &*data.cast::<(&CStr, Body)>() };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&call)));
    let text = match result {
        Ok(Ok(value)) => return value,
        Ok(Err(text)) => text,
        Err(_) => "a native function panicked".to_owned(),
    };
    let mut error = null_mut();
    // SAFETY: `env` and the handles are those of the call that runs, and `error` is a local variable for the result.
    unsafe {
        let text = call.string(&text);
        let _ = sys::napi_create_error(env, null_mut(), text, &raw mut error);
        let _ = sys::napi_throw(env, error);
    }
    null_mut()
}
