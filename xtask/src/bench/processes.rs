//! What a server costs: processor time and memory of its processes, from /proc.

use std::collections::BTreeMap;
use std::fs;

/// A tick of the times in `/proc/PID/stat`, which Linux counts in hundredths of a second for every program.
const TICK_MICROS: f64 = 10_000.0;

/// The processor time used so far by a process and everything below it.
#[derive(Debug, Default)]
pub(super) struct CpuTimes {
    /// Nanoseconds on a processor, by thread.
    threads: BTreeMap<u32, Thread>,
    /// User and system time in ticks, by process; coarse, but with the threads that have ended.
    processes: BTreeMap<u32, u64>,
}

#[derive(Debug)]
struct Thread {
    name: String,
    nanos: u64,
}

impl CpuTimes {
    /// Reads the times of `root` and its descendants.
    pub(super) fn of(root: u32) -> Self {
        let mut times = Self::default();
        for process in tree(root) {
            if let Some(stat) = Stat::read(process) {
                times.processes.insert(process, stat.ticks);
            }
            for thread in numbered(&format!("/proc/{process}/task")) {
                let path = |file| format!("/proc/{process}/task/{thread}/{file}");
                let spent = fs::read_to_string(path("schedstat")).ok();
                let nanos = spent.and_then(|text| text.split(' ').next()?.parse().ok());
                let name = fs::read_to_string(path("comm"))
                    .unwrap_or_default()
                    .trim()
                    .to_owned();
                if let Some(nanos) = nanos {
                    times.threads.insert(thread, Thread { name, nanos });
                }
            }
        }
        times
    }

    /// Microseconds spent since `earlier`.
    ///
    /// The scheduler's own count is exact to the nanosecond but lost with the thread, so the coarse one of the
    /// process is used where a thread has ended in between (or the kernel keeps no exact count).
    pub(super) fn micros_since(&self, earlier: &Self) -> f64 {
        let coarse = self
            .processes
            .iter()
            .map(|(id, ticks)| ticks - earlier.processes.get(id).unwrap_or(&0).min(ticks));
        let coarse = coarse.sum::<u64>() as f64 * TICK_MICROS;
        let whole = earlier
            .threads
            .keys()
            .all(|id| self.threads.contains_key(id));
        if whole && !self.threads.is_empty() {
            self.threads_since(earlier, |_| true)
                .iter()
                .map(|(_, micros)| micros)
                .sum()
        } else {
            coarse
        }
    }

    /// Microseconds spent since `earlier` by the threads whose names are chosen, each with its name, in its order.
    pub(super) fn threads_since(
        &self,
        earlier: &Self,
        chosen: impl Fn(&str) -> bool,
    ) -> Vec<(&str, f64)> {
        let threads = self
            .threads
            .iter()
            .filter(|(_, thread)| chosen(&thread.name));
        let mut spent: Vec<(&str, f64)> = threads
            .map(|(id, thread)| {
                let before = earlier.threads.get(id).map_or(0, |thread| thread.nanos);
                (
                    thread.name.as_str(),
                    thread.nanos.saturating_sub(before) as f64 / 1_000.0,
                )
            })
            .collect();
        spent.sort_by(|one, other| one.0.cmp(other.0));
        spent
    }
}

/// The resident memory of `root` and its descendants, in bytes. Pages that they share count for each.
pub(super) fn resident_bytes(root: u32) -> u64 {
    let kib = tree(root).into_iter().filter_map(|process| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    kib.sum::<u64>() * 1024
}

/// A process and all that it started, directly or not.
fn tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbered("/proc")
        .into_iter()
        .filter_map(|process| Some((process, Stat::read(process)?.parent)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(
            parents
                .iter()
                .filter(|(_, above)| *above == parent)
                .map(|(process, _)| process),
        );
        next += 1;
    }
    found
}

/// The entries of a folder that are numbers.
fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The fields of `/proc/PID/stat` that matter here (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time, in ticks.
    ticks: u64,
}

impl Stat {
    fn read(process: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The name, field 2, is in parentheses and may hold anything; fields 4, 14 and 15 are wanted.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(4)?).ok()?,
            ticks: number(14)? + number(15)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "12 (a) b) S 7 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 99 0 0";
        assert_eq!(
            Stat::parse(text),
            Some(Stat {
                parent: 7,
                ticks: 300
            })
        );
        assert_eq!(Stat::parse("12 (short) S 7"), None);
    }

    #[test]
    fn work_done_here_is_seen() {
        let id = std::process::id();
        let before = CpuTimes::of(id);
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 60 {
            std::hint::black_box(started.elapsed());
        }
        let spent = CpuTimes::of(id).micros_since(&before);
        assert!(spent > 5_000.0, "{spent} µs");
        assert!(resident_bytes(id) > 100_000);
    }

    #[test]
    fn time_of_a_thread_that_ended_is_not_lost() {
        let thread = |name: &str, nanos| Thread {
            name: name.to_owned(),
            nanos,
        };
        let before = CpuTimes {
            threads: BTreeMap::from([(1, thread("w1", 1_000_000)), (2, thread("w2", 5_000_000))]),
            processes: BTreeMap::from([(1, 10)]),
        };
        let mut after = CpuTimes {
            threads: BTreeMap::from([(1, thread("w1", 3_000_000)), (2, thread("w2", 5_500_000))]),
            processes: BTreeMap::from([(1, 14)]),
        };
        assert_eq!(after.micros_since(&before), 2_500.0);
        assert_eq!(
            after.threads_since(&before, |name| name == "w2"),
            [("w2", 500.0)]
        );
        after.threads.remove(&2);
        assert_eq!(after.micros_since(&before), 40_000.0);
    }
}
