//! The files of `psql`: services and passwords.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads a service from a file: a section of lines `name=value`.
///
/// # Errors
/// The file cannot be read, or has no such service.
pub(super) fn service(path: &Path, service: &str) -> Result<BTreeMap<String, String>, String> {
    let shown = path.display();
    let text =
        fs::read_to_string(path).map_err(|error| format!("service {service}: {shown}: {error}"))?;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if name.trim_end_matches(']') == service {
                found = Some(BTreeMap::new());
            }
        } else if let Some(parameters) = &mut found {
            let (name, value) = line
                .split_once('=')
                .ok_or_else(|| format!("{shown}: {line}: a line is written name=value"))?;
            parameters.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    found.ok_or_else(|| format!("{shown} has no service [{service}]"))
}

/// Finds a password in a file of lines `host:port:database:user:password`. A file that others may read is ignored, as
/// `psql` does.
pub(super) fn password(path: &Path, login: [&str; 4]) -> Option<String> {
    let mode = fs::metadata(path).ok()?.mode();
    if mode & 0o077 != 0 {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut fields = fields(line).into_iter();
            let fits = login.iter().all(|part| {
                fields
                    .next()
                    .is_some_and(|field| field == "*" || field == *part)
            });
            fields.next().filter(|_| fits)
        })
}

/// The fields of a line. A colon or a backslash in one stands behind a backslash.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        let last = fields.len() - 1;
        match char {
            // The password is the rest of the line.
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(chars.next()),
            char => fields[last].push(char),
        }
    }
    fields
}
