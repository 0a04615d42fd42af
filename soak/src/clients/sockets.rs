//! A client with two sockets in one room. An echo reaches its sender alone, a message both, in the order in which they
//! were sent.

use super::client::Client;
use crate::run::add;
use sampan_http::websocket::{Event, Opcode};
use sampan_testkit::SocketClient;

/// The rounds after which the sockets are closed and opened again.
const ROUNDS_MAX: u64 = 200;

/// Speaks until the end.
pub(super) fn work(mut client: Client) {
    while !client.has_ended() {
        let place = client.visitor.place();
        let full = client.visitor.site.full.mark();
        let spoken = speak(&mut client, place.address);
        let site = &client.visitor.site;
        match spoken {
            Err(_) if site.place() != Some(place) => add(&site.run.counts().cut, 1),
            // An event that ran in a group that was lost ends its socket.
            Err(_) if site.full.was_since(full) => add(&site.run.counts().failed, 1),
            Err(fault) => site.fail(format_args!("socket: {fault}")),
            Ok(()) => {}
        }
    }
}

fn speak(client: &mut Client, address: std::net::SocketAddr) -> Result<(), String> {
    let room = format!("/rooms/{}", client.number);
    let mut ann = SocketClient::connect(address, &format!("{room}/ann"), &[])?;
    let mut ben = SocketClient::connect(address, &format!("{room}/ben"), &[])?;
    expect(&mut ann, "open")?;
    expect(&mut ben, "open")?;
    for _ in 0..client.random.between(1, ROUNDS_MAX) {
        if client.has_ended() {
            break;
        }
        let word = client.random.next();
        let (echo, message) = (format!("echo {word:x}"), format!("say {word:x}"));
        ann.send(Opcode::Text, echo.as_bytes())?;
        expect(&mut ann, &format!("ann {echo}"))?;
        ben.send(Opcode::Text, message.as_bytes())?;
        // The sender first: if its message is lost with its group, its socket is closed, and the other hears nothing.
        for socket in [&mut ben, &mut ann] {
            expect(socket, &format!("ben {message}"))?;
        }
        add(&client.visitor.site.run.counts().right, 3);
        client.pause(20);
    }
    Ok(())
}

/// Receives exactly this text next.
fn expect(socket: &mut SocketClient, wanted: &str) -> Result<(), String> {
    loop {
        match socket.receive()? {
            Some(Event::Text(text)) if text == wanted => return Ok(()),
            Some(Event::Ping(payload)) => socket.send(Opcode::Pong, &payload)?,
            other => return Err(format!("wanted {wanted:?}, got {other:?}")),
        }
    }
}
