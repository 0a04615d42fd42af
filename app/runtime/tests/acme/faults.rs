//! Renewals that fail: the certificate in place stays, and the log says when it ends.

use crate::kept::{DAY, Kept, settings};
use sampan_acme::{AcmeSettings, CertificateFields, RenewalOutcome, renew, status};
use sampan_client::certificates::Identity;
use sampan_client::pebble::{Pebble, PebbleOptions};
use sampan_client::{ports, wait};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

const RENEWAL_TIME_MAX: Duration = Duration::from_secs(60);

/// Puts a certificate in place that ends in a day.
pub(crate) fn put_old(settings: &AcmeSettings) -> CertificateFields {
    put_aged(settings, 89, false)
}

/// Puts a certificate of 90 days in place, of which so many have passed. The authority can be asked about it if it has
/// the identifier of its key.
fn put_aged(settings: &AcmeSettings, days: u64, is_askable: bool) -> CertificateFields {
    let old = Identity::changed(&["localhost"], |params| {
        params.not_before = (SystemTime::now() - Duration::from_secs(days * DAY)).into();
        params.not_after = (SystemTime::now() + Duration::from_secs((90 - days) * DAY)).into();
        params.use_authority_key_identifier_extension = is_askable;
    });
    let file = settings.certificate_file("localhost");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    let text = [old.key_file(), old.certificate_file()];
    let text = text.map(|file| std::fs::read_to_string(file).expect("read"));
    std::fs::write(&file, text.concat()).expect("written");
    CertificateFields::of_file(&file).expect("a certificate")
}

/// A directory by plain HTTP that answers each request with what `answer` makes of its path.
pub(crate) fn directory(answer: impl Fn(&str, &str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let origin = format!("http://{}", listener.local_addr().expect("bound"));
    let own = origin.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).is_ok_and(|len| len > 2) {}
            for line in head.lines() {
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = text.parse().expect("a number");
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let path = head.split(' ').nth(1).unwrap_or_default();
            let _ = (&stream).write_all(answer(&own, path).as_bytes());
        }
    });
    format!("{origin}/dir")
}

/// The answers of an authority up to the first order.
fn usual(origin: &str, path: &str) -> Option<String> {
    let body = match path {
        "/dir" => format!(
            "{{\"newNonce\":\"{origin}/nonce\",\"newAccount\":\"{origin}/account\",\"newOrder\":\"{origin}/order\"}}"
        ),
        "/nonce" => String::new(),
        "/account" => "{\"status\":\"valid\"}".to_owned(),
        _ => return None,
    };
    let status = if path == "/account" {
        "201 Created"
    } else {
        "200 OK"
    };
    Some(answered(
        status,
        &format!("Location: {origin}/account/1\r\n"),
        &body,
    ))
}

fn answered(status: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nReplay-Nonce: abc\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_directory_that_is_down_leaves_the_old_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(
        folder.path(),
        format!("http://127.0.0.1:{}/dir", ports::free()),
    );
    let old = put_old(&settings);
    let kept = Kept::start(settings);
    let line = kept.host.wait_for("no new certificate");
    let until = httpdate::fmt_http_date(old.until);
    assert!(line.contains("cannot connect to 127.0.0.1"), "{line}");
    assert!(
        line.contains(&format!("the one in place is valid until {until}")),
        "{line}"
    );
    assert_eq!(kept.certificate(), Some(old));
    // Later attempts come further apart.
    for failures in 2..5 {
        kept.clock.go_ahead(DAY / 4);
        wait::until(failures, || {
            status(&kept.settings).expect("read")[0].failures == failures
        });
    }
    kept.clock.go_ahead(2 * DAY);
    kept.host.wait_for("the one in place has ended on");
}

#[test]
fn a_limit_of_the_authority_is_heeded() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = directory(|origin, path| {
        let limited = r#"{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many"}"#;
        let refused = || answered("429 Too Many Requests", "Retry-After: 86400\r\n", limited);
        usual(origin, path).unwrap_or_else(refused)
    });
    let settings = settings(folder.path(), directory);
    let old = put_old(&settings);
    let kept = Kept::start(settings);
    let line = kept.host.wait_for("no new certificate");
    assert!(
        line.contains("too many (urn:ietf:params:acme:error:rateLimited)"),
        "{line}"
    );
    let next = wait::found("a failure", || {
        let status = status(&kept.settings).expect("read").remove(0);
        status.fault.is_some().then_some(status.next_attempt)
    });
    let pause = next.duration_since(SystemTime::now()).expect("later");
    assert!(pause > Duration::from_secs(DAY - 60), "{pause:?}");
    assert_eq!(kept.certificate(), Some(old));
    kept.clock.go_ahead(DAY / 2);
    kept.clock.wait_for_look();
    assert_eq!(kept.host.count("no new certificate"), 1);
}

