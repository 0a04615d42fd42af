//! Receive and send buffers that no connection needs at the moment. An idle connection owns none.

use std::cell::RefCell;
use std::rc::Rc;

use crate::peer::Peer;
use crate::request::Request;

/// Kept for reuse, of each kind: enough for the connections that are active at one time; more are freed.
const KEPT_MAX: usize = 128;

/// An output buffer that has grown beyond this is freed.
const OUTPUT_KEPT_BYTES_MAX: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct BufferPool {
    requests: RefCell<Vec<Rc<Request>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// An empty request without another owner.
    pub(super) fn request(&self, peer: Peer) -> Rc<Request> {
        let pooled = self.requests.borrow_mut().pop();
        if let Some(mut pooled) = pooled
            && let Some(request) = Rc::get_mut(&mut pooled)
        {
            request.set_peer(peer);
            return pooled;
        }
        Rc::new(Request::empty(peer))
    }

    /// Takes a request back if it has no other owner.
    pub(super) fn give_request(&self, mut request: Rc<Request>) {
        let mut requests = self.requests.borrow_mut();
        if requests.len() < KEPT_MAX
            && let Some(inner) = Rc::get_mut(&mut request)
        {
            inner.clear();
            requests.push(request);
        }
    }

    pub(super) fn output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn give_output(&self, mut output: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if outputs.len() < KEPT_MAX && output.capacity() <= OUTPUT_KEPT_BYTES_MAX {
            output.clear();
            outputs.push(output);
        }
    }
}
