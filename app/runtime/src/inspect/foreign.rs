//! Parameters in the notations of other frameworks: `{id}`, `<id>`, `<int:id>` and `[id]`, which are text here.

/// A parameter in a notation that is not ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForeignParameter<'a> {
    /// The parameter as the pattern has it.
    pub(super) written: &'a str,
    /// The parameter as it is written here.
    pub(super) meant: String,
}

/// Returns the parameters of a pattern that are in notations of other frameworks. A host in front of it has none.
pub(super) fn parameters(pattern: &str) -> Vec<ForeignParameter<'_>> {
    let path = pattern.find('/').map_or("", |at| &pattern[at..]);
    let mut found = Vec::new();
    for part in path.split('/') {
        let mut from = 0;
        while let Some(start) = part[from..].find(['{', '<', '[']).map(|at| from + at) {
            from = start + 1;
            let (opening, inner) = part[start..].split_at(1);
            let closing = match opening {
                "{" => '}',
                "<" => '>',
                _ => ']',
            };
            let Some(length) = inner.find(closing) else {
                continue;
            };
            let end = from + length + 1;
            if let Some(meant) = meant(opening, &inner[..length], (&part[..start], &part[end..])) {
                let written = &part[start..end];
                found.push(ForeignParameter { written, meant });
                from = end;
            }
        }
    }
    found
}

/// Returns the parameter that a text between brackets means, if it is one. `around` is the text of the part on both
/// sides.
fn meant(opening: &str, inner: &str, around: (&str, &str)) -> Option<String> {
    let (name, kind) = match opening {
        // {id:int} of Starlette, {id:[0-9]+} of Symfony
        "{" => inner.split_once(':').unwrap_or((inner, "")),
        // <int:id> of Flask
        "<" => inner
            .rsplit_once(':')
            .map_or((inner, ""), |(kind, name)| (name, kind)),
        _ => (inner, ""),
    };
    // {rest...} of Go, [...rest] of Next.js, <rest..> of Rocket
    let bare = name.trim_matches('.');
    let is_rest = bare.len() + 1 < name.len() || kind == "path";
    let is_own = inner.starts_with(':');
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if is_own || !bare.starts_with(begins) || !bare.chars().all(goes_on) {
        return None;
    }
    let name = bare.replace('-', "_");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (before, behind) = around;
    Some(match before.is_empty() && behind.is_empty() {
        true if is_rest => format!("*{name}"),
        true => format!(":{name}"),
        false if before.ends_with(is_word) || behind.starts_with(is_word) => format!("{{:{name}}}"),
        false => format!(":{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_other_frameworks_are_found() {
        for (pattern, expected) in [
            ("/items/{id}", &[("{id}", ":id")][..]),
            ("/items/<id>", &[("<id>", ":id")]),
            ("/items/<int:id>", &[("<int:id>", ":id")]),
            ("/items/[id]", &[("[id]", ":id")]),
            ("/{id:[0-9]+}/edit", &[("{id:[0-9]+}", ":id")]),
            ("/files/<path:rest>", &[("<path:rest>", "*rest")]),
            ("/files/{rest:path}", &[("{rest:path}", "*rest")]),
            ("/files/{rest...}", &[("{rest...}", "*rest")]),
            ("/files/[...rest]", &[("[...rest]", "*rest")]),
            ("/a/[[...rest]]", &[("[...rest]", ":rest")]),
            ("/{user-id}", &[("{user-id}", ":user_id")]),
            (
                "/v{major}/{name}.{ext}",
                &[
                    ("{major}", "{:major}"),
                    ("{name}", ":name"),
                    ("{ext}", ":ext"),
                ],
            ),
            ("h.example/:a/{b}", &[("{b}", ":b")]),
        ] {
            let found = parameters(pattern);
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.written, one.meant.as_str()))
                .collect();
            assert_eq!(found, expected, "{pattern}");
        }
        for none in [
            "*",
            "/",
            "/:id",
            "/v{:major}/<:name>/[:ext]",
            "[::1]/a",
            "/{/}/{}/<>/[]/<a/b>/{a",
            "/[0]/{1}/a]x[",
            "/%7Bid%7D",
            "/<ü>/{é}",
        ] {
            assert_eq!(parameters(none), [], "{none}");
        }
    }
}
