//! Tests of streams without a server.

use super::*;

fn stream(waiting_bytes_max: usize) -> Rc<EventStream> {
    let settings = EventSettings {
        heartbeat_millis: 0,
        waiting_bytes_max,
    };
    Rc::new(EventStream::new(1, None, settings, Box::new(())))
}

fn own(bytes: usize) -> EventBytes {
    EventBytes::Own(vec![b'x'; bytes])
}

#[test]
fn a_client_that_does_not_read_ends_its_stream() {
    let one = stream(10);
    assert!(one.send(own(1000)), "one event may be as large as it is");
    assert!(!one.send(own(1)) && !one.is_open());
    assert!(one.take().is_some(), "what was sent is not lost");
    assert!(one.take().is_none() && one.is_finished(false));
    let other = stream(10);
    assert!(other.begin_hold(155) && other.send(own(5)));
    assert!(!other.begin_hold(1) && other.is_open() && !other.send(own(1)));
    let third = stream(10);
    assert!(third.send(own(100)) && third.send(own(50)));
    assert!(third.take().is_some() && third.send(own(9)));
    assert!(!third.send(own(9)), "it was offered something");
}

#[test]
fn what_is_held_leaves_after_its_commit_or_never() {
    let one = stream(100);
    assert!(one.begin_hold(3) && one.begin_hold(2));
    one.close();
    assert!(one.take().is_none() && !one.is_finished(true));
    one.end_hold(own(3), false);
    one.end_hold(own(2), true);
    assert!(matches!(one.take(), Some(Chunk::Bytes(bytes)) if bytes.len() == 3));
    assert!(one.is_finished(true));
}

#[test]
fn what_is_attached_keeps_it_open_and_goes_with_it() {
    let one = stream(100);
    assert!(one.is_finished(true) && !one.is_finished(false));
    let kept = Rc::new(());
    one.attach(Rc::clone(&kept));
    assert!(!one.is_finished(true));
    one.end();
    assert_eq!(Rc::strong_count(&kept), 1);
}

#[test]
fn senders_wait_for_room() {
    let one = stream(usize::MAX);
    let cx = Context::from_waker(Waker::noop());
    assert!(one.send(own(AHEAD_BYTES + 1)));
    assert!(one.poll_room(&cx).is_pending());
    one.take();
    assert_eq!(one.poll_room(&cx), Poll::Ready(true));
    one.end();
    assert_eq!(one.poll_room(&cx), Poll::Ready(false));
}
