//! Names on the server. PostgreSQL makes letters of names without quotes small, SQLite takes them in any case. So a
//! name that the schema writes without quotes is small on the server, and the statements of the app find it.

use std::collections::HashMap;

/// Returns the name on the server.
pub(super) fn target_name(name: &str, is_plain: bool) -> String {
    match is_plain {
        true => name.to_ascii_lowercase(),
        false => name.to_owned(),
    }
}

/// The bytes of a name that PostgreSQL reads.
const NAME_BYTES_MAX: usize = 63;

/// Refuses names on the server of which PostgreSQL would make one.
///
/// # Errors
/// The two names.
pub(super) fn check_distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for name in names {
        let read = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        if let Some(other) = seen.insert(read, name) {
            return Err(format!(
                "the tables {other} and {name} have the same first {NAME_BYTES_MAX} bytes, and PostgreSQL reads no \
                 more of a name: rename one of them"
            ));
        }
    }
    Ok(())
}

/// Returns a name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns names as SQL writes them, with commas between.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    names.join(", ")
}
