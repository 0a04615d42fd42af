//! Names in both languages: rows are named in snake_case and JavaScript sees camelCase; and what a misspelt name means.

/// Functions of `app` in other frameworks, and the advice for who calls one.
const FOREIGN_FUNCTIONS: &[(&str, &str)] = &[
    (
        "listen",
        "the server listens by itself, where --listen or [server] listen says",
    ),
    ("set", "settings are in sampan.toml"),
    ("config", "settings are in sampan.toml"),
    ("route", "write app.get, app.post and so on"),
    (
        "static",
        "files in the folder public/ are served by themselves",
    ),
];

/// Returns the advice for a call of a function that other frameworks have, by its owner and its name.
pub fn foreign_function(owner: &str, name: &str) -> Option<&'static str> {
    const EQUAL: [&str; 4] = ["eq", "is", "deep_equal", "deepEqual"];
    let mut known = FOREIGN_FUNCTIONS.iter();
    match owner {
        "app" => known
            .find(|(known, _)| *known == name)
            .map(|(_, advice)| *advice),
        "t" if EQUAL.contains(&name) => Some("write t.equal(actual, expected)"),
        _ => None,
    }
}

/// The module whose functions send requests to other servers. Scripts see `fetch` in its place.
pub(crate) const CLIENT: &str = "http_client";

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

/// The longest name or path that is compared with others, in bytes: the time of a comparison grows with both lengths.
const COMPARED_BYTES_MAX: usize = 200;

/// The letters of a name for each that may differ: fewer, and any short name would be like any other.
const LETTERS_PER_FAULT: usize = 3;

/// Returns the name among `known` that a misspelt `name` most probably means: it is the same in another style, begins
/// alike, two letters are swapped, or few differ. Long names have none.
pub fn nearest_name(name: &str, known: Vec<String>) -> Option<String> {
    const START_MIN: usize = 3;
    if name.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let most = (name.chars().count() / LETTERS_PER_FAULT).min(2);
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let far = |other: &String| {
        let is_pair = || name.chars().count() == 2 && name.chars().rev().eq(other.chars());
        if plain(name) == plain(other) || is_pair() {
            return 0;
        }
        let is_start =
            |long: &str, short: &str| short.len() >= START_MIN && long.starts_with(short);
        match is_start(name, other) || is_start(other, name) {
            true => 1,
            false => match name.chars().count().abs_diff(other.chars().count()) {
                more if more > most => more,
                _ => distance(name, other),
            },
        }
    };
    let known = known.into_iter();
    let known = known.filter(|other| other.len() <= COMPARED_BYTES_MAX);
    let known = known.map(|other| (far(&other), other));
    let near = known.filter(|(far, _)| *far <= most);
    near.min_by_key(|(far, _)| *far).map(|(_, other)| other)
}

/// Returns `; did you mean "x"?` if one of the names is close to a misspelt one, and else nothing. Longer names may
/// differ in more letters, but names of over 64 bytes have no hint.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const NAME_BYTES_MAX: usize = 64;
    if name.len() > NAME_BYTES_MAX {
        return String::new();
    }
    let known = known.into_iter();
    let known = known.filter(|known| known.len() <= NAME_BYTES_MAX);
    let near = known.map(|known| (distance(name, known), known));
    let letters = name.chars().count();
    let allowed = (1 + letters / 4).min(letters / LETTERS_PER_FAULT);
    match near.min().filter(|(distance, _)| *distance <= allowed) {
        Some((_, known)) => format!("; did you mean {known:?}?"),
        None => String::new(),
    }
}

