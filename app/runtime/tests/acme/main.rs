//! Certificates that renew themselves: by Pebble, and by directories that fail in ways that Pebble does not.

mod crashes;
mod faults;
mod kept;
mod server;

use std::io::Read;

/// Reads all of a stream, whose end need not be orderly.
pub fn rest_of(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
