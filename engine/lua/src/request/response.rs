//! The conversion of a handler's result to an answer.

use crate::request::write;
use crate::values::json_write;
use crate::values::value::{has_meta, is_null};
use crate::vm::bind::row::WORDS;
use crate::vm::isolate::{Core, Thread, current};
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, key, push_ref, push_text, text_at};
use mlua_sys::lua51::*;
use sampan_host::answer::{self, AnswerKind};
use sampan_host::{Error, ResponseSink, refusals};
use std::ffi::{CStr, c_int};

/// Writes the value on top of the main thread's stack into `sink`. For a stream, gives back the coroutine that produces
/// it. Reads only, except that a stream needs a coroutine: may raise for lack of memory then, with nothing on this
/// frame to be dropped.
pub(crate) unsafe fn deliver(
    core: &Core,
    state: State,
    sink: &mut dyn ResponseSink,
) -> Result<Option<Thread>, Error> {
    // SAFETY: the caller is under protection on `state`.
    unsafe {
        let index = lua_gettop(state);
        // The stack of the main thread is far below its limit here: what may be missing is memory.
        if lua_checkstack(state, 3 * core.limits.json_depth_max as c_int + 16) == 0 {
            return Err(core.limits.out_of_memory());
        }
        match lua_type(state, index) {
            LUA_TTABLE if has_meta(state, index, core.refs.get().response_meta) => {
                response(core, state, index, sink)
            }
            LUA_TTABLE | LUA_TNUMBER | LUA_TBOOLEAN | LUA_TCDATA => {
                json_body(core, state, index, sink).map(|()| None)
            }
            LUA_TLIGHTUSERDATA if is_null(state, index) => {
                json_body(core, state, index, sink).map(|()| None)
            }
            LUA_TSTRING => {
                sink.default_type(answer::TEXT);
                sink.body().extend_from_slice(text_at(state, index));
                Ok(None)
            }
            LUA_TNIL => sink.status(AnswerKind::Nothing.status(200)).map(|()| None),
            _ => Err(answer::no_answer(&WORDS, &found(state, index))),
        }
    }
}

unsafe fn json_body(
    core: &Core,
    state: State,
    index: c_int,
    sink: &mut dyn ResponseSink,
) -> Result<(), Error> {
    sink.default_type(answer::JSON);
    // SAFETY: `deliver` has made room on the stack, and the value at `index` stays there while it is written.
    unsafe { json_write::write(state, index, sink.body(), core.limits.json_depth_max) }
}

/// A table made by `app.json`, `app.html` and so on, or by `next`.
unsafe fn response(
    core: &Core,
    state: State,
    table: c_int,
    sink: &mut dyn ResponseSink,
) -> Result<Option<Thread>, Error> {
    // SAFETY: `field` reads raw, so no metamethod runs and nothing raises; `deliver` has made room on the stack.
    unsafe {
        field(state, table, key::STATUS);
        // A status that was not given is 200, as the sink has it.
        if lua_type(state, -1) != LUA_TNIL {
            let status = status_at(state, -1).map_err(|error| passed_on(state, table, error))?;
            sink.status(status)?;
        }
        field(state, table, key::HEADERS);
        match lua_type(state, -1) {
            LUA_TTABLE => headers(state, sink)?,
            LUA_TNIL => {}
            _ => {
                let found = found(state, -1);
                return Err(refusals::wrong_type(&WORDS, "headers", "map", &found));
            }
        }
        field(state, table, key::KIND);
        field(state, table, key::BODY);
        let (body, kind) = (lua_gettop(state), text_at(state, -2));
        let is_text = matches!(lua_type(state, body), LUA_TSTRING);
        match kind {
            b"stream" if lua_type(state, body) == LUA_TFUNCTION => {
                sink.default_type(answer::BYTES);
                return stream(core, state, body).map(Some);
            }
            b"empty" if lua_type(state, body) == LUA_TNIL => {}
            b"file" if lua_type(state, body) == LUA_TNIL => {
                field(state, table, key::FILE);
                let path = text_at(state, lua_gettop(state));
                return sink.file(&String::from_utf8_lossy(path)).map(|()| None);
            }
            b"text" | b"html" if is_text || lua_type(state, body) == LUA_TNIL => {
                sink.default_type(if kind == b"html" {
                    answer::HTML
                } else {
                    answer::TEXT
                });
                sink.body().extend_from_slice(text_at(state, body));
            }
            b"text" | b"html" => {
                return Err(refusals::wrong_type(
                    &WORDS,
                    "body",
                    "string",
                    &found(state, body),
                ));
            }
            // A middleware that put a string where JSON was means that string as it is.
            b"empty" | b"stream" | b"file" if is_text => {
                sink.default_type(answer::TEXT);
                sink.body().extend_from_slice(text_at(state, body));
            }
            _ => json_body(core, state, body, sink)?,
        }
        Ok(None)
    }
}

