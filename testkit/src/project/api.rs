//! `t`: what the scripts of tests have beside what every script has.

use super::compare::{brief, difference, is_same, shown};
use super::fetching::{MOCK, fetch_allow, fetch_mock};
use super::html::PAGE;
use super::requests::TestRequest;
use super::snapshots::{self, Snapshot};
use super::socket::{SOCKET, connect};
use super::state::{CLIENT, DeclaredTest, TestState, state_of};
use sampan_host::jobs::JobRuns;
use sampan_host::mails::{CaughtMail, Mailbox};
use sampan_host::{
    Args, Callback, Context, Error, FunctionKind, LocalFuture, Module, Param, Type, Value, clock,
    param, refusals, row,
};
use std::rc::Rc;
use std::time::Duration;

/// The `t` table.
pub static MODULE: Module = Module {
    name: "t",
    doc: "Tests: only in files that `sampan test` runs.",
    functions: &[
        row!("test"(
                param!("name": Type::Text,
                    "The behaviour that the test checks. No other test of the file has the same name."),
                FUNCTION,
            ) -> Type::Nothing, FunctionKind::Sync(test),
            "Declares a test. It passes if the function ends without an error. It begins with the database as the \
             migrations leave it, without cookies, and may wait."),
        row!("before_each"(FUNCTION) -> Type::Nothing, FunctionKind::Sync(before_each),
            "Runs the function before each test of the file. It may wait."),
        row!("get"(PATH, REQUEST_OPTIONS) -> ANSWER, FunctionKind::Async(|context, args| send_as("GET", context, args)),
            "Sends a GET request to the app. `status`; `headers` by their names in lower case, a list where a field \
             comes twice; `body`; `json`, the value of a JSON answer; `html`, the page of an HTML answer. Redirects \
             are not followed."),
        row!("post"(PATH, REQUEST_OPTIONS) -> ANSWER,
            FunctionKind::Async(|context, args| send_as("POST", context, args)),
            "Sends a POST request to the app, see `get`."),
        row!("put"(PATH, REQUEST_OPTIONS) -> ANSWER, FunctionKind::Async(|context, args| send_as("PUT", context, args)),
            "Sends a PUT request to the app, see `get`."),
        row!("patch"(PATH, REQUEST_OPTIONS) -> ANSWER,
            FunctionKind::Async(|context, args| send_as("PATCH", context, args)),
            "Sends a PATCH request to the app, see `get`."),
        row!("delete"(PATH, REQUEST_OPTIONS) -> ANSWER,
            FunctionKind::Async(|context, args| send_as("DELETE", context, args)),
            "Sends a DELETE request to the app, see `get`."),
        row!("request"(
                param!("method": Type::Text, "The method, as in `OPTIONS`."),
                PATH,
                REQUEST_OPTIONS,
            ) -> ANSWER,
            FunctionKind::Async(|context, mut args| {
                let (method, path, options) = (args.text(0), args.text(1), args.take(2));
                send(context, &method, &path, options)
            }),
            "Sends a request with any method to the app, see `get`."),
        row!("ws"(
                PATH,
                param!("options"? Type::Map,
                    "`headers`, `query` and `browser`, see `get`. `protocols`: subprotocols, the preferred first."),
            ) -> Type::Object(&SOCKET), FunctionKind::Async(connect),
            "Connects to a WebSocket of the app. Where the app refuses, `status` is not 101, and `body` says why. It \
             ends with the test."),
        row!("mails"() -> Type::List, FunctionKind::Sync(sent_mails),
            "The mails that the test has sent, the oldest first. Each has `from`, `to`, `cc`, `bcc`, `subject`, \
             `text`, `html`, `attachments` (their names) and `source`. None of them leaves."),
        row!("fetch_mock"(
                param!("pattern": Type::Text,
                    "The requests: a URL in which `*` stands for anything. Its scheme and query may be left out, a \
                     method may stand in front: `\"POST api.example.com/v1/*\"`."),
                param!("answer": Type::MapOrFunction,
                    "The answer: `status`, `headers`, and `body`, `json` or `chunks` (a list of texts); or `error`, \
                     for a request that fails: `dns`, `connect`, `tls`, `timeout` or `closed`. Or a function that gets \
                     a request and returns an answer, without waiting."),
            ) -> Type::Object(&MOCK), FunctionKind::Sync(fetch_mock),
            "Answers requests that the app, or the test, sends to other servers with `fetch`. Where several mocks \
             match, the last counts. It ends with the test; outside of tests it is for all of the file. Requests that \
             no mock matches fail, unless they are to this machine: the network is off."),
        row!("fetch_allow"(
                param!("pattern": Type::Text, "The requests, see `fetch_mock`."),
            ) -> Type::Nothing, FunctionKind::Sync(fetch_allow),
            "Lets requests through to the network, until the test ends."),
        row!("equal"(ACTUAL, EXPECTED, MESSAGE) -> Type::Nothing, FunctionKind::Sync(equal),
            "Fails unless both values are the same, all that is in them included, and shows how they differ. The order \
             of keys does not count."),
        row!("not_equal"(ACTUAL, EXPECTED, MESSAGE) -> Type::Nothing, FunctionKind::Sync(not_equal),
            "Fails if both values are the same."),
        row!("ok"(ACTUAL, MESSAGE) -> Type::Nothing, FunctionKind::Sync(ok),
            "Fails if the value is nothing or false."),
        row!("contains"(
                ACTUAL,
                param!("part": Type::Any, "A part of the text, or one of the values of the list."),
                MESSAGE,
            ) -> Type::Nothing, FunctionKind::Sync(contains),
            "Fails unless a text or a list contains the part."),
        row!("fails"(
                FUNCTION,
                param!("part"? Type::Text, "The text that the error's message must contain."),
            ) -> Type::Text, FunctionKind::Async(fails),
            "Fails unless the function raises an error. Returns its message. The function may wait."),
        row!("snapshot"(
                ACTUAL,
                param!("name"? Type::Text, "Its name, where a test has several."),
            ) -> Type::Nothing, FunctionKind::Sync(snapshot),
            "Compares the value, or the text, with what it was when the test ran first. That is kept in \
             `tests/snapshots`; `sampan test --update` keeps what it is now. Of an answer the date, the request's id \
             and the values of cookies do not count."),
        row!("run_jobs"() -> JOB_RUNS, FunctionKind::Async(run_jobs),
            "Runs the jobs of the app that are due, those that they add included, one after the other. Returns how \
             many attempts `ran`, how many of these `failed`, and how many jobs are `dead` since. In tests jobs run \
             only here; `set_time` makes later ones due."),
        row!("set_time"(
                param!("seconds"? Type::Number,
                    "Seconds since 1970-01-01 00:00 UTC; left out, the system's time holds again."),
            ) -> Type::Nothing, FunctionKind::Sync(set_time),
            "Sets the time of day for the app and the test, until the test ends: `time`, the clocks of the languages, \
             sessions, cookies and tokens. It stands still then. SQL has its own clock."),
    ],
    classes: &[&PAGE, &SOCKET, &MOCK],
    ..Module::EMPTY
};

