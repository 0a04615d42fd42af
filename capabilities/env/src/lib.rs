//! sampan-env.