/// Returns Lua's name for the type of the value at `index`, with its article.
pub(crate) unsafe fn found(state: State, index: c_int) -> String {
    // SAFETY: the type is only looked at, and the name of a type is a constant of LuaJIT's that ends with NUL.
    unsafe {
        match lua_type(state, index) {
            LUA_TNIL | LUA_TNONE => "nil".to_owned(),
            kind => format!(
                "a {}",
                CStr::from_ptr(lua_typename(state, kind)).to_string_lossy()
            ),
        }
    }
}

/// Returns the error of an answer whose status, on top of the stack, is wrong: that of another server, if `app.fetch`
/// gave the answer.
#[cold]
unsafe fn passed_on(state: State, table: c_int, error: Error) -> Error {
    // SAFETY: raw reads; room was made by `deliver`.
    unsafe {
        let status = lua_tonumber(state, -1);
        field(state, table, key::URL);
        match lua_type(state, -1) == LUA_TSTRING && status >= 600.0 {
            true => answer::foreign_status(status),
            false => error,
        }
    }
}

/// The status at `index`.
unsafe fn status_at(state: State, index: c_int) -> Result<u16, Error> {
    // SAFETY: the value at `index` is only looked at: reading its type and a number raises nothing.
    unsafe {
        match lua_type(state, index) {
            LUA_TNUMBER => answer::check_status(lua_tonumber(state, index)),
            _ => Err(answer::wrong_status(&found(state, index))),
        }
    }
}

/// `host.check_status(builder, status)`: raises what is wrong with a status.
pub(crate) unsafe extern "C-unwind" fn check_status(state: State) -> c_int {
    // SAFETY: the check runs within `guard`, and `checked` raises its error when nothing with a destructor is left.
    unsafe { checked(state, || status_at(state, 2).map(drop)) }
}

/// `host.check_redirect(builder, status)`
pub(crate) unsafe extern "C-unwind" fn check_redirect(state: State) -> c_int {
    // SAFETY: the check runs within `guard`, and `checked` raises its error when nothing with a destructor is left.
    unsafe {
        checked(state, || match lua_type(state, 2) {
            LUA_TNUMBER => answer::check_redirect(lua_tonumber(state, 2)).map(drop),
            _ => Err(answer::wrong_redirect(&found(state, 2))),
        })
    }
}

/// `host.check(caller, wanted, what, value)`: raises unless the value is a `string`, a `function`, a `boolean` or a
/// table.
pub(crate) unsafe extern "C-unwind" fn check(state: State) -> c_int {
    // SAFETY: the texts are dropped within `guard`; `checked` raises when nothing with a destructor is left.
    unsafe {
        checked(state, || {
            let name = |index| String::from_utf8_lossy(text_at(state, index));
            let wanted = name(2);
            let kind = match &*wanted {
                "string" => LUA_TSTRING,
                "function" => LUA_TFUNCTION,
                "boolean" => LUA_TBOOLEAN,
                _ => LUA_TTABLE,
            };
            if lua_type(state, 4) == kind {
                return Ok(());
            }
            let found = found(state, 4);
            Err(refusals::wrong_type(&WORDS, &name(3), &wanted, &found))
        })
    }
}

/// `host.unknown_option(builder, name, known, ...)`: raises.
pub(crate) unsafe extern "C-unwind" fn unknown_option(state: State) -> c_int {
    // SAFETY: the list is dropped within `guard`; `checked` raises when nothing with a destructor is left.
    unsafe {
        checked(state, || {
            let name = |index| String::from_utf8_lossy(text_at(state, index));
            let known: Vec<_> = (3..=lua_gettop(state)).map(name).collect();
            let known: Vec<&str> = known.iter().map(|name| &**name).collect();
            Err(refusals::unknown_option(&name(2), &known))
        })
    }
}

/// `host.no_answer(value)`: raises what is said of a result that is no answer.
pub(crate) unsafe extern "C-unwind" fn no_answer(state: State) -> c_int {
    // SAFETY: the error is moved into the isolate before `raise_result` raises it, so that no destructor is skipped.
    unsafe {
        let outcome = guard(|| Ok(answer::no_answer(&WORDS, &found(state, 1))));
        *current().result.get() = Some(Err(outcome.unwrap_or_else(|error| error)));
        raise_result(state)
    }
}

