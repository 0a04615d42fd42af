//! The state of a file of tests: what it declared, and what belongs to the running test.

use super::fetching::TestFetcher;
use super::requests::{self, TestRequest};
use super::socket_client::TestSocket;
use crate::cookies::Cookies;
use sampan_host::{CallSite, Callback, Context, Error, Objects, Place, Value, clock};
use sampan_http::DirectAnswer;
use sampan_project::{Language, Project};
use sampan_runtime::LocalApp;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// The address that requests of tests come from.
pub(super) const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);

/// A test that a file declared.
pub(super) struct DeclaredTest {
    pub(super) name: String,
    pub(super) function: Callback,
}

/// The declarations of a file of tests, and the state of the running test.
pub(super) struct TestState {
    pub(super) app: Rc<LocalApp>,
    pub(super) root: PathBuf,
    pub(super) file: String,
    pub(super) update: bool,
    pub(super) tests: RefCell<Vec<DeclaredTest>>,
    pub(super) before_each: RefCell<Vec<Callback>>,
    pub(super) is_loaded: Cell<bool>,
    /// The test that runs.
    pub(super) name: RefCell<String>,
    /// The time at which it must have ended.
    until: Cell<Option<Instant>>,
    browsers: RefCell<BTreeMap<String, Cookies>>,
    /// The snapshots that it compared, and those of them that it wrote.
    pub(super) snapshots: RefCell<Vec<String>>,
    pub(super) written: RefCell<Vec<String>>,
    /// Errors of unawaited promises.
    unawaited: RefCell<Vec<Error>>,
    /// The WebSockets of the test.
    pub(super) sockets: RefCell<Vec<Rc<TestSocket>>>,
    /// The note about the last answer of the test, if that was an error or had no body.
    answer_note: RefCell<Option<String>>,
    /// The way of requests to other servers.
    pub(super) fetcher: Rc<TestFetcher>,
    /// Calls of `t` that wait.
    running: RefCell<Slab<WaitingCall>>,
}

/// A call of `t` that waits, as the test wrote it, and its place where that is known.
#[derive(Clone)]
pub(super) struct WaitingCall {
    pub(super) text: String,
    pub(super) place: Option<Place>,
}

/// A call of `t` that waits; it is over when this goes.
pub(super) struct RunningCall {
    state: Rc<TestState>,
    key: usize,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.state.running.borrow_mut().try_remove(self.key);
    }
}

impl TestState {
    /// Returns the test's view of an answer.
    ///
    /// # Errors
    /// As [`requests::answered`].
    pub(super) fn answered(
        &self,
        objects: &Objects,
        request: &TestRequest,
        answer: DirectAnswer,
    ) -> Result<Value, Error> {
        self.answer_note.replace(request.note_on(&answer));
        let mut value = requests::answered(objects, request, answer)?;
        // A member that is null is a value of its own in Lua, and true in a condition.
        if let (Some(Language::Lua), Value::Map(members)) = (Language::of(&self.file), &mut value) {
            members.retain(|(_, member)| !matches!(member, Value::Null));
        }
        Ok(value)
    }

    pub(super) fn new(app: &Rc<LocalApp>, project: &Project, file: &str, update: bool) -> Rc<Self> {
        Rc::new(Self {
            app: Rc::clone(app),
            root: project.root().to_owned(),
            file: file.to_owned(),
            update,
            tests: RefCell::default(),
            before_each: RefCell::default(),
            is_loaded: Cell::new(false),
            name: RefCell::default(),
            until: Cell::new(None),
            browsers: RefCell::default(),
            snapshots: RefCell::default(),
            written: RefCell::default(),
            unawaited: RefCell::default(),
            sockets: RefCell::default(),
            answer_note: RefCell::default(),
            fetcher: Rc::new(TestFetcher::new(app.network())),
            running: RefCell::default(),
        })
    }

    /// The file is loaded: what it declared.
    pub(super) fn declared(&self) -> (Vec<DeclaredTest>, Vec<Callback>) {
        self.is_loaded.set(true);
        (self.tests.take(), self.before_each.take())
    }

    /// A test begins, which has this time to end.
    pub(super) fn begin(&self, name: &str, until: Instant) {
        self.until.set(Some(until));
        self.name.replace(name.to_owned());
        self.browsers.take();
        self.snapshots.take();
        self.unawaited.take();
        self.answer_note.take();
        self.fetcher.begin();
    }

    /// Returns when the test must have ended.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.get()
    }

    /// Returns the error of the test, with a note if it is about nothing where the last answer was an error or had no
    /// body.
    pub(super) fn explained(&self, error: Error) -> Error {
        let is_about_nothing = ["nil", "null", "undefined", "\"\""]
            .iter()
            .any(|word| error.message().contains(word));
        match self.answer_note.take().filter(|_| is_about_nothing) {
            Some(note) => {
                let text = format!("{}\n{note}", error.message());
                error.with_message(text)
            }
            None => error,
        }
    }

    /// Records an error of an unawaited promise.
    pub(super) fn note_unawaited(&self, error: Error) {
        self.unawaited.borrow_mut().push(error);
    }

    /// The errors of unawaited promises so far.
    pub(super) fn take_unawaited(&self) -> Vec<Error> {
        self.unawaited.take()
    }

    /// The cookies of a request's browser.
    pub(super) fn cookies_of(&self, request: &TestRequest) -> Option<String> {
        let browsers = self.browsers.borrow();
        let cookies = browsers.get(&request.browser)?;
        cookies.field(request.authority(), request.path(), clock::since_1970())
    }

    /// Keeps the cookies of an answer.
    pub(super) fn keep_cookies(&self, request: &TestRequest, answer: &DirectAnswer) {
        let mut browsers = self.browsers.borrow_mut();
        let cookies = browsers.entry(request.browser.clone()).or_default();
        for (name, value) in &answer.headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                let line = String::from_utf8_lossy(value);
                let now = clock::since_1970();
                cookies.keep(request.authority(), request.path(), &line, now);
            }
        }
    }

    /// A call of `t` that still waits.
    pub(super) fn running_call(&self) -> Option<WaitingCall> {
        let running = self.running.borrow();
        running.iter().next().map(|(_, call)| call.clone())
    }

    /// Takes note of a call that waits: the row that runs now.
    pub(super) fn runs(self: &Rc<Self>, context: &Context, text: String) -> RunningCall {
        let place = CallSite::of(context);
        let call = WaitingCall { text, place };
        let key = self.running.borrow_mut().insert(call);
        RunningCall {
            state: Rc::clone(self),
            key,
        }
    }

    /// Ends the WebSockets that the test has left open, and waits for their event `close`.
    pub(super) async fn end_sockets(&self) {
        let sockets = self.sockets.take();
        for socket in &sockets {
            socket.leave();
        }
        for socket in &sockets {
            socket.ended().await;
        }
    }

    /// The snapshots that the test wrote.
    pub(super) fn take_written(&self) -> Vec<String> {
        self.written.take()
    }
}

pub(super) fn state_of(context: &Context) -> Result<Rc<TestState>, Error> {
    let state = context.get::<Rc<TestState>>();
    let state = state.map(|state| Rc::clone(&*state));
    state.ok_or_else(|| Error::script("t is only in files that sampan test runs"))
}
