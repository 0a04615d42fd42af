//! The locks of a process, by their names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The locks of a process. Those that no handler has or waits for are forgotten.
#[derive(Default)]
pub(crate) struct Locks(StdMutex<Names>);

#[derive(Default)]
struct Names {
    by_name: HashMap<Arc<str>, Weak<Mutex<()>>>,
    /// The number of names at which the forgotten ones are looked for.
    tidy_at: usize,
}

impl Locks {
    /// From so many names on, forgotten ones are looked for.
    const TIDY_MIN: usize = 64;

    /// Waits for a lock. Handlers get it in the order in which they ask.
    pub(crate) async fn take(&self, name: &str) -> OwnedMutexGuard<()> {
        let lock = self.named(name);
        lock.lock_owned().await
    }

    fn named(&self, name: &str) -> Arc<Mutex<()>> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = names.by_name.get(name).and_then(Weak::upgrade) {
            return lock;
        }
        if names.by_name.len() >= names.tidy_at {
            names.by_name.retain(|_, lock| lock.strong_count() > 0);
            names.tidy_at = (2 * names.by_name.len()).max(Self::TIDY_MIN);
        }
        let lock = Arc::new(Mutex::new(()));
        names.by_name.insert(name.into(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn poll<T>(future: &mut std::pin::Pin<Box<dyn Future<Output = T> + '_>>) -> Poll<T> {
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn one_after_the_other_has_a_lock() {
        let locks = Locks::default();
        let mut all = ["a", "a", "a", "b"]
            .map(|name| Box::pin(locks.take(name)) as std::pin::Pin<Box<dyn Future<Output = _>>>);
        let Poll::Ready(first) = poll(&mut all[0]) else {
            panic!("it is free");
        };
        assert!(poll(&mut all[1]).is_pending() && poll(&mut all[2]).is_pending());
        assert!(poll(&mut all[3]).is_ready(), "another lock is free");
        drop(first);
        assert!(poll(&mut all[2]).is_pending(), "it is the turn of another");
        assert!(poll(&mut all[1]).is_ready());
    }

    #[test]
    fn names_are_forgotten() {
        let locks = Locks::default();
        for number in 0..10_000 {
            let name = number.to_string();
            let mut taken: std::pin::Pin<Box<dyn Future<Output = _>>> = Box::pin(locks.take(&name));
            assert!(poll(&mut taken).is_ready());
        }
        let names = locks.0.lock().expect("unharmed");
        assert!(names.by_name.len() <= Locks::TIDY_MIN);
    }
}
