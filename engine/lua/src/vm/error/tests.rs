//! Parsing of Lua's error texts.

use super::*;

#[test]
fn the_place_is_split_from_the_message() {
    let error = from_text("lib/users.lua:12: no such user: 7");
    assert_eq!(error.to_string(), "lib/users.lua:12: no such user: 7");
    assert_eq!(
        (error.message(), error.place().map(|p| p.line)),
        ("no such user: 7", Some(12))
    );
    assert_eq!(from_text("a: b: c").message(), "a: b: c");
    assert_eq!(from_text("plain").place(), None);
}
