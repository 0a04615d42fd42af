//! `[sockets]`.

use crate::limits::{BACKPRESSURE_BYTES_MAX, IDLE_MILLIS_MAX, MESSAGE_BYTES_MAX, PING_MILLIS};
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};
use sampan_host::sockets::SocketSettings;

/// `[sockets]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "sockets",
    doc: "WebSockets. A route may have its own values.",
    keys: &[
        SettingKey::size("message_bytes_max", ANY, MESSAGE_BYTES_MAX, "longest message of a client, inflated too"),
        SettingKey::size("backpressure_bytes_max", ANY, BACKPRESSURE_BYTES_MAX,
            "most bytes that wait for a client that does not read"),
        SettingKey::choice("on_backpressure", &["close", "drop"],
            "what happens to a message above that: the socket is closed with 1013, or the message is dropped"),
        SettingKey::time("idle_millis_max", ANY, IDLE_MILLIS_MAX, "a socket from which nothing came is closed"),
        SettingKey::time("ping_millis", ANY, PING_MILLIS, "a silent client is sent a ping; 0 for never"),
        SettingKey::flag("compress", Preset::Flag(false), "compress messages with clients that offer it"),
    ],
};

/// Reads the section.
///
/// # Errors
/// The key, and what is wrong with its value.
pub fn defaults(settings: &Settings) -> Result<SocketSettings, String> {
    let read = SocketSettings {
        message_bytes_max: settings.number("message_bytes_max"),
        backpressure_bytes_max: settings.number("backpressure_bytes_max"),
        drops_above: settings.text("on_backpressure") == "drop",
        idle_millis_max: settings.number("idle_millis_max"),
        ping_millis: settings.number("ping_millis"),
        compress: settings.flag("compress"),
    };
    check(&read)?;
    Ok(read)
}

/// Checks what can be wrong with settings.
///
/// # Errors
/// The key, and what is wrong with its value.
pub(crate) fn check(settings: &SocketSettings) -> Result<(), String> {
    if settings.message_bytes_max == 0 {
        return Err("message_bytes_max is 0; it must be at least 1 byte".to_owned());
    }
    if settings.idle_millis_max == 0 {
        return Err("idle_millis_max is 0; it must be at least 1 ms".to_owned());
    }
    if settings.ping_millis >= settings.idle_millis_max && settings.ping_millis > 0 {
        return Err(format!(
            "ping_millis ({} ms) must be shorter than idle_millis_max ({} ms), or 0",
            settings.ping_millis, settings.idle_millis_max
        ));
    }
    Ok(())
}
