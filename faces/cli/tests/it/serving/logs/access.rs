//! The access log: every request, also those that are refused, cut or held.

use super::{APPS, ask, end, get, serve, serve_within};
use crate::faults::shim::{Disk, DiskFault};
use crate::faults::{self, Project};
use crate::support::{Process, Scratch};
use sampan_testkit::Client;
use sampan_testkit::wait;
use serde_json::Value;
use std::fs::File;

/// One line of the combined format, taken apart as tools do it: host, request, status, bytes, and what stands behind.
fn combined(line: &str) -> (String, String, u16, u64, String) {
    let (host, rest) = line.split_once(" - - [").expect(line);
    let (time, rest) = rest.split_once("] \"").expect(line);
    assert_eq!(time.len(), "21/Nov/2026:05:00:00 +0000".len(), "{line}");
    let (request, rest) = rest.split_once("\" ").expect(line);
    let (status, rest) = rest.split_once(' ').expect(line);
    let (bytes, rest) = rest.split_once(" \"").expect(line);
    let (status, bytes) = (status.parse().expect(line), bytes.parse().expect(line));
    (host.into(), request.into(), status, bytes, rest.into())
}

/// A figure behind the combined format.
fn figure(rest: &str, name: &str) -> f64 {
    let (_, value) = rest.split_once(&format!(" {name}=")).expect(rest);
    value
        .split(' ')
        .next()
        .unwrap_or_default()
        .parse()
        .expect(rest)
}

#[test]
fn the_access_log_shows_every_request_also_those_refused() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        let mut process = serve(&scratch, app, "access = \"common\"");
        let log = process.read_errors();
        let sent = get(
            &process,
            "/item/7?q=%22",
            "X-Request-Id: r-1\r\nUser-Agent: \"x\\\r\n",
        );
        assert_eq!(sent.text(), "r-1");
        assert_eq!(
            ask(&process, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n").status,
            200
        );
        get(&process, "/fixed", "");
        get(&process, "/stream", "");
        get(&process, "/db", "");
        let long = format!("X-Long: {}\r\n", "x".repeat(5000));
        let too_large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n";
        let refused = [
            get(&process, "/nowhere", ""),
            ask(&process, "DELETE /fixed HTTP/1.1\r\nHost: h\r\n\r\n"),
            ask(&process, "garbage\r\n\r\n"),
            ask(&process, too_large),
            get(&process, "/", &long),
        ]
        .map(|answer| answer.body.len() as u64);
        let mut client = process.client();
        client
            .send("GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(3).as_bytes())
            .expect("sent");
        for _ in 0..3 {
            assert_eq!(client.read(false).expect("an answer").status, 200);
        }
        // A client that leaves before it is answered.
        let mut client = process.client();
        client
            .send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        log.until("slow begins");
        drop(client);
        let access = || std::fs::read_to_string(scratch.file("access")).expect("UTF-8");
        wait::until("its line", || access().contains("GET /slow"));
        let (access, _) = end(process, &scratch);
        let errors = log.join().expect("text");
        let lines: Vec<_> = access.lines().map(combined).collect();
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.1.as_str(), line.2, line.3))
            .collect();
        assert_eq!(
            told,
            [
                ("GET /item/7?q=%22 HTTP/1.1", 200, 3),
                ("HEAD / HTTP/1.1", 200, 0),
                ("GET /fixed HTTP/1.1", 200, 5),
                // Two chunks of three bytes with their framing, and the last one.
                ("GET /stream HTTP/1.1", 200, 21),
                ("GET /db HTTP/1.1", 200, 11),
                ("GET /nowhere HTTP/1.1", 404, refused[0]),
                ("DELETE /fixed HTTP/1.1", 405, refused[1]),
                ("-", 400, refused[2]),
                ("POST / HTTP/1.1", 413, refused[3]),
                ("-", 431, refused[4]),
                ("GET / HTTP/1.1", 200, 4),
                ("GET / HTTP/1.1", 200, 4),
                ("GET / HTTP/1.1", 200, 4),
                ("GET /slow HTTP/1.1", 499, 0),
            ],
            "{access}{errors}"
        );
        let first = &lines[0].4;
        assert!(
            first.contains("\"\\x22x\\x5C\" route=\"/item/:id\" time=0."),
            "{first}"
        );
        assert!(first.ends_with(" id=r-1"), "{first}");
        assert!(lines[13].4.ends_with(" aborted=true"), "{access}");
        let figure = |line: usize, name: &str| figure(&lines[line].4, name);
        let (time, script, db) = (figure(4, "time"), figure(4, "script"), figure(4, "db"));
        assert!(
            db > 0.0 && script > 0.0 && time >= script,
            "{time} {script} {db}"
        );
        assert_eq!(
            (figure(2, "script"), figure(2, "db")),
            (0.0, 0.0),
            "precomputed"
        );
        assert!(figure(13, "time") > 0.0, "{access}");
    }
}