/// A directory that takes no orders, and the number of times that it was asked for.
fn closed_directory() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&asked);
    let directory = directory(move |origin, path| {
        if path == "/dir" {
            count.fetch_add(1, Ordering::SeqCst);
        }
        let refused = || answered("403 Forbidden", "", r#"{"detail":"closed"}"#);
        usual(origin, path).unwrap_or_else(refused)
    });
    (directory, asked)
}

#[test]
fn an_authority_is_asked_twice_a_day_when_to_renew() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&asked);
    let directory = directory(move |origin, path| {
        if path.starts_with("/ari/") {
            count.fetch_add(1, Ordering::SeqCst);
            let window = r#"{"start":"2999-01-01T00:00:00Z","end":"2999-01-02T00:00:00Z"}"#;
            let body = format!("{{\"suggestedWindow\":{window}}}");
            return answered("200 OK", "Retry-After: 21600\r\n", &body);
        }
        let usual = usual(origin, path).unwrap_or_else(|| panic!("{path}"));
        if path != "/dir" {
            return usual;
        }
        let (_, names) = usual.split_once("\r\n\r\n{").expect("a body");
        let body = format!("{{\"renewalInfo\":\"{origin}/ari\",{names}");
        answered("200 OK", "", &body)
    });
    let settings = settings(folder.path(), directory);
    put_aged(&settings, 10, true);
    let kept = Kept::start(settings);
    let asked = || asked.load(Ordering::SeqCst);
    wait::until("a question", || asked() == 1);
    for halves in 1..=4 {
        kept.clock.go_ahead(11 * DAY / 24);
        kept.clock.wait_for_look();
        assert_eq!(asked(), halves);
        kept.clock.go_ahead(DAY / 24);
        wait::until("another question", || asked() > halves);
    }
    kept.clock.wait_for_look();
    assert_eq!(asked(), 5);
    assert!(status(&kept.settings).expect("read")[0].suggested.is_some());
    assert_eq!(kept.host.count("cannot ask when"), 0);
}

#[test]
fn a_clock_that_is_set_right_asks_once_and_not_at_each_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let (directory, asked) = closed_directory();
    let settings = settings(folder.path(), directory);
    put_aged(&settings, 10, true);
    let kept = Kept::start(settings);
    let status = || status(&kept.settings).expect("read").remove(0);
    kept.clock.go_ahead(400 * DAY);
    wait::until("a failure", || status().failures == 1);
    kept.clock.set_right();
    wait::until("the right time", || {
        let latest = SystemTime::now() + Duration::from_secs(DAY);
        status().tried.is_some_and(|tried| tried < latest)
    });
    let asked = wait::settled("questions", || asked.load(Ordering::SeqCst));
    assert!(asked < 10, "{asked}");
}

#[test]
fn attempts_are_not_forgotten_where_they_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (directory, _) = closed_directory();
    let settings = settings(folder.path(), directory);
    put_old(&settings);
    let file = settings.certificate_file("localhost");
    let own = file.parent().and_then(|folder| folder.parent());
    let state = own.expect("a folder").join("state");
    std::fs::write(&state, "").expect("written");
    let kept = Kept::start(settings);
    kept.host.wait_for("no new certificate");
    kept.clock.wait_for_look();
    assert_eq!(kept.host.count("no new certificate"), 1);
    // It is written as soon as that can be done.
    std::fs::remove_file(state).expect("removed");
    wait::until("the state", || {
        status(&kept.settings).expect("read")[0].failures == 1
    });
    assert_eq!(kept.host.count("no new certificate"), 1);
}

