//! Reloads: SIGHUP and `sampan reload` swap to the project as it is now, and nobody who is served notices.

use crate::support::{Process, Scratch, ends_well};
use sampan_runtime::server_pids;
use sampan_testkit::{Client, wait};
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn start(scratch: &Scratch, workers: usize) -> Process {
    // A SIGHUP reloads where no terminal could have sent it.
    let mut command = Command::new("setsid");
    let folder = scratch.path().display().to_string();
    let workers = workers.to_string();
    command.args([
        env!("CARGO_BIN_EXE_sampan"),
        "run",
        &folder,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        &workers,
    ]);
    Process::start(&mut command)
}

/// `sampan reload`, to its end.
fn reload(scratch: &Scratch) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    let command = command.arg("reload").arg(scratch.path());
    command.output().expect("the command starts")
}

/// Reloads, and expects that it was done.
fn reloads(scratch: &Scratch) -> String {
    let output = reload(scratch);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Reloads, and expects that it was refused with a text that has `part`.
fn refuses(scratch: &Scratch, part: &str) {
    let output = reload(scratch);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("sampan: ") && told.contains(part),
        "{told}"
    );
}

pub(super) fn get(client: &mut Client, path: &str) -> String {
    client.ask("GET", path, &[], "").expect("an answer").text()
}

/// Returns the app in both languages, with another word as its answer.
pub(super) fn app(file: &str, word: &str) -> String {
    match file {
        "app.lua" => format!(
            "local app = require 'sampan'\napp.get('/', function() return '{word}' end)\napp.get('/fixed', '{word}')\n"
        ),
        _ => format!(
            "import {{ app }} from 'sampan';\napp.get('/', () => '{word}');\napp.get('/fixed', '{word}');\n"
        ),
    }
}

#[test]
fn sighup_and_the_command_swap_and_connections_stay() {
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "one"))]);
        let process = start(&scratch, 3);
        let mut clients: Vec<Client> = (0..6).map(|_| process.client()).collect();
        for client in &mut clients {
            assert_eq!(get(client, "/"), "one");
        }
        fs::write(scratch.file(file), app(file, "two")).expect("written");
        let told = reloads(&scratch);
        assert!(
            told.starts_with("process ") && told.contains(": reloaded in "),
            "{told}"
        );
        // Once it has said so, every worker answers with the new project.
        for client in &mut clients {
            assert_eq!(get(client, "/"), "two", "{file}");
            assert_eq!(get(client, "/fixed"), "two", "{file}");
        }
        fs::write(scratch.file(file), app(file, "three")).expect("written");
        process.signal("HUP");
        for client in &mut clients {
            wait::until("the reload", || get(client, "/") == "three");
        }
        let log = ends_well(process);
        assert_eq!(log.matches("INFO reloaded in ").count(), 2, "{log}");
        refuses(&scratch, "no server of ");
    }
}

/// Returns an app in both languages that writes a word again and again, and counts how often it has.
fn ticking(file: &str, word: &str) -> String {
    const LUA: &str = "local app = require 'sampan'
        local db = app.db
        db.exec('CREATE TABLE IF NOT EXISTS ticks (word TEXT)')
        app.every(0.001, function() db.exec('INSERT INTO ticks VALUES (?)', { 'WORD' }) end)
        app.get('/:word', function(req)
          return db.one('SELECT count(*) AS n FROM ticks WHERE word = ?', { req.params.word }).n
        end)";
    const JS: &str = "import { app, db } from 'sampan';
        db.exec('CREATE TABLE IF NOT EXISTS ticks (word TEXT)');
        app.every(0.001, () => db.exec('INSERT INTO ticks VALUES (?)', ['WORD']));
        app.get('/:word', (req) =>
          db.one('SELECT count(*) AS n FROM ticks WHERE word = ?', [req.params.word]).n);";
    let source = if file == "app.lua" { LUA } else { JS };
    source.replace("WORD", word)
}

#[test]
fn timers_end_with_the_project_that_declares_them() {
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &ticking(file, "one"))]);
        let process = start(&scratch, 2);
        let mut client = process.client();
        let mut ticks = |word: &str| -> u64 {
            let text = get(&mut client, &format!("/{word}"));
            text.parse().expect("a number")
        };
        wait::until("the first timer", || ticks("one") >= 10);
        fs::write(scratch.file(file), ticking(file, "two")).expect("written");
        reloads(&scratch);
        // A run that had begun may end.
        wait::until("the second timer", || ticks("two") >= 10);
        let (one, two) = (ticks("one"), ticks("two"));
        wait::until("more of the second", || ticks("two") >= two + 20);
        assert_eq!(ticks("one"), one, "{file}");
        ends_well(process);
    }
}

