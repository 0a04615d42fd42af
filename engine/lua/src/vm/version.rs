//! The version of LuaJIT.

use crate::vm::state::text_at;
use mlua_sys::lua51::*;

/// Returns the name and version of LuaJIT, as scripts see it in `jit.version`: `LuaJIT 2.1.1774896198`.
pub fn version() -> String {
    // SAFETY: a private state, closed at the end. Only memory could run out, which ends the process. The text is copied
    // while it lies on the stack.
    unsafe {
        let state = luaL_newstate();
        if state.is_null() {
            return "LuaJIT".to_owned();
        }
        luaopen_jit(state);
        lua_getfield(state, -1, c"version".as_ptr());
        let text = String::from_utf8_lossy(text_at(state, -1)).into_owned();
        lua_close(state);
        text
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
