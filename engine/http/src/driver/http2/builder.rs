//! The settings of a connection, by the limits of the server.

use h2::server::Builder;

use crate::limits::Limits;

/// The window of all bodies of a connection, as a multiple of that of one.
const CONNECTION_WINDOWS: usize = 4;

/// The largest window that there can be (RFC 9113 section 6.9.1), in bytes.
const WINDOW_MAX: usize = (1 << 31) - 1;

/// Returns the settings of the `h2` crate that hold these limits.
pub(super) fn builder(limits: &Limits) -> Builder {
    // A head that HTTP/1.1 takes is taken here. Each field counts for 32 bytes more (RFC 9113 section 6.5.2).
    let list_bytes = limits.head_bytes_max + 32 * (limits.headers_max + 4);
    let window = limits.window_bytes_max;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(clamped(limits.streams_max))
        .max_header_list_size(clamped(list_bytes))
        .initial_window_size(clamped(window))
        .initial_connection_window_size(connection_window(limits, 0))
        .max_pending_accept_reset_streams(limits.resets_max)
        .max_local_error_reset_streams(Some(limits.resets_max))
        .enable_connect_protocol();
    builder
}

/// Returns the window of all bodies of a connection together, in bytes, with so many more.
pub(super) fn connection_window(limits: &Limits, more: usize) -> u32 {
    let window = (limits.window_bytes_max * CONNECTION_WINDOWS).saturating_add(more);
    clamped(window.min(WINDOW_MAX))
}

/// Limits are checked when they are set, so nothing is lost here.
fn clamped(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX >> 1)
}
