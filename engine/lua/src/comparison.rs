//! LuaJIT's own searches and those of this crate side by side in one state, for the fuzz target and the benchmark that
//! compare them. No part of the engine's interface.

use crate::builtin_limits;
use crate::vm::state::State;
use mlua_sys::lua51::*;

/// An argument of the function that compares.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A number.
    Number(f64),
    /// A string.
    Text(&'a [u8]),
    /// `true` or `false`.
    Boolean(bool),
    /// `nil`.
    Nil,
}

/// A plain state of LuaJIT with all of its libraries, and a function that compares.
#[derive(Debug)]
pub struct Comparison {
    state: State,
}

impl Comparison {
    /// Runs `chunk` with two tables, LuaJIT's `string` and one with the functions of this crate. It returns the
    /// function that compares.
    ///
    /// # Panics
    /// If there is no memory or the chunk fails.
    pub fn new(chunk: &str) -> Self {
        // SAFETY: a private state. Before the protected call only memory could run out, which ends the process.
        unsafe {
            let state = luaL_newstate();
            assert!(!state.is_null(), "no memory for a Lua state");
            let comparison = Self { state };
            luaL_openlibs(state);
            let (text, length) = (chunk.as_ptr().cast(), chunk.len());
            let mut status = luaL_loadbuffer(state, text, length, c"=compare".as_ptr());
            if status == LUA_OK {
                lua_getglobal(state, c"string".as_ptr());
                lua_createtable(state, 0, 4);
                lua_getfield(state, -2, c"find".as_ptr());
                builtin_limits::fill_string(state, lua_gettop(state) - 1);
                status = lua_pcall(state, 2, 1, 0);
            }
            let text = comparison.text_on_top();
            assert!(status == LUA_OK, "{text}");
            comparison
        }
    }

    /// Calls the function that compares: what it returned, as text.
    ///
    /// # Errors
    /// The error that it raised.
    pub fn call(&mut self, arguments: &[Argument<'_>]) -> Result<String, String> {
        let state = self.state;
        // SAFETY: the function stays at the bottom of the stack; there is room for it and for few arguments.
        unsafe {
            assert!(lua_checkstack(state, arguments.len() as i32 + 1) != 0);
            lua_pushvalue(state, 1);
            for argument in arguments {
                match argument {
                    Argument::Number(number) => lua_pushnumber(state, *number),
                    Argument::Text(text) => {
                        lua_pushlstring(state, text.as_ptr().cast(), text.len());
                    }
                    Argument::Boolean(is_true) => lua_pushboolean(state, i32::from(*is_true)),
                    Argument::Nil => lua_pushnil(state),
                }
            }
            let status = lua_pcall(state, arguments.len() as i32, 1, 0);
            let text = self.text_on_top();
            lua_settop(state, 1);
            if status == LUA_OK {
                Ok(text)
            } else {
                Err(text)
            }
        }
    }

    /// The value on top of the stack as text; it stays there.
    unsafe fn text_on_top(&self) -> String {
        let mut length = 0;
        // SAFETY: the text is copied before anything else can happen to it.
        unsafe {
            let text = lua_tolstring(self.state, -1, &raw mut length);
            if text.is_null() {
                return String::new();
            }
            String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), length)).into_owned()
        }
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        // SAFETY: this value made the state and is its only owner. Nothing runs in it, and nothing uses it afterwards.
        unsafe { lua_close(self.state) };
    }
}
