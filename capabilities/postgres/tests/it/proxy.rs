//! A proxy before the server that cuts connections at a number of bytes, or swallows what comes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::thread;

/// The proxy. Its threads end with its connections.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    pub(crate) rules: Arc<Rules>,
}

/// The treatment of connections.
#[derive(Default)]
pub(crate) struct Rules {
    /// Bytes from the server, or from the client, that pass until all connections are cut; negative for no end.
    pub(crate) from_server: Budget,
    pub(crate) from_client: Budget,
    /// True swallows bytes of the client from now on.
    pub(crate) swallows: AtomicBool,
    /// The connections that were made.
    pub(crate) connections: AtomicUsize,
}

/// Bytes that are left.
pub(crate) struct Budget(pub(crate) AtomicI64);

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicI64::new(-1))
    }
}

impl Budget {
    pub(crate) fn set(&self, bytes: i64) {
        self.0.store(bytes, SeqCst);
    }

    /// Takes up to `count` bytes. The second is true if the connection is cut behind them, which happens once.
    fn take(&self, count: usize) -> (usize, bool) {
        let left = self.0.load(SeqCst);
        if left < 0 {
            return (count, false);
        }
        let count = count as i64;
        if left <= count {
            self.0.store(-1, SeqCst);
            return (left as usize, true);
        }
        self.0.store(left - count, SeqCst);
        (count as usize, false)
    }
}

impl Proxy {
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        let rules = Arc::new(Rules::default());
        let shared = Arc::clone(&rules);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                shared.connections.fetch_add(1, SeqCst);
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                for is_client in [true, false] {
                    let (from, to) = match is_client {
                        true => (&client, &server),
                        false => (&server, &client),
                    };
                    let (from, to) = (from.try_clone(), to.try_clone());
                    let rules = Arc::clone(&shared);
                    let (from, to) = (from.expect("a socket"), to.expect("a socket"));
                    thread::spawn(move || pass(from, to, &rules, is_client));
                }
            }
        });
        Self { port, rules }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, rules: &Rules, is_client: bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_client && rules.swallows.load(SeqCst) {
            continue;
        }
        let budget = match is_client {
            true => &rules.from_client,
            false => &rules.from_server,
        };
        let (count, is_cut) = budget.take(count);
        if to.write_all(&bytes[..count]).is_err() || is_cut {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