const FUNCTION: Param = param!("fn": Type::Function, "A function without parameters.");

const PATH: Param = param!("path": Type::Text, "The path with its query, or a URL.");

const REQUEST_OPTIONS: Param = param!("options"? Type::Map,
    "`headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with \
     `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.");

const ACTUAL: Param = param!("actual": Type::Any, "What there is.");

const EXPECTED: Param = param!("expected": Type::Any, "The expected value.");

const MESSAGE: Param = param!("message"? Type::Text, "The message if the check fails.");

/// The type of the answer to a request.
const ANSWER: Type = Type::Record(&[
    ("status", Type::Int),
    ("headers", Type::Map),
    ("body", Type::Bytes),
    ("json", Type::Any),
    ("html", Type::Object(&PAGE)),
]);

/// The type of what `run_jobs` returns.
const JOB_RUNS: Type = Type::Record(&[
    ("ran", Type::Int),
    ("failed", Type::Int),
    ("dead", Type::Int),
]);

fn loading(context: &Context) -> Result<Rc<TestState>, Error> {
    let state = state_of(context)?;
    match state.is_loaded.get() {
        true => Err(refusals::too_late("tests")),
        false => Ok(state),
    }
}

fn function(args: &Args, index: usize) -> Result<Callback, Error> {
    let function = args.function(index);
    function.ok_or_else(|| Error::script("no function"))
}

