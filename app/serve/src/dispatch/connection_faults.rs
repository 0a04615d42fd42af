//! The log of clients that speak another protocol than their port does.

use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_http::{ConnectionFault, Peer};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the log has the hint about TLS on a plain port. On a public port some client always tries that.
static HAS_HINTED: AtomicBool = AtomicBool::new(false);

/// Tells the log what it should know of a fault.
pub(super) fn tell(log: &dyn Log, peer: Peer, fault: &ConnectionFault) {
    let client = || {
        peer.ip()
            .map_or("a Unix socket".to_owned(), |ip| ip.to_string())
    };
    match fault {
        ConnectionFault::TlsOnPlainPort => {
            if !HAS_HINTED.swap(true, Ordering::Relaxed) {
                let text = format!(
                    "{} asked for https:// on a port of plain HTTP and was answered 400: use http://, or give the \
                     server a certificate ([tls] cert and key). Later ones are not told",
                    client()
                );
                log.text(Level::Warn, text);
            }
        }
        // The client has been given a hint.
        ConnectionFault::PlainOnTlsPort => {}
        ConnectionFault::HandshakeFailed(reason) => {
            if log.writes(Level::Debug) {
                let text = format!("no TLS with {}: {reason}", client());
                log.write_limited(Level::Debug, Cause::place("TLS"), &Entry::text(text));
            }
        }
        ConnectionFault::NoProxyHeader(reason) => {
            let text = format!(
                "a connection of {} was closed: {reason}. With [server] proxy_protocol each of trusted_proxies has to \
                 send one",
                client()
            );
            log.write_limited(Level::Warn, Cause::place("PROXY"), &Entry::text(text));
        }
    }
}
