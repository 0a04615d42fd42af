//! Signs of life of a server on a connection of HTTP/2, and the end of a connection without any.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::sync::Notify;

/// The time in which a server must answer a PING, which it gets when an answer of it is late or was given up. If no
/// part of any other answer comes in that time either, the connection has ended without a word, and its requests fail.
const PING_TIME_MAX: Duration = Duration::from_secs(5);

/// The signs of life of a server on one connection.
#[derive(Default)]
pub(super) struct Signs {
    doubted: Notify,
    /// Counts the parts of answers that came.
    heard: Cell<u64>,
}

impl Signs {
    /// Takes note that the server may have gone.
    pub(super) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Takes note of a part of an answer.
    pub(super) fn hear(&self) {
        self.heard.update(|count| count + 1);
    }

    /// Waits until a server that is doubted sends neither the answer of a PING nor a part of another answer in time.
    /// The answer of the PING may stand behind much that is on its way.
    pub(super) async fn silence(&self, pings: Option<PingPong>) {
        let Some(mut pings) = pings else {
            return std::future::pending().await;
        };
        loop {
            self.doubted.notified().await;
            let mut answered = pin!(pings.ping(Ping::opaque()));
            loop {
                let before = self.heard.get();
                match tokio::time::timeout(PING_TIME_MAX, answered.as_mut()).await {
                    Ok(Ok(_)) => break,
                    Err(_) if self.heard.get() != before => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        }
    }
}
