//! sampan-testkit.