#[test]
fn what_passes_a_limit_shows_its_status_and_the_limit() {
    let limits = "script_millis_max = 500\nhandler_millis_max = 1000\nstream_idle_millis_max = 200\n\
                  shutdown_millis_max = 200";
    for (app, _) in APPS {
        for (format, of) in [
            ("common", (|line| combined(line).2) as fn(&str) -> u16),
            ("json", |line| {
                let object: Value = serde_json::from_str(line).expect(line);
                object["status"].as_u64().unwrap_or_default() as u16
            }),
        ] {
            let scratch = Scratch::new(&APPS);
            let process = serve_within(&scratch, app, &format!("access = \"{format}\""), limits);
            assert_eq!(get(&process, "/loop", "").status, 503);
            assert_eq!(get(&process, "/slow", "").status, 504);
            assert!(get(&process, "/silent", "").is_cut);
            // More than are told one by one.
            let mut readers: Vec<Client> = (0..13).map(|_| process.client()).collect();
            for reader in &mut readers {
                reader
                    .send(b"GET /ticker HTTP/1.1\r\nHost: h\r\n\r\n")
                    .expect("sent");
            }
            for reader in &mut readers {
                wait::until("a first byte", || !reader.is_silent().expect("it is open"));
            }
            let (access, errors) = end(process, &scratch);
            let statuses: Vec<u16> = access.lines().map(of).collect();
            assert_eq!(statuses[..2], [503, 504], "{access}");
            assert_eq!(statuses[2..], [200; 14], "{access}");
            assert_eq!(access.matches("aborted").count(), 14, "{access}");
            for part in [
                "ERROR GET /loop: ",
                "script_millis_max (500 ms)",
                "ERROR GET /slow: no answer after ",
                "given up (handler_millis_max)",
                "ERROR GET /silent (stream): cut, as it sent nothing for too long (stream_idle_millis_max, 200 ms)",
                "WARN ... and 3 more like this in the last second: cut by the shutdown",
            ] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
            let cut =
                "WARN GET /ticker (stream): cut by the shutdown (shutdown_millis_max, 200 ms)";
            assert_eq!(errors.matches(cut).count(), 10, "{errors}");
        }
    }
}

#[test]
fn a_connection_above_the_most_shows_in_the_access_log() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        let process = serve_within(&scratch, app, "access = \"common\"", "connections_max = 1");
        let mut first = process.client();
        first
            .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        assert_eq!(first.read(false).expect("an answer").status, 200);
        let refused = get(&process, "/item/7", "");
        assert_eq!(
            (refused.status, refused.header("retry-after").len()),
            (503, 1)
        );
        drop(first);
        let (access, errors) = end(process, &scratch);
        let statuses: Vec<u16> = access.lines().map(|line| combined(line).2).collect();
        assert_eq!(statuses, [200, 503], "{access}");
        let told = "WARN a connection was answered 503: connections_max (1) is reached";
        assert!(errors.contains(told), "{errors}");
    }
}

/// The answer waits for the sync of its group: its line has the status that was sent, and the time of the wait.
#[test]
fn an_answer_that_waits_for_its_commit_is_told_when_that_has_ended() {
    for app in faults::APPS {
        let project = Project::new("access", "full", "[log]\naccess = \"common\"");
        let disk = Disk::failing(&project);
        let output = File::create(project.file("access")).expect("a file");
        let mut command = project.command_for(app, 1);
        disk.under(&mut command);
        let process = Process::start_with_output(&mut command, output.into());
        let write = |id: u32| {
            let request =
                format!("POST /write/1/{id} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
            ask(&process, &request).status
        };
        assert_eq!(write(1), 200);
        disk.crawl();
        assert_eq!(write(2), 200);
        disk.fail(DiskFault::Sync);
        assert_eq!(write(3), 500);
        process.signal("TERM");
        process.end();
        let access = std::fs::read_to_string(project.file("access")).expect("UTF-8");
        let lines: Vec<_> = access.lines().map(combined).collect();
        let statuses: Vec<u16> = lines.iter().map(|line| line.2).collect();
        assert_eq!(statuses, [200, 200, 500], "{access}");
        assert!(
            figure(&lines[1].4, "time") >= 0.4,
            "a sync takes so long: {access}"
        );
    }
}
