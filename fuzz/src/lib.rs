//! sampan-fuzz.
