//! Limits of translations.

/// The longest name of a locale that is looked up, in bytes.
pub(crate) const TAG_BYTES_MAX: usize = 35;
/// How many languages of an `Accept-Language` count.
pub(crate) const LANGUAGES_MAX: usize = 32;
/// How many keys without a text are remembered, so that each is logged once.
pub(crate) const MISSED_KEYS_MAX: usize = 1_000;
/// The most digits behind the point that a number is printed with.
pub(crate) const DECIMALS_MAX: i64 = 20;
/// The digits behind the point that a number is printed with unless the script says more, as browsers do it.
pub(crate) const DECIMALS_UNLESS_GIVEN: i16 = 3;
/// How long the browser remembers a language that was chosen, in seconds: a year.
pub(crate) const COOKIE_SECONDS: i64 = 31_536_000;
