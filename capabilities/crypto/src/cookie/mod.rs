//! Cookies that answers set: plain, signed and encrypted.

mod cookies;
mod options;

pub(crate) use cookies::{delete_cookie, encrypted_cookie, set_cookie, signed_cookie};
