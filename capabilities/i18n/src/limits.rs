//! Limits of translations.

/// The longest name of a locale that is looked up, in bytes.
pub(crate) const TAG_BYTES_MAX: usize = 35;
/// The number of languages of an `Accept-Language` that count.
pub(crate) const LANGUAGES_MAX: usize = 32;
/// The number of keys without a text that are remembered, so that each is logged once.
pub(crate) const MISSED_KEYS_MAX: usize = 1_000;
/// The most digits behind the point that a number is printed with.
pub(crate) const DECIMALS_MAX: i64 = 20;
/// The digits behind the point that a number is printed with unless the script says more, as browsers do it.
pub(crate) const DECIMALS_UNLESS_GIVEN: i16 = 3;
/// The time that the browser remembers a language that was chosen, in seconds: a year.
pub(crate) const COOKIE_SECONDS: i64 = 31_536_000;
