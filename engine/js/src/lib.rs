//! sampan-js.