fn test(context: &Context, mut args: Args) -> Result<Value, Error> {
    let state = loading(context)?;
    let (name, function) = (args.text(0), function(&args, 1)?);
    if name.trim().is_empty() {
        return Err(Error::script("a test needs a name"));
    }
    let mut tests = state.tests.borrow_mut();
    if tests.iter().any(|test| test.name == name) {
        let text = format!("there is a test {name:?} already: give each its own name");
        return Err(Error::script(text));
    }
    tests.push(DeclaredTest { name, function });
    Ok(Value::Null)
}

fn before_each(context: &Context, args: Args) -> Result<Value, Error> {
    let function = function(&args, 0)?;
    loading(context)?.before_each.borrow_mut().push(function);
    Ok(Value::Null)
}

fn send_as(
    method: &'static str,
    context: &Context,
    mut args: Args,
) -> LocalFuture<Result<Value, Error>> {
    let (path, options) = (args.text(0), args.take(1));
    send(context, method, &path, options)
}

fn send(
    context: &Context,
    method: &str,
    path: &str,
    options: Value,
) -> LocalFuture<Result<Value, Error>> {
    let call = format!("t.{}({path:?})", method.to_ascii_lowercase());
    let prepared = state_of(context).and_then(|state| {
        let running = state.runs(context, call);
        let request = TestRequest::new(method, path, options)?;
        // What the answer needs of the context outlives this call in it.
        let objects = context.objects().clone();
        Ok((state, request, objects, running))
    });
    Box::pin(async move {
        let (state, request, objects, _running) = prepared?;
        let bytes = request.bytes(state.cookies_of(&request));
        let answer = state.app.answer(&bytes, CLIENT).await;
        state.keep_cookies(&request, &answer);
        state.answered(&objects, &request, answer)
    })
}

fn run_jobs(context: &Context, _: Args) -> LocalFuture<Result<Value, Error>> {
    let state = state_of(context);
    let running = state_of(context).map(|state| state.runs(context, "t.run_jobs()".to_owned()));
    Box::pin(async move {
        let _running = running?;
        let state = state?;
        let JobRuns { ran, failed, dead } = state.app.run_jobs(state.until()).await?;
        let counts = [("ran", ran), ("failed", failed), ("dead", dead)];
        let counts = counts.map(|(name, count)| (name.into(), Value::Int(count)));
        Ok(Value::Map(counts.into()))
    })
}

/// An error of a check: the test's own message, or `text`; then how the values differ.
fn failed(mut args: Args, message: usize, text: String, difference: &str) -> Error {
    let said = match args.take(message) {
        Value::Text(message) => format!("{message}: {text}"),
        _ => text,
    };
    match difference {
        "" => Error::script(said),
        lines => Error::script(format!("{said}\n{lines}")),
    }
}

/// Checks that a call has both of the values that it compares, which may be nothing.
fn check_both(args: &Args) -> Result<(), Error> {
    match args.given() {
        2.. => Ok(()),
        _ => Err(Error::script(
            "two values are compared: give what there is, and what is expected",
        )),
    }
}

fn equal(_: &Context, mut args: Args) -> Result<Value, Error> {
    check_both(&args)?;
    let (actual, expected) = (args.take(0), args.take(1));
    if is_same(&actual, &expected) {
        return Ok(Value::Null);
    }
    let (one, other) = (shown(&expected), shown(&actual));
    // What fits in a line needs no difference.
    let is_short = |text: &str| text.len() < 60 && !text.contains('\n');
    if is_short(&one) && is_short(&other) {
        let text = format!("expected {}, found {}", brief(&expected), brief(&actual));
        return Err(failed(args, 2, text, ""));
    }
    let lines = difference(&one, &other);
    Err(failed(args, 2, "the values differ".to_owned(), &lines))
}

