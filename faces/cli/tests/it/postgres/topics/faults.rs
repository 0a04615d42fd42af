//! Processes and the database that are killed, and more messages than there is time for.

use super::feed::Feed;
use super::{APPS, Processes, post};
use sampan_client::postgres::PostgresServer;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The threads that publish.
const PUBLISHERS: usize = 6;
/// The messages of each in a storm.
const STORM: usize = 150;

/// Ends the publishers when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Posts texts to a path by all publishers while the database is killed three times. Returns each text and its answer,
/// if a whole one came.
fn through_kills(processes: &Processes, path: &str) -> Vec<(String, Option<(u16, String)>)> {
    let (is_over, said) = (AtomicBool::new(false), AtomicUsize::new(0));
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        // The threads end also where this one panics.
        let _over = Over(&is_over);
        for publisher in 0..PUBLISHERS {
            let address = match publisher % 2 {
                0 => processes.front(),
                _ => processes.address(1 + publisher % 3 % 2),
            };
            let (is_over, said, answers) = (&is_over, &said, &answers);
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = format!("{publisher}-{number}");
                    let answer = post(address, &format!("{path}/{text}"));
                    if matches!(answer, Some((200, _))) {
                        said.fetch_add(1, Ordering::Relaxed);
                    }
                    answers.lock().expect("no panic").push((text, answer));
                }
            });
        }
        let until = |count: usize| {
            sampan_testkit::wait::until(format!("{count} messages"), || {
                said.load(Ordering::Relaxed) >= count
            });
        };
        for round in 1..=3 {
            until(60 * round);
            processes.server.kill();
            processes.server.resume();
            let now = said.load(Ordering::Relaxed);
            until(now + 30);
        }
    });
    answers.into_inner().expect("no panic")
}

#[test]
fn nothing_acknowledged_is_lost_when_the_database_is_killed() {
    for app in APPS {
        let Some(server) = PostgresServer::start() else {
            return;
        };
        let server = Arc::new(server);
        let processes = Processes::start(Arc::clone(&server), app);
        let mut feeds = [0, 1].map(|at| Feed::open(processes.address(at), "/rooms/7/events", None));
        let answers = through_kills(&processes, "/rooms/7/say");
        processes.post(2, "/rooms/7/say/the-last");
        let kept = server.psql(&processes.database, "SELECT title FROM notes");
        let kept: HashSet<&str> = kept.lines().collect();
        for feed in &mut feeds {
            let (mut got, mut is_told) = (HashSet::new(), false);
            loop {
                let event = feed.next().expect("the stream goes on");
                match &*event.name {
                    "resync" => is_told = true,
                    "" if event.data == "the-last" => break,
                    "" => assert!(got.insert(event.data), "twice"),
                    _ => {}
                }
            }
            let acknowledged = answers
                .iter()
                .filter(|(_, answer)| matches!(answer, Some((200, _))));
            for (text, _) in acknowledged {
                assert!(kept.contains(&**text), "{text} is not in the database");
                assert!(is_told || got.contains(text), "{text} did not arrive");
            }
        }
    }
}

#[test]
fn an_error_says_that_a_row_may_be_there_or_there_is_none() {
    for app in APPS {
        let Some(server) = PostgresServer::start() else {
            return;
        };
        let server = Arc::new(server);
        let processes = Processes::start(Arc::clone(&server), app);
        let answers = through_kills(&processes, "/rooms/7/keep");
        let kept = server.psql(&processes.database, "SELECT title FROM notes");
        let kept: HashSet<&str> = kept.lines().collect();
        for (text, answer) in &answers {
            let is_kept = kept.contains(&**text);
            match answer {
                Some((200, _)) => assert!(is_kept, "{text} is not in the database"),
                // nginx answers so where it got no answer.
                None | Some((502, _)) => {}
                Some((status, body)) => assert!(
                    !is_kept || body.contains(r#""code":"commit_unknown""#),
                    "{text} is there after {status}: {body}"
                ),
            }
        }
    }
}

#[test]
fn a_storm_of_messages_arrives_in_one_order_everywhere() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in APPS {
        let processes = Processes::start(server.clone(), app);
        let feeds = [0, 1, 2].map(|at| Feed::open(processes.address(at), "/rooms/7/events", None));
        let orders = thread::scope(|scope| {
            for publisher in 0..PUBLISHERS {
                let processes = &processes;
                scope.spawn(move || {
                    for number in 0..STORM {
                        let path = format!("/rooms/7/say/{publisher}-{number}");
                        processes.post(publisher % 3, &path);
                    }
                });
            }
            let readers = feeds.map(|mut feed| {
                scope.spawn(move || {
                    let read = |_| feed.message().data;
                    (0..PUBLISHERS * STORM).map(read).collect::<Vec<String>>()
                })
            });
            readers.map(|reader| reader.join().expect("all of them"))
        });
        assert!(
            orders[0] == orders[1] && orders[1] == orders[2],
            "{}",
            app.0
        );
        for publisher in 0..PUBLISHERS {
            let own = orders[0].iter().filter_map(|text| {
                let (by, number) = text.split_once('-')?;
                (by == publisher.to_string()).then(|| number.parse::<usize>().expect("a number"))
            });
            assert!(own.eq(0..STORM), "the order of publisher {publisher}");
        }
    }
}
