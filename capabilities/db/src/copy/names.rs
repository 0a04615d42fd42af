//! Names on the server. PostgreSQL makes letters of names without quotes small, SQLite takes them in any case. So a
//! name that the schema writes without quotes is small on the server, and the statements of the app find it.

/// Returns the name on the server.
pub(super) fn target_name(name: &str, is_plain: bool) -> String {
    match is_plain {
        true => name.to_ascii_lowercase(),
        false => name.to_owned(),
    }
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
