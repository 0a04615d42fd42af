//! Whole requests over a table in memory: cookies, times, and what is written when.

use super::*;
use crate::limits::COOKIE_DATA_BYTES_MAX;
use crate::{ListedSession, Merge, SessionChoice, SessionPlace};
use sampan_client::wait;
use sampan_host::{LocalFuture, Store};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// A table in memory.
#[derive(Default)]
struct Table {
    rows: RefCell<BTreeMap<[u8; 32], StoredSession>>,
    writes: Cell<u32>,
    is_busy: Cell<bool>,
}

impl SessionStore for Table {
    fn load(&self, key: &SessionKey) -> Result<Option<StoredSession>, Error> {
        Ok(self.rows.borrow().get(&key.0).cloned())
    }

    fn change(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error> {
        if self.is_busy.get() {
            return Err(Error::new(ErrorKind::TooLong, "busy"));
        }
        let change = merge(self.load(key)?)?;
        if change == Change::Keep {
            return Ok(());
        }
        self.writes.set(self.writes.get() + 1);
        let mut rows = self.rows.borrow_mut();
        rows.remove(&key.0);
        if let Change::Put(key, session) | Change::Replace(key, session) = change {
            rows.insert(key.0, session);
        }
        Ok(())
    }

    fn remove_with(&self, _: &str, _: &Value, _: SessionChoice, _: u64) -> Result<usize, Error> {
        unreachable!("no test ends all sessions")
    }

    fn list_with(&self, _: &str, _: &Value, _: u64, _: usize) -> Result<Vec<ListedSession>, Error> {
        unreachable!("no test lists sessions")
    }

    fn remove_ended(&self, _: u64, _: usize) -> LocalFuture<Result<usize, Error>> {
        unreachable!("no test cleans")
    }
}

/// Turns what it seals around.
struct Mirror;

impl Sealer for Mirror {
    fn seal(&self, purpose: &str, bytes: &[u8]) -> Result<String, Error> {
        let hex: String = bytes
            .iter()
            .rev()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(format!("{purpose}.{hex}"))
    }
    fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let hex = text.strip_prefix(purpose)?.strip_prefix('.')?;
        let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        (0..hex.len()).step_by(2).rev().map(byte).collect()
    }
    fn sign(&self, _: &str, _: &[u8]) -> String {
        String::new()
    }
    fn verify(&self, _: &str, _: &[u8], _: &str) -> bool {
        false
    }
}

/// A request with this `Cookie` field.
struct TestRequest {
    cookie: String,
    is_https: bool,
    store: Store,
    set: RefCell<Vec<String>>,
}

impl RequestView for TestRequest {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/"
    }
    fn query(&self) -> Option<&str> {
        None
    }
    fn url(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://localhost/")
    }
    fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
        None
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        each("cookie", self.cookie.as_bytes());
    }
    fn ip(&self) -> String {
        String::new()
    }
    fn id(&self) -> Cow<'_, str> {
        "".into()
    }
    fn body(&self) -> &[u8] {
        &[]
    }
    fn store(&self) -> &Store {
        &self.store
    }
    fn add_header(&self, _: &str, value: &[u8]) -> Result<(), Error> {
        let value = String::from_utf8_lossy(value).into_owned();
        self.set.borrow_mut().push(value);
        Ok(())
    }
    fn is_over(&self) -> bool {
        false
    }
}

fn request(cookie: &str) -> TestRequest {
    TestRequest {
        cookie: cookie.to_owned(),
        is_https: false,
        store: Store::default(),
        set: RefCell::default(),
    }
}

/// A worker with a table.
fn worker(config: SessionConfig) -> (Context, Rc<Table>) {
    let (context, table) = (Context::default(), Rc::<Table>::default());
    context.put(Sessions::in_table(config, table.clone(), Rc::default()));
    (context, table)
}

/// One whole request; gives the `Set-Cookie` fields.
fn run(context: &Context, request: &TestRequest, handler: impl Fn(&Session)) -> Vec<String> {
    handler(&of(context, request).expect("a session"));
    AnswerHooks::before_answer(request).expect("written");
    request.set.take()
}

/// The pair of a `Set-Cookie` field, as a browser sends it.
fn pair(set: &[String]) -> String {
    let line = set.first().expect("a cookie");
    line.split(';').next().expect("a pair").to_owned()
}

fn put(session: &Session, key: &str, value: i64) {
    session.set(key, &Value::Int(value)).expect("set");
}

