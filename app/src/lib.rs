//! sampan-app.
