//! `[workers]`: the isolates of slow routes.

use super::limits::{SLOW_ISOLATES_MAX, SLOW_MILLIS_MAX};
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use std::time::Duration;

/// `[workers]`.
#[rustfmt::skip]
pub(crate) static SECTION: Section = Section {
    name: "workers",
    doc: "Where slow routes run, so that quick requests do not wait for them.",
    keys: &[
        SettingKey::count("slow", 0..=SLOW_ISOLATES_MAX, 0,
            "isolates for slow routes, on threads of lower priority; 0: slow routes run among the others")
            .with_default(Preset::Unset),
        SettingKey::time("slow_millis", 1..=SLOW_MILLIS_MAX, 2,
            "the time of a run of a script from which on its route is slow"),
    ],
};

/// The settings of the slow lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSettings {
    /// The number of isolates; 0 for no slow lane.
    pub isolates: usize,
    /// The time of a run from which on its route is slow.
    pub slow_time: Duration,
}

impl LaneSettings {
    /// Reads `[workers]`. Without a number there is an isolate for each core, as far as they fit into half of the
    /// memory when each uses all that it may.
    pub(crate) fn from_settings(
        settings: &Settings,
        isolate_bytes_max: usize,
        memory_bytes: u64,
    ) -> Self {
        Self {
            isolates: match settings.written("slow") {
                Some(_) => settings.number("slow"),
                None => {
                    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
                    isolates_that_fit(cores, memory_bytes, isolate_bytes_max)
                }
            },
            slow_time: Duration::from_millis(settings.number("slow_millis")),
        }
    }
}

/// The number of isolates that fit into half of the memory, but not more than cores; at least one.
fn isolates_that_fit(cores: usize, memory_bytes: u64, isolate_bytes_max: usize) -> usize {
    let fit = memory_bytes / 2 / (isolate_bytes_max as u64).max(1);
    let most = cores.min(SLOW_ISOLATES_MAX as usize).max(1);
    usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn isolates_have_at_most_half_of_the_memory() {
        let fit = |cores, memory| isolates_that_fit(cores, memory, 128 * MIB);
        assert_eq!(fit(8, 64 * 1024 * MIB as u64), 8, "all cores");
        assert_eq!(fit(8, 1024 * MIB as u64), 4, "half of a GiB");
        assert_eq!(fit(8, 100 * MIB as u64), 1, "at least one");
    }

    #[test]
    fn the_number_can_be_set_and_0_turns_the_lane_off() {
        let read = |values: &[(&'static str, u64)]| {
            let values = values
                .iter()
                .map(|(key, number)| (*key, sampan_host::settings::SettingValue::Number(*number)));
            let settings = Settings::with(&SECTION, values).expect("valid");
            LaneSettings::from_settings(&settings, 128 * MIB, 1 << 30)
        };
        assert!(read(&[]).isolates >= 1);
        assert_eq!(read(&[]).slow_time, Duration::from_millis(2));
        assert_eq!(read(&[("slow", 0)]).isolates, 0);
        let given = read(&[("slow", 3), ("slow_millis", 20)]);
        assert_eq!(
            (given.isolates, given.slow_time),
            (3, Duration::from_millis(20))
        );
    }
}