/// `host.check_header(builder, name, value)`: raises what is wrong with the bytes of a header field (RFC 9110 section
/// 5). Values of wrong types are refused when the answer is written.
pub(crate) unsafe extern "C-unwind" fn check_header(state: State) -> c_int {
    // SAFETY: two stages; raw reads, and room for one value.
    unsafe {
        checked(state, || {
            let name = text_at(state, 2);
            if lua_type(state, 2) == LUA_TSTRING && !is_token(name) {
                return Err(refusals::header_name(&String::from_utf8_lossy(name)));
            }
            let mut is_fine = is_field_value(text_at(state, 3));
            if lua_type(state, 3) == LUA_TTABLE {
                for at in 1..=lua_objlen(state, 3).min(answer::FIELDS_MAX) {
                    lua_rawgeti(state, 3, at as i64);
                    is_fine &= is_field_value(text_at(state, -1));
                    lua_pop(state, 1);
                }
            }
            match is_fine {
                true => Ok(()),
                false => Err(Error::script(format!(
                    "invalid value for header {:?}: control characters such as line ends are not allowed",
                    String::from_utf8_lossy(name)
                ))),
            }
        })
    }
}

fn is_token(name: &[u8]) -> bool {
    let is_token_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is_token_byte)
}

fn is_field_value(value: &[u8]) -> bool {
    let is_sent = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    value.iter().all(is_sent)
}

/// `host.location(builder, url)`: the value of the field.
pub(crate) unsafe extern "C-unwind" fn location(state: State) -> c_int {
    // SAFETY: two stages; what is pushed lies in the isolate.
    unsafe {
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        checked(state, || {
            scratch.add(answer::location(text_at(state, 2))?.as_bytes());
            Ok(())
        });
        push_text(state, (*current().scratch.get()).get(0));
        1
    }
}

/// Runs a check of a builder, whose name is the first argument; what it finds is raised with that name in front.
pub(crate) unsafe fn checked(state: State, check: impl FnOnce() -> Result<(), Error>) -> c_int {
    // SAFETY: the error is moved into the isolate before it is raised.
    unsafe {
        let outcome = guard(|| {
            check().map_err(|error| {
                let name = String::from_utf8_lossy(text_at(state, 1));
                Error::new(error.kind(), format!("{name}: {}", error.message()))
            })
        });
        if let Err(error) = outcome {
            *current().result.get() = Some(Err(error));
            raise_result(state);
        }
        0
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
    // SAFETY: `lua_next` walks a table that nothing changes meanwhile, so it does not raise. `deliver` has made room,
    // and a key stays on the stack while its name is read.
    unsafe {
        let table = lua_gettop(state);
        let mut lines = 0;
        lua_pushnil(state);
        while lua_next(state, table) != 0 {
            let value = lua_gettop(state);
            if lua_type(state, value - 1) != LUA_TSTRING {
                let found = found(state, value - 1);
                return Err(refusals::wrong_type(
                    &WORDS,
                    "name of a header",
                    "string",
                    &found,
                ));
            }
            let name = text_at(state, value - 1);
            if lua_type(state, value) == LUA_TTABLE {
                lines += lua_objlen(state, value);
                if lines > answer::FIELDS_MAX {
                    return Err(answer::too_many_fields());
                }
                for at in 1..=lua_objlen(state, value) {
                    lua_rawgeti(state, value, at as i64);
                    header(state, name, sink)?;
                }
                lua_settop(state, value);
            } else {
                lines += 1;
                header(state, name, sink)?;
            }
            lua_pop(state, 1);
        }
        Ok(())
    }
}

/// One field line: its value is on top of the stack.
unsafe fn header(state: State, name: &[u8], sink: &mut dyn ResponseSink) -> Result<(), Error> {
    // SAFETY: text on top of the stack lives while it is there, and is copied; reading it raises nothing.
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
unsafe fn stream(core: &Core, state: State, body: c_int) -> Result<Thread, Error> {
    // SAFETY: the caller runs under protection, and `Thread` has no destructor that an error would skip. Its stack is
    // empty, with room for three values.
    unsafe {
        let thread = core.take_thread();
        push_ref(state, core.refs.get().stream);
        lua_pushvalue(state, body);
        lua_pushcclosure(state, write::write, 0);
        lua_xmove(state, thread.state, 3);
        Ok(thread)
    }
}
