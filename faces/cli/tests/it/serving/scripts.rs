//! `[scripts]`: a fresh world for each request, and files that are looked at by requests.

mod changed_bodies;

use crate::support::{Process, Scratch, ends_well};
use sampan_testkit::Client;
use sampan_testkit::wait;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn run(scratch: &Scratch, settings: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("run").arg(scratch.path());
    command.args(["--listen", "127.0.0.1:0", "--workers", "2"]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command
}

fn start(scratch: &Scratch, settings: &[&str]) -> Process {
    Process::start(&mut run(scratch, settings))
}

fn get(client: &mut Client, path: &str) -> String {
    client.ask("GET", path, &[], "").expect("an answer").text()
}

/// Replaces a file at once, as careful editors do: on a busy machine a half-written one would stay so for long.
fn write(scratch: &Scratch, file: &str, text: &str) {
    let new = scratch.file(".new");
    fs::write(&new, text).expect("written");
    fs::rename(new, scratch.file(file)).expect("renamed");
}

/// A project that answers with a word of a module.
fn app(file: &str) -> &'static str {
    match file {
        "app.lua" => {
            "local app = require 'sampan'\nlocal word = require 'word'\napp.get('/', function() return word() end)\n"
        }
        _ => {
            "import { app } from 'sampan';\nimport { word } from './word.js';\napp.get('/', () => word());\n"
        }
    }
}

fn word(file: &str, word: &str) -> String {
    match file {
        "app.lua" => format!("return function() return '{word}' end\n"),
        _ => format!("export const word = () => '{word}';\n"),
    }
}

const FILES: [(&str, &str); 2] = [("app.lua", "word.lua"), ("app.js", "word.js")];

#[test]
fn a_request_is_answered_by_the_files_as_they_are() {
    for (file, module) in FILES {
        let scratch = Scratch::new(&[(file, app(file)), (module, &word(file, "w0"))]);
        let process = start(&scratch, &["scripts.mode=file", "scripts.check_millis=0"]);
        let mut clients: Vec<Client> = (0..4).map(|_| process.client()).collect();
        for at in 1..=5 {
            // In the same tick of the file's clock too, and with the same length.
            let text = format!("w{at}");
            write(&scratch, module, &word(file, &text));
            for client in &mut clients {
                assert_eq!(get(client, "/"), text, "{file}");
            }
        }
        // Another reload changes nothing of that.
        process.signal("HUP");
        write(&scratch, module, &word(file, "w6"));
        for client in &mut clients {
            assert_eq!(get(client, "/"), "w6", "{file}");
        }
        let log = ends_well(process);
        assert!(log.matches("INFO reloaded in ").count() >= 6, "{log}");
    }
}

#[test]
fn no_request_is_lost_while_files_change() {
    let files = [
        ("app.lua", app("app.lua")),
        ("word.lua", &word("app.lua", "0")),
    ];
    let scratch = Scratch::new(&files);
    let process = start(
        &scratch,
        &["scripts.mode=file", "scripts.isolation=request"],
    );
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = process.client();
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let answer = client.ask("GET", "/", &[], "").expect("an answer");
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    let seen: u32 = answer.text().parse().expect("a number");
                    assert!(seen >= last, "{seen} after {last}");
                    last = seen;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                assert_eq!(last, 10);
            });
        }
        let _over = wait::SetAtEnd(&is_over);
        let mut client = process.client();
        for at in 1..=10 {
            write(&scratch, "word.lua", &word("app.lua", &at.to_string()));
            wait::until("the change", || get(&mut client, "/") == at.to_string());
        }
        wait::until("a load", || asked.load(Ordering::Relaxed) > 100);
    });
    let log = ends_well(process);
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn code_that_does_not_load_is_told_once_and_the_old_goes_on() {
    for (file, module) in FILES {
        let scratch = Scratch::new(&[(file, app(file)), (module, &word(file, "old"))]);
        let process = start(&scratch, &["scripts.mode=file", "scripts.check_millis=0"]);
        let mut client = process.client();
        assert_eq!(get(&mut client, "/"), "old");
        write(&scratch, module, "return = 1\n");
        for _ in 0..20 {
            assert_eq!(get(&mut client, "/"), "old", "{file}");
        }
        // A file that is not there yet, which the next try looks for.
        let missing = match file {
            "app.lua" => "return require 'later'\n",
            _ => "export { word } from './later.js';\n",
        };
        write(&scratch, module, missing);
        for _ in 0..20 {
            assert_eq!(get(&mut client, "/"), "old", "{file}");
        }
        write(
            &scratch,
            &module.replace("word", "later"),
            &word(file, "new"),
        );
        assert_eq!(get(&mut client, "/"), "new", "{file}");
        let log = ends_well(process);
        let told = log
            .matches("ERROR not reloaded, the project as it was goes on")
            .count();
        assert_eq!(told, 2, "{log}");
        assert!(log.contains(&format!("{module}:1")), "{log}");
    }
}

