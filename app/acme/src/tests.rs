//! Files that cannot be read: nothing is registered or ordered in their place.

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

const DOMAIN: &str = "localhost";
const WAIT_MAX: Duration = Duration::from_secs(20);

/// An authority that makes accounts and refuses everything else, and the paths that it was asked for.
struct Authority {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Authority {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (own, paths) = (origin.clone(), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|len| len > 2) {}
                let mut fields = head.lines();
                let length = fields.find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    let is_length = name.eq_ignore_ascii_case("content-length");
                    is_length.then(|| value.parse().expect("a number"))
                });
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).expect("a body");
                let path = head.split(' ').nth(1).unwrap_or_default();
                paths.lock().expect("whole").push(path.to_owned());
                let _ = (&stream).write_all(answer(&own, path).as_bytes());
            }
        });
        Self { origin, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("whole").clone()
    }
}

fn answer(origin: &str, path: &str) -> String {
    let (status, body) = match path {
        "/dir" => (
            "200 OK",
            format!(
                "{{\"newNonce\":\"{origin}/nonce\",\"newAccount\":\"{origin}/account\",\
                 \"newOrder\":\"{origin}/order\"}}"
            ),
        ),
        "/nonce" => ("200 OK", String::new()),
        "/account" => ("201 Created", "{\"status\":\"valid\"}".to_owned()),
        _ => ("403 Forbidden", "{\"detail\":\"closed\"}".to_owned()),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nReplay-Nonce: abc\r\nLocation: {origin}/account/1\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// The end of a look, or a line of the log.
enum Event {
    Look,
    Line(String),
}

struct Surroundings(Sender<Event>);

impl Clock for Surroundings {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn look_pause(&self) -> Duration {
        let _ = self.0.send(Event::Look);
        Duration::from_millis(10)
    }
}

impl Host for Surroundings {
    fn log(&self, _: Severity, text: &str) {
        let _ = self.0.send(Event::Line(text.to_owned()));
    }

    fn has_changed(&self) {}
}

/// A keeper, with an authority and a folder of its own.
struct Kept {
    settings: AcmeSettings,
    authority: Authority,
    _folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = Authority::start();
        let settings = AcmeSettings {
            folder: folder.path().to_owned(),
            directory: format!("{}/dir", authority.origin),
            directory_ca: None,
            domains: vec![DOMAIN.to_owned()],
            email: None,
            profile: None,
            external_account: None,
            challenges: vec![ChallengeKind::Http],
        };
        Self {
            settings,
            authority,
            _folder: folder,
        }
    }

    fn start(&self) -> (Renewing, Receiver<Event>) {
        let (sender, events) = channel();
        let surroundings = || Arc::new(Surroundings(sender.clone()));
        let renewing = start(self.settings.clone(), surroundings(), surroundings());
        (renewing.expect("a thread"), events)
    }
}

/// Returns the lines of the log until this many looks have ended.
fn lines(events: &Receiver<Event>, looks: usize) -> Vec<String> {
    let (mut lines, mut ended) = (Vec::new(), 0);
    while ended < looks {
        match events.recv_timeout(WAIT_MAX).expect("a look") {
            Event::Look => ended += 1,
            Event::Line(line) => lines.push(line),
        }
    }
    lines
}

/// Returns the next line of the log.
fn next_line(events: &Receiver<Event>) -> String {
    for _ in 0..10_000 {
        if let Event::Line(line) = events.recv_timeout(WAIT_MAX).expect("a look") {
            return line;
        }
    }
    panic!("no line in 10,000 looks");
}

/// Puts a folder in the place of a file: it is there, and the system does not read it.
fn obstruct(file: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&file).expect("made");
    file
}

fn fault_of(file: &Path) -> String {
    format!("cannot read {}: ", file.display())
}

#[test]
fn an_account_that_cannot_be_read_is_not_replaced() {
    let kept = Kept::new();
    let file = obstruct(kept.settings.account_file());
    let (renewing, events) = kept.start();
    let lines = lines(&events, 3);
    renewing.stop();
    let asked = kept.authority.asked();
    assert!(!asked.contains(&"/account".to_owned()), "{asked:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("no new certificate for localhost: "));
    assert!(lines[0].contains(&fault_of(&file)), "{lines:?}");
}

#[test]
fn without_its_state_or_certificate_nothing_is_tried_until_they_can_be_read() {
    for file in [
        AcmeSettings::state_file as fn(&AcmeSettings, &str) -> PathBuf,
        AcmeSettings::certificate_file,
    ] {
        let kept = Kept::new();
        let file = obstruct(file(&kept.settings, DOMAIN));
        let (renewing, events) = kept.start();
        let told = lines(&events, 4);
        assert_eq!(kept.authority.asked(), [""; 0]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(&fault_of(&file)), "{told:?}");
        assert!(status(&kept.settings).is_err_and(|fault| fault.starts_with(&fault_of(&file))));
        std::fs::remove_dir(&file).expect("removed");
        let line = next_line(&events);
        renewing.stop();
        assert!(line.contains("closed"), "{line}");
    }
}

#[test]
fn an_order_that_cannot_be_read_is_not_made_again() {
    let kept = Kept::new();
    let file = obstruct(kept.settings.order_file(DOMAIN));
    let (renewing, events) = kept.start();
    let lines = lines(&events, 1);
    renewing.stop();
    let asked = kept.authority.asked();
    assert!(asked.contains(&"/account".to_owned()), "{asked:?}");
    assert!(!asked.contains(&"/order".to_owned()), "{asked:?}");
    assert!(lines[0].contains(&fault_of(&file)), "{lines:?}");
}
