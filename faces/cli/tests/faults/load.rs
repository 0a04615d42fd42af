//! Clients that write until their server is gone, and what they were told meanwhile.

use super::{Server, ask};
use sampan_testkit::Client;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The ids of a client's writes are this far from those of the next.
const IDS_EACH: u64 = 1_000_000;

/// The acknowledgements of clients' writes.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The ids whose write was asked for.
    pub(crate) asked: HashSet<u64>,
    /// The ids whose write was answered 200.
    pub(crate) acknowledged: HashSet<u64>,
    /// The ids whose write was answered otherwise.
    pub(crate) refused: HashSet<u64>,
    /// The other answers: how often, and one body.
    pub(crate) others: BTreeMap<u16, (u64, String)>,
    /// The time that each answer took.
    pub(crate) times: Vec<Duration>,
}

impl Told {
    fn add(&mut self, other: Self) {
        self.asked.extend(other.asked);
        self.acknowledged.extend(other.acknowledged);
        self.refused.extend(other.refused);
        self.times.extend(other.times);
        for (status, (count, body)) in other.others {
            self.others.entry(status).or_insert((0, body)).0 += count;
        }
    }

    /// Makes sure that nothing acknowledged is missing and that nothing is there that nobody asked for.
    pub(crate) fn expect_kept(&self, there: &HashSet<u64>, when: &str) {
        let lost = self.acknowledged.difference(there).count();
        let some = self
            .acknowledged
            .difference(there)
            .take(5)
            .collect::<Vec<_>>();
        assert_eq!(
            lost,
            0,
            "{when}: of {} acknowledged writes {lost} are lost, such as {some:?}",
            self.acknowledged.len()
        );
        let invented = there.difference(&self.asked).count();
        assert_eq!(invented, 0, "{when}: writes that nobody asked for");
    }

    /// The times of the answers, the shortest first.
    pub(crate) fn sorted_times(&self) -> Vec<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times
    }

    /// Makes sure that every answer was 200.
    pub(crate) fn expect_no_refusals(&self, when: &str) {
        assert!(self.others.is_empty(), "{when}: {:?}", self.others);
    }
}

/// The kind of a client's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// One row in each request.
    Singles,
    /// Ten rows in each request.
    Batches,
    /// Some clients the one, some the other.
    Both,
    /// Some clients these, and some ten rows in a transaction that waits in the middle.
    All,
}

impl Writes {
    /// The route that a client writes to, and how many rows that writes.
    fn of(self, client: u64) -> (&'static str, u64) {
        const SINGLE: (&str, u64) = ("write", 1);
        const BATCH: (&str, u64) = ("batch", 10);
        match self {
            Self::Singles => SINGLE,
            Self::Batches => BATCH,
            Self::Both => [SINGLE, BATCH][client as usize % 2],
            Self::All => [SINGLE, BATCH, ("transaction", 10)][client as usize % 3],
        }
    }
}

/// Clients at work.
pub(crate) struct Writers {
    clients: Vec<JoinHandle<Told>>,
    stop: Arc<AtomicBool>,
}

impl Writers {
    /// Starts so many, each on a connection of its own.
    pub(crate) fn start(server: &Server, cycle: u64, clients: u64, writes: Writes) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let clients = (0..clients).map(|number| {
            let (mut client, stop) = (server.client(), Arc::clone(&stop));
            let kind = writes.of(number);
            let first = 1 + (cycle * 100 + number) * IDS_EACH;
            std::thread::spawn(move || write(&mut client, cycle, first, kind, &stop))
        });
        Self {
            clients: clients.collect(),
            stop,
        }
    }

    /// Waits for their end, which comes with that of the server.
    pub(crate) fn join(self) -> Told {
        let mut told = Told::default();
        for client in self.clients {
            told.add(client.join().expect("a client does not panic"));
        }
        told
    }

    /// Ends them after their present request.
    pub(crate) fn stop(self) -> Told {
        self.stop.store(true, Ordering::Relaxed);
        self.join()
    }
}

fn write(
    client: &mut Client,
    cycle: u64,
    first: u64,
    (what, rows): (&str, u64),
    stop: &AtomicBool,
) -> Told {
    let mut told = Told::default();
    for id in (first..first + IDS_EACH).step_by(rows as usize) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let ids = id..id + rows;
        told.asked.extend(ids.clone());
        let begun = Instant::now();
        let Ok(answer) = ask(client, "POST", &format!("/{what}/{cycle}/{id}")) else {
            break;
        };
        // An answer that was cut off by the end of the server tells nothing.
        if answer.is_cut {
            break;
        }
        told.times.push(begun.elapsed());
        if answer.status == 200 {
            told.acknowledged.extend(ids);
        } else {
            told.refused.extend(ids);
            let other = told.others.entry(answer.status);
            other.or_insert_with(|| (0, answer.text())).0 += 1;
        }
    }
    told
}
