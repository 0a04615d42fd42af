//! One who makes a value for all, and values that are not kept because their keys were changed.

use super::*;

fn entry(text: &str) -> Entry {
    Entry {
        value: Arc::new(Payload::Text(text.to_owned())),
        until: None,
    }
}

fn text(store: &CacheStore, key: &str) -> Option<String> {
    let value = store.get(key)?;
    value.text().map(str::to_owned)
}

fn filling(store: &Arc<CacheStore>, key: &Arc<str>) -> Filling {
    match store.begin(key) {
        Begun::Fills(filling) => filling,
        _ => panic!("it is there, or is being made"),
    }
}

fn waiting(store: &Arc<CacheStore>, key: &Arc<str>) -> watch::Receiver<Option<Made>> {
    match store.begin(key) {
        Begun::Waits(receiver) => receiver,
        _ => panic!("it is there, or is not being made"),
    }
}

#[test]
fn one_makes_the_value_for_all() {
    let (store, key) = (Arc::new(CacheStore::new(10_000)), Arc::from("k"));
    let first = filling(&store, &key);
    let receiver = waiting(&store, &key);
    first.finish(entry("made"));
    assert!(matches!(&*receiver.borrow(), Some(Made::Value(_))));
    assert!(matches!(store.begin(&key), Begun::There(_)));
}

#[test]
fn numbers_are_added_up_from_all_threads() {
    let (store, key) = (CacheStore::new(10_000), Arc::from("k"));
    let add = || (0..1_000).map(|_| store.add(&key, 1, None).expect("a sum"));
    let mut sums = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(|| add().collect::<Vec<i64>>()));
        threads
            .map(|thread| thread.join().expect("no panic"))
            .concat()
    });
    sums.sort_unstable();
    assert!(sums.into_iter().eq(1..=4_000));
    store.change(&key, Some(entry("text")));
    assert!(store.add(&key, 1, None).is_err());
    assert_eq!(text(&store, "k").as_deref(), Some("text"));
}

#[test]
fn a_value_is_not_kept_whose_number_was_added_to_meanwhile() {
    let (store, key) = (Arc::new(CacheStore::new(10_000)), Arc::from("k"));
    let old = filling(&store, &key);
    assert_eq!(store.add(&key, 5, None).ok(), Some(5));
    old.finish(entry("old"));
    assert_eq!(store.add(&key, 1, None).ok(), Some(6));
    store.add(&key, 1, Some(Duration::ZERO)).expect("a sum");
    assert_eq!(store.add(&key, 1, None).ok(), Some(8));
}

#[test]
fn the_next_one_tries_when_one_is_given_up() {
    let (store, key) = (Arc::new(CacheStore::new(10_000)), Arc::from("k"));
    let first = filling(&store, &key);
    let receiver = waiting(&store, &key);
    drop(first);
    assert!(receiver.has_changed().is_err() && receiver.borrow().is_none());
    let second = filling(&store, &key);
    let receiver = waiting(&store, &key);
    second.fail();
    assert!(matches!(&*receiver.borrow(), Some(Made::Failed)));
    drop(filling(&store, &key));
}

#[test]
fn a_value_is_not_kept_whose_key_was_changed_meanwhile() {
    let (store, key) = (Arc::new(CacheStore::new(10_000)), Arc::from("k"));
    let old = filling(&store, &key);
    let receiver = waiting(&store, &key);
    store.change(&key, None);
    let new = filling(&store, &key);
    old.finish(entry("old"));
    assert!(matches!(&*receiver.borrow(), Some(Made::Value(_))));
    assert_eq!(text(&store, "k"), None);
    drop(waiting(&store, &key));
    new.finish(entry("new"));
    assert_eq!(text(&store, "k").as_deref(), Some("new"));
}

#[test]
fn a_value_made_for_one_run_alone_is_kept_unless_another_has_changed_the_key() {
    let (store, key) = (Arc::new(CacheStore::new(10_000)), Arc::from("k"));
    // Its own change is made when its writes are committed.
    let own = store.begin_alone(&key, 1);
    store.change(&key, None);
    own.finish(entry("own"));
    assert_eq!(text(&store, "k").as_deref(), Some("own"));
    // Another run deletes the key meanwhile.
    let old = store.begin_alone(&key, 1);
    store.change(&key, None);
    store.change(&key, None);
    old.finish(entry("old"));
    assert_eq!(text(&store, "k"), None);
    let old = store.begin_alone(&key, 0);
    store.clear();
    old.finish(entry("old"));
    assert_eq!(text(&store, "k"), None);
    // Of two that are made at once the second may know less than the first.
    let (one, other) = (store.begin_alone(&key, 0), store.begin_alone(&key, 0));
    one.finish(entry("one"));
    other.finish(entry("other"));
    assert_eq!(text(&store, "k").as_deref(), Some("one"));
    assert!(store.lock().alone.is_empty());
}
