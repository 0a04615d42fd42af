//! Runs that are stopped, and workers that are given up.

use super::*;
use rustix::thread::{CpuSet, sched_setaffinity};
use sampan_client::wait;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

const LIMIT: Duration = Duration::from_millis(20);

#[test]
fn a_run_within_its_limit_is_left_alone_and_a_longer_one_is_stopped() {
    let (watchdog, watch) = (Watchdog::default(), Arc::new(Watch::default()));
    watchdog.add(1, Arc::clone(&watch), Box::new(|_| {}));
    assert!(!watchdog.look(LIMIT));
    watch.enter(7);
    assert!(watchdog.look(LIMIT));
    assert!(!watch.must_stop());
    wait::until("the stop", || {
        assert!(watchdog.look(LIMIT));
        watch.must_stop()
    });
    assert!(watch.leave());
    watch.enter(7);
    assert!(
        watchdog.look(LIMIT) && !watch.must_stop(),
        "the next run is young"
    );
    assert!(!watch.leave());
}

#[test]
fn a_run_that_hardly_gets_a_processor_has_longer() {
    const SPAN: Duration = Duration::from_millis(100);
    let (watchdog, watch) = (Watchdog::default(), Arc::new(Watch::default()));
    let is_over = Arc::new(AtomicBool::new(false));
    let spin = |is_over: &Arc<AtomicBool>| {
        let is_over = Arc::clone(is_over);
        let mut only = CpuSet::new();
        only.set(0);
        sched_setaffinity(None, &only).expect("the processor");
        move || while !is_over.load(Relaxed) {}
    };
    let (sender, receiver) = mpsc::channel();
    let starved = {
        let (watchdog, watch, is_over) =
            (watchdog.clone(), Arc::clone(&watch), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let spin = spin(&is_over);
            watchdog.add(1, Arc::clone(&watch), Box::new(|_| {}));
            watch.enter(7);
            sender
                .send(ThreadTime::of_this_thread())
                .expect("a receiver");
            spin();
        })
    };
    let thread = receiver.recv().expect("its thread");
    let others = [(); 5].map(|()| {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || spin(&is_over)())
    });
    watchdog.look(SPAN);
    let before = thread.processor_time().expect("the kernel tells");
    while !watch.must_stop() {
        watchdog.look(SPAN);
        std::thread::yield_now();
    }
    let used = thread.processor_time().expect("the kernel tells") - before;
    is_over.store(true, Relaxed);
    starved.join().expect("its end");
    others
        .into_iter()
        .for_each(|other| other.join().expect("its end"));
    assert!(used >= SPAN / 4, "{used:?}");
}

#[test]
fn a_deaf_worker_is_abandoned_once_by_its_name() {
    let (watchdog, watch) = (Watchdog::default(), Arc::new(Watch::default()));
    let (sender, receiver) = mpsc::channel();
    watchdog.add(1, Arc::clone(&watch), Box::new(|_| {}));
    let send = move |name: &str| sender.send(name.to_owned()).expect("a receiver");
    watchdog.loaded(1, vec![(7, "GET /deaf (app.lua:3)".into())], Box::new(send));
    watchdog.start(LIMIT).expect("a thread");
    watch.enter(7);
    let name = receiver
        .recv_timeout(wait::EVENT_TIME_MAX)
        .expect("abandoned");
    assert_eq!(name, "GET /deaf (app.lua:3)");
    assert!(
        receiver.recv_timeout(Duration::from_millis(100)).is_err(),
        "once"
    );
    watchdog.stop();
}

#[test]
fn processor_times_are_those_of_measured_workers() {
    let (watchdog, watch) = (Watchdog::default(), Arc::new(Watch::default()));
    watchdog.add(1, Arc::clone(&watch), Box::new(|_| {}));
    assert!(watchdog.processor_times().is_empty());
    watchdog.measure(1, 3);
    watchdog.measure(2, 4);
    wait::until("this thread has used time", || {
        let times = watchdog.processor_times();
        let numbers: Vec<usize> = times.keys().copied().collect();
        numbers == [3] && times[&3] > Duration::ZERO
    });
    watchdog.remove(1);
    assert!(watchdog.processor_times().is_empty());
}
