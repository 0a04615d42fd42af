//! The limits of a script, each with its unit in its name.

/// The part of a thread's stack scripts may use, in bytes, counted from where the isolate is entered.
pub(crate) const SCRIPT_STACK_BYTES_MAX: usize = 1024 * 1024;

/// The stack that a thread needs to run an isolate, in bytes: what scripts may use, and as much again for the server
/// above and for native functions below them.
pub const STACK_BYTES: usize = 4 * 1024 * 1024;

/// The most futures that one request may wait for at a time.
pub(crate) const PENDING_MAX: usize = 4096;

/// The most requests of one isolate that may have work left over after their answers.
pub(crate) const BACKGROUND_MAX: usize = 1024;

/// The time that work may go on after the answer, in milliseconds; it is looked at when that work wakes up.
pub(crate) const BACKGROUND_MILLIS_MAX: u64 = 30_000;

/// The interval at which the futures of a request are polled before others get their turn.
pub(crate) const ROUNDS_MAX: usize = 64;

/// The largest array that built-ins without interrupt polls work on, in elements.
pub(crate) const BUILTIN_LENGTH_MAX: i64 = 2_000_000;

/// The longest array that is sorted by the built-in order without polls, in elements.
pub(crate) const SORT_LENGTH_MAX: i64 = 50_000;

/// The limit for objects that are no arrays but have a length, in elements: each costs a search along their prototypes.
pub(crate) const ARRAY_LIKE_LENGTH_MAX: i64 = 50_000;

/// The longest array that is copied into a typed array, in elements: more than the usual memory limit has room for.
pub(crate) const TYPED_ELEMENTS_MAX: i64 = 10_000_000;

/// The longest array whose prototypes are not counted, in elements.
pub(crate) const HOLES_MAX: i64 = 100;

/// The most prototypes that an object may have, one behind the other, that such a built-in works on.
pub(crate) const PROTOTYPES_MAX: usize = 16;

/// The allowed work of a search for a text may be, in characters compared.
pub(crate) const SEARCH_STEPS_MAX: i64 = 100_000_000;

/// The most matches that `replaceAll` may replace by a text without polls.
pub(crate) const REPLACEMENTS_MAX: i64 = 100_000;

/// The allowed work of a normalization may be: the sum of the squares of the lengths of runs that may be reordered, in
/// characters.
pub(crate) const NORMALIZE_STEPS_MAX: i64 = 100_000_000;

/// The largest integer may be that becomes text, in bytes: about 50,000 digits. The work grows with their square.
pub(crate) const INTEGER_BYTES_MAX: usize = 20_800;

/// The greatest depth to which values may nest on their way to and from capabilities.
pub(crate) const VALUE_DEPTH_MAX: usize = 128;

/// Below this many bytes in use no cyclic garbage is looked for: a collection looks at everything that is alive.
pub(crate) const GARBAGE_BYTES_MIN: usize = 2 * 1024 * 1024;

/// After how many values a writer or reader of values looks whether it must stop.
pub(crate) const VALUES_PER_CHECK: u32 = 1024;

/// Above this share of its limit, in quarters, an isolate that has collected its garbage is worn out.
pub(crate) const WORN_OUT_QUARTERS: usize = 3;