fn not_equal(_: &Context, mut args: Args) -> Result<Value, Error> {
    check_both(&args)?;
    let (actual, expected) = (args.take(0), args.take(1));
    if !is_same(&actual, &expected) {
        return Ok(Value::Null);
    }
    let text = format!("both are {}", brief(&actual));
    Err(failed(args, 2, text, ""))
}

fn ok(_: &Context, mut args: Args) -> Result<Value, Error> {
    let actual = args.take(0);
    match actual {
        Value::Null | Value::Bool(false) => {
            let text = format!("the value is {}", brief(&actual));
            Err(failed(args, 1, text, ""))
        }
        _ => Ok(Value::Null),
    }
}

fn contains(_: &Context, mut args: Args) -> Result<Value, Error> {
    let (actual, part) = (args.take(0), args.take(1));
    let does = match (&actual, &part) {
        (Value::Text(text), Value::Text(part)) => text.contains(part.as_str()),
        (Value::List(items), part) => items.iter().any(|item| is_same(item, part)),
        _ => {
            let found = actual.type_name();
            let text = format!("a text can contain a text, a list anything; this is {found}");
            return Err(Error::script(text));
        }
    };
    if does {
        return Ok(Value::Null);
    }
    let text = format!("{} is not in {}", brief(&part), brief(&actual));
    Err(failed(args, 2, text, ""))
}

fn fails(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (function, part) = (function(&args, 0), args.take(1));
    let running = state_of(context).map(|state| state.runs(context, "t.fails".to_owned()));
    Box::pin(async move {
        let _running = running?;
        let Err(error) = function?.start(Vec::new()).await else {
            return Err(Error::script("the function did not fail"));
        };
        let message = error.message().to_owned();
        match part {
            Value::Text(part) if !message.contains(&part) => Err(Error::script(format!(
                "the error is {message:?}, which does not contain {part:?}"
            ))),
            _ => Ok(Value::Text(message)),
        }
    })
}

fn snapshot(context: &Context, mut args: Args) -> Result<Value, Error> {
    let state = state_of(context)?;
    let (actual, name) = (shown(&snapshots::steady(args.take(0))), args.text(1));
    let mut seen = state.snapshots.borrow_mut();
    if seen.contains(&name) {
        let text = "the test has a snapshot of this name already: give each its own";
        return Err(Error::script(text));
    }
    seen.push(name.clone());
    let test = state.name.borrow();
    let names = [state.file.as_str(), test.as_str(), name.as_str()];
    if snapshots::check(&state.root, names, &actual, state.update)? == Snapshot::Written {
        state.written.borrow_mut().push(name);
    }
    Ok(Value::Null)
}

fn set_time(_: &Context, args: Args) -> Result<Value, Error> {
    /// The year 9999.
    const SECONDS_MAX: f64 = 253_402_300_799.0;
    let time = match args.number(0) {
        None => None,
        Some(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => {
            Some(Duration::from_secs_f64(seconds))
        }
        Some(seconds) => {
            let text = format!("{seconds} is no time from 1970 to 9999, in seconds");
            return Err(Error::script(text));
        }
    };
    clock::set(time);
    Ok(Value::Null)
}

/// The mails that the app has sent since the test began.
fn sent_mails(context: &Context, _: Args) -> Result<Value, Error> {
    let mailbox = state_of(context)?.app.shared::<Mailbox>();
    let mails = mailbox.map(|mailbox| mailbox.all()).unwrap_or_default();
    let texts = |all: Vec<String>| Value::List(all.into_iter().map(Value::Text).collect());
    let value = |mail: CaughtMail| {
        let source = String::from_utf8_lossy(&mail.source).into_owned();
        let members = [
            ("from", Value::Text(mail.from)),
            ("to", texts(mail.to)),
            ("cc", texts(mail.cc)),
            ("bcc", texts(mail.bcc)),
            ("subject", Value::Text(mail.subject)),
            ("text", Value::Text(mail.text)),
            ("html", mail.html.map_or(Value::Null, Value::Text)),
            ("attachments", texts(mail.attachments)),
            ("source", Value::Text(source)),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        Value::Map(members.into())
    };
    Ok(Value::List(mails.into_iter().map(value).collect()))
}
