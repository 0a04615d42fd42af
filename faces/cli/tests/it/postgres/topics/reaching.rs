//! Messages and members reach all processes.

use super::feed::Feed;
use super::{APPS, Processes, socket, text};
use crate::support::Process;
use sampan_client::postgres::PostgresServer;
use sampan_http::websocket::Opcode;
use std::net::SocketAddr;

#[test]
fn messages_reach_all_processes_once_and_in_one_order() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in APPS {
        let processes = Processes::start(server.clone(), app);
        let mut feeds = [0, 1].map(|at| Feed::open(processes.address(at), "/rooms/7/events", None));
        let mut here = socket(processes.address(0), "Ann");
        let mut through = socket(processes.front(), "Bob");
        let large = "x".repeat(100_000);
        for at in [1, 2, 0] {
            processes.post(at, &format!("/rooms/7/say/from-{at}"));
            assert_eq!(processes.post(at, "/rooms/7/transaction/fails"), "false");
            assert_eq!(processes.post(at, "/rooms/7/batch/fails"), "false");
            assert_eq!(
                processes.post(at, &format!("/rooms/7/transaction/{at}")),
                "true"
            );
            assert_eq!(processes.post(at, &format!("/rooms/7/batch/{at}")), "true");
        }
        processes.post(2, "/rooms/7/large/100000");
        processes.post(1, "/rooms/8/say/elsewhere");
        through.send(Opcode::Text, b"by the socket").expect("sent");
        let mut expected = Vec::new();
        for at in [1, 2, 0] {
            expected.extend([
                format!("from-{at}"),
                format!("in {at}"),
                format!("nested {at}"),
                format!("batched {at}"),
            ]);
        }
        expected.extend([large, "by the socket".to_owned()]);
        let mut ids: [Vec<String>; 2] = Default::default();
        for (feed, ids) in feeds.iter_mut().zip(&mut ids) {
            for expected in &expected {
                let message = feed.message();
                assert_eq!(&message.data, expected, "{}", app.0);
                ids.push(message.id);
            }
        }
        assert_eq!(ids[0], ids[1], "a message has one id in all processes");
        for socket in [&mut here, &mut through] {
            for expected in &expected {
                assert_eq!(&text(socket), expected, "{}", app.0);
            }
        }
        // A client that comes back finds another process, which was no part of this.
        let path = "/rooms/7/events";
        let mut again = Feed::open(processes.address(2), path, Some(&ids[0][3]));
        for expected in &expected[4..] {
            assert_eq!(&again.message().data, expected, "{}", app.0);
        }
        let mut unknown = Feed::open(processes.address(2), path, Some("0-1"));
        assert_eq!(unknown.next().expect("an event").name, "resync");
        let kept = "SELECT count(*) FROM notes WHERE title <> 'elsewhere'";
        assert_eq!(processes.server.psql(&processes.database, kept), "9");
    }
}

#[test]
fn members_of_all_processes_are_known_and_leave_with_theirs() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for app in APPS {
        let mut processes = Processes::start(server.clone(), app);
        let join = |address: SocketAddr, name: &str| {
            Feed::open(address, &format!("/rooms/7/events?name={name}"), None)
        };
        let mut watching = Feed::open(processes.address(1), "/rooms/7/events", None);
        let _ann = join(processes.address(0), "Ann");
        let _bob = socket(processes.address(0), "Bob");
        let cid = join(processes.address(1), "Cid");
        let _dan = socket(processes.address(2), "Dan");
        for at in 0..3 {
            processes.until_people(at, "Ann Bob Cid Dan");
        }
        drop(cid);
        processes.until_people(2, "Ann Bob Dan");
        // The process has no time to say goodbye.
        processes.all[0].signal("KILL");
        processes.all[0].status();
        for at in [1, 2] {
            processes.until_people(at, "Dan");
        }
        let mut left = [false; 3];
        while left != [true; 3] {
            let event = watching.until(|event| event.name == "leave");
            for (left, name) in left.iter_mut().zip(["Ann", "Bob", "Cid"]) {
                *left |= event.data.contains(&format!("\"name\":\"{name}\""));
            }
        }
        // One that ends in good order does not wait until it is missed.
        let dan: Process = processes.all.remove(2);
        dan.signal("TERM");
        assert_eq!(dan.end().0, Some(0));
        let members = "SELECT count(*) FROM _sampan_members";
        assert_eq!(processes.server.psql(&processes.database, members), "0");
    }
}
