//! The middleware: which requests are repetitions, and what is recorded of the first.

use crate::csp_nonce;
use crate::idempotency::record::{self, IdempotencyRecord, KeyOutcome};
use crate::idempotency::running::{KeyClaim, KeyDigest, ProcessId, RunningKeys};
use crate::limits::{IDEMPOTENCY_HOURS_MAX, IDEMPOTENCY_KEY_BYTES_MAX, IDEMPOTENCY_LEASE_SECONDS};
use crate::options::{GuardOptions, wrong};
use sampan_host::database::AppTables;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::request::{AnswerRecorder, HookStep, WholeAnswer};
use sampan_host::{
    Args, AskingGuard, Callback, Context, Effects, Error, ErrorKind, NativeMiddleware, Reader,
    RequestView, Value, clock,
};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

const OPTIONS: &[&str] = &["user", "hours", "required"];
const HOURS: u32 = 24;
const HOUR_MILLIS: i64 = 3_600_000;
const LEASE_MILLIS: i64 = IDEMPOTENCY_LEASE_SECONDS as i64 * 1_000;
const FIELD: &str = "Idempotency-Key";
const NAME: &str = "app.idempotency";

/// The tables of a worker, and the keys whose requests run in its process. `app` puts them into the context.
pub(crate) struct IdempotencyTables {
    pub(crate) running: Arc<RunningKeys>,
    pub(crate) tables: Option<Rc<dyn AppTables>>,
}

/// One middleware.
struct Idempotency {
    user: Callback,
    running: Arc<RunningKeys>,
    tables: Rc<dyn AppTables>,
    effects: Effects,
    hold_millis: i64,
    is_required: bool,
    log: Option<Rc<dyn Log>>,
}

/// The recorder of the answer of one request.
struct Recorder {
    /// `None` once the request need not keep others from running.
    claim: Cell<Option<KeyClaim>>,
    digest: KeyDigest,
    request: KeyDigest,
    process: ProcessId,
    tables: Rc<dyn AppTables>,
    effects: Effects,
    hold_millis: i64,
    /// The time at which the key had no record.
    looked: i64,
    log: Option<Rc<dyn Log>>,
}

/// Notes in the store of a request that its key was looked at, by the outermost of several.
struct HasKey;

/// `app.idempotency(options)`
pub(crate) fn idempotency(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), OPTIONS)?;
    let Some(user) = options.function("user")? else {
        let text = "user is needed: a function of the request that returns who asks";
        return Err(Error::script(text).naming(["user"]));
    };
    let hours = options.count("hours", 1)?.unwrap_or(HOURS);
    if hours > IDEMPOTENCY_HOURS_MAX {
        let wanted = format!("a whole number from 1 to {IDEMPOTENCY_HOURS_MAX}");
        return Err(wrong("hours", &wanted));
    }
    let missing = || {
        Error::new(
            ErrorKind::Internal,
            "there is no database for idempotency keys",
        )
    };
    let kept = context.get::<IdempotencyTables>().ok_or_else(missing)?;
    let tables = kept.tables.clone().ok_or_else(missing)?;
    if tables.waiting().is_some() {
        return Err(Error::script(
            "app.idempotency works with SQLite only: on PostgreSQL, give the handler's own table a UNIQUE column for \
             the key",
        ));
    }
    let guard = Idempotency {
        user,
        running: Arc::clone(&kept.running),
        tables,
        effects: Effects::of(context).ok_or_else(missing)?,
        hold_millis: i64::from(hours) * HOUR_MILLIS,
        is_required: options.flag("required")?,
        log: context.get::<Rc<dyn Log>>().map(|log| Rc::clone(&*log)),
    };
    Ok(NativeMiddleware::asking(context, guard))
}

fn refused(status: u16, text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Status(status), text.into())
}

fn now() -> i64 {
    i64::try_from(clock::since_1970().as_millis()).unwrap_or(i64::MAX)
}

/// Returns the key of a request, if it has one.
///
/// # Errors
/// It has several, or one of a wrong length.
fn key_of(request: &dyn RequestView) -> Result<Option<Vec<u8>>, Error> {
    let (mut key, mut lines) = (None, 0);
    request.each_header(&mut |name, value| {
        if name.eq_ignore_ascii_case(FIELD) {
            lines += 1;
            key = Some(value.trim_ascii().to_vec());
        }
    });
    let Some(key) = key else {
        return Ok(None);
    };
    if lines > 1 || key.is_empty() || key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        let text = format!("{FIELD} must be one value of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes");
        return Err(refused(400, text));
    }
    Ok(Some(key))
}

