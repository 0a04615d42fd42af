//! Names of hosts and their addresses. The system's lookup blocks, so a few threads do it for all workers.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::client::fault::{ClientFault, ClientFaultKind};

/// The most threads. A name whose servers do not answer holds one for many seconds.
const THREADS_MAX: usize = 32;

/// A thread without work ends after so long.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// The most lookups that wait for a thread.
const WAITING_MAX: usize = 1024;

/// The most names that are kept.
const KEPT_MAX: usize = 1024;

/// Finds the addresses of a name. Called on a thread of its own.
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a name, the preferred one first.
    ///
    /// # Errors
    /// The name is not known, or the lookup failed.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The lookup of the system: `getaddrinfo`.
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = (name, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// The lookups of a process, with a short memory. Clones are the same.
#[derive(Clone)]
pub struct Lookups(Arc<LookupState>);

struct LookupState {
    resolver: Box<dyn Resolve>,
    work: Mutex<LookupWork>,
    has_work: Condvar,
}

type Job = Box<dyn FnOnce() + Send>;

/// The answer to a lookup, or the fault as text.
type Found = Result<Arc<[IpAddr]>, String>;

#[derive(Default)]
struct LookupWork {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    kept: HashMap<String, (Instant, Arc<[IpAddr]>)>,
    /// Those who wait for a name that is being looked up.
    asked: HashMap<String, Vec<oneshot::Sender<Found>>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self::new(Box::new(SystemResolver))
    }
}

impl std::fmt::Debug for Lookups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookups").finish_non_exhaustive()
    }
}

impl Lookups {
    /// Creates lookups by a resolver. No thread runs before the first one.
    pub fn new(resolver: Box<dyn Resolve>) -> Self {
        Self(Arc::new(LookupState {
            resolver,
            work: Mutex::default(),
            has_work: Condvar::new(),
        }))
    }

    /// Returns the addresses of a name, those that were found within `kept_time` without a lookup.
    pub(super) async fn addresses(
        &self,
        name: &str,
        kept_time: Duration,
    ) -> Result<Arc<[IpAddr]>, ClientFault> {
        let found = match self.ask(name, kept_time)? {
            Asked::Known(addresses) => Ok(addresses),
            Asked::Waits(answer) => {
                let answer = answer.await;
                answer.unwrap_or_else(|_| Err("the lookup ended without an answer".to_owned()))
            }
        };
        let fault = |text: String| ClientFault::new(ClientFaultKind::Name, text);
        let addresses = found.map_err(|error| fault(format!("looking up {name}: {error}")))?;
        match addresses.is_empty() {
            true => Err(fault(format!("{name} has no address"))),
            false => Ok(addresses),
        }
    }

    fn ask(&self, name: &str, kept_time: Duration) -> Result<Asked, ClientFault> {
        let mut work = self.0.work();
        if let Some((found, addresses)) = work.kept.get(name)
            && found.elapsed() < kept_time
        {
            return Ok(Asked::Known(Arc::clone(addresses)));
        }
        let (told, answer) = oneshot::channel();
        if let Some(waiting) = work.asked.get_mut(name) {
            waiting.retain(|told| !told.is_closed());
            waiting.push(told);
            return Ok(Asked::Waits(answer));
        }
        if work.jobs.len() >= WAITING_MAX {
            let text = format!("looking up {name}: more lookups wait than may ({WAITING_MAX})");
            return Err(ClientFault::new(ClientFaultKind::Busy, text));
        }
        work.asked.insert(name.to_owned(), vec![told]);
        let (state, name) = (Arc::clone(&self.0), name.to_owned());
        self.submit(work, Box::new(move || state.look_up(name)));
        Ok(Asked::Waits(answer))
    }

    /// Runs something that blocks on one of the threads.
    pub(in crate::client) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (told, answer) = oneshot::channel();
        let job = move || {
            if !told.is_closed() {
                let _ = told.send(job());
            }
        };
        self.submit(self.0.work(), Box::new(job));
        answer.await.ok()
    }

    fn submit(&self, mut work: MutexGuard<'_, LookupWork>, job: Job) {
        work.jobs.push_back(job);
        if work.idle >= work.jobs.len() || work.threads >= THREADS_MAX {
            self.0.has_work.notify_one();
            return;
        }
        let state = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("sampan-lookup".to_owned());
        if thread.spawn(move || state.serve()).is_ok() {
            work.threads += 1;
        } else if work.threads == 0 {
            // Nothing will do it: those who wait are told by the end of their channels.
            work.jobs.clear();
            work.asked.clear();
        }
    }
}

enum Asked {
    Known(Arc<[IpAddr]>),
    Waits(oneshot::Receiver<Found>),
}

impl LookupState {
    fn work(&self) -> MutexGuard<'_, LookupWork> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a name up for those who wait for it, unless all of them have given up.
    fn look_up(&self, name: String) {
        if !self.is_wanted(&name) {
            return;
        }
        let found = self.resolver.resolve(&name);
        let found = found.map(Arc::from).map_err(|error| error.to_string());
        let mut work = self.work();
        let waiting = work.asked.remove(&name).unwrap_or_default();
        if let Ok(addresses) = &found {
            if work.kept.len() >= KEPT_MAX {
                work.kept.clear();
            }
            let addresses: &Arc<[IpAddr]> = addresses;
            work.kept
                .insert(name, (Instant::now(), Arc::clone(addresses)));
        }
        drop(work);
        for told in waiting {
            let _ = told.send(found.clone());
        }
    }

