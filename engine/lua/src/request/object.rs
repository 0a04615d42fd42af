//! The request as scripts see it: a table that holds the request's number; every field is fetched when it is first
//! asked for, and kept in the table.

use crate::request::{added, body};
use crate::values::json_read;
use crate::vm::bind::wait::{cannot_wait, wait_for, yield_to_host};
use crate::vm::isolate::{Core, LiveRequest, PLACE_BITS, current, live, live_mut};
use crate::vm::raise::raise_result;
use crate::vm::state::{Scratch, State, guard, push_ref, push_text};
use crate::vm::worlds::World;
use mlua_sys::lua51::*;
use sampan_host::json::bad_json;
use sampan_host::module::AsyncBody;
use sampan_host::request::{self, FIELDS, Field, FormKind, Pairs, Twice};
use sampan_host::{Args, Error, LocalFuture, Module, RequestObjects, RequestView, Value};
use slab::Slab;
use std::borrow::Cow;
use std::ffi::c_int;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The methods, in the order in which [`push_methods`] pushes them.
pub(crate) const METHODS: [&str; 4] = ["json", "text", "form", "bytes"];

/// A request that scripts may ask about for as long as this lives.
pub(crate) struct RequestSlot {
    number: u64,
    owner: std::rc::Weak<Core>,
}

impl RequestSlot {
    /// Makes `view` known to scripts.
    pub(crate) fn new(core: &Rc<Core>, view: Option<Rc<dyn RequestView>>) -> Self {
        let serial = core.serial.get();
        core.serial.set((serial + 1) & 0xffff_ffff);
        let place = core.requests.borrow_mut().insert(LiveRequest {
            view,
            serial,
            objects: RequestObjects::default(),
            world: None,
            gathered: Slab::default(),
        });
        Self {
            number: serial << PLACE_BITS | place as u64,
            owner: Rc::downgrade(core),
        }
    }

    /// The number, exact as a Lua number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Sets the world that its scripts run in.
    pub(crate) fn set_world(&self, core: &Core, world: Option<Rc<World>>) {
        let mut requests = core.requests.borrow_mut();
        if let Some(live) = live_mut(&mut requests, self.number) {
            live.world = world;
        }
    }

    /// The request is given up: what goes with it goes now.
    pub(crate) fn drop_objects(&self, core: &Core) {
        let mut requests = core.requests.borrow_mut();
        let live = live_mut(&mut requests, self.number);
        let objects = live.map(|live| std::mem::take(&mut live.objects));
        // They may end with code of anybody's: nothing is borrowed now.
        drop(requests);
        drop(objects);
    }

