//! Saved files are served, and pages hear of it.

use super::{PAGES, Page, app, dev, get, write};
use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The figure of the issue: what is saved is served 100 ms later at most, in the median.
#[test]
fn a_save_is_served_and_pages_hear_of_it() {
    const SAVES: usize = 21;
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "0"))]);
        let process = Process::start(&mut dev(&scratch, &[]));
        let mut page = Page::open(&process);
        let mut took = Vec::new();
        for save in 1..=SAVES {
            let begun = Instant::now();
            write(&scratch, file, &app(file, &save.to_string()));
            page.hears_of_reload();
            took.push(begun.elapsed());
            let text = get(&process, "/", &[]).1;
            let expected = format!(
                "<body>{save}<script src=\"/_sampan/dev/client.js\" data-version=\"{}\"",
                page.version()
            );
            assert!(
                text.starts_with(&expected) && text.ends_with("</script></body>"),
                "{text}"
            );
        }
        took.sort();
        println!(
            "{file}: {:?} in the median, {:?} at most",
            took[SAVES / 2],
            took[SAVES - 1]
        );
        assert!(
            get(&process, "/_sampan/dev/client.js", &[])
                .1
                .contains("new EventSource(")
        );
        // It does not wait for the page that listens.
        process.signal("INT");
        let (status, log) = process.end();
        assert_eq!(status, Some(0), "{log}");
    }
}

/// The figure of the issue: no request fails in 100 swaps while 64 connections ask, and all connections are kept.
#[test]
fn a_hundred_saves_under_load_cost_no_request() {
    const SAVES: usize = 100;
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "0"))]);
        let mut process = Process::start(&mut dev(&scratch, &[]));
        let log = process.read_errors();
        let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut took = Vec::new();
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    let (mut client, mut last) = (process.client(), 0);
                    while !is_over.load(Ordering::Relaxed) {
                        let answer = client.ask("GET", "/", &[], "").expect("an answer");
                        assert_eq!(answer.status, 200);
                        let text = answer.text();
                        let word = text.strip_prefix("<body>").expect("a page");
                        let (word, _) = word.split_once('<').expect("a page");
                        let number: usize = word.parse().expect("a number");
                        assert!(number >= last, "an older project answered");
                        last = number;
                        asked.fetch_add(1, Ordering::Relaxed);
                        wait::dawdle(Duration::from_millis(5));
                    }
                });
            }
            let _over = wait::SetAtEnd(&is_over);
            let mut page = Page::open(&process);
            for save in 1..=SAVES {
                let begun = Instant::now();
                write(&scratch, file, &app(file, &save.to_string()));
                page.hears_of_reload();
                took.push(begun.elapsed());
            }
            wait::until("a load", || asked.load(Ordering::Relaxed) > 1000);
        });
        took.sort();
        let (median, asked) = (took[SAVES / 2], asked.load(Ordering::Relaxed));
        println!("{file}: {median:?} in the median under load, {asked} requests");
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
        let log = log.join().expect("text");
        assert_eq!(log.matches("INFO reloaded in ").count(), SAVES);
    }
}

#[test]
fn everything_that_is_saved_counts_and_style_sheets_need_no_reload() {
    let app = "local app = require 'sampan'\n\
        app.get('/', function(req) return req:render('a.html', { word = req:t('word'), key = \
         app.env.get('DEV_TEST_WORD') }) end)\n\
        app.get('/rows', function() return app.db.query('SELECT name FROM t') end)\n\
        app.get('/fixed', 'fixed')\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    write(&scratch, "templates/a.html", "one {{ word }} {{ key }}");
    write(&scratch, "locales/en.toml", "word = 'hello'\n");
    write(&scratch, "public/a.css", "a {}");
    write(&scratch, "public/b.html", "<p>file</p>");
    write(&scratch, ".env", "DEV_TEST_WORD='first value' # odd\n");
    let process = Process::start(&mut dev(&scratch, &[]));
    let mut page = Page::open(&process);
    let shows = |expected: &str| {
        let text = get(&process, "/", &[]).1;
        assert!(text.starts_with(expected), "{text}");
    };
    shows("one hello first value<script");
    assert!(
        get(&process, "/b.html", &[])
            .1
            .starts_with("<p>file</p><script")
    );
    // From the browser's cache it would have the script of an older version, and load itself again for ever.
    let answer = process.client().ask("GET", "/b.html", &[], "");
    let answer = answer.expect("an answer");
    assert!(answer.header("etag").is_empty());
    assert_eq!(answer.header("cache-control"), ["no-store"]);
    assert_eq!(get(&process, "/fixed", &[]).1, "fixed");
    write(&scratch, "templates/a.html", "two {{ word }} {{ key }}");
    page.hears_of_reload();
    shows("two hello first value");
    write(&scratch, "locales/en.toml", "word = 'goodbye'\n");
    page.hears_of_reload();
    shows("two goodbye first value");
    write(&scratch, ".env", "DEV_TEST_WORD=\"second\"\n");
    page.hears_of_reload();
    shows("two goodbye second");
    write(&scratch, ".env", "A=1\nDEV_TEST_WORD=\"no end\n");
    let fault = page.hears_of_fault();
    assert!(
        fault.contains(".env:2: write NAME=value") && !fault.contains("no end"),
        "{fault}"
    );
    write(&scratch, ".env", "DEV_TEST_WORD=third\n");
    page.hears_of_reload();
    shows("two goodbye third");
    write(
        &scratch,
        "migrations/0001_t.sql",
        "CREATE TABLE t (name TEXT); INSERT INTO t VALUES ('x');",
    );
    page.hears_of_reload();
    assert_eq!(get(&process, "/rows", &[]).1, "[{\"name\":\"x\"}]");
    write(
        &scratch,
        "sampan.toml",
        "[static]\nfolder = 'public'\ncache_control = 'max-age=3'\n",
    );
    page.hears_of_reload();
    let (version, css) = (page.version(), page.state["css"].clone());
    write(&scratch, "public/a.css", "a { color: red }");
    page.hear();
    assert_eq!(page.version(), version, "no reload");
    assert_ne!(page.state["css"], css);
    assert_eq!(get(&process, "/a.css", &[]).1, "a { color: red }");
    write(&scratch, "public/b.html", "<p>other</p>");
    page.hears_of_reload();
    assert!(get(&process, "/b.html", &[]).1.starts_with("<p>other</p>"));
    // A template that is deleted while it is served: the old one stays, and the page says what is missing once it is
    // asked for.
    fs::remove_file(scratch.path().join("templates/a.html")).expect("removed");
    page.hears_of_reload();
    let (status, text) = get(&process, "/", PAGES);
    assert!(status == 500 && text.contains("a.html"), "{text}");
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
}