#[test]
fn requests_see_nothing_of_one_another_and_group_commit_works() {
    let scratch = Scratch::new(&[
        (
            "app.lua",
            "local app = require 'sampan'
            local own = 0
            app.on_start(function() app.db.exec('CREATE TABLE seen (n INTEGER)') end, { once = true })
            app.use(function(req, next) own = own + 1 count = (count or 0) + 1 return next(req) end)
            app.post('/', function()
              app.db.exec('INSERT INTO seen VALUES (?)', { own + count })
              if count ~= 1 then error 'not alone' end
              return { own, count }
            end)
            app.get('/', function() return app.db.query('SELECT n, count(*) AS times FROM seen GROUP BY n') end)
            app.get('/waits', function(req)
              name = req.query.name
              app.time.sleep(0.02)
              return name
            end)",
        ),
    ]);
    let process = start(&scratch, &["scripts.isolation=request"]);
    std::thread::scope(|scope| {
        for at in 0..8 {
            let process = &process;
            scope.spawn(move || {
                let mut client = process.client();
                for _ in 0..50 {
                    let answer = client.ask("POST", "/", &[], "").expect("an answer");
                    assert_eq!((answer.status, answer.text().as_str()), (200, "[1,1]"));
                }
                for _ in 0..5 {
                    assert_eq!(
                        get(&mut client, &format!("/waits?name={at}")),
                        at.to_string()
                    );
                }
            });
        }
    });
    let mut client = process.client();
    assert_eq!(get(&mut client, "/"), r#"[{"n":2,"times":400}]"#);
    let log = ends_well(process);
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn capabilities_call_the_functions_of_the_request() {
    let scratch = Scratch::new(&[(
        "app.lua",
        "local app = require 'sampan'
        local n = 0
        app.on_start(function() n = n + 1 started = true end)
        app.template.filter('count', function(text) n = n + 1 return text .. n end)
        app.use('/native', app.rate_limit { limit = 2, per = 60 })
        app.use('/asked', app.rate_limit { limit = 2, per = 60, key = function(req) n = n + 1 return 'all' .. n end })
        app.use('/auth', app.basic_auth { verify = function(user) n = n + 1 return user .. n end })
        app.get('/filter', function() return app.render_string('{{ \"x\" | count }}{{ \"y\" | count }}', {}) .. \
         tostring(started) end)
        app.get('/native', function() return 'ok' end)
        app.get('/asked', function() return 'ok' .. n end)
        app.get('/auth', function(req) return req.auth .. n end)
        app.get('/late', function() return tostring(pcall(app.on_start, print)) .. tostring(pcall(app.get, '/x', \
         print)) end)",
    )]);
    let process = start(&scratch, &["scripts.isolation=request", "server.workers=1"]);
    let mut client = process.client();
    for at in 0..3 {
        assert_eq!(get(&mut client, "/filter"), "x1y2nil");
        let status = if at < 2 { 200 } else { 429 };
        for path in ["/native", "/asked"] {
            let answer = client.ask("GET", path, &[], "").expect("an answer");
            assert_eq!(answer.status, status, "{path} {at}");
        }
        let who = ["Authorization: Basic YW5uOng="];
        let answer = client.ask("GET", "/auth", &who, "").expect("an answer");
        assert_eq!(answer.text(), "ann11");
        assert_eq!(get(&mut client, "/late"), "falsefalse");
    }
    ends_well(process);
}

#[test]
fn an_error_at_the_top_of_the_file_is_answered_by_what_stands_above_it() {
    let scratch = Scratch::new(&[(
        "app.lua",
        "local app = require 'sampan'
        app.on_start(function() app.db.exec('CREATE TABLE broken (n INTEGER)') end, { once = true })
        app.on_error(function(req, err) return app.json({ told = err.message, mine = mine }, err.status) end)
        mine = 'set above'
        local ok, rows = pcall(app.db.query, 'SELECT n FROM broken')
        if ok and #rows > 0 then error { status = 418, message = 'broken' } end
        app.get('/', function() return 'whole' end)
        app.post('/', function() app.db.exec('INSERT INTO broken VALUES (1)') end)",
    )]);
    let process = start(&scratch, &["scripts.isolation=request"]);
    let mut client = process.client();
    assert_eq!(get(&mut client, "/"), "whole");
    let answer = client.ask("POST", "/", &[], "").expect("an answer");
    assert_eq!(answer.status, 204, "{}", answer.text());
    for _ in 0..3 {
        let answer = client.ask("GET", "/", &[], "").expect("an answer");
        let told = r#"{"told":"broken","mine":"set above"}"#;
        assert_eq!(answer.status, 418);
        assert!(
            answer.text() == told || answer.text() == r#"{"mine":"set above","told":"broken"}"#
        );
    }
    ends_well(process);
}

#[test]
fn nothing_that_a_script_can_reach_is_shared() {
    let walk = include_str!("../../../../../engine/lua/tests/it/support/walk.lua");
    let scratch = Scratch::new(&[
        ("walk.lua", walk),
        (
            "app.lua",
            "local app, walk = require 'sampan', require 'walk'
            local limited = app.rate_limit { limit = 1000, per = 1 }
            app.use(limited)
            app.get('/', function(req)
              local rows = app.db.query('SELECT 1 AS one')
              local _, err = pcall(app.db.query, 'nonsense')
              req.session.mark = nil
              local marked, count = walk.all { globals = _G, app = app, req = req, query = req.query, cookies = \
               req.cookies, headers = req.headers,
                session = req.session, state = req.state, rows = rows, row = rows[1], err = err, limited = limited, \
                 text = app.text 'x',
                writer = app.csv.writer(), parsed = app.json.decode '{\"a\":[1]}', sleep = app.time.sleep }
              return { marked, count > 30 }
            end)",
        ),
    ]);
    let process = start(&scratch, &["scripts.isolation=request", "server.workers=1"]);
    let mut client = process.client();
    for _ in 0..3 {
        assert_eq!(get(&mut client, "/"), "[{},true]");
    }
    ends_well(process);
}

#[test]
fn memory_does_not_grow_with_the_requests() {
    let scratch = Scratch::new(&[
        (
            "app.lua",
            "local app = require 'sampan'
            local list = require 'list'
            app.use(app.cors { origins = '*' })
            app.use(app.rate_limit { limit = 1000000, per = 60, key = function() return 'all' end })
            app.template.filter('same', function(text) return text end)
            app.get('/', function(req)
              for at = 1, 100 do list[at] = req.id .. at end
              kept = list
              string.kept = list
              return #list
            end)",
        ),
        ("list.lua", "return {}"),
    ]);
    let process = start(&scratch, &["scripts.isolation=request"]);
    let mut client = process.client();
    let mut ask = |count: usize| {
        for _ in 0..count {
            assert_eq!(get(&mut client, "/"), "100");
        }
        process.memory_kib()
    };
    let before = ask(3_000);
    let after = ask(10_000);
    assert!(after < before + 4 * 1024, "{before} KiB became {after} KiB");
    ends_well(process);
}

#[test]
fn settings_that_cannot_be_are_told_at_start() {
    let lua = Scratch::new(&[("app.lua", app("app.lua")), ("word.lua", "return 1")]);
    let js = Scratch::new(&[
        ("app.js", app("app.js")),
        ("word.js", "export const word = 1;"),
    ]);
    for (scratch, setting, expected) in [
        (
            &js,
            "scripts.isolation=request",
            "[scripts] isolation = \"request\" is for projects in Lua, and app.js is none",
        ),
        (
            &lua,
            "scripts.isolation=all",
            "[scripts] isolation: \"all\" is none of \"worker\", \"request\"",
        ),
        (
            &lua,
            "scripts.mode=fast",
            "[scripts] mode: \"fast\" is none of \"cached\", \"file\"",
        ),
    ] {
        let output = run(scratch, &[setting]).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains(expected) && told.trim().lines().count() == 1,
            "{told}"
        );
    }
    let mut command = run(&lua, &["scripts.isolation=worker"]);
    command.env("SAMPAN_SCRIPTS_MODE", "file");
    ends_well(Process::start(&mut command));
}