#[test]
fn what_does_not_load_leaves_the_old_project_in_place() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "old"))]);
    fs::create_dir(scratch.path().join("templates")).expect("a folder");
    fs::create_dir(scratch.path().join("migrations")).expect("a folder");
    let process = start(&scratch, 2);
    let mut client = process.client();
    let write =
        |name: &str, text: &str| fs::write(scratch.path().join(name), text).expect("written");
    // Half of a file, as an editor may leave it for a moment.
    write(
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function() return",
    );
    refuses(&scratch, "app.lua:2: ");
    assert_eq!(get(&mut client, "/"), "old");
    write(
        "app.lua",
        "local app = require 'sampan'\napp.on_start(function() error('no start') end)\n",
    );
    refuses(&scratch, "no start");
    write(
        "app.lua",
        "local app = require 'sampan'\nif app.worker.index == 2 then error('not here') end\n",
    );
    refuses(&scratch, "not here");
    write("app.lua", &app("app.lua", "new"));
    write("templates/page.html", "{% if %}");
    refuses(&scratch, "page.html");
    fs::remove_file(scratch.path().join("templates/page.html")).expect("removed");
    write("sampan.toml", "[server]\nworkerz = 3\n");
    refuses(&scratch, "sampan.toml:2: ");
    fs::remove_file(scratch.path().join("sampan.toml")).expect("removed");
    write("migrations/0001_a.sql", "CREATE TABEL a (x);");
    refuses(&scratch, "0001_a.sql:1:");
    write("migrations/0001_a.sql", "CREATE TABLE a (x);");
    fs::rename(
        scratch.path().join("app.lua"),
        scratch.path().join("app.js"),
    )
    .expect("renamed");
    write("app.js", &app("app.js", "js"));
    refuses(
        &scratch,
        "the project is in another language now, app.js instead of app.lua",
    );
    fs::remove_file(scratch.path().join("app.js")).expect("removed");
    refuses(&scratch, "has no app.lua");
    assert_eq!(get(&mut client, "/"), "old");
    write("app.lua", "error('later')");
    refuses(&scratch, "(applied before: 0001_a; ");
    write("app.lua", &app("app.lua", "new"));
    reloads(&scratch);
    assert_eq!(get(&mut client, "/"), "new");
    let log = ends_well(process);
    assert_eq!(
        log.matches("ERROR not reloaded, the project as it was goes on: ")
            .count(),
        9,
        "{log}"
    );
}

