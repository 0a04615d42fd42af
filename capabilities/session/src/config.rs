//! The settings of `[session]`.

use crate::limits::{BYTES_MAX, COOKIE_DATA_BYTES_MAX, NAME_BYTES_MAX, TOUCH_MILLIS_MAX};
use sampan_host::Error;
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};

const DAY_MILLIS: u64 = 24 * 3_600 * 1_000;

/// `[session]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "session",
    doc: "How sessions are kept.",
    keys: &[
        SettingKey::choice("store", &["db", "cookie"],
            "where sessions are: in the database, or in the cookie, encrypted with the keys of [secrets]"),
        SettingKey::time("idle", ANY, 7 * DAY_MILLIS, "a session ends when it was not used for so long"),
        SettingKey::time("lifetime", ANY, 30 * DAY_MILLIS, "a session ends so long after it began"),
        SettingKey::text("cookie", Preset::Text("session"), "the name of the cookie"),
        SettingKey::flag("secure", Preset::Unset, "the cookie is for TLS only"),
        SettingKey::size("bytes_max", ANY, BYTES_MAX as u64, "largest session, as JSON"),
    ],
};

/// The place of the sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionPlace {
    /// In a table of the app's database.
    #[default]
    Db,
    /// In the cookie itself, encrypted.
    Cookie,
}

/// The settings of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// The place of the sessions.
    pub place: SessionPlace,
    /// A session ends when it has not been used for so long, in milliseconds.
    pub idle_millis: u64,
    /// The maximum lifetime, in milliseconds, however much it is used.
    pub lifetime_millis: u64,
    /// The name of the cookie. Over TLS it has the prefix `__Host-`.
    pub cookie: String,
    /// True if the cookie is for TLS only; unless given, it is where the request came over TLS.
    pub secure: Option<bool>,
    /// The most bytes of JSON that a session may have.
    pub bytes_max: usize,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self::read(&Settings::of(&SECTION))
    }
}

impl SessionConfig {
    /// Reads `[session]`.
    ///
    /// # Errors
    /// As [`SessionConfig::check`].
    pub fn from_settings(settings: &Settings) -> Result<Self, String> {
        let config = Self::read(settings);
        config.check().map(|()| config)
    }

    fn read(settings: &Settings) -> Self {
        Self {
            place: match settings.text("store") {
                "cookie" => SessionPlace::Cookie,
                _ => SessionPlace::Db,
            },
            idle_millis: settings.number("idle"),
            lifetime_millis: settings.number("lifetime"),
            cookie: settings.text("cookie").to_owned(),
            secure: settings.flag_if_set("secure"),
            bytes_max: settings.number("bytes_max"),
        }
    }

    /// Checks what can be wrong with it.
    ///
    /// # Errors
    /// The key and what is wrong with its value.
    pub fn check(&self) -> Result<(), String> {
        /// A year and a day: browsers keep no cookie for longer than 400 days.
        const MILLIS_MAX: u64 = 366 * 24 * 3_600 * 1_000;
        for (key, millis) in [
            ("idle", self.idle_millis),
            ("lifetime", self.lifetime_millis),
        ] {
            if !(1..=MILLIS_MAX).contains(&millis) {
                return Err(format!("{key} is {millis} ms; it must be 1 ms to 366 days"));
            }
        }
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let name = &self.cookie;
        if !(1..=NAME_BYTES_MAX).contains(&name.len())
            || !name.bytes().all(is_token)
            || name.starts_with("__")
        {
            return Err(format!(
                "cookie is {name:?}; it must have 1 to {NAME_BYTES_MAX} letters, digits, '-', '.' and '_', and not \
                 begin with '__'"
            ));
        }
        if !(64..=1024 * 1024).contains(&self.bytes_max) {
            return Err(format!(
                "bytes_max is {}; it must be 64 bytes to 1 MiB",
                self.bytes_max
            ));
        }
        Ok(())
    }

    /// Returns the most bytes of JSON that a session may have, where it is kept.
    pub(crate) fn room(&self) -> usize {
        match self.place {
            SessionPlace::Db => self.bytes_max,
            SessionPlace::Cookie => self.bytes_max.min(COOKIE_DATA_BYTES_MAX),
        }
    }

    /// Refuses more than may be kept. A session that has more already, because the limit was lowered, may not grow.
    pub(crate) fn check_bytes(&self, bytes: usize, bytes_before: usize) -> Result<(), Error> {
        let max = self.room();
        if bytes <= max || bytes <= bytes_before {
            return Ok(());
        }
        let limit = match self.place {
            SessionPlace::Cookie if max < self.bytes_max => "a cookie has no room for more",
            _ => "[session] bytes_max",
        };
        Err(Error::script(format!(
            "the session would have {bytes} bytes; at most {max} are kept ({limit}): put large values into a table of \
             the database"
        )))
    }

    /// Returns the time at which a session ends that was used now.
    pub(crate) fn end(&self, began: u64, now: u64) -> u64 {
        (now.saturating_add(self.idle_millis)).min(began.saturating_add(self.lifetime_millis))
    }

    /// Reports whether a use now puts off the end by so much that it is worth a write.
    pub(crate) fn is_due(&self, began: u64, ends: u64, now: u64) -> bool {
        let touch_millis = (self.idle_millis / 10).clamp(1, TOUCH_MILLIS_MAX);
        self.end(began, now) >= ends.saturating_add(touch_millis)
    }
}
