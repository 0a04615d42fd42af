//! Limits of this capability.

/// The shortest secret key of a project, in characters: 32 of base64 are 192 bits.
pub(crate) const KEY_CHARS_MIN: usize = 32;
/// The most secret keys of a project: each is tried for what does not open.
pub(crate) const KEYS_MAX: usize = 16;
/// For how many purposes derived keys are kept.
pub(crate) const PURPOSES_MAX: usize = 256;
