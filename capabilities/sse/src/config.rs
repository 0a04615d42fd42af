//! `[sse]`.

use crate::limits::{HEARTBEAT_MILLIS, STREAMS_MAX, WAITING_BYTES_MAX};
use sampan_host::events::EventSettings;
use sampan_host::settings::{ANY, AllSettings, Section, SettingKey};

/// `[sse]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "sse",
    doc: "Server-sent events.",
    keys: &[
        SettingKey::time("heartbeat_millis", ANY, HEARTBEAT_MILLIS,
            "a silent stream is sent a comment; 0 for never. Less than stream_idle_millis_max of [limits]"),
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
    /// Reads `[sse]`. Where no heartbeat is written, it is one with which the server does not cut a silent stream.
    ///
    /// # Errors
    /// The server would cut a stream before its heartbeat.
    pub fn read(all: &AllSettings) -> Result<Self, String> {
        let settings = all.of(&SECTION);
        let mut heartbeat_millis: u64 = settings.number("heartbeat_millis");
        // A program without this section cuts no stream.
        if let Ok(limits) = all.named("limits") {
            let idle_millis_max: u64 = limits.number("stream_idle_millis_max");
            if settings.written("heartbeat_millis").is_none() {
                heartbeat_millis = heartbeat_millis.min(idle_millis_max / 2);
            } else if heartbeat_millis >= idle_millis_max {
                return Err(settings.tell(&format!(
                    "heartbeat_millis is {heartbeat_millis}; it must be less than [limits] stream_idle_millis_max, \
                     {idle_millis_max}, after which a silent stream is cut"
                )));
            }
        }
        Ok(Self {
            stream: EventSettings {
                heartbeat_millis,
                waiting_bytes_max: settings.number("waiting_bytes_max"),
            },
            streams_max: settings.number("streams_max"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    static LIMITS: Section = Section {
        name: "limits",
        doc: "Limits.",
        keys: &[SettingKey::time(
            "stream_idle_millis_max",
            ANY,
            300_000,
            "silence",
        )],
    };

    fn heartbeat(idle: Option<u64>, written: Option<u64>) -> Result<u64, String> {
        let mut all = AllSettings::new(&[&SECTION, &LIMITS], "sampan.toml");
        for (place, value) in [
            (("limits", "stream_idle_millis_max"), idle),
            (("sse", "heartbeat_millis"), written),
        ] {
            if let Some(value) = value.map(SettingValue::Number) {
                all.put(
                    place,
                    Some(value),
                    String::new(),
                    "sampan.toml:3".to_owned(),
                )?;
            }
        }
        SseConfig::read(&all).map(|config| config.stream.heartbeat_millis)
    }

    #[test]
    fn a_heartbeat_comes_before_the_server_cuts_a_silent_stream() {
        assert_eq!(heartbeat(None, None), Ok(HEARTBEAT_MILLIS));
        assert_eq!(heartbeat(Some(10_000), None), Ok(5_000));
        assert_eq!(heartbeat(Some(10_000), Some(9_999)), Ok(9_999));
        assert_eq!(heartbeat(Some(10_000), Some(0)), Ok(0));
        let fault = heartbeat(Some(10_000), Some(10_000)).expect_err("too long");
        let expected = "sampan.toml:3: [sse] heartbeat_millis is 10000; it must be less than [limits] \
                        stream_idle_millis_max, 10000, after which a silent stream is cut";
        assert_eq!(fault, expected);
    }
}
