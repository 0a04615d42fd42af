//! Receive and send buffers that no connection needs at the moment. An idle connection owns none.

use std::cell::RefCell;
use std::rc::Rc;

use crate::peer::RemoteEnd;
use crate::request::Request;

/// Kept for reuse, of each kind: enough for the connections that are active at one time; more are freed.
const KEPT_MAX: usize = 128;

/// Buffers for records of TLS that are kept: each is needed for moments, by one connection after the other.
const RECORDS_KEPT_MAX: usize = 16;

/// The size of such a buffer: three records of the largest size (RFC 8446 section 5.2), the extra bytes of older
/// versions included.
pub(super) const RECORDS_BYTES: usize = 3 * (16 * 1024 + 2048 + 5);

/// An output buffer that has grown beyond this is freed.
const OUTPUT_KEPT_BYTES_MAX: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct BufferPool {
    requests: RefCell<Vec<Rc<Request>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
    records: RefCell<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// An empty request without another owner.
    pub(super) fn request(&self, client: &RemoteEnd) -> Rc<Request> {
        let pooled = self.requests.borrow_mut().pop();
        if let Some(mut pooled) = pooled
            && let Some(request) = Rc::get_mut(&mut pooled)
        {
            request.set_client(client);
            return pooled;
        }
        Rc::new(Request::empty(client.clone()))
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

    /// A buffer of [`RECORDS_BYTES`], with any content.
    pub(super) fn records(&self) -> Vec<u8> {
        let pooled = self.records.borrow_mut().pop();
        pooled.unwrap_or_else(|| vec![0; RECORDS_BYTES])
    }

    /// Takes a buffer back; one of another size is freed.
    pub(super) fn give_records(&self, buffer: Vec<u8>) {
        let mut records = self.records.borrow_mut();
        if records.len() < RECORDS_KEPT_MAX && buffer.len() == RECORDS_BYTES {
            records.push(buffer);
        }
    }

    pub(super) fn give_output(&self, mut output: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if outputs.len() < KEPT_MAX && output.capacity() <= OUTPUT_KEPT_BYTES_MAX {
            output.clear();
            outputs.push(output);
        }
    }
}
