//! The version of LuaJIT.

use crate::vm::state::text_at;
use mlua_sys::lua51::*;

/// Returns the name and version of LuaJIT, as scripts see it in `jit.version`: `LuaJIT 2.1.1774896198`.
pub fn version() -> String {
    // SAFETY: a private state, closed at the end. The library is opened under `lua_pcall`, and is a global then. Its
    // field is read where there is a table, and the text is copied while it lies on the stack.
    unsafe {
        let state = luaL_newstate();
        if state.is_null() {
            return "LuaJIT".to_owned();
        }
        lua_pushcfunction(state, luaopen_jit);
        let mut version = "LuaJIT".to_owned();
        if lua_pcall(state, 0, 0, 0) == LUA_OK {
            lua_getglobal(state, c"jit".as_ptr());
            if lua_type(state, -1) == LUA_TTABLE {
                lua_getfield(state, -1, c"version".as_ptr());
                if lua_type(state, -1) == LUA_TSTRING {
                    version = String::from_utf8_lossy(text_at(state, -1)).into_owned();
                }
            }
        }
        lua_close(state);
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_name_and_the_numbers() {
        let version = version();
        let numbers = version.strip_prefix("LuaJIT 2.").expect(&version);
        assert!(
            numbers
                .split('.')
                .all(|number| number.parse::<u64>().is_ok())
        );
    }
}
