//! `[sse]`.

use crate::limits::{HEARTBEAT_MILLIS, STREAMS_MAX, WAITING_BYTES_MAX};
use sampan_host::events::EventSettings;
use sampan_host::settings::{ANY, Section, SettingKey, Settings};

/// `[sse]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "sse",
    doc: "Server-sent events.",
    keys: &[
        SettingKey::time("heartbeat_millis", ANY, HEARTBEAT_MILLIS,
            "a silent stream is sent a comment; 0 for never. Shorter than stream_idle_millis_max of [limits]"),
        SettingKey::size("waiting_bytes_max", ANY, WAITING_BYTES_MAX,
            "most bytes that wait for a client that does not read: above that its stream ends"),
        SettingKey::count("streams_max", ANY, STREAMS_MAX, "streams of the process; more are answered 503"),
    ],
};

/// The settings of event streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseConfig {
    /// Those of each stream.
    pub stream: EventSettings,
    /// The most streams of a process.
    pub streams_max: usize,
}

impl SseConfig {
    /// Reads `[sse]`.
    pub fn read(settings: &Settings) -> Self {
        Self {
            stream: EventSettings {
                heartbeat_millis: settings.number("heartbeat_millis"),
                waiting_bytes_max: settings.number("waiting_bytes_max"),
            },
            streams_max: settings.number("streams_max"),
        }
    }
}
