//! The server's own scripts. The first isolate of a process compiles them, and the others read the bytecode of that:
//! half of what an isolate costs would be compiling the same texts again.

use super::{Cx, Thrown, Val};
use rquickjs::{Ctx, Error, Function, Value, qjs};
use std::ffi::{CString, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytecode by the address of its text, for as long as the process lives.
static COMPILED: Mutex<Vec<(usize, &'static [u8])>> = Mutex::new(Vec::new());

fn compiled() -> MutexGuard<'static, Vec<(usize, &'static [u8])>> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytecode_of(source: &'static str) -> Option<&'static [u8]> {
    let compiled = compiled();
    let found = compiled
        .iter()
        .find(|(address, _)| *address == source.as_ptr() as usize);
    found.map(|(_, bytecode)| *bytecode)
}

/// The function that a script of the server's own gives.
pub(crate) fn own_function<'js>(
    ctx: &Ctx<'js>,
    source: &'static str,
    name: &str,
) -> rquickjs::Result<Function<'js>> {
    // SAFETY: the context is alive. The reference is given on to the value, which belongs to the same context.
    let made = unsafe {
        let cx = Cx::from_raw(ctx.as_raw().as_ptr());
        let made = cx.run_own(source, name);
        let made = made.map_err(|Thrown| Error::Exception)?;
        Value::from_raw(ctx.clone(), made.into_raw())
    };
    made.into_function().ok_or(Error::Unknown)
}

impl Cx<'_> {
    /// Runs a script of the server's own (not a module) in strict mode, and returns its value.
    pub(crate) fn run_own(self, source: &'static str, name: &str) -> Result<Val, Thrown> {
        let script = match bytecode_of(source) {
            None => self.compile_own(source, name)?,
            Some(bytes) => {
                let flags = qjs::JS_READ_OBJ_BYTECODE as c_int;
                // SAFETY: the context is alive, and the bytes are what this process has written. The reference that
                // comes back is owned.
                unsafe {
                    self.check(qjs::JS_ReadObject(
                        self.raw(),
                        bytes.as_ptr(),
                        bytes.len() as _,
                        flags,
                    ))
                }?
            }
        };
        // SAFETY: the context is alive; the call takes the script over. The reference that comes back is owned.
        unsafe { self.check(qjs::JS_EvalFunction(self.raw(), script.into_raw())) }
    }

    /// The script as a function of bytecode, which is kept.
    fn compile_own(self, source: &'static str, name: &str) -> Result<Val, Thrown> {
        let terminated = |text: &str| CString::new(text).expect("no script of ours has a NUL");
        let (text, file) = (terminated(source), terminated(name));
        let flags =
            qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
        // SAFETY: both texts are terminated. The reference that comes back is owned.
        let script = unsafe {
            self.check(qjs::JS_Eval(
                self.raw(),
                text.as_ptr(),
                source.len() as _,
                file.as_ptr(),
                flags as c_int,
            ))
        }?;
        let mut length = 0;
        // SAFETY: the script is alive; the block belongs to the context and is given back to it.
        unsafe {
            let flags = qjs::JS_WRITE_OBJ_BYTECODE as c_int;
            let bytes = qjs::JS_WriteObject(self.raw(), &raw mut length, script.js(), flags);
            if bytes.is_null() {
                // No memory for it: the next isolate compiles again.
                drop(self.exception());
                return Ok(script);
            }
            let kept = std::slice::from_raw_parts(bytes, length as usize).to_vec();
            qjs::js_free(self.raw(), bytes.cast());
            compiled().push((source.as_ptr() as usize, Vec::leak(kept)));
        }
        Ok(script)
    }
}