#[test]
fn everything_of_the_project_is_swapped_together() {
    const APP: &str = "local app = require 'sampan'\n\
        app.get('/', function(req) return req:render('page.html', { word = req:t('word') }) end)\n\
        app.get('/rows', function() return app.db.query('SELECT * FROM t') end)\n";
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let write =
        |name: &str, text: &str| fs::write(scratch.path().join(name), text).expect("written");
    for folder in ["templates", "locales", "public", "migrations"] {
        fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    write("templates/page.html", "first {{ word }}");
    write("locales/en.toml", "word = 'hello'\n");
    write("public/a.txt", "file");
    write("migrations/0001_t.sql", "CREATE TABLE t (x INTEGER);");
    let process = start(&scratch, 2);
    let mut client = process.client();
    assert_eq!(get(&mut client, "/"), "first hello");
    assert_eq!(get(&mut client, "/rows"), "[]");
    write("templates/page.html", "second {{ word }} {{ gone }}");
    write("locales/en.toml", "word = 'goodbye'\n");
    write(
        "migrations/0002_u.sql",
        "ALTER TABLE t ADD COLUMN y TEXT; INSERT INTO t VALUES (1, 'two');",
    );
    write(
        "sampan.toml",
        "[template]\nundefined = 'lenient'\n[static]\ncache_control = 'max-age=7'\n[server]\nworkers = \
         9\n[log]\nlevel = 'debug'\n",
    );
    // The one on disk is another already, and the one that serves is whole.
    assert_eq!(get(&mut client, "/"), "first hello");
    let told = reloads(&scratch);
    // --workers wins over the file, so only the log differs.
    assert!(told.contains("these need a restart: [log]"), "{told}");
    assert_eq!(get(&mut client, "/"), "second goodbye ");
    assert_eq!(get(&mut client, "/rows"), "[{\"x\":1,\"y\":\"two\"}]");
    let file = client.ask("GET", "/a.txt", &[], "").expect("an answer");
    assert_eq!(file.header("cache-control"), ["max-age=7"]);
    // A template that is deleted is there until the next reload.
    fs::remove_file(scratch.path().join("templates/page.html")).expect("removed");
    assert_eq!(get(&mut client, "/"), "second goodbye ");
    let log = ends_well(process);
    assert!(log.contains("INFO migration 0002_u applied"), "{log}");
    assert!(
        log.contains("WARN changed settings that need a restart: [log]"),
        "{log}"
    );
}

#[test]
fn what_runs_ends_in_the_old_isolate_and_then_it_stops() {
    for (file, text) in [
        (
            "app.lua",
            "local app = require 'sampan'\nlocal word = 'WORD'\n\
             app.on_start(function() app.log.info('start ' .. word) end)\n\
             app.on_start(function() app.log.info('once ' .. word) end, { once = true })\n\
             app.on_stop(function() app.log.info('stop ' .. word) end)\n\
             app.get('/slow', function() app.log.info('slow ' .. word) app.time.sleep(0.5) return word end)\n\
             app.get('/stream', function() return app.stream(function(write)\n\
               for i = 1, 5 do write(word .. ' ') app.time.sleep(0.1) end end) end)\n\
             app.get('/', function() return word end)\n",
        ),
        (
            "app.js",
            "import { app, log, stream, time } from 'sampan';\nconst word = 'WORD';\n\
             app.onStart(() => log.info('start ' + word));\n\
             app.onStart(() => log.info('once ' + word), { once: true });\n\
             app.onStop(() => log.info('stop ' + word));\n\
             app.get('/slow', async () => { log.info('slow ' + word); await time.sleep(0.5); return word; });\n\
             app.get('/stream', () => stream(async (write) => {\n\
               for (let i = 0; i < 5; i++) { await write(word + ' '); await time.sleep(0.1); } }));\n\
             app.get('/', () => word);\n",
        ),
    ] {
        let scratch = Scratch::new(&[(file, &text.replace("WORD", "old"))]);
        let mut process = start(&scratch, 1);
        let log = process.read_errors();
        let (mut slow, mut stream, mut other) =
            (process.client(), process.client(), process.client());
        stream
            .send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        slow.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        // The stream came before.
        log.until("slow old");
        fs::write(scratch.file(file), text.replace("WORD", "new")).expect("written");
        reloads(&scratch);
        assert_eq!(get(&mut other, "/"), "new", "{file}");
        assert_eq!(slow.read(false).expect("an answer").text(), "old", "{file}");
        assert_eq!(
            stream.read(false).expect("an answer").text(),
            "old old old old old "
        );
        // The same connections go on with the new one.
        assert_eq!(
            (get(&mut slow, "/"), get(&mut stream, "/")),
            ("new".into(), "new".into())
        );
        log.until("stop old");
        process.signal("TERM");
        assert_eq!(process.status(), Some(0), "{}", log.text());
        let log = log.join().expect("text");
        // What the first start said is behind us.
        let told = ["start new", "stop old", "shutting down", "stop new"];
        let places = told.map(|part| {
            log.find(part)
                .unwrap_or_else(|| panic!("{file}: {part}: {log}"))
        });
        assert!(places.is_sorted(), "{file}: {log}");
        assert!(!log.contains("once new"), "{file}: {log}");
    }
}

#[test]
fn streams_without_end_are_cut_after_a_while() {
    let app = "local app = require 'sampan'\n\
        app.on_stop(function() app.log.info('stopped') end)\n\
        app.get('/', function() return app.stream(function(write)\n\
          app.log.info('begun')\n\
          while true do write('x') app.time.sleep(0.05) end end) end)\n";
    let toml = "[limits]\nshutdown_millis_max = 400\n";
    let scratch = Scratch::new(&[("app.lua", app), ("sampan.toml", toml)]);
    let mut process = start(&scratch, 1);
    let log = process.read_errors();
    let mut client = process.client();
    client
        .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("sent");
    log.until("begun");
    reloads(&scratch);
    let answer = client.read(false).expect("an answer");
    assert!(answer.is_cut);
    log.until("INFO stopped");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert!(
        log.contains("WARN GET / (stream): cut after a reload (shutdown_millis_max, 400 ms)"),
        "{log}"
    );
    assert_eq!(log.matches("INFO stopped").count(), 2, "{log}");
}

#[test]
fn rate_limits_count_on() {
    let app = "local app = require 'sampan'\n\
        app.use('/*', app.rate_limit{ limit = 3, per = 600 })\napp.get('/', 'fine')\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let process = start(&scratch, 2);
    let mut client = process.client();
    let mut status = || client.ask("GET", "/", &[], "").expect("an answer").status;
    assert_eq!((status(), status()), (200, 200));
    reloads(&scratch);
    assert_eq!((status(), status()), (200, 429));
    reloads(&scratch);
    assert_eq!(status(), 429);
    ends_well(process);
}

/// Its log says that it listens when others are served; by then `sampan reload` must have found it.
#[test]
fn a_server_can_be_asked_before_it_has_started() {
    let answer = |mut caller: TcpStream| caller.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
    for file in ["app.lua", "app.js"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let hook = match file {
            "app.lua" => format!("app.on_start(function() app.fetch('{url}') end)\n"),
            _ => format!("app.onStart(async () => {{ await fetch('{url}'); }});\n"),
        };
        let toml = "[fetch]\nallow = ['127.0.0.1']\n";
        let script = app(file, "one") + &hook;
        let scratch = Scratch::new(&[(file, &script), ("sampan.toml", toml)]);
        let root = scratch.path().canonicalize().expect("a folder");
        let (process, found) = std::thread::scope(|scope| {
            let starting = scope.spawn(|| start(&scratch, 1));
            let (caller, _) = listener.accept().expect("a start that waits");
            let found = server_pids(&root).expect("a list");
            answer(caller).expect("sent");
            (starting.join().expect("a server"), found)
        });
        assert!(found.contains(&process.id()), "{file}: {found:?}");
        ends_well(process);
    }
}

/// The figure of the issue: no request fails in 100 swaps while 64 connections ask.
#[test]
fn a_hundred_swaps_under_load_cost_no_request() {
    const SWAPS: usize = 100;
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "0"))]);
        let process = start(&scratch, 2);
        let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut took = Vec::new();
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    let mut client = process.client();
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let answer = client.ask("GET", "/", &[], "").expect("an answer");
                        assert_eq!(answer.status, 200);
                        let number: usize = answer.text().parse().expect("a number");
                        assert!(number >= last, "an older project answered");
                        last = number;
                        asked.fetch_add(1, Ordering::Relaxed);
                        wait::dawdle(Duration::from_millis(5));
                    }
                });
            }
            let _over = wait::SetAtEnd(&is_over);
            for swap in 1..=SWAPS {
                fs::write(scratch.file(file), app(file, &swap.to_string())).expect("written");
                let begun = Instant::now();
                reloads(&scratch);
                took.push(begun.elapsed());
            }
            wait::until("a load", || asked.load(Ordering::Relaxed) > 1000);
        });
        took.sort();
        let median = took[SWAPS / 2];
        let asked = asked.load(Ordering::Relaxed);
        println!("{file}: {median:?} in the median, {asked} requests");
        ends_well(process);
    }
}

