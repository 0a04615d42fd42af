//! Random scripts over all modules in both languages, many beside one another in one isolate: no process ends, no
//! worker is lost, and a plain request is answered after each batch.
//!
//! `SAMPAN_RANDOM_SCRIPTS` sets how many there are in each language (4000), `SAMPAN_RANDOM_SEED` where they begin. A
//! seed that fails is named, so that `/run/SEED` of `app.js` or `app.lua` shows it again.

use sampan_client::{ports, wait};
use sampan_host::FunctionKind;
use sampan_host::names::camel_case;
use sampan_testkit::Client;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The scripts in each language.
const SCRIPTS: u64 = 4_000;
/// The number of scripts in one request, run one request runs, one after the other.
const PER_REQUEST: u64 = 5;
/// Clients at a time.
const CLIENTS: u64 = 4;
/// The attempts to start the server.
const STARTS_MAX: u32 = 50;

/// The functions that the scripts do not call, by their modules: they take long by intent, or declare what runs at the
/// start and the end of the server.
const SKIPPED: [(&str, &str); 5] = [
    ("app", "on_start"),
    ("app", "on_stop"),
    ("password", "hash"),
    ("password", "verify"),
    ("time", "sleep"),
];

/// A script that loops or fills its memory is stopped soon, so that many can be tried.
const CONFIG: &str = "[server]\nworkers = 2\n[limits]\nscript_millis_max = 50\nhandler_millis_max = \
 300\ncleanup_millis_max = 100\n\
     memory_bytes_max = \"256 MB\"\n[log]\nlevel = \"warn\"\n";

struct Server {
    child: Child,
    address: SocketAddr,
    log: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Server {
    fn start(language: &str, folder: &Path) -> Self {
        // A port is free until its server listens, so that the other test could be given the same.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let source = format!(
            "{}/tests/random_scripts/app.{language}",
            env!("CARGO_MANIFEST_DIR")
        );
        fs::copy(source, folder.join(format!("app.{language}"))).expect("copied");
        fs::write(folder.join("sampan.toml"), CONFIG).expect("written");
        fs::create_dir_all(folder.join("public")).expect("a folder");
        fs::write(folder.join("public/a.txt"), "a").expect("written");
        let program = std::env::var("SAMPAN_EXECUTABLE");
        let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_sampan").to_owned());
        let address = SocketAddr::from(([127, 0, 0, 1], ports::free()));
        let mut child = Self::started(&program, folder, address);
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        let log = std::thread::spawn(move || {
            let telling = |line: &String| {
                // The fields of a line of the log may be all that a script can reach, its globals included.
                let message = match line.chars().next() {
                    // The rest of a message of several lines, which a script wrote.
                    Some(' ') => "",
                    Some('2') => line.split('=').next().unwrap_or(line),
                    _ => line,
                };
                [
                    "fault of the server",
                    "panicked",
                    "Assertion",
                    "Sanitizer",
                    "worker",
                ]
                .iter()
                .any(|word| message.contains(word))
            };
            errors
                .lines()
                .map_while(Result::ok)
                .filter(telling)
                .collect()
        });
        Self {
            child,
            address,
            log: Some(log),
        }
    }

    /// Starts the command, and waits until it answers. On a machine that does much else the project may need longer to
    /// load than a script may run here; then the command ends, and is started again.
    fn started(program: &str, folder: &Path, address: SocketAddr) -> Child {
        for _ in 0..STARTS_MAX {
            let mut child = Command::new(program)
                .args(["run", ".", "--listen", &address.to_string()])
                .current_dir(folder)
                .stderr(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .expect("the command starts");
            let has_started = wait::found("it answers or ends", || {
                let has_ended = child.try_wait().expect("a process").is_some();
                (has_ended || answers(address)).then_some(!has_ended)
            });
            if has_started {
                return child;
            }
            let mut words = String::new();
            let mut errors = child.stderr.take().expect("piped");
            errors.read_to_string(&mut words).expect("text");
            assert!(words.contains("script_millis_max"), "it ended: {words}");
        }
        panic!("it did not start {STARTS_MAX} times");
    }
}

/// Reports whether a plain request is answered.
fn answers(address: SocketAddr) -> bool {
    let client = Client::connect(address);
    let answer = client.and_then(|mut client| client.ask("GET", "/plain", &[], ""));
    answer.is_ok_and(|answer| answer.status == 200 && answer.text().contains("\"kept\":true"))
}

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn try_scripts(language: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(language, folder.path());
    let first = setting("SAMPAN_RANDOM_SEED", 1);
    let requests = setting("SAMPAN_RANDOM_SCRIPTS", SCRIPTS) / PER_REQUEST;
    let next = Arc::new(AtomicU64::new(0));
    let address = server.address;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let next = Arc::clone(&next);
            std::thread::spawn(move || {
                let mut known: Option<Client> = None;
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    if at >= requests {
                        return;
                    }
                    let path = format!("/run/{}?count={PER_REQUEST}", first + at);
                    let Some(mut client) = known.take().or_else(|| Client::connect(address).ok())
                    else {
                        continue;
                    };
                    // What it answers is the script's own matter; a connection that a script ended is another one from
                    // now on.
                    if client.ask("GET", &path, &[], "").is_ok() {
                        known = Some(client);
                    }
                }
            })
        })
        .collect();
    while clients.iter().any(|client| !client.is_finished()) {
        wait::dawdle(Duration::from_millis(200));
        let seeds = first + next.load(Relaxed);
        if let Some(status) = server.child.try_wait().expect("a process") {
            let log = server.log.take().map(|log| log.join());
            panic!("{language}: it ended with {status} near seed {seeds}: {log:?}");
        }
    }
    for client in clients {
        client.join().expect("a client");
    }
    assert!(answers(server.address), "{language}: no answer");
    let _ = server.child.kill();
    let _ = server.child.wait();
    let log = server.log.take().expect("a log").join().expect("lines");
    let faults: Vec<&String> = log
        .iter()
        .filter(|line| !line.contains("listening"))
        .collect();
    assert!(faults.is_empty(), "{language}: {faults:#?}");
}

/// Checks that the scripts of a language call each function of each module, but those of [`SKIPPED`].
fn check_reached(language: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(language, folder.path());
    let answer = Client::connect(server.address)
        .and_then(|mut client| client.ask("GET", "/reached", &[], ""));
    let _ = server.child.kill();
    let _ = server.child.wait();
    let reached = answer.expect("an answer").text();
    let reached: BTreeSet<String> = serde_json::from_str(&reached).expect("a list of names");
    let mut faults = Vec::new();
    for module in sampan_runtime::modules().iter().filter(|one| one.is_seen()) {
        for row in module.functions {
            let name = match language {
                "js" => camel_case(row.name),
                // Lua has no templates with a tag.
                _ if matches!(row.kind, FunctionKind::Tag(_)) => continue,
                _ => row.name.to_owned(),
            };
            let is_reached = reached.contains(&format!("{}.{name}", module.name));
            if is_reached == SKIPPED.contains(&(module.name, row.name)) {
                faults.push(format!("{}.{name}: reached {is_reached}", module.name));
            }
        }
    }
    assert!(faults.is_empty(), "{language}: {faults:#?}");
}

#[test]
fn scripts_in_javascript_call_all_functions() {
    check_reached("js");
}

#[test]
fn scripts_in_lua_call_all_functions() {
    check_reached("lua");
}

#[test]
fn no_script_in_javascript_ends_the_process() {
    try_scripts("js");
}

#[test]
fn no_script_in_lua_ends_the_process() {
    try_scripts("lua");
}
