//! sampan-time.
