//! The costs of a server: processor time and memory of its processes, from /proc.

use std::collections::BTreeMap;

use procfs::process::{Process, Status, all_processes};

/// A tick of the times in `/proc/PID/stat`, which Linux counts in hundredths of a second for every program.
const TICK_MICROS: f64 = 10_000.0;

/// The processor time used so far by a process and everything below it.
#[derive(Debug, Default)]
pub(crate) struct CpuTimes {
    /// Nanoseconds on a processor, by thread.
    threads: BTreeMap<i32, ThreadTime>,
    /// User and system time in ticks, by process; coarse, but with the threads that have ended.
    processes: BTreeMap<i32, u64>,
}

#[derive(Debug)]
struct ThreadTime {
    name: String,
    nanos: u64,
}

impl CpuTimes {
    /// Reads the times of `root` and its descendants.
    pub(crate) fn of(root: u32) -> Self {
        let mut times = Self::default();
        for process in tree(root) {
            if let Ok(stat) = process.stat() {
                times.processes.insert(process.pid, stat.utime + stat.stime);
            }
            for task in process.tasks().into_iter().flatten().flatten() {
                if let (Ok(spent), Ok(stat)) = (task.schedstat(), task.stat()) {
                    let (name, nanos) = (stat.comm, spent.sum_exec_runtime);
                    times.threads.insert(task.tid, ThreadTime { name, nanos });
                }
            }
        }
        times
    }

    /// Microseconds spent since `earlier`.
    ///
    /// The scheduler's own count is exact to the nanosecond but lost with the thread, so the coarse one of the
    /// process is used where a thread has ended in between (or the kernel keeps no exact count).
    pub(crate) fn micros_since(&self, earlier: &Self) -> f64 {
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
    pub(crate) fn threads_since(
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
pub(crate) fn resident_bytes(root: u32) -> u64 {
    memory(root, |status| status.vmrss)
}

/// The largest resident memory that each of them has had, together.
pub(crate) fn peak_bytes(root: u32) -> u64 {
    memory(root, |status| status.vmhwm)
}

fn memory(root: u32, kib: impl Fn(&Status) -> Option<u64>) -> u64 {
    let status = tree(root)
        .into_iter()
        .filter_map(|process| process.status().ok());
    status.filter_map(|status| kib(&status)).sum::<u64>() * 1024
}

/// A process and all that it started, directly or not.
fn tree(root: u32) -> Vec<Process> {
    let all: Vec<(i32, Process)> = all_processes()
        .into_iter()
        .flatten()
        .filter_map(|process| {
            process
                .ok()
                .and_then(|one| Some((one.stat().ok()?.ppid, one)))
        })
        .collect();
    let mut inside = vec![root.cast_signed()];
    // A child can have a smaller number than its parent, so this goes on until nothing is added.
    loop {
        let below = |(parent, process): &&(i32, Process)| {
            inside.contains(parent) && !inside.contains(&process.pid)
        };
        let found: Vec<i32> = all
            .iter()
            .filter(below)
            .map(|(_, process)| process.pid)
            .collect();
        if found.is_empty() {
            break;
        }
        inside.extend(found);
    }
    all.into_iter()
        .map(|(_, process)| process)
        .filter(|process| inside.contains(&process.pid))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_done_here_is_seen() {
        let id = std::process::id();
        let before = CpuTimes::of(id);
        let started = std::time::Instant::now();
        // It ends by what it sees, not by the clock: other programs may have the processor meanwhile.
        while CpuTimes::of(id).micros_since(&before) < 5_000.0 {
            assert!(
                started.elapsed().as_secs() < 60,
                "no processor time is seen"
            );
        }
        assert!(resident_bytes(id) > 100_000);
        let peak = peak_bytes(id);
        assert!(peak_bytes(id) >= peak && peak >= 100_000);
    }

    #[test]
    fn time_of_a_thread_that_ended_is_not_lost() {
        let thread = |name: &str, nanos| ThreadTime {
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
