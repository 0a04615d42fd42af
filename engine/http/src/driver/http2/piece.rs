//! Bytes of bodies on their way to the client: the frames take them from where they are, and each stream knows how many
//! of its own have gone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Buf;

use crate::precomputed::Precomputed;

/// The bodies of one connection that wait for its client.
#[derive(Default)]
pub(super) struct Outflow {
    /// The streams of which bytes have gone since the last look.
    moved: RefCell<Vec<usize>>,
    /// The memory that is kept for this client alone.
    held_bytes: Cell<usize>,
    /// The bytes that tunnels hold and have not handed over.
    tunnel_bytes: Cell<usize>,
}

impl Outflow {
    /// Returns the memory that waits for the client, in bytes, without what tunnels hold.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes.get()
    }

    /// Returns the number of bytes that tunnels hold for the client.
    pub(super) fn tunnel_bytes(&self) -> usize {
        self.tunnel_bytes.get()
    }

    /// Takes the keys of the streams of which bytes have gone, into an empty list.
    pub(super) fn take_moved(&self, keys: &mut Vec<usize>) {
        std::mem::swap(&mut *self.moved.borrow_mut(), keys);
    }
}

/// The part of one tunnel in [`Outflow::tunnel_bytes`].
pub(super) struct TunnelShare {
    outflow: Rc<Outflow>,
    bytes: Cell<usize>,
}

impl TunnelShare {
    pub(super) fn new(outflow: &Rc<Outflow>) -> Self {
        Self {
            outflow: Rc::clone(outflow),
            bytes: Cell::new(0),
        }
    }

    pub(super) fn set(&self, bytes: usize) {
        let others = self.outflow.tunnel_bytes.get() - self.bytes.replace(bytes);
        self.outflow.tunnel_bytes.set(others + bytes);
    }
}

impl Drop for TunnelShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The bytes of one stream: those that wait and those that have gone into frames.
pub(super) struct Sent {
    key: usize,
    outflow: Rc<Outflow>,
    pending: Cell<usize>,
    /// The memory that is kept for this stream alone.
    held_bytes: Cell<usize>,
    taken: Cell<u64>,
    /// Bytes were thrown away: the client has reset the stream, or has gone.
    is_lost: Cell<bool>,
    /// The key is among those that have moved.
    is_listed: Cell<bool>,
    /// A [`Source::Mark`] is on its way.
    has_mark: Cell<bool>,
}

impl Sent {
    pub(super) fn new(key: usize, outflow: Rc<Outflow>) -> Rc<Self> {
        Rc::new(Self {
            key,
            outflow,
            pending: Cell::new(0),
            held_bytes: Cell::new(0),
            taken: Cell::new(0),
            is_lost: Cell::new(false),
            is_listed: Cell::new(false),
            has_mark: Cell::new(false),
        })
    }

    /// Bytes that wait.
    pub(super) fn pending(&self) -> usize {
        self.pending.get()
    }

    /// Returns the memory that waits for the client, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes.get()
    }

    /// Bytes that have gone.
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Reports whether frames wait: bytes, or a [`Source::Mark`] behind the head.
    pub(super) fn is_waiting(&self) -> bool {
        self.pending.get() > 0 || self.has_mark.get()
    }

    /// The stream has been looked at.
    pub(super) fn unlist(&self) {
        self.is_listed.set(false);
    }

    fn hold(&self, bytes: usize) {
        self.held_bytes.set(self.held_bytes.get() + bytes);
        let all = &self.outflow.held_bytes;
        all.set(all.get() + bytes);
    }

    fn let_go(&self, bytes: usize) {
        self.held_bytes.set(self.held_bytes.get() - bytes);
        let all = &self.outflow.held_bytes;
        all.set(all.get() - bytes);
    }

    fn note(&self, bytes: usize) {
        self.pending.set(self.pending.get() - bytes);
        if !self.is_listed.replace(true) {
            self.outflow.moved.borrow_mut().push(self.key);
        }
    }
}

/// The owner of the bytes of a [`Piece`].
pub(super) enum Source {
    Bytes(Vec<u8>),
    Shared(Arc<[u8]>),
    Lent(Box<dyn AsRef<[u8]>>),
    Precomputed(Arc<Precomputed>),
    /// No bytes: shows when the head has gone, where nothing follows it.
    Mark,
}

impl Source {
    fn bytes(&self) -> &[u8] {
        match self {
            Source::Bytes(bytes) => bytes,
            Source::Shared(bytes) => bytes,
            Source::Lent(lender) => (**lender).as_ref(),
            Source::Precomputed(response) => response.small_body(),
            Source::Mark => &[],
        }
    }

    /// The memory that is kept for this client alone.
    fn held_bytes(&self) -> usize {
        match self {
            Source::Bytes(bytes) => bytes.capacity(),
            Source::Lent(lender) => (**lender).as_ref().len(),
            Source::Shared(_) | Source::Precomputed(_) | Source::Mark => 0,
        }
    }
}

/// Bytes of one stream, for frames of DATA.
pub(super) struct Piece {
    source: Source,
    at: usize,
    held_bytes: usize,
    sent: Rc<Sent>,
}

impl Piece {
    pub(super) fn new(source: Source, sent: &Rc<Sent>) -> Self {
        let held_bytes = source.held_bytes();
        sent.hold(held_bytes);
        sent.has_mark.set(matches!(source, Source::Mark));
        sent.pending.set(sent.pending.get() + source.bytes().len());
        Self {
            source,
            at: 0,
            held_bytes,
            sent: Rc::clone(sent),
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.source.bytes().len() - self.at
    }

    fn chunk(&self) -> &[u8] {
        &self.source.bytes()[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.remaining());
        self.at += bytes;
        self.sent.taken.set(self.sent.taken.get() + bytes as u64);
        self.sent.note(bytes);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.sent.let_go(self.held_bytes);
        let lost = self.remaining();
        if lost > 0 {
            self.sent.is_lost.set(true);
            self.sent.note(lost);
        } else if matches!(self.source, Source::Mark) {
            self.sent.has_mark.set(false);
            self.sent.note(0);
        }
    }
}
