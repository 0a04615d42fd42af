//! `[overload]`.

use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use std::time::Duration;

/// The longest time that the keys take, in milliseconds.
const MILLIS_MAX: u64 = 60_000;

/// `[overload]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "overload",
    doc: "What happens when requests come faster than the scripts can answer them.",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true),
            "requests begin in turn by client, and are answered 503 when they wait for too long"),
        SettingKey::time("target_millis", 1..=MILLIS_MAX, 5,
            "the wait that is no overload: requests are refused if all have waited longer for interval_millis"),
        SettingKey::time("interval_millis", 1..=MILLIS_MAX, 100,
            "the time after which waits above target_millis are an overload"),
        SettingKey::count("waiting_min", 0..=1_000_000, 1_000,
            "requests that may wait for each worker before any is refused"),
        SettingKey::time("wait_millis_max", 1..=MILLIS_MAX, 100,
            "the wait after which requests are refused while more and more wait, however few"),
        SettingKey::time("slow_target_millis", 1..=MILLIS_MAX, 1_000,
            "the wait that is no overload for requests of slow routes"),
    ],
};

/// The settings of an overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverloadSettings {
    /// The wait that is no overload.
    pub target: Duration,
    /// The time after which waits above it are one.
    pub interval: Duration,
    /// The number of requests that may wait for a worker before any is refused.
    pub waiting_min: usize,
    /// The wait after which requests are refused while more and more wait, however few.
    pub wait_max: Duration,
    /// The wait that is no overload for requests of slow routes.
    pub slow_target: Duration,
}

impl OverloadSettings {
    /// Reads `[overload]`. `None`: requests run as they come.
    pub fn from_settings(settings: &Settings) -> Option<Self> {
        settings.flag("enabled").then(|| Self {
            target: Duration::from_millis(settings.number("target_millis")),
            interval: Duration::from_millis(settings.number("interval_millis")),
            waiting_min: settings.number("waiting_min"),
            wait_max: Duration::from_millis(settings.number("wait_millis_max")),
            slow_target: Duration::from_millis(settings.number("slow_target_millis")),
        })
    }
}
