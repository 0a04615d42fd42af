//! The question to the workers about the app's own checks: one of them answers it.

use super::answer::CheckResult;
use crate::locks::lock;
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The longest time that the workers have for an answer. A function has less, a request that asks has more.
const ANSWER_TIME_MAX: Duration = Duration::from_millis(2_500);

/// The app's own checks, as the monitor and all workers know them. They outlive a reload.
#[derive(Default)]
pub(crate) struct AppChecks {
    /// The names, as the isolate declares them that began to serve last.
    names: Mutex<Vec<String>>,
    /// The question that no worker has taken yet. There is one at a time.
    question: Mutex<Option<Question>>,
    /// Wakes the workers that wait for a question.
    bell: Notify,
}

/// A question, as a worker takes it.
pub(super) struct Question {
    until: Instant,
    sender: SyncSender<Vec<CheckResult>>,
}

impl Question {
    pub(super) fn answer(self, results: Vec<CheckResult>) {
        // Its time may be up.
        let _ = self.sender.try_send(results);
    }
}

impl AppChecks {
    pub(super) fn names(&self) -> Vec<String> {
        lock(&self.names).clone()
    }

    pub(super) fn set_names(&self, names: Vec<String>) {
        *lock(&self.names) = names;
    }

    /// Has a worker run the checks, and waits for the results. Blocks the thread.
    pub(super) fn ask(&self) -> Vec<CheckResult> {
        self.ask_within(ANSWER_TIME_MAX)
    }

    pub(super) fn ask_within(&self, time_max: Duration) -> Vec<CheckResult> {
        let names = self.names();
        if names.is_empty() {
            return Vec::new();
        }
        let (sender, answer) = sync_channel(1);
        *lock(&self.question) = Some(Question {
            until: Instant::now() + time_max,
            sender,
        });
        self.bell.notify_waiters();
        let answered = answer.recv_timeout(time_max);
        *lock(&self.question) = None;
        answered.unwrap_or_else(|_| {
            let millis = time_max.as_millis();
            let failed = names.into_iter().map(|name| CheckResult {
                name,
                fault: Some(format!("no worker has answered within {millis} ms")),
            });
            failed.collect()
        })
    }

    /// Waits for a question and takes it, unless another worker does. `is_able` tells whether this worker can answer.
    pub(super) async fn next(&self, is_able: impl Fn() -> bool) -> Question {
        loop {
            // Hears of a question that comes from here on.
            let rung = self.bell.notified();
            if is_able()
                && let Some(question) = self.take()
            {
                return question;
            }
            rung.await;
        }
    }

    #[cfg(test)]
    pub(super) fn is_asked(&self) -> bool {
        lock(&self.question).is_some()
    }

    fn take(&self) -> Option<Question> {
        let question = lock(&self.question).take();
        question.filter(|question| Instant::now() < question.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &str, fault: Option<&str>) -> CheckResult {
        CheckResult {
            name: name.to_owned(),
            fault: fault.map(str::to_owned),
        }
    }

    #[test]
    fn without_checks_no_worker_is_asked() {
        assert!(AppChecks::default().ask().is_empty());
    }

    #[test]
    fn one_worker_answers() {
        let checks = AppChecks::default();
        checks.set_names(vec!["stock".to_owned()]);
        let found = vec![result("stock", Some("empty"))];
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| checks.ask_within(Duration::from_secs(60)));
            let question = loop {
                if let Some(question) = checks.take() {
                    break question;
                }
                std::thread::yield_now();
            };
            assert!(checks.take().is_none(), "another worker takes none");
            question.answer(found.clone());
            assert_eq!(asked.join().expect("an answer"), found);
        });
    }

    #[test]
    fn a_question_that_no_worker_takes_fails_each_check() {
        let checks = AppChecks::default();
        checks.set_names(vec!["a".to_owned(), "b".to_owned()]);
        let fault = Some("no worker has answered within 1 ms");
        let found = checks.ask_within(Duration::from_millis(1));
        assert_eq!(found, [result("a", fault), result("b", fault)]);
        assert!(checks.take().is_none(), "the question is over");
    }
}