#[test]
fn the_cookie_is_safe_and_is_sent_once() {
    let (context, _) = worker(SessionConfig::default());
    let set = run(&context, &request(""), |session| put(session, "a", 1));
    let (name, rest) = set[0].split_once('=').expect("a pair");
    let (id, attributes) = rest.split_once("; ").expect("attributes");
    assert_eq!((name, id.len(), set.len()), ("session", 43, 1));
    assert_eq!(
        attributes,
        "Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax"
    );
    let again = run(&context, &request(&pair(&set)), |session| {
        assert_eq!(session.get("a"), Value::Int(1));
        put(session, "a", 2);
    });
    assert_eq!(again, [""; 0]);
    let other = run(&context, &request(""), |session| put(session, "a", 1));
    assert_ne!(pair(&set), pair(&other));
}

#[test]
fn over_tls_only_a_cookie_with_the_prefix_counts() {
    let (context, _) = worker(SessionConfig::default());
    let over_tls = |cookie: &str| TestRequest {
        is_https: true,
        ..request(cookie)
    };
    let set = run(&context, &over_tls(""), |session| put(session, "a", 1));
    assert!(set[0].starts_with("__Host-session="), "{set:?}");
    assert!(
        set[0].ends_with("; Path=/; Secure; HttpOnly; SameSite=Lax"),
        "{set:?}"
    );
    run(&context, &over_tls(&pair(&set)), |session| {
        assert_eq!(session.get("a"), Value::Int(1));
    });
    // Planted over a connection without TLS.
    let planted = pair(&set).replace("__Host-", "");
    run(&context, &over_tls(&planted), |session| {
        assert_eq!(session.get("a"), Value::Null);
    });
}

#[test]
fn the_kept_key_is_that_of_the_cookie() {
    let (context, table) = worker(SessionConfig::default());
    let keys = || table.rows.borrow().keys().copied().collect::<Vec<_>>();
    let ask = request("");
    let session = of(&context, &ask).expect("a session");
    put(&session, "a", 1);
    assert_eq!(session.kept_key(), None);
    AnswerHooks::before_answer(&ask).expect("written");
    let old = session.kept_key().expect("it is kept");
    assert_eq!(keys(), [old.0]);
    // A stream asks after the session has got another id.
    let ask = request(&pair(&ask.set.take()));
    let session = of(&context, &ask).expect("a session");
    session.regenerate().expect("open");
    assert_eq!(session.kept_key(), Some(old));
    AnswerHooks::before_answer(&ask).expect("written");
    let new = session.kept_key().expect("it is kept");
    assert_ne!(new, old);
    assert!(keys().contains(&new.0));
}