/// A file that is written slowly is one save: nobody hears of its first half.
#[test]
fn a_file_that_is_being_written_is_waited_for() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "old"))]);
    let mut process = Process::start(&mut dev(&scratch, &[]));
    let log = process.read_errors();
    let mut page = Page::open(&process);
    let text = app("app.lua", "new");
    let (first, second) = text.split_at(text.len() / 2);
    let mut file = fs::File::create(scratch.path().join("app.lua")).expect("opened");
    for half in [first, second] {
        file.write_all(half.as_bytes()).expect("written");
        // The time is the test: only its length tells a slow writer from the end of a save.
        wait::dawdle(Duration::from_millis(200));
        assert!(get(&process, "/", &[]).1.starts_with("<body>old"));
    }
    drop(file);
    page.hears_of_reload();
    assert!(get(&process, "/", &[]).1.starts_with("<body>new"));
    // Half of a file that stays is told, and the version before goes on.
    write(&scratch, "app.lua", first);
    let fault = page.hears_of_fault();
    assert!(fault.contains("app.lua:"), "{fault}");
    assert!(get(&process, "/", &[]).1.starts_with("<body>new"));
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert_eq!(log.matches("ERROR ").count(), 1, "{log}");
}

/// In a user namespace of its own, whose limit can be set without being root.
#[test]
fn where_the_system_has_no_watches_left_it_polls() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one"))]);
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", &script, "sh"]);
        let can = Command::new("unshare")
            .args([
                "-Ur",
                "sh",
                "-c",
                &format!("echo 0 > /proc/sys/user/{limit}"),
            ])
            .status();
        if !can.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no user namespaces here");
            return;
        }
        let inner = dev(&scratch, &[]);
        command.arg(inner.get_program()).args(inner.get_args());
        write(&scratch, "app.lua", &app("app.lua", "one"));
        let mut process = Process::start(&mut command);
        let log = process.read_errors();
        let mut page = Page::open(&process);
        write(&scratch, "app.lua", &app("app.lua", "two, and longer"));
        page.hears_of_reload();
        assert!(get(&process, "/", &[]).1.starts_with("<body>two"));
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
        drop(log);
    }
}

#[test]
fn promises_that_are_used_as_values_are_warned_of_at_each_load() {
    let with = |condition: &str| {
        format!(
            "import {{ app, password }} from 'sampan';\n\
             app.get('/', async () => (({condition}) ? 'in' : 'out'));\n"
        )
    };
    let scratch = Scratch::new(&[("app.js", &with("password.verify('a', 'b')"))]);
    let warning = "WARN app.js:2: password.verify(...) gives a promise, which is always true";
    let mut process = Process::start(&mut dev(&scratch, &[]));
    let log = process.read_errors();
    log.until(warning);
    let mut page = Page::open(&process);
    write(&scratch, "app.js", &with("!password.verify('a', 'b')"));
    page.hears_of_reload();
    // It comes a moment after the reload, and is about the file as it is then.
    log.until_times(warning, 2);
    write(&scratch, "app.js", &with("await password.verify('a', 'b')"));
    page.hears_of_reload();
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert_eq!(log.matches(warning).count(), 2, "{log}");
}
