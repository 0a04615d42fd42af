//! sampan-json.
