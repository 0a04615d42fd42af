//! Functions of ours that JavaScript calls.

use super::{Env, Failure, Js, Thrown};
use crate::vm::core::{Core, Cx};
use crate::vm::error;
use napi_sys as sys;
use sampan_host::{Error, ErrorKind};
use sampan_js_contract::{self as contract, BoundRow};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};

/// A native function of the prelude does.
pub(crate) type Native = for<'a> fn(Cx<'a>, &[Js<'a>]) -> Result<Js<'a>, Failure>;

/// The data behind a function. It is never freed: functions are made once for each isolate, and Node-API does not tell
/// when the last is gone.
struct Behind {
    core: Weak<Core>,
    what: What,
}

enum What {
    Native(Native),
    Contract(contract::Native),
    Row(BoundRow),
}

/// Most calls have no more arguments than this.
const ARGUMENTS_AT_ONCE: usize = 8;

fn make<'a>(env: Env<'a>, name: &str, core: &Rc<Core>, what: What) -> Result<Js<'a>, Thrown> {
    let core = Rc::downgrade(core);
    let behind = Box::into_raw(Box::new(Behind { core, what }));
    let mut function = null_mut();
    // SAFETY: the name has its length; the callback is of the right type, and what it gets lives for ever.
    let status = unsafe {
        sys::napi_create_function(
            env.raw(),
            name.as_ptr().cast(),
            name.len() as isize,
            Some(called),
            behind.cast::<c_void>(),
            &raw mut function,
        )
    };
    // SAFETY: the handle is a new one, of the scope that `env` stands for.
    super::check(status).map(|()| unsafe { Js::from_raw(function) })
}

/// A function of the prelude.
pub(crate) fn make_function<'a>(cx: Cx<'a>, name: &str, native: Native) -> Result<Js<'a>, Thrown> {
    make(cx.env(), name, cx.core(), What::Native(native))
}

/// A function of the contract.
pub(crate) fn make_contract<'a>(
    cx: Cx<'a>,
    name: &str,
    native: contract::Native,
) -> Result<Js<'a>, Thrown> {
    make(cx.env(), name, cx.core(), What::Contract(native))
}

/// A row of a module as a function.
pub(crate) fn make_row<'a>(cx: Cx<'a>, name: &str, row: BoundRow) -> Result<Js<'a>, Thrown> {
    make(cx.env(), name, cx.core(), What::Row(row))
}

/// The function that JavaScript calls for each of our functions.
// SAFETY: called by Node-API alone, with the environment of this thread and what the function was made with.
unsafe extern "C" fn called(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node-API passes the environment of this thread, in which a scope is open until this returns.
    let env = unsafe { Env::from_raw(env) };
    let mut few = [Js::NONE; ARGUMENTS_AT_ONCE];
    let (mut count, mut this, mut behind) = (few.len(), null_mut(), null_mut());
    // SAFETY: the places are writable, and there is room for so many arguments.
    unsafe {
        let _ = sys::napi_get_cb_info(
            env.raw(),
            info,
            &raw mut count,
            few.as_mut_ptr().cast(),
            &raw mut this,
            &raw mut behind,
        );
    }
    let mut many = Vec::new();
    let args = if count <= few.len() {
        &few[..count]
    } else {
        many.resize(count, Js::NONE);
        // SAFETY: the places are writable, and `many` has room for `count` arguments.
        unsafe {
            let _ = sys::napi_get_cb_info(
                env.raw(),
                info,
                &raw mut count,
                many.as_mut_ptr().cast(),
                null_mut(),
                null_mut(),
            );
        }
        &many[..]
    };
    // SAFETY: the handle is of this call's scope; it is null if Node-API could not tell it.
    let this = unsafe { Js::from_raw(this) };
    // SAFETY: the pointer is null if Node-API could not tell it. Otherwise it is the one that `make` gave with this
    // function: a `Behind` that is never freed.
    let Some(behind) = (unsafe { behind.cast::<Behind>().as_ref() }) else {
        return thrown_plainly(env, "a native function was called without its data");
    };
    let Some(core) = behind.core.upgrade() else {
        return thrown_plainly(env, "this isolate has ended");
    };
    let cx = Cx::new(&core, env);
    let result = catch_unwind(AssertUnwindSafe(|| match &behind.what {
        What::Native(native) => native(cx, args),
        What::Contract(native) => native.call(cx, args),
        What::Row(row) => cx.turn(|| contract::call(cx, row, this, args)),
    }));
    let failure = match result {
        Ok(Ok(value)) => return value.raw(),
        Ok(Err(failure)) => failure,
        Err(_) => Error::new(ErrorKind::Internal, "a native function panicked").into(),
    };
    if let Failure::Error(error) = failure {
        error::throw(cx, &error);
    }
    null_mut()
}

fn thrown_plainly(env: Env<'_>, text: &str) -> sys::napi_value {
    if let Ok(text) = std::ffi::CString::new(text) {
        // SAFETY: `text` is a `CString`, which ends with zero and lives during the call; there need not be a code. The
        // environment is that of this thread.
        let _ = unsafe { sys::napi_throw_error(env.raw(), std::ptr::null(), text.as_ptr()) };
    }
    null_mut()
}

/// A function of a face; its error is thrown as an `Error`.
pub type Plain = for<'s> fn(Env<'s>, &[Js<'s>]) -> Result<Js<'s>, String>;

/// A function of a face.
///
/// # Errors
/// An exception is pending.
pub fn plain_function<'a>(env: Env<'a>, name: &str, plain: Plain) -> Result<Js<'a>, Thrown> {
    let mut function = null_mut();
    // SAFETY: the name has its length; the callback is of the right type, and gets the function pointer back as it is
    // given here.
    let status = unsafe {
        sys::napi_create_function(
            env.raw(),
            name.as_ptr().cast(),
            name.len() as isize,
            Some(plainly_called),
            plain as *mut c_void,
            &raw mut function,
        )
    };
    // SAFETY: the handle is a new one, of the scope that `env` stands for.
    super::check(status).map(|()| unsafe { Js::from_raw(function) })
}

// SAFETY: called by Node-API alone, with the environment of this thread and what the function was made with.
unsafe extern "C" fn plainly_called(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let mut args = [Js::NONE; ARGUMENTS_AT_ONCE];
    let (mut count, mut behind) = (args.len(), null_mut());
    // SAFETY: `env` is this thread's environment. The places are writable, and there is room for so many arguments. The
    // pointer is null if Node-API could not tell it, and `None` is null. Otherwise it is the one that `plain_function`
    // gave with this function: a `Plain`.
    let (env, plain) = unsafe {
        let _ = sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            args.as_mut_ptr().cast(),
            null_mut(),
            &raw mut behind,
        );
        (
            Env::from_raw(env),
            std::mem::transmute::<*mut c_void, Option<Plain>>(behind),
        )
    };
    let Some(plain) = plain else {
        return thrown_plainly(env, "a native function was called without its data");
    };
    let args = &args[..count.min(ARGUMENTS_AT_ONCE)];
    match catch_unwind(AssertUnwindSafe(|| plain(env, args))) {
        Ok(Ok(value)) => value.raw(),
        Ok(Err(text)) => thrown_plainly(env, &text),
        Err(_) => thrown_plainly(env, "a native function panicked"),
    }
}
