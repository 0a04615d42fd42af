//! The servers of this thread, as JavaScript names them: by numbers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use super::exchanges::{Exchange, Key};
use super::node_api::{Caller, NativeCall};
use super::routes::RouteSet;
use super::server::Server;

pub(super) struct Entry {
    pub(super) server: Rc<Server>,
    pub(super) caller: Arc<Caller>,
    /// The routes that are being put together.
    pub(super) next_routes: RefCell<RouteSet>,
}

thread_local! {
    static SERVERS: RefCell<BTreeMap<i32, Rc<Entry>>> = const { RefCell::new(BTreeMap::new()) };
    /// No number is given twice: programs may keep requests and streams of servers that have ended.
    static LAST_SERVER: Cell<i32> = const { Cell::new(0) };
}

/// Adds a server. Returns its number.
pub(super) fn add(entry: Entry) -> Result<i32, String> {
    let number = LAST_SERVER.get().checked_add(1).ok_or("too many servers")?;
    LAST_SERVER.set(number);
    SERVERS.with_borrow_mut(|servers| servers.insert(number, Rc::new(entry)));
    Ok(number)
}

/// Removes the server that a call names.
pub(super) fn remove(call: &NativeCall) -> Option<Rc<Entry>> {
    SERVERS.with_borrow_mut(|servers| servers.remove(&call.int(0)))
}

// SAFETY: called by Node-API on the thread of its environment.
pub(super) unsafe extern "C" fn drop_all(_: *mut c_void) {
    let servers = SERVERS.take();
    drop(servers);
}

pub(super) fn entry(call: &NativeCall) -> Result<Rc<Entry>, String> {
    let found = SERVERS.with_borrow(|servers| servers.get(&call.int(0)).cloned());
    found.ok_or_else(|| "this server has been stopped".to_owned())
}

pub(super) fn key(call: &NativeCall) -> Key {
    Key {
        place: call.int(1) as u32,
        serial: call.int(2) as u32,
    }
}

pub(super) fn exchange(call: &NativeCall) -> Result<Rc<Exchange>, String> {
    let found = entry(call)?.server.find(key(call));
    found.ok_or_else(|| "this request is over: it was answered, or its client has left".to_owned())
}
