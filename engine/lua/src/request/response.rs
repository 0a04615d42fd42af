//! What a handler returned, written into the response sink.

use crate::values::json;
use crate::values::value::{has_meta, is_null};
use crate::vm::state::{Inner, State, Thread, current, key, push_ref, text_at};
use mlua_sys::lua51::*;
use sampan_host::{Error, ResponseSink};
use std::ffi::{CStr, c_int};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const STREAM: &str = "application/octet-stream";
const HTML: &str = "text/html; charset=utf-8";

/// Writes the value on top of the main thread's stack into `sink`. For a stream, gives back the coroutine that produces it. Reads
/// only, except that a stream needs a coroutine: may raise for lack of memory then, with nothing on this frame to be dropped.
pub(crate) unsafe fn deliver(
    inner: &Inner,
    state: State,
    sink: &mut dyn ResponseSink,
) -> Result<Option<Thread>, Error> {
    // SAFETY: the caller is under protection on `state`.
    unsafe {
        let index = lua_gettop(state);
        if lua_checkstack(state, 3 * inner.limits.json_depth_max as c_int + 16) == 0 {
            return Err(Error::script("stack overflow"));
        }
        match lua_type(state, index) {
            LUA_TTABLE if has_meta(state, index, inner.refs.get().response_meta) => {
                response(inner, state, index, sink)
            }
            LUA_TTABLE | LUA_TNUMBER | LUA_TBOOLEAN | LUA_TCDATA => {
                json_body(inner, state, index, sink).map(|()| None)
            }
            LUA_TLIGHTUSERDATA if is_null(state, index) => {
                json_body(inner, state, index, sink).map(|()| None)
            }
            LUA_TSTRING => {
                sink.default_type(TEXT);
                sink.body().extend_from_slice(text_at(state, index));
                Ok(None)
            }
            LUA_TNIL => sink.status(204).map(|()| None),
            kind => {
                let name = CStr::from_ptr(lua_typename(state, kind)).to_string_lossy();
                let text = format!(
                    "a handler returned a {name}; it should return a table, a string, a response or nothing"
                );
                Err(Error::script(text))
            }
        }
    }
}

unsafe fn json_body(
    inner: &Inner,
    state: State,
    index: c_int,
    sink: &mut dyn ResponseSink,
) -> Result<(), Error> {
    sink.default_type(JSON);
    // SAFETY: room was made by `deliver`.
    unsafe { json::write(state, index, sink.body(), inner.limits.json_depth_max) }
        .map_err(|why| Error::script(format!("the handler's result cannot be sent: {why}")))
}

/// A table made by `app.json`, `app.html` and so on, or by `next`.
unsafe fn response(
    inner: &Inner,
    state: State,
    table: c_int,
    sink: &mut dyn ResponseSink,
) -> Result<Option<Thread>, Error> {
    // SAFETY: raw reads.
    unsafe {
        field(state, table, key::STATUS);
        // A status that was not given is 200, as the sink has it.
        if lua_type(state, -1) != LUA_TNIL {
            let status = lua_tonumber(state, -1);
            if lua_type(state, -1) != LUA_TNUMBER
                || status.fract() != 0.0
                || !(0.0..1000.0).contains(&status)
            {
                return Err(Error::script(
                    "the status of a response must be a whole number",
                ));
            }
            sink.status(status as u16)?;
        }
        field(state, table, key::HEADERS);
        match lua_type(state, -1) {
            LUA_TTABLE => headers(state, sink)?,
            LUA_TNIL => {}
            _ => return Err(Error::script("the headers of a response must be a table")),
        }
        field(state, table, key::KIND);
        field(state, table, key::BODY);
        let (body, kind) = (lua_gettop(state), text_at(state, -2));
        let is_text = matches!(lua_type(state, body), LUA_TSTRING);
        match kind {
            b"stream" if lua_type(state, body) == LUA_TFUNCTION => {
                sink.default_type(STREAM);
                return stream(inner, state, body).map(Some);
            }
            b"empty" if lua_type(state, body) == LUA_TNIL => {}
            b"text" | b"html" if is_text || lua_type(state, body) == LUA_TNIL => {
                sink.default_type(if kind == b"html" { HTML } else { TEXT });
                sink.body().extend_from_slice(text_at(state, body));
            }
            b"text" | b"html" => {
                let name =
                    CStr::from_ptr(lua_typename(state, lua_type(state, body))).to_string_lossy();
                return Err(Error::script(format!(
                    "the body of a text response must be a string, not a {name}"
                )));
            }
            // A middleware that put a string where JSON was means that string as it is.
            b"empty" | b"stream" if is_text => {
                sink.default_type(TEXT);
                sink.body().extend_from_slice(text_at(state, body));
            }
            _ => json_body(inner, state, body, sink)?,
        }
        Ok(None)
    }
}

/// Pushes a field of the table at `table` without looking at metatables.
unsafe fn field(state: State, table: c_int, name: usize) {
    // SAFETY: the key is in the registry; nothing is allocated.
    unsafe {
        push_ref(state, current().refs.get().keys[name]);
        lua_rawget(state, table);
    }
}

/// Hands the header table on top of the stack to the sink: values are strings, numbers or lists of them.
unsafe fn headers(state: State, sink: &mut dyn ResponseSink) -> Result<(), Error> {
    // SAFETY: `lua_next` over an unchanged table.
    unsafe {
        let table = lua_gettop(state);
        lua_pushnil(state);
        while lua_next(state, table) != 0 {
            let value = lua_gettop(state);
            if lua_type(state, value - 1) != LUA_TSTRING {
                return Err(Error::script("the name of a header must be a string"));
            }
            let name = text_at(state, value - 1);
            if lua_type(state, value) == LUA_TTABLE {
                for at in 1..=lua_objlen(state, value) {
                    lua_rawgeti(state, value, at as i64);
                    header(state, name, sink)?;
                }
                lua_settop(state, value);
            } else {
                header(state, name, sink)?;
            }
            lua_pop(state, 1);
        }
        Ok(())
    }
}

/// One field line: its value is on top of the stack.
unsafe fn header(state: State, name: &[u8], sink: &mut dyn ResponseSink) -> Result<(), Error> {
    // SAFETY: reads only.
    unsafe {
        match lua_type(state, -1) {
            LUA_TSTRING => sink.header(name, text_at(state, -1)),
            LUA_TNUMBER => sink.header(name, lua_tonumber(state, -1).to_string().as_bytes()),
            _ => {
                let name = String::from_utf8_lossy(name);
                Err(Error::script(format!(
                    "the value of the header '{name}' must be a string, a number or a list of them"
                )))
            }
        }
    }
}

/// A coroutine ready to run the function at `body` as the producer of a stream.
unsafe fn stream(inner: &Inner, state: State, body: c_int) -> Result<Thread, Error> {
    // SAFETY: under protection; `Thread` has no destructor.
    unsafe {
        let thread = inner.take_thread();
        push_ref(state, inner.refs.get().stream);
        lua_pushvalue(state, body);
        lua_pushcclosure(state, crate::request::stream::write, 0);
        lua_xmove(state, thread.state, 3);
        Ok(thread)
    }
}
