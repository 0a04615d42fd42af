//! sampan-http.