/// Returns a digest of values, each with its length, so that no two lists have the same.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> KeyDigest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns who asks, as bytes: the text `1` is another user than the number.
///
/// # Errors
/// The function has returned nothing, or another value.
fn user_of(returned: Value) -> Result<Vec<u8>, Error> {
    match returned {
        Value::Text(user) if !user.is_empty() => Ok([&b"t"[..], user.as_bytes()].concat()),
        Value::Bytes(user) if !user.is_empty() => Ok([&b"t"[..], &user].concat()),
        Value::Int(user) => Ok([&b"n"[..], user.to_string().as_bytes()].concat()),
        Value::Null | Value::Bool(false) => {
            Err(refused(400, format!("{FIELD} is for users who are known")))
        }
        other => {
            let found = match &other {
                Value::Text(_) | Value::Bytes(_) => "an empty text".into(),
                Value::Float(_) => "a number with a fraction".into(),
                other => other.type_name(),
            };
            let text = format!("user must return text or a whole number, not {found}");
            Err(Error::script(text))
        }
    }
}

/// Refuses a request whose key has one that runs.
fn still_runs(request: &dyn RequestView) -> Error {
    match request.add_header("Retry-After", b"1") {
        Ok(()) => refused(
            409,
            format!("the first request with this {FIELD} still runs"),
        ),
        Err(error) => error,
    }
}

/// Logs something about a request.
#[cold]
fn warn(log: Option<&Rc<dyn Log>>, request: &dyn RequestView, text: &str) {
    let Some(log) = log else {
        return;
    };
    let (method, path) = (request.method(), request.path());
    let entry = Entry {
        id: Some(request.id()),
        request: Some((method, path)),
        ..Entry::text(format!("{method} {path}: {text}"))
    };
    log.write_limited(Level::Warn, Cause::place(NAME), &entry);
}

impl Idempotency {
    /// Decides about a request that has a key.
    fn decide_key(
        &self,
        request: &dyn RequestView,
        key: &[u8],
        returned: Value,
    ) -> Result<bool, Error> {
        let plans = request.whole_answer();
        let plans = plans.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no answer"))?;
        if request.body_source().is_some() {
            return Err(Error::script(
                "app.idempotency compares whole bodies: leave it out for routes with stream = true",
            ));
        }
        if matches!(returned, Value::Null | Value::Bool(false)) {
            let text = format!(
                "{NAME} has refused an {FIELD}: user returned nothing. Middleware that finds out who asks is declared \
                 before it, and refuses those who are not known"
            );
            warn(self.log.as_ref(), request, &text);
        }
        let user = user_of(returned)?;
        // The host belongs to it: users of two hosts may have one number.
        let url = request.url();
        let url = url.split('?').next().unwrap_or_default().as_bytes();
        let digest_of_key = digest([&user[..], request.method().as_bytes(), url, key]);
        let query = request.query().unwrap_or_default().as_bytes();
        let content_type = request.header("content-type").unwrap_or_default();
        let digest_of_request = digest([query, content_type, request.body()]);
        let Some(claim) = self.running.claim(digest_of_key) else {
            return Err(still_runs(request));
        };
        // Nothing is written between the look at the record and the handler, and what was committed is seen.
        self.tables.note_write();
        self.tables.begin_in_place()?;
        let (looked, process) = (now(), self.running.process());
        let known = record::load(&*self.tables, &digest_of_key, looked)?;
        // What has claimed the key in this process does not run any more.
        let known = known.filter(|known| known.outcome != KeyOutcome::Running(process));
        if let Some(known) = known {
            if known.request != digest_of_request {
                let text = format!("this {FIELD} belongs to another request");
                return Err(refused(422, text));
            }
            return match known.outcome {
                KeyOutcome::Running(_) => Err(still_runs(request)),
                KeyOutcome::NotKept => {
                    let text = "the first request with this Idempotency-Key has ended, and its answer was not kept";
                    Err(refused(409, text))
                }
                KeyOutcome::Answered(mut answer) => {
                    let told = (b"Idempotent-Replayed".to_vec(), b"true".to_vec());
                    answer.fields.push(told);
                    plans.replay(Arc::new(answer));
                    Ok(true)
                }
            };
        }
        // It keeps other processes from running the key as soon as the handler waits, which commits it.
        let row = IdempotencyRecord {
            request: digest_of_request,
            outcome: KeyOutcome::Running(process),
        };
        record::clean(&*self.tables, looked)?;
        let times = (looked, looked.saturating_add(LEASE_MILLIS));
        record::store(&*self.tables, &digest_of_key, row, process, times)?;
        plans.record(Rc::new(Recorder {
            claim: Cell::new(Some(claim)),
            digest: digest_of_key,
            request: digest_of_request,
            process,
            tables: Rc::clone(&self.tables),
            effects: self.effects.clone(),
            hold_millis: self.hold_millis,
            looked,
            log: self.log.clone(),
        }));
        Ok(false)
    }
}

