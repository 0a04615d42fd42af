//! A client that leaves before it is answered: in the middle of a head, of an upload, of a computation, of a write, or
//! of a conversation. Nothing of it may stay in the server.

use super::client::Client;
use crate::visitor::Request;
use sampan_testkit::SocketClient;
use std::io;
use std::net::SocketAddr;

/// The number of the first such writer. No client compares their rows.
const FIRST_WRITER: u64 = 1000;
/// The longest stay, in milliseconds.
const STAY_MILLIS_MAX: u64 = 30;
/// The body of an upload, of which a part is sent.
const BODY: &[u8] = &[b'x'; 200_000];

/// Comes and leaves until the end.
pub(super) fn work(mut client: Client) {
    let (writer, mut seq) = (FIRST_WRITER + client.number, 1);
    while !client.has_ended() {
        let place = client.visitor.place();
        seq += 10;
        // A server that is killed meanwhile is left in the same way.
        let _ = visit(&mut client, place.address, writer, seq);
        if client.random.one_in(50) {
            let forget = format!("/forget/{writer}/{seq}");
            client.visitor.ask(&Request::post(&forget, "{}"));
        }
    }
}

fn visit(client: &mut Client, address: SocketAddr, writer: u64, seq: u64) -> io::Result<()> {
    let value = r#"{"value":"left"}"#;
    let request = match client.random.between(1, 7) {
        1 => {
            let path = format!("/rooms/left-{seq}/ann");
            let socket = SocketClient::connect(address, &path, &[]);
            client.pause(STAY_MILLIS_MAX);
            drop(socket);
            return Ok(());
        }
        2 => Request::post(&format!("/late/{writer}/{seq}"), value),
        3 => Request::post(&format!("/transaction/{writer}/{seq}"), value),
        4 => Request::post(&format!("/slow-write/{writer}/{seq}"), value),
        5 => Request::get("/compute/1/300000"),
        6 => Request::get("/echo/left"),
        _ => {
            let lines = ["Content-Type: multipart/form-data; boundary=b"];
            Request::new("POST", "/uploads/left", &lines, BODY)
        }
    };
    let mut connection = sampan_testkit::Client::connect(address)?;
    let length = request.bytes().len() as u64;
    let sent = match client.random.one_in(3) {
        true => client.random.between(1, length),
        false => length,
    };
    connection.send(&request.bytes()[..sent as usize])?;
    client.pause(STAY_MILLIS_MAX);
    Ok(())
}
