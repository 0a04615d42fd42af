//! sampan-lua.
