//! The checks of a server, and what they found last.

use super::answer::{CheckResult, HealthReport};
use super::app_checks::AppChecks;
use crate::locks::lock;
use sampan_host::health::HealthCheck;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

/// The time for which the result of a look is given again.
const KEPT: Duration = Duration::from_secs(1);
/// The longest time that a request waits for the checks. Load balancers wait for five seconds or more.
const TIME_MAX: Duration = Duration::from_secs(3);

/// The checks of a server. All workers share them.
pub(crate) struct HealthMonitor {
    checks: Mutex<Vec<Arc<dyn HealthCheck>>>,
    /// The checks that the app declares.
    app: Arc<AppChecks>,
    /// True once the server has been told to stop.
    is_stopping: Arc<AtomicBool>,
    look: Mutex<Look>,
}

/// A look at all parts, and the requests that wait for it.
#[derive(Default)]
struct Look {
    /// The results of the last complete look, and when it ended.
    last: Option<(Instant, Arc<Vec<CheckResult>>)>,
    /// The results of the look that goes on.
    partial: Vec<CheckResult>,
    goes_on: bool,
    waiting: Vec<oneshot::Sender<Arc<Vec<CheckResult>>>>,
}

impl HealthMonitor {
    pub(crate) fn new(
        checks: Vec<Arc<dyn HealthCheck>>,
        app: Option<Arc<AppChecks>>,
        is_stopping: Arc<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            checks: Mutex::new(checks),
            app: app.unwrap_or_default(),
            is_stopping,
            look: Mutex::default(),
        })
    }

    /// Replaces the checks: those of the project as it is now.
    pub(crate) fn set_checks(&self, checks: Vec<Arc<dyn HealthCheck>>) {
        *lock(&self.checks) = checks;
        lock(&self.look).last = None;
    }

    /// Returns what was found in the last second.
    pub(crate) fn known(&self) -> Option<HealthReport> {
        let look = lock(&self.look);
        let (at, results) = look.last.as_ref()?;
        (at.elapsed() < KEPT).then(|| self.report_of(Arc::clone(results)))
    }

    /// Looks at all parts, or waits for the look that goes on.
    pub(crate) async fn report(self: Arc<Self>) -> HealthReport {
        let results = match self.results().await {
            Some(results) => results,
            None => Arc::new(self.unanswered()),
        };
        self.report_of(results)
    }

    fn report_of(&self, checks: Arc<Vec<CheckResult>>) -> HealthReport {
        HealthReport {
            checks,
            is_stopping: self.is_stopping.load(Ordering::Acquire),
        }
    }

    async fn results(self: &Arc<Self>) -> Option<Arc<Vec<CheckResult>>> {
        let (sender, result) = oneshot::channel();
        {
            let mut look = lock(&self.look);
            // Of a look that hangs, more and more requests would be kept.
            look.waiting.retain(|one| !one.is_closed());
            look.waiting.push(sender);
            if !look.goes_on {
                look.goes_on = true;
                look.partial.clear();
                let monitor = Arc::clone(self);
                let thread = std::thread::Builder::new().name("sampan-health".into());
                if thread.spawn(move || monitor.look()).is_err() {
                    look.goes_on = false;
                    look.waiting.clear();
                }
            }
        }
        let result = tokio::time::timeout(TIME_MAX, result).await;
        result.ok()?.ok()
    }

    /// Looks at all parts, each on a thread of its own, so that one that hangs keeps no other from being told. Answers
    /// the requests that wait.
    fn look(&self) {
        let checks = lock(&self.checks).clone();
        std::thread::scope(|scope| {
            let looking = checks.iter().map(|check| {
                let looking = move || self.note(check, run(&**check));
                let thread = std::thread::Builder::new().name("sampan-health".into());
                (check, thread.spawn_scoped(scope, looking))
            });
            let looking: Vec<_> = looking.collect();
            // A worker runs those of the app meanwhile.
            let found = self.app.ask();
            lock(&self.look).partial.extend(found);
            for (check, thread) in looking {
                match thread.map(ScopedJoinHandle::join) {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => self.note(check, Err("the check panicked".to_owned())),
                    Err(error) => {
                        self.note(check, Err(format!("cannot start a thread for it: {error}")));
                    }
                }
            }
        });
        let place = |one: &CheckResult| {
            let place = checks.iter().position(|check| check.name() == one.name);
            place.unwrap_or(checks.len())
        };
        let mut look = lock(&self.look);
        let mut results = std::mem::take(&mut look.partial);
        results.sort_by_key(place);
        let results = Arc::new(results);
        for waiting in std::mem::take(&mut look.waiting) {
            // The client may have left.
            let _ = waiting.send(Arc::clone(&results));
        }
        look.last = Some((Instant::now(), results));
        look.goes_on = false;
    }

    fn note(&self, check: &Arc<dyn HealthCheck>, result: Result<(), String>) {
        lock(&self.look).partial.push(CheckResult {
            name: check.name().to_owned(),
            fault: result.err(),
        });
    }

    /// Returns what is known of a look that did not end in time.
    fn unanswered(&self) -> Vec<CheckResult> {
        let known = lock(&self.look).partial.clone();
        let own = lock(&self.checks).clone();
        let own = own.iter().map(|check| check.name().to_owned());
        let seconds = TIME_MAX.as_secs();
        let results = own.chain(self.app.names()).map(|name| {
            let known = known.iter().find(|one| one.name == name);
            known.cloned().unwrap_or_else(|| CheckResult {
                name,
                fault: Some(format!("no answer within {seconds} s")),
            })
        });
        results.collect()
    }
}

/// Looks at one part.
fn run(check: &dyn HealthCheck) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot wait for it: {error}"))?;
    LocalSet::new().block_on(&runtime, check.check())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::LocalFuture;

    /// A check that panics, or is well.
    struct Panicking(&'static str, bool);

    impl HealthCheck for Panicking {
        fn name(&self) -> &'static str {
            self.0
        }

        fn check(&self) -> LocalFuture<Result<(), String>> {
            assert!(!self.1, "for the test");
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[test]
    fn a_check_that_panics_fails_and_the_next_look_begins_anew() {
        let checks: Vec<Arc<dyn HealthCheck>> = vec![
            Arc::new(Panicking("a", true)),
            Arc::new(Panicking("b", false)),
        ];
        let monitor = HealthMonitor::new(checks, None, Arc::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        for _ in 0..2 {
            let report = runtime.block_on(Arc::clone(&monitor).report());
            let faults: Vec<_> = report.checks.iter().map(|one| one.fault.clone()).collect();
            assert_eq!(faults, [Some("the check panicked".to_owned()), None]);
        }
    }
}
