//! JSON text to Lua values: they are made from the tape of the shared reader, without a tree in between.

use crate::values::integers::push_i64;
use crate::vm::isolate::current;
use crate::vm::isolate::room::need_room;
use crate::vm::state::{State, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::json::{Tape, Token};
use std::ffi::c_int;

/// Pushes the value that `tape` holds. May raise for lack of memory; the tape belongs to the isolate, not to a frame.
pub(crate) unsafe fn push(state: State, tape: &Tape, source: &[u8]) {
    let tokens = tape.tokens();
    let mut at = 0;
    // SAFETY: the caller runs under protection; the tape and the source belong to the isolate, so that an error skips
    // no destructor. `push_token` makes room before each container.
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
                need_room(state, 8);
                lua_createtable(state, *count as c_int, 0);
                for index in 1..=i64::from(*count) {
                    push_token(state, tape, tokens, source, at);
                    lua_rawseti(state, -2, index);
                }
                if *count == 0 {
                    push_ref(state, current().refs.get().array_meta);
                    lua_setmetatable(state, -2);
                }
                *at += 1;
            }
            Token::Object(count) => {
                need_room(state, 8);
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