    /// Polls what the request waits for. Functions of the script that it calls run for this request, which goes on with
    /// the result and owns it, if that is a native object.
    pub(crate) fn poll(
        &self,
        core: &Core,
        operation: &mut LocalFuture<Result<Value, Error>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Value, Error>> {
        core.request.set(self.number);
        let polled = operation.as_mut().poll(cx);
        // Whatever ran meanwhile.
        core.request
            .set(if polled.is_ready() { self.number } else { 0 });
        if let Poll::Ready(Ok(value)) = &polled {
            value.each_object(&mut |object| core.own(object));
        }
        polled
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        if let Some(core) = self.owner.upgrade() {
            let place = (self.number & ((1 << PLACE_BITS) - 1)) as usize;
            let gone = core.requests.borrow_mut().try_remove(place);
            // Its objects may end with code of anybody's: nothing is borrowed now.
            drop(gone);
        }
    }
}

/// Pushes the table of a request. May raise for lack of memory.
pub(crate) unsafe fn push(state: State, number: f64) {
    // SAFETY: the caller runs under protection, and nothing on this frame has a destructor that an error would skip.
    unsafe {
        lua_createtable(state, 1, 3);
        lua_pushnumber(state, number);
        lua_rawseti(state, -2, 1);
        push_ref(state, current().refs.get().request_meta);
        lua_setmetatable(state, -2);
    }
}

/// The request whose table is argument `index`. No Lua call that raises.
pub(crate) unsafe fn view_at(state: State, index: c_int) -> Result<Rc<dyn RequestView>, Error> {
    // SAFETY: the slot is read only in a table, raw, so nothing raises; the caller has room for one value.
    let number = unsafe {
        if lua_type(state, index) != LUA_TTABLE {
            return Err(no_request());
        }
        lua_rawgeti(state, index, 1);
        let number = lua_tonumber(state, -1);
        lua_pop(state, 1);
        number as u64
    };
    let requests = current().requests.borrow();
    let view = live(&requests, number).and_then(|live| live.view.clone());
    // SAFETY: reads only; the caller has room for two values.
    view.ok_or_else(|| match unsafe { has_meta(state, index) } {
        true => request::is_over(),
        false => no_request(),
    })
}

#[cold]
fn no_request() -> Error {
    Error::script("expected a request: call its methods with a colon, as in req:json()")
}

/// Reports whether the table at `index` is that of a request, which may be over.
#[cold]
unsafe fn has_meta(state: State, index: c_int) -> bool {
    // SAFETY: reads only; the caller has room for two values.
    unsafe {
        if lua_getmetatable(state, index) == 0 {
            return false;
        }
        push_ref(state, current().refs.get().request_meta);
        let same = lua_rawequal(state, -1, -2) != 0;
        lua_pop(state, 2);
        same
    }
}

/// Returns the log's name of the request whose table is at `index`.
pub(crate) unsafe fn name_of(state: State, index: c_int) -> String {
    // SAFETY: reads only; the caller has room for one value.
    match unsafe { view_at(state, index) } {
        Ok(view) => format!("[request {} {}]", view.method(), view.path()),
        Err(_) => "[request]".to_owned(),
    }
}

/// `__index` of requests: upvalue 1 maps names to the numbers of fields and to methods, upvalue 2 to the methods of
/// requests whose body is read as it comes.
pub(crate) unsafe extern "C-unwind" fn index(state: State) -> c_int {
    // SAFETY: the first stage collects text into the isolate's scratch, the second pushes it; nothing on this frame has
    // a destructor while Lua may raise.
    unsafe {
        lua_settop(state, 2);
        lua_pushvalue(state, 2);
        lua_rawget(state, lua_upvalueindex(1));
        if lua_type(state, -1) != LUA_TNUMBER {
            if current().has_streams.get() && body::is_streamed(state, 1) {
                lua_pushvalue(state, 2);
                lua_rawget(state, lua_upvalueindex(2));
                if lua_type(state, -1) == LUA_TNIL {
                    lua_pop(state, 1);
                }
            }
            return 1;
        }
        let field = lua_tonumber(state, -1) as usize;
        match field.checked_sub(FIELDS.len()) {
            Some(index) => {
                added::push_field(state, index);
                if !added::is_kept(current().modules, index) {
                    return 1;
                }
            }
            None => push_own_field(state, field),
        }
        lua_pushvalue(state, 2);
        lua_pushvalue(state, -2);
        lua_rawset(state, 1);
        1
    }
}

/// Pushes a field that every request has.
unsafe fn push_own_field(state: State, field: usize) {
    // SAFETY: the first stage collects text into the isolate's scratch, the second pushes it; nothing on this frame
    // has a destructor while Lua may raise.
    unsafe {
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        let outcome = guard(|| collect(&view_at(state, 1)?, field, scratch));
        if let Err(error) = outcome {
            *current().result.get() = Some(Err(error));
            raise_result(state);
        }
        push_field(state, field, &*current().scratch.get());
    }
}

/// First stage: the text of a field, or its pairs.
fn collect(view: &Rc<dyn RequestView>, field: usize, scratch: &mut Scratch) -> Result<(), Error> {
    match FIELDS[field].1 {
        Field::Method => scratch.add(view.method().as_bytes()),
        Field::Path => scratch.add(view.path().as_bytes()),
        Field::Url => scratch.add(view.url().as_bytes()),
        Field::Ip => scratch.add(view.ip().as_bytes()),
        Field::Body if view.body_source().is_some() => {
            return Err(request::not_here(body::ADVICE));
        }
        Field::Body => scratch.add(view.body()),
        Field::State => {}
        Field::Pairs(pairs) => pairs.each(&**view, &mut |name, value| {
            scratch.add(name.as_bytes());
            scratch.add(value);
        }),
    }
    Ok(())
}

/// The number of the metatable of `req.headers` among the fields: under a number, which no script can ask a request
/// for.
const HEADERS_META: i64 = 1;

/// Second stage: pushes what was collected.
unsafe fn push_field(state: State, field: usize, scratch: &Scratch) {
    // SAFETY: under protection, no destructor on the stack.
    unsafe {
        match FIELDS[field].1 {
            Field::Pairs(pairs) => {
                push_pairs(state, scratch, pairs.twice());
                if pairs == Pairs::Headers {
                    lua_rawgeti(state, lua_upvalueindex(1), HEADERS_META);
                    lua_setmetatable(state, -2);
                }
            }
            Field::State => lua_createtable(state, 0, 0),
            _ => push_text(state, scratch.get(0)),
        }
    }
}

unsafe fn push_pairs(state: State, scratch: &Scratch, twice: Twice) {
    let pairs = scratch.spans.len() / 2;
    // SAFETY: under protection; nothing on this frame has a destructor, and the texts lie in the isolate's scratch.
    unsafe {
        lua_createtable(state, 0, pairs as c_int);
        let table = lua_gettop(state);
        for at in 0..pairs {
            push_text(state, scratch.get(2 * at));
            if twice == Twice::Never {
                push_text(state, scratch.get(2 * at + 1));
                lua_rawset(state, table);
                continue;
            }
            lua_pushvalue(state, -1);
            lua_rawget(state, table);
            match (lua_type(state, -1), twice) {
                (LUA_TNIL, _) => lua_pop(state, 1),
                (_, Twice::First | Twice::Never) => {
                    lua_settop(state, table);
                    continue;
                }
                (_, Twice::Join) => {
                    push_text(state, b", ");
                    push_text(state, scratch.get(2 * at + 1));
                    lua_concat(state, 3);
                    lua_rawset(state, table);
                    continue;
                }
                (LUA_TTABLE, Twice::List) => {
                    push_text(state, scratch.get(2 * at + 1));
                    lua_rawseti(state, -2, lua_objlen(state, -2) as i64 + 1);
                    lua_settop(state, table);
                    continue;
                }
                (_, Twice::List) => {
                    lua_createtable(state, 2, 0);
                    lua_insert(state, -2);
                    lua_rawseti(state, -2, 1);
                    push_text(state, scratch.get(2 * at + 1));
                    lua_rawseti(state, -2, 2);
                    lua_rawset(state, table);
                    continue;
                }
            }
            push_text(state, scratch.get(2 * at + 1));
            lua_rawset(state, table);
        }
    }
}

/// `req:json()`
unsafe extern "C-unwind" fn method_json(state: State) -> c_int {
    // SAFETY: the body stays alive in the slab of requests while this runs, and the tape in the isolate; the `Rc` of
    // the view is dropped before anything is pushed.
    unsafe {
        let core = current();
        let read = guard(|| {
            let view = view_at(state, 1)?;
            let body = view.body();
            let read = (*core.tape.get()).read(body, core.limits.json_depth_max);
            read.map_err(|error| bad_json(&error))?;
            Ok(std::ptr::from_ref(body))
        });
        match read {
            Ok(body) => {
                json_read::push(state, &*core.tape.get(), &*body);
                1
            }
            Err(error) => {
                *core.result.get() = Some(Err(error));
                raise_result(state)
            }
        }
    }
}

/// `req:text()`
unsafe extern "C-unwind" fn method_text(state: State) -> c_int {
    // SAFETY: the body stays alive in the slab of requests while this runs; what had to be replaced is text of the
    // scratch. The `Rc` of the view is dropped before anything is pushed.
    unsafe {
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        let read = guard(|| match request::text(view_at(state, 1)?.body()) {
            Cow::Borrowed(text) => Ok(std::ptr::from_ref(text.as_bytes())),
            Cow::Owned(text) => {
                scratch.add(text.as_bytes());
                Ok(std::ptr::from_ref(scratch.get(0)))
            }
        });
        match read {
            Ok(text) => {
                push_text(state, &*text);
                1
            }
            Err(error) => {
                *current().result.get() = Some(Err(error));
                raise_result(state)
            }
        }
    }
}

/// `req:bytes()`
unsafe extern "C-unwind" fn method_bytes(state: State) -> c_int {
    // SAFETY: the body stays alive in the slab of requests while this runs; the `Rc` of the view is dropped before the
    // bytes are pushed, which may raise.
    unsafe {
        match guard(|| view_at(state, 1).map(|view| std::ptr::from_ref(view.body()))) {
            Ok(body) => {
                push_text(state, &*body);
                1
            }
            Err(error) => {
                *current().result.get() = Some(Err(error));
                raise_result(state)
            }
        }
    }
}

/// Returns the function that reads a form with files.
fn multipart_reader() -> Option<AsyncBody> {
    let mut modules = current().modules.iter();
    modules.find_map(|module| module.read_multipart)
}

/// Returns the way the form of a request is encoded.
fn form_kind(view: &dyn RequestView) -> Result<FormKind, Error> {
    let known = [FormKind::Urlencoded, FormKind::Multipart];
    let count = 1 + usize::from(multipart_reader().is_some());
    request::form_kind(view, &known[..count])
}

/// `host.is_multipart(req)`: whether its form comes with files.
pub(crate) unsafe extern "C-unwind" fn is_multipart(state: State) -> c_int {
    // SAFETY: `guard` runs raw reads and plain Rust, and pushing a boolean raises nothing.
    unsafe {
        let kind = guard(|| form_kind(&*view_at(state, 1)?));
        lua_pushboolean(state, c_int::from(kind.ok() == Some(FormKind::Multipart)));
        1
    }
}

/// `req:form()`: gives nothing and the fields. A form with files suspends the coroutine, and what comes back is whether
/// that succeeded, then the fields or the error.
unsafe extern "C-unwind" fn method_form(state: State) -> c_int {
    // SAFETY: plain Rust first, which raises nothing; then the future is moved into the isolate, so that nothing on
    // this frame has a destructor, and the coroutine yields.
    unsafe {
        let scratch = &mut *current().scratch.get();
        scratch.clear();
        let collected = guard(|| {
            let view = view_at(state, 1)?;
            if form_kind(&*view)? == FormKind::Multipart
                && let Some(read) = multipart_reader()
            {
                if let Some(why) = cannot_wait(state) {
                    return Err(Error::script(format!("a form with files: {why}")));
                }
                let args = Args::default().of_request(view);
                wait_for(read(&current().context, args));
                return Ok(true);
            }
            for (name, value) in request::form_pairs(view.body()) {
                scratch.add(name.as_bytes());
                scratch.add(value.as_bytes());
            }
            Ok(false)
        });
        match collected {
            Ok(true) => return yield_to_host(state),
            Ok(false) => {}
            Err(error) => {
                *current().result.get() = Some(Err(error));
                raise_result(state);
            }
        }
        lua_pushnil(state);
        push_pairs(state, &*current().scratch.get(), Twice::List);
        2
    }
}

/// Pushes a table of the fields that are not assigned as others: the errors for those that have keys of their own, and
/// true for those that a function of their module sets. May raise.
pub(crate) unsafe fn push_keyed(state: State, modules: &'static [&'static Module]) {
    // SAFETY: under protection; the text lies in the isolate's scratch when it is pushed.
    unsafe {
        lua_createtable(state, 0, 1);
        for name in added::keyed(modules) {
            let scratch = &mut *current().scratch.get();
            scratch.clear();
            let _ = guard(|| {
                scratch.add(request::has_keys(name).message().as_bytes());
                Ok(())
            });
            push_text(state, name.as_bytes());
            push_text(state, (*current().scratch.get()).get(0));
            lua_rawset(state, -3);
        }
        for name in added::assigned(modules) {
            push_text(state, name.as_bytes());
            lua_pushboolean(state, 1);
            lua_rawset(state, -3);
        }
    }
}

/// Adds the numbers of the fields and the methods to the table on top. May raise.
pub(crate) unsafe fn fill_names(state: State, modules: &'static [&'static Module]) {
    // SAFETY: the caller runs under protection; the names are borrowed, so an error skips no destructor.
    unsafe {
        let names = FIELDS.iter().map(|(name, _)| *name);
        for (number, name) in names.chain(added::names(modules)).enumerate() {
            push_text(state, name.as_bytes());
            lua_pushnumber(state, number as f64);
            lua_rawset(state, -3);
        }
        for (name, method) in
            METHODS
                .iter()
                .zip([method_json, method_text, method_form, method_bytes])
        {
            push_text(state, name.as_bytes());
            lua_pushcfunction(state, method);
            lua_rawset(state, -3);
        }
    }
}
