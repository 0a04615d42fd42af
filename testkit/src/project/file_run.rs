//! One file of tests, on its thread.

use super::api::{DeclaredTest, TestState};
use super::{TestFailure, TestOptions, TestOutcome, failed_file};
use sampan_app::host::{Context, Error, ErrorKind, LocalFuture, Module, clock};
use sampan_app::{LocalApp, Project};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

/// What a file tells while it runs.
pub(super) enum Message {
    /// A test of this name begins.
    Began(String),
    /// The filter left a test out.
    Filtered,
    /// A test has ended.
    Ended(TestOutcome),
    /// A script cannot be stopped: what it was doing.
    Deaf(String),
    /// Nothing more comes.
    Over,
}

/// A file of tests that is to be run.
pub(super) struct FileRun {
    pub(super) file: String,
    pub(super) project: Project,
    pub(super) options: Arc<TestOptions>,
    pub(super) modules: &'static [&'static Module],
    pub(super) sender: Sender<Message>,
}

/// Says that a file is over, whatever ends it.
struct Ending(Sender<Message>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Over);
    }
}

impl FileRun {
    /// Runs all tests of the file. `app` is the project, or why it does not load.
    pub(super) fn run(self, app: Result<Rc<LocalApp>, String>) -> LocalFuture<()> {
        Box::pin(async move {
            let _ending = Ending(self.sender.clone());
            if let Err(fault) = self.all(app).await {
                self.tell(Message::Ended(failed_file(&self.file, "", fault)));
            }
        })
    }

    fn tell(&self, message: Message) {
        // The receiver goes only with the whole run.
        let _ = self.sender.send(message);
    }

    async fn all(&self, app: Result<Rc<LocalApp>, String>) -> Result<(), String> {
        let app = app?;
        let state = TestState::new(&app, &self.project, &self.file, self.options.update);
        let shared = Rc::clone(&state);
        let put = move |context: &Context| context.put(shared);
        // It keeps the script of the tests alive.
        let _script = app.script(&self.file, self.modules, put)?;
        let (tests, before_each) = state.declared();
        for test in tests {
            if self.is_filtered(&test) {
                self.tell(Message::Filtered);
                continue;
            }
            self.tell(Message::Began(test.name.clone()));
            let begun = Instant::now();
            let log_start = app.log().len();
            let run = async {
                app.restore().await?;
                state.begin(&test.name);
                for function in &before_each {
                    app.call(Rc::clone(function)).await?;
                }
                app.call(Rc::clone(&test.function)).await
            };
            let result = tokio::time::timeout(self.options.test_time_max, run).await;
            clock::set(None);
            let result = result.unwrap_or_else(|_| {
                let seconds = self.options.test_time_max.as_secs_f64();
                let text = format!("the test did not end within {seconds} s (--timeout)");
                Err(Error::new(ErrorKind::Timeout, text))
            });
            let failure = result.err().map(|error| TestFailure {
                text: told(&self.project, &error),
                log: app.log().get(log_start..).unwrap_or_default().to_owned(),
            });
            self.tell(Message::Ended(TestOutcome {
                file: self.file.clone(),
                name: test.name,
                elapsed: begun.elapsed(),
                failure,
                snapshots: state.take_written(),
            }));
        }
        Ok(())
    }

    fn is_filtered(&self, test: &DeclaredTest) -> bool {
        let whole = format!("{}: {}", self.file, test.name);
        let filter = self.options.filter.as_deref();
        filter.is_some_and(|part| !whole.contains(part))
    }
}

/// An error for its reader: the place, the line of the source, what is wrong, and the calls on the way there.
fn told(project: &Project, error: &Error) -> String {
    let Some(place) = error.place() else {
        return error.message().to_owned();
    };
    let (first, rest) = error
        .message()
        .split_once('\n')
        .unwrap_or((error.message(), ""));
    let mut told = format!("{place}: {first}");
    if let Some(line) = project.line(place) {
        told += &format!("\n{:>5} | {line}", place.line);
    }
    if !rest.is_empty() {
        told += "\n";
        told += rest;
    }
    let calls = error.stack().into_iter().flat_map(str::lines);
    let calls: Vec<&str> = calls
        .map(str::trim)
        .filter(|call| !call.is_empty() && !call.ends_with("(native)"))
        .collect();
    if calls.len() > 1 {
        for call in calls {
            told += &format!("\n  {call}");
        }
    }
    told
}