#[test]
fn a_start_tells_the_last_failure_and_tries_soon_without_a_certificate() {
    const MINUTE: u64 = 60;
    let folder = tempfile::tempdir().expect("a folder");
    let (directory, _) = closed_directory();
    let mut kept = Kept::start(settings(folder.path(), directory));
    let failures = |kept: &Kept| status(&kept.settings).expect("read")[0].failures;
    wait::until("a failure", || failures(&kept) == 1);
    // After the fourth failure, 20 minutes ahead, the pause has 16 minutes or more.
    for (minutes, expected) in [(3, 2), (6, 3), (11, 4)] {
        kept.clock.go_ahead(minutes * MINUTE);
        wait::until(expected, || failures(&kept) == expected);
    }
    kept.stop();
    let kept = Kept::start(kept.settings.clone());
    let line = kept.host.wait_for("the last attempt");
    assert!(
        line.contains("has failed: ") && line.contains("closed"),
        "{line}"
    );
    assert!(line.contains("there is none in place"), "{line}");
    assert!(line.contains("the next attempt is on "), "{line}");
    assert_eq!(kept.host.count("no new certificate"), 0);
    kept.clock.go_ahead((20 + 13) * MINUTE);
    wait::until("an attempt", || failures(&kept) == 5);
}

#[test]
fn answers_that_are_not_acme_are_refused() {
    for answer in ["", "<html>", "{}", "{\"newNonce\":1}"] {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = directory(move |_, _| answered("200 OK", "", answer));
        let kept = Kept::start(settings(folder.path(), directory));
        let line = kept.host.wait_for("no new certificate");
        assert!(line.contains("is not ACME"), "{line}");
        assert!(line.contains("there is none in place"), "{line}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Kept::start(settings(
        folder.path(),
        directory(|_, _| "SSH-2.0\r\n".to_owned()),
    ));
    kept.host.wait_for("no new certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let far = settings(folder.path(), "http://192.0.2.1/dir".to_owned());
    Kept::start(far)
        .host
        .wait_for("plain HTTP: the directory must have a URL with https");
}

#[test]
fn a_challenge_that_fails_is_told_with_its_reason() {
    let options = PebbleOptions {
        http_port: ports::free(),
        tls_port: ports::free(),
        ..PebbleOptions::default()
    };
    let Some(pebble) = Pebble::start(options) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = AcmeSettings {
        directory_ca: Some(pebble.authority()),
        ..settings(folder.path(), pebble.directory())
    };
    let old = put_old(&settings);
    let kept = Kept::start(settings);
    let line = kept.host.wait_for("no new certificate");
    assert!(line.contains("http-01 has failed: "), "{line}");
    assert!(line.contains("the one in place is valid until"), "{line}");
    assert_eq!(kept.certificate(), Some(old));
}

#[test]
fn a_clock_that_is_wrong_is_named_and_orders_no_second_one() {
    let options = PebbleOptions {
        believes_all: true,
        ..PebbleOptions::default()
    };
    let Some(pebble) = Pebble::start(options) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = AcmeSettings {
        directory_ca: Some(pebble.authority()),
        ..settings(folder.path(), pebble.directory())
    };
    let kept = Kept::start(settings);
    kept.host.wait_for("changed");
    kept.clock.go_ahead(400 * DAY);
    let line = kept.host.wait_for("set the clock");
    assert!(
        line.contains("the new certificate of localhost is valid from"),
        "{line}"
    );
    kept.clock.wait_for_look();
    assert_eq!(kept.host.count("changed"), 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_anything_is_ordered() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = directory(|_, path| panic!("{path}"));
    let settings = settings(folder.path(), directory);
    let file = settings.certificate_file("localhost");
    let own = file
        .parent()
        .and_then(|folder| folder.parent())
        .expect("a folder");
    std::fs::create_dir_all(own).expect("made");
    std::fs::write(own.join("certificates"), "").expect("written");
    let kept = Kept::start(settings);
    let line = kept.host.wait_for("no new certificate");
    assert!(
        line.contains("cannot make ") && line.contains("certificates"),
        "{line}"
    );
}

#[test]
fn a_renewal_needs_a_server_that_keeps_the_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(
        folder.path(),
        format!("http://127.0.0.1:{}/dir", ports::free()),
    );
    let fault = renew(&settings, "localhost", RENEWAL_TIME_MAX).expect_err("no server");
    assert!(
        fault.starts_with("no server keeps the certificates of "),
        "{fault}"
    );
    // Another user may ask than that of the server.
    let mut made = std::fs::read_dir(folder.path()).expect("read");
    assert!(made.next().is_none());
    let _kept = Kept::start(settings.clone());
    let outcome = wait::found("a server", || {
        renew(&settings, "localhost", RENEWAL_TIME_MAX).ok()
    });
    let RenewalOutcome::Failed(reason) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("cannot connect"), "{reason}");
}
