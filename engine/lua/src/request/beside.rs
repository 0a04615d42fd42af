//! A value that a handler returns behind its answer: an error, because an answer has no place for it.

use crate::vm::isolate::current;
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard};
use mlua_sys::lua51::*;
use sampan_host::{Error, Place, request};
use std::ffi::{CStr, c_char, c_int};

/// The second result of a handler. It has no destructor, so calls that may raise can follow.
#[derive(Clone, Copy)]
pub(crate) enum Beside {
    /// A number that looks like a status.
    Status(f64),
    /// A value of this Lua type.
    Other(c_int),
}

impl Beside {
    /// Returns the value at `index`; `None` for nil, and for a number that is not a status, such as the count of
    /// `gsub`: those are dropped.
    #[cold]
    pub(crate) unsafe fn at(state: State, index: c_int) -> Option<Self> {
        // SAFETY: reading the type and a number of a value changes nothing on the stack and raises nothing.
        unsafe {
            match lua_type(state, index) {
                LUA_TNIL | LUA_TNONE => None,
                LUA_TNUMBER => {
                    let number = lua_tonumber(state, index);
                    request::is_status(number).then_some(Self::Status(number))
                }
                kind => Some(Self::Other(kind)),
            }
        }
    }

    /// Returns the error that names the value.
    #[cold]
    pub(crate) unsafe fn error(self, state: State) -> Error {
        match self {
            Self::Status(status) => request::status_beside(status),
            Self::Other(kind) => {
                // SAFETY: the name of a type is a constant of LuaJIT's.
                let name = unsafe { CStr::from_ptr(lua_typename(state, kind)) }.to_string_lossy();
                Error::script(format!(
                    "a handler returns one value, and this one returned a {name} behind it: for an error call \
                     error(...), or return an answer that has a status"
                ))
            }
        }
    }
}

/// `host.check_beside(value [, middleware])`: raises what is said of a result that is followed by this value, at the
/// line where the middleware begins that returned it.
pub(crate) unsafe extern "C-unwind" fn check_beside(state: State) -> c_int {
    // SAFETY: two stages. The source of a function is a string that ends with zero and lives as long as the function,
    // which is an argument.
    unsafe {
        let Some(beside) = Beside::at(state, 1) else {
            return 0;
        };
        let mut record: lua_Debug = std::mem::zeroed();
        let mut has_place = false;
        if lua_type(state, 2) == LUA_TFUNCTION {
            lua_pushvalue(state, 2);
            has_place = lua_getinfo(state, c">S".as_ptr(), &raw mut record) != 0
                && *record.source == b'@' as c_char;
        }
        let outcome = guard(|| {
            let place = has_place.then(|| Place {
                file: CStr::from_ptr(record.source.add(1))
                    .to_string_lossy()
                    .into_owned(),
                line: record.linedefined as u32,
            });
            Ok(beside.error(state).at(place))
        });
        *current().result.get() = Some(Err(outcome.unwrap_or_else(|error| error)));
        raise_result(state)
    }
}
