//! sampan-log.