    fn is_wanted(&self, name: &str) -> bool {
        let mut work = self.work();
        let waiting = work.asked.get(name);
        let is_wanted = waiting.is_some_and(|all| all.iter().any(|told| !told.is_closed()));
        if !is_wanted {
            work.asked.remove(name);
        }
        is_wanted
    }

    /// Does jobs until there have been none for a while.
    fn serve(&self) {
        let mut work = self.work();
        loop {
            if let Some(job) = work.jobs.pop_front() {
                drop(work);
                job();
                work = self.work();
                continue;
            }
            work.idle += 1;
            let waited = self.has_work.wait_timeout(work, IDLE_TIME);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            work = again;
            work.idle -= 1;
            if timeout.timed_out() && work.jobs.is_empty() {
                work.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Gives another address each time.
    #[derive(Default)]
    struct Changing(AtomicU8);

    impl Resolve for Changing {
        fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            match name {
                "empty.test" => Ok(Vec::new()),
                "unknown.test" => Err(io::Error::other("no such name")),
                _ => {
                    let last = self.0.fetch_add(1, Ordering::Relaxed);
                    Ok(vec![[192, 0, 2, last].into()])
                }
            }
        }
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(test)
    }

    #[test]
    fn names_are_kept_for_a_while() {
        let lookups = Lookups::new(Box::new(Changing::default()));
        let long = Duration::from_secs(3600);
        run(async {
            let first = lookups.addresses("a.test", long).await.expect("addresses");
            let again = lookups.addresses("a.test", long).await.expect("addresses");
            assert_eq!(first, again);
            let later = lookups.addresses("a.test", Duration::ZERO).await;
            assert_ne!(first, later.expect("addresses"));
        });
    }

    #[test]
    fn faults_say_which_name() {
        let lookups = Lookups::new(Box::new(Changing::default()));
        run(async {
            for (name, text) in [
                ("empty.test", "empty.test has no address"),
                ("unknown.test", "looking up unknown.test: no such name"),
            ] {
                let fault = lookups.addresses(name, Duration::ZERO).await.unwrap_err();
                assert_eq!((fault.kind, &*fault.text), (ClientFaultKind::Name, text));
            }
        });
    }

    #[test]
    fn a_few_threads_do_many_lookups() {
        let lookups = Lookups::new(Box::new(Changing::default()));
        run(async {
            for number in 0..100 {
                let name = format!("{number}.test");
                lookups
                    .addresses(&name, Duration::ZERO)
                    .await
                    .expect("addresses");
            }
        });
        let threads = lookups.0.work().threads;
        assert!((1..=THREADS_MAX).contains(&threads), "{threads}");
    }

    /// Keeps the names that begin with `slow` until the gate is open, and notes all that it has begun.
    #[derive(Clone, Default)]
    struct Gated(Arc<(Mutex<GateState>, Condvar)>);

    /// True once the gate is open, and the names whose lookups have begun.
    type GateState = (bool, Vec<String>);

    impl Gated {
        fn lock(&self) -> MutexGuard<'_, GateState> {
            self.0.0.lock().expect("a lock")
        }

        /// Waits until so many lookups have begun.
        fn wait_for(&self, count: usize) {
            let begun = self
                .0
                .1
                .wait_while(self.lock(), |held| held.1.len() < count);
            drop(begun.expect("a lock"));
        }

        fn open(&self) {
            self.lock().0 = true;
            self.0.1.notify_all();
        }
    }

    impl Resolve for Gated {
        fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            let mut held = self.lock();
            held.1.push(name.to_owned());
            self.0.1.notify_all();
            let is_held = |held: &mut GateState| !held.0 && name.starts_with("slow");
            drop(self.0.1.wait_while(held, is_held).expect("a lock"));
            Ok(vec![[192, 0, 2, 1].into()])
        }
    }

    fn ask(lookups: &Lookups, name: &str) -> oneshot::Receiver<Found> {
        match lookups.ask(name, Duration::ZERO).expect("asked") {
            Asked::Waits(answer) => answer,
            Asked::Known(_) => panic!("{name} is known"),
        }
    }

    #[test]
    fn a_few_slow_names_do_not_stop_others() {
        let gate = Gated::default();
        let lookups = Lookups::new(Box::new(gate.clone()));
        let slow: Vec<_> = (0..8)
            .map(|number| ask(&lookups, &format!("slow{number}.test")))
            .collect();
        let quick = ask(&lookups, "quick.test");
        let quick = run(async { tokio::time::timeout(Duration::from_secs(10), quick).await });
        assert!(quick.expect("in time").expect("an answer").is_ok());
        gate.open();
        for answer in slow {
            assert!(answer.blocking_recv().expect("an answer").is_ok());
        }
    }

    #[test]
    fn names_that_are_wanted_no_longer_are_not_looked_up() {
        let gate = Gated::default();
        let lookups = Lookups::new(Box::new(gate.clone()));
        let slow: Vec<_> = (0..THREADS_MAX)
            .map(|number| ask(&lookups, &format!("slow{number}.test")))
            .collect();
        gate.wait_for(THREADS_MAX);
        drop(ask(&lookups, "given-up.test"));
        drop(ask(&lookups, "again.test"));
        let again = ask(&lookups, "again.test");
        assert_eq!(lookups.0.work().asked["again.test"].len(), 1);
        let last = ask(&lookups, "last.test");
        gate.open();
        for answer in slow.into_iter().chain([again, last]) {
            assert!(answer.blocking_recv().expect("an answer").is_ok());
        }
        let begun = gate.lock().1.clone();
        assert!(!begun.contains(&"given-up.test".to_owned()), "{begun:?}");
    }
}
