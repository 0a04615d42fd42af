//! Requests that wait for a connection: their order, and those that are given up.

use super::*;
use std::future::Future as _;
use std::pin::pin;
use std::task::{self, Poll, Waker};

fn pool(limits: ClientLimits) -> (Pool, Origin) {
    let url = url::Url::parse("http://a.example/").expect("a URL");
    let origin = Origin::of(&url).expect("an origin");
    (Pool::new(&limits, false), origin)
}

fn one_for_each_host() -> ClientLimits {
    ClientLimits {
        connections_per_host_max: 1,
        ..ClientLimits::DEFAULT
    }
}

#[test]
fn a_turn_that_is_given_up_goes_to_the_next() {
    let (pool, origin) = pool(ClientLimits {
        connections_max: 1,
        ..ClientLimits::DEFAULT
    });
    let mut cx = task::Context::from_waker(Waker::noop());
    let place = pool.try_lend(&origin).expect("a place");
    let mut first = Box::pin(pool.lend(&origin));
    let mut second = pin!(pool.lend(&origin));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(second.as_mut().poll(&mut cx).is_pending());
    drop(place);
    // It was given the place, and has not run since.
    drop(first);
    let lent = second.as_mut().poll(&mut cx);
    assert!(matches!(lent, Poll::Ready(Ok(Lent::Place(_)))));
    drop(lent);
    assert_eq!(pool.counts(), (0, 0));
    assert!(pool.0.inner.borrow().waiting.is_empty());
}

#[test]
fn a_request_that_asks_later_waits_behind_the_others() {
    let (pool, origin) = pool(one_for_each_host());
    let mut cx = task::Context::from_waker(Waker::noop());
    let place = pool.try_lend(&origin).expect("a place");
    let mut first = pin!(pool.lend(&origin));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    drop(place);
    // The first has not run since.
    assert!(pool.lend_kept(&origin).is_none());
    let mut later = pin!(pool.lend(&origin));
    assert!(later.as_mut().poll(&mut cx).is_pending());
    let lent = first.as_mut().poll(&mut cx);
    assert!(matches!(lent, Poll::Ready(Ok(Lent::Place(_)))));
    assert!(later.as_mut().poll(&mut cx).is_pending());
    drop(lent);
    let lent = later.as_mut().poll(&mut cx);
    assert!(matches!(lent, Poll::Ready(Ok(Lent::Place(_)))));
}

#[test]
fn requests_that_are_given_up_while_they_wait_keep_no_place() {
    let (pool, origin) = pool(one_for_each_host());
    let mut cx = task::Context::from_waker(Waker::noop());
    let place = pool.try_lend(&origin).expect("a place");
    let mut waiting: VecDeque<_> = (0..5).map(|_| Box::pin(pool.lend(&origin))).collect();
    for one in &mut waiting {
        assert!(one.as_mut().poll(&mut cx).is_pending());
    }
    // The second leaves before it is given anything, the first behind that.
    drop(waiting.remove(1));
    drop(place);
    drop(waiting.pop_front());
    let third = waiting[0].as_mut().poll(&mut cx);
    let Poll::Ready(Ok(Lent::Place(place))) = third else {
        panic!("the third has the place");
    };
    drop(waiting);
    drop(place);
    assert_eq!(pool.counts(), (0, 0));
    assert!(matches!(pool.try_lend(&origin), Some(Lent::Place(_))));
}

#[test]
fn hosts_that_get_no_place_are_not_kept() {
    let (pool, origin) = pool(ClientLimits {
        connections_max: 1,
        ..ClientLimits::DEFAULT
    });
    let mut cx = task::Context::from_waker(Waker::noop());
    let place = pool.try_lend(&origin).expect("a place");
    for number in 0..100 {
        let url = format!("http://{number}.example/");
        let other = Origin::of(&url::Url::parse(&url).expect("a URL")).expect("an origin");
        let mut waiting = pin!(pool.lend(&other));
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(pool.0.inner.borrow().hosts.len(), 1);
    drop(place);
    assert!(pool.0.inner.borrow().hosts.is_empty());
}
