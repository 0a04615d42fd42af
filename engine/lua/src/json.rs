//! JSON from and to Lua values, without a tree in between.

use crate::state::{State, current, push_text, text_at};
use crate::value::{self, has_meta, int64_at, is_null, push_i64};
use mlua_sys::lua51::*;
use sampan_host::json::{Tape, Token, write_f64, write_i64, write_string};
use std::ffi::{CStr, c_int};

/// Why a value has no JSON.
pub(crate) type Why = std::borrow::Cow<'static, str>;

/// Appends the JSON of the value at `index`, which must be absolute. Reads only: never raises, runs no script. The caller
/// has made room for three slots per level of `depth`.
pub(crate) unsafe fn write(
    state: State,
    index: c_int,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Why> {
    // SAFETY: as the function says.
    unsafe {
        match lua_type(state, index) {
            LUA_TNONE | LUA_TNIL => out.extend_from_slice(b"null"),
            LUA_TBOOLEAN => out.extend_from_slice(if lua_toboolean(state, index) != 0 {
                b"true"
            } else {
                b"false"
            }),
            LUA_TNUMBER => {
                let number = lua_tonumber(state, index);
                if !write_f64(out, number) {
                    return Err(format!("{number} has no place in JSON").into());
                }
            }
            LUA_TSTRING => {
                if !write_string(out, text_at(state, index)) {
                    return Err("a string that is not UTF-8 has no place in JSON".into());
                }
                if out.len() > PROGRESS_BYTES {
                    check_progress(out)?;
                }
            }
            LUA_TTABLE => match depth.checked_sub(1) {
                None => {
                    return Err(
                        "a table that contains itself or nests too deeply has no place in JSON"
                            .into(),
                    );
                }
                Some(depth) => {
                    check_progress(out)?;
                    write_table(state, index, out, depth)?;
                }
            },
            LUA_TLIGHTUSERDATA if is_null(state, index) => out.extend_from_slice(b"null"),
            kind => match int64_at(state, index) {
                Some(number) => write_i64(out, number),
                None => {
                    let name = if kind == LUA_TCDATA {
                        c"cdata".as_ptr()
                    } else {
                        lua_typename(state, kind)
                    };
                    return Err(format!(
                        "a {} has no place in JSON",
                        CStr::from_ptr(name).to_string_lossy()
                    )
                    .into());
                }
            },
        }
        Ok(())
    }
}

/// Below this much output a string is not worth asking whether to go on.
const PROGRESS_BYTES: usize = 64 * 1024;

/// Whether to go on: tables may share others, so that a small value has a huge text.
fn check_progress(out: &[u8]) -> Result<(), Why> {
    let inner = current();
    if out.len() > inner.limits.memory_bytes_max {
        return Err(
            "a value whose JSON is longer than memory_bytes_max has no place in an answer".into(),
        );
    }
    if inner.watch.must_stop() {
        return Err("stopped".into());
    }
    Ok(())
}

/// A table whose keys are 1 to n is an array, any other an object; an empty one is an object unless it was marked.
unsafe fn write_table(
    state: State,
    index: c_int,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Why> {
    // SAFETY: `lua_next` over an unchanged table does not raise.
    unsafe {
        let start = out.len();
        let mut count = 0;
        lua_pushnil(state);
        while lua_next(state, index) != 0 {
            let value = lua_gettop(state);
            let key = value - 1;
            count += 1;
            out.push(b',');
            let written = match lua_type(state, key) {
                LUA_TSTRING => match write_string(out, text_at(state, key)) {
                    true => {
                        out.push(b':');
                        write(state, value, out, depth)
                    }
                    false => Err("a key that is not UTF-8 has no place in JSON".into()),
                },
                LUA_TNUMBER if count == 1 => {
                    lua_pop(state, 2);
                    out.truncate(start);
                    return write_array(state, index, out, depth);
                }
                LUA_TNUMBER => {
                    Err("a table with both a list and named keys has no place in JSON".into())
                }
                _ => Err(
                    "a key that is neither a string nor part of a list has no place in JSON".into(),
                ),
            };
            lua_pop(state, 1);
            if written.is_err() {
                lua_pop(state, 1);
                return written;
            }
        }
        if count == 0 {
            let refs = current().refs.get();
            let is_array = has_meta(state, index, refs.array_meta);
            out.extend_from_slice(if is_array { b"[]" } else { b"{}" });
        } else {
            out[start] = b'{';
            out.push(b'}');
        }
        Ok(())
    }
}

unsafe fn write_array(
    state: State,
    index: c_int,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Why> {
    // SAFETY: raw reads of a table.
    unsafe {
        let length = lua_objlen(state, index);
        if length == 0 || value::count(state, index) != length {
            return Err(
                "a list with holes, or with named keys beside it, has no place in JSON".into(),
            );
        }
        for at in 1..=length {
            out.push(if at == 1 { b'[' } else { b',' });
            lua_rawgeti(state, index, at as i64);
            let written = write(state, lua_gettop(state), out, depth);
            lua_pop(state, 1);
            written?;
        }
        out.push(b']');
        Ok(())
    }
}

/// Pushes the value that `tape` holds. May raise for lack of memory; the tape belongs to the isolate, not to a frame.
pub(crate) unsafe fn push(state: State, tape: &Tape, source: &[u8]) {
    let tokens = tape.tokens();
    let mut at = 0;
    // SAFETY: under protection; `checkstack` before each container.
    unsafe { push_token(state, tape, tokens, source, &mut at) };
}

unsafe fn push_token(state: State, tape: &Tape, tokens: &[Token], source: &[u8], at: &mut usize) {
    // SAFETY: nesting is limited by the reader, and room is made on each level.
    unsafe {
        let token = &tokens[*at];
        *at += 1;
        match token {
            Token::Null => lua_pushlightuserdata(state, std::ptr::null_mut()),
            Token::Bool(value) => lua_pushboolean(state, c_int::from(*value)),
            Token::Int(value) => push_i64(state, *value),
            Token::Float(value) => lua_pushnumber(state, *value),
            Token::Text(_) | Token::Unescaped(_) => push_text(state, tape.text(token, source)),
            Token::Array(count) => {
                room(state);
                lua_createtable(state, *count as c_int, 0);
                for index in 1..=i64::from(*count) {
                    push_token(state, tape, tokens, source, at);
                    lua_rawseti(state, -2, index);
                }
                if *count == 0 {
                    crate::state::push_ref(state, current().refs.get().array_meta);
                    lua_setmetatable(state, -2);
                }
                *at += 1;
            }
            Token::Object(count) => {
                room(state);
                lua_createtable(state, 0, *count as c_int);
                for _ in 0..*count {
                    push_token(state, tape, tokens, source, at);
                    push_token(state, tape, tokens, source, at);
                    lua_rawset(state, -3);
                }
                *at += 1;
            }
            Token::End => lua_pushnil(state),
        }
    }
}

unsafe fn room(state: State) {
    // SAFETY: under protection.
    unsafe {
        if lua_checkstack(state, 8) == 0 {
            luaL_error(state, c"stack overflow".as_ptr());
        }
    }
}