#[test]
fn a_key_is_read_as_it_is_shown() {
    let key = SessionKey(std::array::from_fn(|at| 7 * at as u8 + 3));
    assert_eq!(SessionKey::parse(&key.shown()), Some(key));
    let shown = key.shown();
    for wrong in [
        "",
        "0a",
        &shown[1..],
        &shown.to_uppercase(),
        &"ü".repeat(32),
    ] {
        assert_eq!(SessionKey::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn reading_writes_only_when_the_end_is_worth_putting_off() {
    let (context, table) = worker(SessionConfig::default());
    let cookie = pair(&run(&context, &request(""), |session| put(session, "a", 1)));
    let read = || {
        run(&context, &request(&cookie), |session| {
            drop(session.get("a"))
        })
    };
    assert_eq!((read().len(), table.writes.get()), (0, 1));
    // Setting what is there already is not a change.
    run(&context, &request(&cookie), |session| put(session, "a", 1));
    assert_eq!(table.writes.get(), 1);
    for row in table.rows.borrow_mut().values_mut() {
        row.ends -= 6 * 60 * 1_000;
    }
    assert_eq!((read().len(), table.writes.get()), (0, 2));
    assert_eq!((read().len(), table.writes.get()), (0, 2));
    // Where the writer is busy a later request does it.
    for row in table.rows.borrow_mut().values_mut() {
        row.ends -= 6 * 60 * 1_000;
    }
    table.is_busy.set(true);
    assert_eq!((read().len(), table.writes.get()), (0, 2));
    // A change cannot be left undone.
    let changing = request(&cookie);
    put(&of(&context, &changing).expect("a session"), "a", 2);
    let error = AnswerHooks::before_answer(&changing).expect_err("busy");
    assert_eq!(error.kind(), ErrorKind::TooLong);
    table.is_busy.set(false);
    AnswerHooks::before_answer(&changing).expect("tried again");
    assert_eq!(table.writes.get(), 3);
}

#[test]
fn a_session_ends_at_its_times() {
    let (context, table) = worker(SessionConfig::default());
    let cookie = pair(&run(&context, &request(""), |session| put(session, "a", 1)));
    let read = || {
        let session = of(&context, &request(&cookie)).expect("a session");
        session.get("a")
    };
    assert_eq!(read(), Value::Int(1));
    let config = SessionConfig::default();
    for row in table.rows.borrow_mut().values_mut() {
        assert_eq!(row.ends - row.began, config.idle_millis);
        row.began -= config.lifetime_millis - 1_000;
    }
    // A use cannot put off the end beyond the lifetime.
    run(&context, &request(&cookie), |session| put(session, "a", 2));
    for row in table.rows.borrow_mut().values_mut() {
        assert_eq!(row.ends, row.began + config.lifetime_millis);
        row.ends = now() - 1;
    }
    assert_eq!(read(), Value::Null);
}

#[test]
fn a_sealed_session_is_the_browser_s_and_no_forged_one_is_taken() {
    let context = Context::default();
    let config = SessionConfig {
        place: SessionPlace::Cookie,
        ..SessionConfig::default()
    };
    context.put(Sessions::in_cookie(config, Rc::new(Mirror)));
    let set = run(&context, &request(""), |session| {
        put(session, "a", 1);
        session
            .flash("notice".into(), &"hello".into())
            .expect("flashed");
    });
    let cookie = pair(&set);
    assert_eq!(
        run(&context, &request(&cookie), |session| drop(session.keys())),
        [""; 0]
    );
    let set = run(&context, &request(&cookie), |session| {
        assert_eq!(session.get("a"), Value::Int(1));
        assert_eq!(session.take_flashes().len(), 1);
        session.regenerate().expect("renewed");
    });
    let later = pair(&set);
    run(&context, &request(&later), |session| {
        assert_eq!(
            (session.get("a"), session.take_flashes().len()),
            (Value::Int(1), 0)
        );
    });
    for forged in [
        "session=",
        "session=x",
        "session=session.00",
        "session=other.31",
    ] {
        run(&context, &request(forged), |session| {
            assert_eq!(session.get("a"), Value::Null, "{forged}");
        });
    }
    let set = run(&context, &request(&later), |session| {
        session.clear().expect("cleared");
        let large = "x".repeat(COOKIE_DATA_BYTES_MAX);
        let error = session.set("large", &large.into()).expect_err("too large");
        let message = error.message();
        assert!(
            message.contains("at most 2900 are kept (a cookie has no room for more)"),
            "{message}"
        );
    });
    assert_eq!(set, ["session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"]);
}

#[test]
fn of_requests_at_once_one_gets_the_messages() {
    let (context, table) = worker(SessionConfig::default());
    let set = run(&context, &request(""), |session| {
        put(session, "a", 1);
        for message in ["first", "second"] {
            session
                .flash("notice".into(), &message.into())
                .expect("room");
        }
    });
    let cookie = pair(&set);
    // All have loaded the session before the first takes anything.
    let requests: Vec<_> = (0..20).map(|_| request(&cookie)).collect();
    let sessions: Vec<_> = requests
        .iter()
        .map(|one| of(&context, one).expect("a session"))
        .collect();
    let taken: Vec<usize> = sessions
        .iter()
        .map(|session| session.take_flashes().len())
        .collect();
    assert_eq!((taken[0], taken.iter().sum::<usize>()), (2, 2));
    // Taken again they are those of the same request.
    assert_eq!(sessions[0].take_flashes().len(), 2);
    for one in &requests {
        AnswerHooks::before_answer(one).expect("written");
    }
    assert!(
        table
            .rows
            .borrow()
            .values()
            .all(|row| row.data == r#"{"a":1}"#)
    );
}

#[test]
fn messages_of_a_handler_that_failed_are_left_for_the_next() {
    let (context, _) = worker(SessionConfig::default());
    let set = run(&context, &request(""), |session| {
        session
            .flash("notice".into(), &"kept".into())
            .expect("room");
    });
    let cookie = pair(&set);
    let failed = request(&cookie);
    assert_eq!(
        of(&context, &failed)
            .expect("a session")
            .take_flashes()
            .len(),
        1
    );
    AnswerHooks::handler_failed(&failed);
    AnswerHooks::before_answer(&failed).expect("written");
    run(&context, &request(&cookie), |session| {
        assert_eq!(session.take_flashes().len(), 1);
    });
    run(&context, &request(&cookie), |session| {
        assert_eq!(session.take_flashes().len(), 0);
    });
}

/// A worker whose sessions have few bytes.
fn small_worker() -> (Context, Rc<Table>) {
    worker(SessionConfig {
        bytes_max: 100,
        ..SessionConfig::default()
    })
}

fn text(session: &Session, key: &str, bytes: usize) -> Result<(), Error> {
    session.set(key, &"x".repeat(bytes).into())
}

#[test]
fn what_two_requests_put_in_together_is_measured_too() {
    let (context, table) = small_worker();
    let cookie = pair(&run(&context, &request(""), |session| put(session, "a", 1)));
    let (one, other) = (request(&cookie), request(&cookie));
    text(&of(&context, &one).expect("a session"), "one", 60).expect("room");
    text(&of(&context, &other).expect("a session"), "other", 60).expect("room");
    AnswerHooks::before_answer(&one).expect("written");
    let error = AnswerHooks::before_answer(&other).expect_err("too large");
    assert!(
        error.message().contains("at most 100 are kept"),
        "{}",
        error.message()
    );
    let rows = table.rows.borrow();
    assert!(rows.values().all(|row| row.data.len() <= 100), "{rows:?}");
    drop(rows);
    // Messages that were not shown yet count too.
    let set = run(&context, &request(""), |session| {
        let message = "x".repeat(40);
        session
            .flash("notice".into(), &message.into())
            .expect("room");
    });
    run(&context, &request(&pair(&set)), |session| {
        text(session, "a", 60).expect_err("no room beside the message");
        session.take_flashes();
        text(session, "a", 60).expect("room");
    });
}

#[test]
fn a_session_above_the_limit_can_shrink() {
    let (context, table) = small_worker();
    let cookie = pair(&run(&context, &request(""), |session| {
        text(session, "a", 60).expect("room")
    }));
    // The limit was higher when it was written.
    for row in table.rows.borrow_mut().values_mut() {
        let large = "x".repeat(200);
        row.data = format!("{{\"a\":\"{large}\",\"b\":\"{large}\",\"c\":1}}");
    }
    run(&context, &request(&cookie), |session| {
        put(session, "c", 2);
        text(session, "d", 1).expect_err("larger");
        text(session, "b", 201).expect_err("larger");
        text(session, "b", 150).expect("smaller");
    });
    let renewed = run(&context, &request(&cookie), |session| {
        assert_eq!(session.get("c"), Value::Int(2));
        session.regenerate().expect("renewed");
    });
    run(&context, &request(&pair(&renewed)), |session| {
        session.set("a", &Value::Null).expect("gone");
        session.set("b", &Value::Null).expect("gone");
        text(session, "d", 60).expect("room again");
        text(session, "e", 60).expect_err("no room");
    });
    // The session, and the way to it.
    assert_eq!(table.rows.borrow().len(), 2);
}

#[test]
fn of_requests_that_renew_a_session_at_once_all_have_its_content() {
    let (context, _) = worker(SessionConfig::default());
    let old = pair(&run(&context, &request(""), |session| {
        put(session, "cart", 5)
    }));
    let requests = [(); 3].map(|()| request(&old));
    for (one, key) in requests.iter().zip(["a", "b", "c"]) {
        let session = of(&context, one).expect("a session");
        session.regenerate().expect("renewed");
        put(&session, key, 1);
    }
    let renewed: Vec<_> = requests
        .iter()
        .map(|one| {
            AnswerHooks::before_answer(one).expect("written");
            pair(&one.set.take())
        })
        .collect();
    for cookie in &renewed {
        run(&context, &request(cookie), |session| {
            assert_eq!(session.get("cart"), Value::Int(5));
        });
    }
    run(&context, &request(&old), |session| {
        assert_eq!(session.values(), Value::Map(Vec::new()));
    });
    // What another request has ended stays ended.
    let late = request(&renewed[0]);
    of(&context, &late)
        .expect("a session")
        .regenerate()
        .expect("renewed");
    run(&context, &request(&renewed[0]), |session| {
        session.clear().expect("ended");
    });
    AnswerHooks::before_answer(&late).expect("written");
    run(&context, &request(&pair(&late.set.take())), |session| {
        assert_eq!(session.values(), Value::Map(Vec::new()));
    });
}

#[test]
fn a_logout_that_begins_another_session_stays_a_logout() {
    let (context, _) = worker(SessionConfig::default());
    let user = pair(&run(&context, &request(""), |session| {
        put(session, "user", 7)
    }));
    let late = request(&user);
    of(&context, &late)
        .expect("a session")
        .regenerate()
        .expect("renewed");
    let guest = pair(&run(&context, &request(&user), |session| {
        session.clear().expect("ended");
        put(session, "notice", 1);
    }));
    AnswerHooks::before_answer(&late).expect("written");
    run(&context, &request(&pair(&late.set.take())), |session| {
        assert_eq!(session.values(), Value::Map(Vec::new()));
    });
    run(&context, &request(&guest), |session| {
        assert_eq!(session.get("notice"), Value::Int(1));
        assert_eq!(session.get("user"), Value::Null);
    });
}

#[test]
fn a_request_that_knows_the_old_id_alone_changes_nothing_under_the_new_one() {
    let (context, table) = worker(SessionConfig::default());
    let old = pair(&run(&context, &request(""), |session| {
        put(session, "cart", 1)
    }));
    let late = request(&old);
    let session = of(&context, &late).expect("a session");
    put(&session, "cart", 2);
    put(&session, "planted", 2);
    let message = Value::Text("planted".to_owned());
    session.flash("notice".to_owned(), &message).expect("left");
    let renewed = pair(&run(&context, &request(&old), |session| {
        session.regenerate().expect("renewed");
        put(session, "user", 7);
    }));
    AnswerHooks::before_answer(&late).expect("passed over");
    assert_eq!(late.set.take(), [""; 0]);
    run(&context, &request(&renewed), |session| {
        let values = ["user", "cart", "planted"].map(|key| session.get(key));
        assert_eq!(values, [Value::Int(7), Value::Int(1), Value::Null]);
        assert_eq!(session.take_flashes(), []);
    });
    run(&context, &request(&old), |session| {
        assert_eq!(session.values(), Value::Map(Vec::new()));
    });
    // The session, and the way to it.
    assert_eq!(table.rows.borrow().len(), 2);
}

#[test]
fn a_logout_beside_a_new_id_ends_the_session_under_that() {
    for begins_another in [false, true] {
        let (context, _) = worker(SessionConfig::default());
        let old = pair(&run(&context, &request(""), |session| {
            put(session, "user", 7)
        }));
        let logout = request(&old);
        let session = of(&context, &logout).expect("a session");
        session.clear().expect("ended");
        if begins_another {
            put(&session, "notice", 1);
        }
        let renewed = pair(&run(&context, &request(&old), |session| {
            session.regenerate().expect("renewed");
        }));
        AnswerHooks::before_answer(&logout).expect("written");
        for cookie in [renewed, pair(&logout.set.take())] {
            run(&context, &request(&cookie), |session| {
                assert_eq!(session.get("user"), Value::Null);
            });
        }
    }
}

#[test]
fn beside_the_end_of_the_others_no_session_begins_with_what_a_request_knew() {
    for is_late_first in [false, true] {
        let (context, _) = worker(SessionConfig::default());
        let old = pair(&run(&context, &request(""), |session| {
            put(session, "user", 7)
        }));
        let (late, change) = (request(&old), request(&old));
        for one in [&late, &change] {
            let session = of(&context, one).expect("a session");
            session.regenerate().expect("renewed");
        }
        of(&context, &change).expect("a session").note_others_end();
        let both = match is_late_first {
            true => [&late, &change],
            false => [&change, &late],
        };
        let cookies = both.map(|one| {
            AnswerHooks::before_answer(one).expect("written");
            pair(&one.set.take())
        });
        let users = cookies.map(|cookie| {
            let user = Cell::new(Value::Null);
            run(&context, &request(&cookie), |session| {
                user.set(session.get("user"));
            });
            user.take()
        });
        let expected = match is_late_first {
            true => [Value::Null, Value::Int(7)],
            false => [Value::Int(7), Value::Null],
        };
        assert_eq!(users, expected);
    }
}

#[test]
fn a_change_costs_as_much_as_what_is_changed() {
    let (context, _) = worker(SessionConfig::default());
    let time = |bytes: usize| {
        let of_one = || {
            let asked = request("");
            let session = of(&context, &asked).expect("a session");
            text(&session, "large", bytes).expect("room");
            let begun = wait::cpu_time();
            for value in 0..20_000 {
                put(&session, "small", value);
            }
            wait::cpu_time() - begun
        };
        (0..5).map(|_| of_one()).min().expect("a time")
    };
    let (beside_little, beside_much) = (time(10), time(60_000));
    // The system counts processor time in steps.
    let step = Duration::from_millis(20);
    assert!(
        beside_much < beside_little * 8 + step,
        "{beside_little:?} beside 10 bytes, {beside_much:?} beside 60,000"
    );
}
