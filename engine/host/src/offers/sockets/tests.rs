//! Tests of messages to clients that do not read.

use super::*;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Wake, Waker};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Creates a socket whose client may have 100,000 bytes wait, and counts how often its connection is woken.
fn socket(drops_above: bool) -> (Socket, Arc<Wakes>) {
    let settings = SocketSettings {
        message_bytes_max: 1_000,
        backpressure_bytes_max: 100_000,
        drops_above,
        idle_millis_max: 1_000,
        ping_millis: 0,
        compress: false,
    };
    let socket = Socket::new(1, "/".into(), Opening::default(), Rc::new(settings));
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(Arc::clone(&wakes));
    socket.begin_turn(&Context::from_waker(&waker));
    socket.end_turn();
    (socket, wakes)
}

fn message() -> SocketMessage {
    SocketMessage::Text(Payload::Shared(vec![b'x'; 1_000].into()))
}

/// Blocks a socket. Returns the counts of what waits for it.
fn block(socket: &Socket) -> Rc<RefCell<Vec<usize>>> {
    let counts = Rc::<RefCell<Vec<usize>>>::default();
    let counted = Rc::clone(&counts);
    socket.send(message());
    socket.set_blocked(true);
    socket.count_by(|| Some(Rc::new(move |bytes| counted.borrow_mut().push(bytes))));
    counts
}

#[test]
fn messages_to_a_blocked_socket_are_counted_without_a_turn_of_its_connection() {
    let (socket, wakes) = socket(true);
    let counts = block(&socket);
    let woken = wakes.0.load(Relaxed);
    for _ in 0..20 {
        assert_eq!(socket.send(message()), Sent::Queued);
    }
    // Once for 4 KiB, in which three or four of them are.
    let steps = counts.borrow().clone();
    assert_eq!(steps.len(), 5, "{steps:?}");
    assert!(steps.is_sorted() && steps[4] > 20_000 - 4 * 1_024);
    while socket.send(message()) == Sent::Queued {}
    assert_eq!(socket.send(message()), Sent::Dropped);
    assert_eq!(wakes.0.load(Relaxed), woken);
    // The client has taken all.
    socket.outgoing(Outgoing::clear);
    assert!(socket.set_blocked(false));
    socket.count_by(|| unreachable!("nothing waits"));
    assert_eq!(Rc::strong_count(&counts), 1);
    assert_eq!(socket.send(message()), Sent::Sent);
    assert_eq!(wakes.0.load(Relaxed), woken + 1);
}

#[test]
fn a_blocked_socket_over_its_limit_is_closed_once() {
    let (socket, wakes) = socket(false);
    let counts = block(&socket);
    let woken = wakes.0.load(Relaxed);
    while socket.send(message()) == Sent::Queued {}
    assert!(socket.is_closing());
    assert_eq!(socket.send(message()), Sent::Dropped);
    assert_eq!(wakes.0.load(Relaxed), woken + 1);
    socket.end();
    assert_eq!(Rc::strong_count(&counts), 1);
}

#[test]
fn a_connection_that_counts_in_its_turns_is_woken_for_that() {
    let (socket, wakes) = socket(true);
    socket.send(message());
    socket.set_blocked(true);
    socket.count_by(|| None);
    let woken = wakes.0.load(Relaxed);
    for _ in 0..20 {
        assert_eq!(socket.send(message()), Sent::Queued);
    }
    assert_eq!(wakes.0.load(Relaxed), woken + 5);
}
