//! Certificates that renew themselves: by Pebble, and by directories that fail in ways that Pebble does not.

mod crashes;
mod faults;
mod kept;
mod pebble;
mod server;
