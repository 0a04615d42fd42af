//! One file of tests, on its thread.

use super::limits::{LEFT_PAUSE, LEFT_TIME_MAX};
use super::state::{DeclaredTest, TestState, WaitingCall};
use super::{TestFailure, TestOptions, TestOutcome, failed_file};
use sampan_host::fetch::Fetcher;
use sampan_host::{Context, Error, ErrorKind, LocalFuture, Module, clock};
use sampan_project::Project;
use sampan_runtime::{LocalApp, LocalScript};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A message from a running file of tests.
pub(super) enum Message {
    /// A test of this name begins.
    Began(String),
    /// The filter left a test out.
    Filtered,
    /// The file does not load, and the filter names nothing in it.
    NotLoaded,
    /// A test has ended.
    Ended(TestOutcome),
    /// A script cannot be stopped: what it was doing.
    Deaf(String),
    /// The end: nothing more comes.
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

/// Reports the end of a file, for every cause.
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
        app.fetch_by(Rc::clone(&state.fetcher) as Rc<dyn Fetcher>);
        let shared = Rc::clone(&state);
        let put = move |context: &Context| {
            context.put(Rc::clone(&shared.fetcher) as Rc<dyn Fetcher>);
            context.put(shared);
        };
        let noting = Rc::clone(&state);
        let unawaited = Box::new(move |error| noting.note_unawaited(error));
        let script = match app.script(&self.file, self.modules, put, unawaited) {
            Err(_) if !self.may_be_meant() => {
                self.tell(Message::NotLoaded);
                return Ok(());
            }
            script => script?,
        };
        if let Some(error) = state.take_unawaited().pop() {
            return Err(told(&self.project, &error));
        }
        let (tests, before_each) = state.declared();
        for test in tests {
            if self.is_filtered(&test) {
                self.tell(Message::Filtered);
                continue;
            }
            self.tell(Message::Began(test.name.clone()));
            let begun = Instant::now();
            let log_start = app.log().len();
            let left_before = script.unfinished();
            let mut run = Box::pin(async {
                app.restore().await?;
                state.begin(&test.name, begun + self.options.test_time_max);
                for function in &before_each {
                    app.call(Rc::clone(function)).await?;
                }
                app.call(Rc::clone(&test.function)).await
            });
            let time_max = self.options.test_time_max;
            let result = tokio::time::timeout(time_max, &mut run).await;
            let waits = state.running_call();
            drop(run);
            // What it waited for may have been stopped just then, so that it ended all the same.
            let is_late = matches!(result, Ok(Ok(()))) && begun.elapsed() >= time_max;
            let result = match result {
                Ok(result) if !is_late => result,
                _ => Err(too_late(time_max, waits)),
            };
            let left = left_running(&state, &script, left_before).await;
            state.end_sockets().await;
            clock::set(None);
            let result = result.and(left);
            let failure = result.err().map(|error| TestFailure {
                text: told(&self.project, &state.explained(error)),
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

    /// Reports whether the filter could mean a test of the file, which does not load: its path, or a word of its text.
    fn may_be_meant(&self) -> bool {
        let Some(filter) = self.options.filter.as_deref() else {
            return true;
        };
        // The filter may begin in the path and end in the name of a test.
        let name = filter.split_once(": ").map_or(filter, |(_, name)| name);
        let text = self.project.sources().read(&self.file);
        let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned();
        self.file.contains(filter) || text.contains(name)
    }

    fn is_filtered(&self, test: &DeclaredTest) -> bool {
        let whole = format!("{}: {}", self.file, test.name);
        let filter = self.options.filter.as_deref();
        filter.is_some_and(|part| !whole.contains(part))
    }
}

/// Returns the error of a test that did not end, at the call that it waits for where there is one.
fn too_late(time_max: Duration, waits: Option<WaitingCall>) -> Error {
    let seconds = time_max.as_secs_f64();
    let text = format!("the test did not end within {seconds} s (--timeout)");
    match waits {
        None => Error::new(ErrorKind::Timeout, text),
        Some(WaitingCall { text: call, place }) => {
            // A request: other calls have no path.
            let advice = match call.contains('/') {
                true => "; an answer must end, a stream of events too",
                false => "",
            };
            let text = format!("{text}: {call} was still running{advice}");
            Error::new(ErrorKind::Timeout, text).at(place)
        }
    }
}

/// Lets what the test did not wait for come to its end, and gives what is wrong with it.
async fn left_running(
    state: &TestState,
    script: &LocalScript,
    left_before: usize,
) -> Result<(), Error> {
    let call = state.running_call();
    let goes_on = || state.running_call().is_some() || script.unfinished() > left_before;
    let until = Instant::now() + LEFT_TIME_MAX;
    while goes_on() && Instant::now() < until {
        tokio::time::sleep(LEFT_PAUSE).await;
    }
    if let Some(call) = call {
        let text = format!(
            "{} was still running when the test ended: await it",
            call.text
        );
        return Err(Error::script(text).at(call.place));
    }
    if let Some(error) = state.take_unawaited().into_iter().next() {
        let text = format!(
            "{}\nThe test did not wait for what failed here: await it",
            error.message()
        );
        return Err(error.with_message(text));
    }
    if goes_on() {
        let text = "something still runs after the end of the test: await it, or clear its timer";
        return Err(Error::script(text));
    }
    Ok(())
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