impl AskingGuard for Idempotency {
    fn function(&self) -> Callback {
        Rc::clone(&self.user)
    }

    fn ask(&self, _: &dyn RequestView) -> Result<Vec<Value>, Error> {
        Ok(Vec::new())
    }

    fn decide(&self, request: &dyn RequestView, returned: Value) -> Result<bool, Error> {
        let is_change = matches!(request.method(), "POST" | "PATCH" | "PUT" | "DELETE");
        if !is_change || request.store().get::<HasKey>().is_some() {
            return Ok(false);
        }
        match key_of(request)? {
            Some(key) => {
                request.store().put(HasKey);
                self.decide_key(request, &key, returned)
            }
            None if self.is_required => Err(refused(400, format!("{FIELD} is missing"))),
            None => Ok(false),
        }
    }

    fn needs_whole_bodies(&self) -> Option<&'static str> {
        Some(NAME)
    }
}

impl Recorder {
    /// Writes what the next request of the key finds.
    fn write(&self, request: &dyn RequestView, answer: Option<WholeAnswer>) -> Result<(), Error> {
        // A refusal without a body is not the script's: the server makes a body for each client.
        let is_passing = |answer: &WholeAnswer| {
            answer.status >= 500 || (answer.status >= 400 && answer.body.is_empty())
        };
        if answer.as_ref().is_some_and(is_passing) {
            return record::give_back(&*self.tables, &self.digest, self.process);
        }
        let recorded =
            answer.and_then(|answer| record::recorded(answer, csp_nonce::policy_of(request)));
        let row = IdempotencyRecord {
            request: self.request,
            outcome: recorded.map_or(KeyOutcome::NotKept, KeyOutcome::Answered),
        };
        // A record that was over then is over, also if the clock was set back.
        let now = now().max(self.looked);
        let times = (now, now.saturating_add(self.hold_millis));
        if !record::store(&*self.tables, &self.digest, row, self.process, times)? {
            let text = format!(
                "another process has run the request of this {FIELD} again: it took longer than \
                 {IDEMPOTENCY_LEASE_SECONDS} seconds here, and this answer is not recorded"
            );
            warn(self.log.as_ref(), request, &text);
        }
        Ok(())
    }
}

impl AnswerRecorder for Recorder {
    fn record(
        self: Rc<Self>,
        request: &dyn RequestView,
        answer: Option<WholeAnswer>,
    ) -> Result<HookStep, Error> {
        // All is recorded already.
        let Some(claim) = self.claim.take() else {
            return Ok(HookStep::Done);
        };
        if let Err(error) = self.write(request, answer) {
            // It may be called again.
            self.claim.set(Some(claim));
            return Err(error);
        }
        // The next request of the key runs when the record is there, or is not.
        self.effects.when_settled(None, move |_| drop(claim))?;
        Ok(HookStep::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_with_other_parts_have_other_digests() {
        let of = |parts: &[&str]| digest(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_ne!(of(&["a", ""]), of(&["a"]));
        assert_eq!(of(&["a", "bc"]), of(&["a", "bc"]));
    }

    #[test]
    fn users_are_texts_or_whole_numbers() {
        let text = user_of(Value::Text("1".to_owned())).expect("text");
        assert_ne!(text, user_of(Value::Int(1)).expect("a number"));
        for (returned, status) in [
            (Value::Null, 400),
            (Value::Bool(false), 400),
            (Value::Bool(true), 500),
            (Value::Float(1.5), 500),
            (Value::Text(String::new()), 500),
            (Value::List(Vec::new()), 500),
        ] {
            let error = user_of(returned).expect_err("no user");
            assert_eq!(error.kind().status(), status);
        }
    }
}
