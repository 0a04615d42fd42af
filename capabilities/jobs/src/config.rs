//! The settings of `[jobs]`.

use crate::limits::LEASE_MILLIS_MAX;
use sampan_host::settings::{Preset, Section, SettingKey, Settings, units};
use std::collections::BTreeMap;
use std::time::Duration;

const DAY_MILLIS: u64 = 24 * 3_600 * 1_000;

/// `[jobs]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "jobs",
    doc: "Work outside of requests.",
    keys: &[
        SettingKey::count("workers", 0..=64, 2,
            "threads that run jobs, each with an isolate; 0: this process adds jobs and runs none"),
        SettingKey::count("concurrency", 1..=10_000, 10,
            "jobs of one queue that run at the same time in this process"),
        SettingKey::texts("queues", Preset::Empty,
            "queues with limits of their own: \"mail 2\" runs 2 at the same time, \"mail 2 100/m\" also starts at \
             most 100 in a minute (s, m, h), in all processes that share the database"),
        SettingKey::time("lease", 1_000..=LEASE_MILLIS_MAX, 30_000,
            "a job runs again if its process has not said for so long that it goes on"),
        SettingKey::size("args_bytes_max", 1..=16 * 1024 * 1024, 256 * 1024, "largest arguments of a job, as JSON"),
        SettingKey::count("keep_days", 0..=36_500, 30, "days that jobs are kept that failed for good or were \
         cancelled"),
        SettingKey::count("keep_done_days", 0..=36_500, 0, "days that jobs are kept that are done"),
    ],
};

/// The settings of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsConfig {
    /// The number of threads that run jobs.
    pub workers: usize,
    /// The number of jobs of a queue that run at the same time, unless it has a rule of its own.
    pub concurrency: usize,
    /// The queues that have.
    pub queues: BTreeMap<String, QueueRule>,
    /// The time after which a job runs again of which nothing was heard.
    pub lease: Duration,
    /// The largest arguments, in bytes.
    pub args_bytes_max: usize,
    /// The time that jobs are kept that failed for good or were cancelled, in milliseconds.
    pub keep_millis: i64,
    /// The time that jobs are kept that are done, in milliseconds.
    pub keep_done_millis: i64,
}

/// The limits of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRule {
    /// The number of jobs that run at the same time in this process.
    pub concurrency: usize,
    /// The rate at which jobs may start, in all processes that share the database.
    pub rate: Option<QueueRate>,
}

/// The number of jobs that may start within a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRate {
    /// The number.
    pub count: u32,
    /// The time.
    pub period: Duration,
}

impl QueueRate {
    /// Returns the time in milliseconds, at least 1.
    pub(crate) fn period_millis(self) -> i64 {
        let millis = i64::try_from(self.period.as_millis());
        millis.unwrap_or(i64::MAX).max(1)
    }
}

impl JobsConfig {
    /// Reads `[jobs]`.
    ///
    /// # Errors
    /// A queue that is not written as it must be.
    pub fn from_settings(settings: &Settings) -> Result<Self, String> {
        let queues = rules(&settings.list("queues"))?;
        let days = |key: &str| settings.number::<u32>(key);
        let millis = |days: u32| i64::from(days) * DAY_MILLIS as i64;
        Ok(Self {
            workers: settings.number("workers"),
            concurrency: settings.number("concurrency"),
            queues,
            lease: Duration::from_millis(settings.number("lease")),
            args_bytes_max: settings.number("args_bytes_max"),
            keep_millis: millis(days("keep_days")),
            keep_done_millis: millis(days("keep_done_days")),
        })
    }

    /// Returns the limits of a queue.
    pub fn rule(&self, queue: &str) -> QueueRule {
        let plain = QueueRule {
            concurrency: self.concurrency,
            rate: None,
        };
        self.queues.get(queue).copied().unwrap_or(plain)
    }
}

/// Reads the queues that have limits of their own.
fn rules(texts: &[String]) -> Result<BTreeMap<String, QueueRule>, String> {
    let mut queues = BTreeMap::new();
    for text in texts {
        let (name, rule) = rule(text).ok_or_else(|| {
            format!(
                "queues: {text:?} is not a queue with its limits, such as \"mail 2\" or \"mail 2 100/m\""
            )
        })?;
        if queues.contains_key(&name) {
            return Err(format!("queues: {name} stands there twice"));
        }
        queues.insert(name, rule);
    }
    Ok(queues)
}

/// Reads `name concurrency` or `name concurrency count/unit`.
fn rule(text: &str) -> Option<(String, QueueRule)> {
    let mut words = text.split_whitespace();
    let name = words.next()?.to_owned();
    let concurrency = words.next()?.parse().ok();
    let concurrency = concurrency.filter(|count| (1..=10_000).contains(count))?;
    let rate = match words.next() {
        None => None,
        Some(rate) => {
            let (count, unit) = rate.split_once('/')?;
            let count = count.parse().ok().filter(|count| *count > 0)?;
            let millis = units::millis(&format!("1 {unit}"))?;
            let period = Duration::from_millis(millis.max(1));
            Some(QueueRate { count, period })
        }
    };
    let rule = QueueRule { concurrency, rate };
    words.next().is_none().then_some((name, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_one_rule() {
        let read = |texts: [&str; 2]| rules(&texts.map(str::to_owned));
        assert_eq!(read(["mail 2", "api 3"]).map(|all| all.len()), Ok(2));
        let error = read(["mail 2", "mail 3 1/s"]).expect_err("twice");
        assert_eq!(error, "queues: mail stands there twice");
    }

    #[test]
    fn a_queue_has_a_number_and_perhaps_a_rate() {
        let plain = |concurrency| QueueRule {
            concurrency,
            rate: None,
        };
        assert_eq!(rule("mail 2"), Some(("mail".into(), plain(2))));
        let minute = Some(QueueRate {
            count: 100,
            period: Duration::from_secs(60),
        });
        assert_eq!(
            rule(" api  5 100/m").map(|(_, rule)| rule.rate),
            Some(minute)
        );
        for wrong in [
            "",
            "mail",
            "mail 0",
            "mail x",
            "mail 1 2",
            "mail 1 0/s",
            "mail 1 2/x",
            "mail 1 2/s 3",
        ] {
            assert_eq!(rule(wrong), None, "{wrong}");
        }
    }
}
