//! A client that sends several requests in one packet. Each answer carries what only its request had: a token, a field,
//! or the result of a computation, which takes from nothing to many milliseconds.

use super::client::Client;
use crate::visitor::{Request, Told, same_json};

/// The most requests in one packet.
const TOGETHER_MAX: u64 = 12;
/// The rounds of a computation: most are short, some make their route a slow one.
const ROUNDS: &[u64] = &[10, 10, 1_000, 1_000, 30_000, 300_000];

/// Asks until the end.
pub(super) fn work(mut client: Client) {
    while !client.has_ended() {
        let count = client.random.between(1, TOGETHER_MAX);
        let (requests, wanted): (Vec<Request>, Vec<String>) =
            (0..count).map(|_| pair(&mut client)).unzip();
        let told = client.visitor.ask_all(&requests);
        for ((told, request), wanted) in told.iter().zip(&requests).zip(&wanted) {
            if let Told::Answer(answer) = told
                && !(answer.status == 200 && same_json(&answer.text(), wanted))
            {
                client.visitor.wrong(request, answer, wanted);
            }
        }
        client.pause(30);
    }
}

/// Makes a request and its answer.
fn pair(client: &mut Client) -> (Request, String) {
    if client.random.one_in(3) {
        let (seed, rounds) = (
            client.random.between(1, 1 << 30),
            client.random.one_of(ROUNDS),
        );
        let result = (0..rounds).fold(seed, |x, _| x * 16807 % 2_147_483_647);
        let request = Request::get(&format!("/compute/{seed}/{rounds}"));
        return (request, format!(r#"{{"result":{result}}}"#));
    }
    let (token, field) = (client.random.next(), client.random.next());
    let line = format!("X-Token: {field:x}");
    let request = Request::new("GET", &format!("/echo/{token:x}"), &[&line], b"");
    let wanted = format!(r#"{{"token":"{token:x}","header":"{field:x}"}}"#);
    (request, wanted)
}