#[test]
fn isolates_beside_the_workers_that_do_not_load_the_project_are_told() {
    for (file, app, failing) in [
        (
            "app.lua",
            "local app = require 'sampan'\napp.job('nothing', function() end)\n\
             app.get('/slow', { slow = true }, function() return 'slow' end)\n\
             app.get('/', function() return 'WORD' end)\n",
            "app.on_start(function() if app.worker.index > 1 then error('no start') end end)\n",
        ),
        (
            "app.js",
            "import { app } from 'sampan';\napp.job('nothing', () => {});\n\
             app.get('/slow', { slow: true }, () => 'slow');\n\
             app.get('/', () => 'WORD');\n",
            "app.onStart(() => { if (app.worker.index > 1) throw new Error('no start'); });\n",
        ),
    ] {
        let toml = "[workers]\nslow = 1\n[jobs]\nworkers = 1\n";
        let scratch = Scratch::new(&[(file, app), ("sampan.toml", toml)]);
        let process = start(&scratch, 1);
        let text = app.replace("WORD", "new") + failing;
        fs::write(scratch.file(file), text).expect("written");
        let output = reload(&scratch);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}: {told}");
        for part in [
            ": reloaded in ",
            " ms, but ",
            "a thread beside requests goes on as it was: ",
            "an isolate of slow routes goes on as it was: ",
            "no start",
        ] {
            assert!(told.contains(part), "{file}: {part:?} is not in {told}");
        }
        assert_eq!(get(&mut process.client(), "/"), "new", "{file}");
        fs::write(scratch.file(file), app).expect("written");
        reloads(&scratch);
        ends_well(process);
    }
}

/// A reload tries the project on a thread of its own first, so that a top level without end holds nobody up.
#[test]
fn a_top_level_without_end_holds_no_answer() {
    for (file, endless) in [("app.lua", "while true do end"), ("app.js", "for (;;);")] {
        let scratch = Scratch::new(&[
            (file, &app(file, "old")),
            ("sampan.toml", "[limits]\nscript_millis_max = 2000\n"),
        ]);
        let process = start(&scratch, 2);
        fs::write(scratch.path().join(file), endless).expect("written");
        let mut answers = 0;
        std::thread::scope(|scope| {
            let reload = scope.spawn(|| refuses(&scratch, "2000 ms"));
            let mut clients = [process.client(), process.client(), process.client()];
            while !reload.is_finished() {
                for client in &mut clients {
                    assert_eq!(get(client, "/"), "old");
                    answers += 1;
                }
            }
        });
        // Those that are held end with the reload: two rounds at most.
        assert!(answers > 3 * 4, "{file}: {answers} answers");
        ends_well(process);
    }
}
