//! The faults, in an order that the seed decides.

use crate::random::Random;
use std::time::Duration;

/// The first faults of a run: each kind once.
const FIRST: [InjectedFault; 4] = [
    InjectedFault::Kill,
    InjectedFault::Full,
    InjectedFault::Reload,
    InjectedFault::Stop,
];
/// The part of the run in which processes are killed, in percent. Those that live then are judged by their memory.
const KILLS_PERCENT: u32 = 60;
/// The pauses between two faults: so many in a run, within these limits.
const FAULTS: u32 = 120;
const PAUSE_MILLIS: (u64, u64) = (150, 6_000);
/// The longest time that a server is stopped or its disk is full.
const LASTS_MILLIS_MAX: u64 = 10_000;

/// Something that happens to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// SIGKILL, and a new process in the other language.
    Kill,
    /// SIGHUP.
    Reload,
    /// SIGHUP, and SIGKILL while it reloads.
    KillInReload,
    /// SIGSTOP, and SIGCONT later.
    Stop,
    /// A full disk for a while.
    Full,
    /// A full disk, and SIGKILL before there is room again.
    KillInFull,
}

/// The next fault.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) fault: InjectedFault,
    /// The time before it.
    pub(crate) pause: Duration,
    /// The time that it lasts, where it does.
    pub(crate) lasts: Duration,
    /// The number of the server among those of the run.
    pub(crate) server: usize,
}

/// The order of faults.
pub(crate) struct Faults {
    random: Random,
    first: Vec<InjectedFault>,
    time: Duration,
    servers: usize,
}

impl Faults {
    pub(crate) fn new(seed: u64, time: Duration, servers: usize) -> Self {
        let mut random = Random::new(seed, 1);
        let mut first = FIRST.to_vec();
        first.sort_by_key(|_| random.next());
        Self {
            random,
            first,
            time,
            servers,
        }
    }

    /// Returns the next fault of a run that is so old.
    pub(crate) fn next(&mut self, age: Duration) -> Next {
        let (least, most) = PAUSE_MILLIS;
        let mean = (self.time / FAULTS).as_millis() as u64;
        let mean = mean.clamp(least, most);
        let pause = Duration::from_millis(self.random.between(mean / 2, mean * 3 / 2));
        let lasts = self.random.between(1, LASTS_MILLIS_MAX.min(mean * 3));
        let lasts = Duration::from_millis(lasts);
        if let Some(fault) = self.first.pop() {
            return Next {
                fault,
                pause,
                lasts,
                server: 0,
            };
        }
        // The first is the app, on which most is to be seen.
        let server = match self.random.one_in(2) {
            true => 0,
            false => self.random.between(0, self.servers as u64 - 1) as usize,
        };
        let kills = age < self.time * KILLS_PERCENT / 100;
        let fault = match self.random.between(1, 10) {
            1 | 2 if kills => InjectedFault::Kill,
            3 if kills => InjectedFault::KillInReload,
            4 if kills && server == 0 => InjectedFault::KillInFull,
            4 | 5 => InjectedFault::Stop,
            6 | 7 if server == 0 => InjectedFault::Full,
            _ => InjectedFault::Reload,
        };
        Next {
            fault,
            pause,
            lasts,
            server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_fault_comes_early_and_no_kill_comes_late() {
        let time = Duration::from_secs(100);
        for seed in 0..20 {
            let mut faults = Faults::new(seed, time, 4);
            let mut next = |age: u64| faults.next(Duration::from_secs(age)).fault;
            let first: BTreeSet<String> = (0..4).map(|_| format!("{:?}", next(1))).collect();
            assert_eq!(first.len(), 4, "{first:?}");
            for _ in 0..50 {
                let fault = next(61);
                assert!(matches!(
                    fault,
                    InjectedFault::Stop | InjectedFault::Full | InjectedFault::Reload
                ));
            }
        }
    }
}
