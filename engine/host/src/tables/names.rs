//! One spelling for both languages: rows are named in snake_case and JavaScript sees camelCase.

/// `now_ms` as JavaScript spells it: `nowMs`.
pub fn camel_case(snake: &str) -> String {
    let mut out = String::with_capacity(snake.len());
    let mut raise = false;
    for c in snake.chars() {
        match c {
            '_' if !out.is_empty() => raise = true,
            c if raise => {
                out.extend(c.to_uppercase());
                raise = false;
            }
            c => out.push(c),
        }
    }
    out
}

/// `lastId` as Lua spells it: `last_id`.
pub fn snake_case(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 2);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (snake, camel) in [
            ("now", "now"),
            ("now_ms", "nowMs"),
            ("last_insert_id", "lastInsertId"),
        ] {
            assert_eq!(camel_case(snake), camel);
            assert_eq!(snake_case(camel), snake);
        }
    }
}