/// Returns `; did you mean "x"?` if one of the files has nearly the name of `file`, whose ending may differ, and else
/// nothing. All are paths with `/` between their parts.
pub fn file_hint(file: &str, known: &[String]) -> String {
    let (stem, ending) = without_ending(file);
    let mut stems = Vec::from_iter(known.iter().map(|known| without_ending(known).0.to_owned()));
    stems.sort_unstable();
    let Some(near) = nearest_name(stem, stems) else {
        return String::new();
    };
    let near = known
        .iter()
        .filter(|known| without_ending(known).0 == near)
        .min_by_key(|known| (without_ending(known).1 != ending, *known));
    near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// Splits the ending off a path: `lib/a` and `js` of `lib/a.js`. The ending is empty where the path has none.
fn without_ending(path: &str) -> (&str, &str) {
    let split = path.rsplit_once('.');
    let split = split.filter(|(stem, ending)| !stem.is_empty() && !ending.contains('/'));
    split.unwrap_or((path, ""))
}

/// Returns the number of letters that have to be changed, added, left out or swapped with the next.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for at in 1..=one.len() {
        let mut row = vec![at];
        for to in 1..=other.len() {
            let changed = usize::from(one[at - 1] != other[to - 1]);
            let mut least = (rows[at - 1][to - 1] + changed)
                .min(rows[at - 1][to] + 1)
                .min(row[to - 1] + 1);
            let is_swapped =
                at > 1 && to > 1 && one[at - 1] == other[to - 2] && one[at - 2] == other[to - 1];
            if is_swapped {
                least = least.min(rows[at - 2][to - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_closest() {
        let known = ["truncate", "trim", "title"];
        assert_eq!(hint("truncat", known), "; did you mean \"truncate\"?");
        assert_eq!(hint("trimm", known), "; did you mean \"trim\"?");
        assert_eq!(hint("nope", known), "");
        // Half of these letters differ.
        assert_eq!(hint("date", ["safe"]), "");
        assert_eq!(hint("m", ["t"]), "");
        assert_eq!(hint("evn", ["even"]), "; did you mean \"even\"?");
    }

    #[test]
    fn long_names_are_not_compared() {
        // By their squares, these would take more memory than there is.
        let long = "x".repeat(4 << 20);
        let almost = format!("{}y", &long[1..]);
        assert_eq!(hint(&long, ["trim", &*almost]), "");
        assert_eq!(hint("trim", [&*long, "trim"]), "; did you mean \"trim\"?");
        let known = || vec![almost.clone(), "trim".to_owned()];
        assert_eq!(nearest_name(&long, known()), None);
        assert_eq!(nearest_name("trimm", known()).as_deref(), Some("trim"));
        let (name, other) = ("y".repeat(64), "y".repeat(63));
        assert_eq!(hint(&name, [&*other]), format!("; did you mean {other:?}?"));
        assert_eq!(hint(&(name + "y"), [&*other]), "");
    }

    #[test]
    fn files_are_compared_without_their_endings() {
        let known = [
            "index.html",
            "page.html",
            "posts/a.txt",
            "util.js",
            "util.ts",
            "nav.html",
        ];
        let known = known.map(str::to_owned);
        for (file, near) in [
            ("indx.html", Some("index.html")),
            ("pgae.html", Some("page.html")),
            ("page.htm", Some("page.html")),
            ("index", Some("index.html")),
            ("posts/b.txt", Some("posts/a.txt")),
            ("utli.ts", Some("util.ts")),
            ("utli.mjs", Some("util.js")),
            ("nope.html", None),
            ("new.html", None),
            ("x.html", None),
            ("", None),
            (".html", None),
        ] {
            let expected =
                near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            assert_eq!(file_hint(file, &known), expected, "{file}");
        }
        let long = "x".repeat(201);
        assert_eq!(file_hint(&long, std::slice::from_ref(&long)), "");
    }

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

    #[test]
    fn the_nearest_name_is_found() {
        let known = [
            "get",
            "put",
            "use",
            "db",
            "warn",
            "onError",
            "validate",
            "enqueue",
            "enqueueBatch",
        ];
        let found = |name| nearest_name(name, known.map(str::to_owned).to_vec());
        for (name, expected) in [
            ("enqueue_batch", Some("enqueueBatch")),
            ("gte", Some("get")),
            ("warning", Some("warn")),
            ("onErorr", Some("onError")),
            ("validates", Some("validate")),
            ("listen", None),
            ("us", None),
            ("bd", Some("db")),
            ("x", None),
        ] {
            assert_eq!(found(name).as_deref(), expected, "{name}");
        }
    }
}
