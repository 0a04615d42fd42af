//! Searches in a text.

use crate::compile::Pattern;
use crate::limits::{
    MATCHES_MAX, REPLACED_BYTES_MAX, SEARCH_MILLIS_MAX, TEXT_BYTES_MAX, TRIED_BYTES,
};
use regex::{Captures, Regex};
use regex_automata::util::interpolate;
use sampan_host::{Callback, Error, Value};
use std::collections::HashMap;
use std::time::Instant;

/// A search that gives many matches, and what bounds it.
struct Search {
    begun: Instant,
    matches: usize,
}

impl Search {
    fn begin() -> Self {
        Self {
            begun: Instant::now(),
            matches: 0,
        }
    }

    /// Counts a match. Each search begins behind the one before and may look at all of the rest, so many can take long.
    fn next(&mut self) -> Result<(), Error> {
        self.matches += 1;
        if self.matches > MATCHES_MAX {
            return Err(Error::script(format!(
                "there are more than {MATCHES_MAX} matches"
            )));
        }
        self.check_time()
    }

    fn check_time(&self) -> Result<(), Error> {
        if self.begun.elapsed().as_millis() <= SEARCH_MILLIS_MAX {
            return Ok(());
        }
        Err(Error::script(format!(
            "the search takes longer than {SEARCH_MILLIS_MAX} ms: search a shorter text"
        )))
    }
}

/// Refuses a text that is too long to be searched.
pub(crate) fn check(text: &str) -> Result<(), Error> {
    if text.len() > TEXT_BYTES_MAX {
        let text = format!(
            "the text is longer than {} MiB",
            TEXT_BYTES_MAX / 1024 / 1024
        );
        return Err(Error::script(text));
    }
    Ok(())
}

/// The kinds of search, each of which does more than the one before.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Ends at the first place where a match can end.
    Test,
    /// Ends where the match does.
    Bounds,
    /// Goes through the match once more for its groups, which takes far longer.
    Groups,
}

impl Kind {
    /// Searches, and reports whether there is a match.
    fn run(self, regex: &Regex, text: &str) -> bool {
        match self {
            Self::Test => regex.is_match(text),
            Self::Bounds => regex.find(text).is_some(),
            Self::Groups => regex.captures(text).is_some(),
        }
    }
}

/// Refuses a search that would take too long. Nothing can stop the search for one match, whose time grows with the
/// length of the text and, at worst, with the size of the pattern. So a large pattern is tried on one piece of the text
/// after the other before, by a search of the same kind.
pub(crate) fn check_effort(pattern: &Pattern, text: &str, kind: Kind) -> Result<(), Error> {
    if pattern.is_small || text.len() <= TRIED_BYTES {
        return Ok(());
    }
    let search = Search::begin();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(TRIED_BYTES));
        kind.run(&pattern.regex, piece);
        search.check_time()?;
        rest = behind;
    }
    Ok(())
}

/// Returns a match as scripts see it: its text, its groups in order and by name.
fn shown(regex: &Regex, found: &Captures<'_>) -> Value {
    let group = |at: usize| {
        let text = found.get(at).map(|group| group.as_str().to_owned());
        text.map_or(Value::Null, Value::Text)
    };
    let groups = (1..found.len()).map(group).collect();
    let names = regex.capture_names().enumerate();
    let named = names.filter_map(|(at, name)| Some((name?.to_owned(), group(at))));
    Value::Map(vec![
        ("text".to_owned(), group(0)),
        ("groups".to_owned(), Value::List(groups)),
        ("named".to_owned(), Value::Map(named.collect())),
    ])
}

pub(crate) fn test(regex: &Regex, text: &str) -> Value {
    Value::Bool(regex.is_match(text))
}

pub(crate) fn first_text(regex: &Regex, text: &str) -> Value {
    let found = regex.find(text);
    found.map_or(Value::Null, |found| Value::Text(found.as_str().to_owned()))
}

pub(crate) fn first_match(regex: &Regex, text: &str) -> Value {
    let found = regex.captures(text);
    found.map_or(Value::Null, |found| shown(regex, &found))
}

pub(crate) fn all_texts(regex: &Regex, text: &str) -> Result<Value, Error> {
    let mut search = Search::begin();
    let found = regex.find_iter(text).map(|found| {
        search.next()?;
        Ok(Value::Text(found.as_str().to_owned()))
    });
    found.collect::<Result<_, _>>().map(Value::List)
}

pub(crate) fn all_matches(regex: &Regex, text: &str) -> Result<Value, Error> {
    let mut search = Search::begin();
    let found = regex.captures_iter(text).map(|found| {
        search.next()?;
        Ok(shown(regex, &found))
    });
    found.collect::<Result<_, _>>().map(Value::List)
}

pub(crate) fn split(regex: &Regex, text: &str) -> Result<Value, Error> {
    let mut search = Search::begin();
    let pieces = regex.split(text).map(|piece| {
        search.next()?;
        Ok(Value::Text(piece.to_owned()))
    });
    pieces.collect::<Result<_, _>>().map(Value::List)
}

/// The replacement of a match.
pub(crate) enum Replacement {
    /// Text, with `$1` and `${name}` for groups.
    Text(String),
    /// A function of the script that gets the match.
    Function(Callback),
}

/// Appends a replacement with the groups of a match in it, whose names and indexes are `named`. One match can be long
/// and stand in the replacement many times, so the length is looked at before each.
fn expand(
    with: &str,
    found: &Captures<'_>,
    named: &HashMap<&str, usize>,
    replaced: &mut String,
) -> Result<(), Error> {
    let mut is_cut = false;
    let append = |at: usize, replaced: &mut String| {
        let group = found.get(at).map_or("", |group| group.as_str());
        is_cut |= replaced.len() + group.len() > REPLACED_BYTES_MAX;
        if !is_cut {
            replaced.push_str(group);
        }
    };
    interpolate::string(with, append, |name| named.get(name).copied(), replaced);
    match is_cut {
        true => Err(too_long("result")),
        false => Ok(()),
    }
}

fn too_long(what: &str) -> Error {
    let mebibytes = REPLACED_BYTES_MAX / 1024 / 1024;
    Error::script(format!("the {what} is longer than {mebibytes} MiB"))
}

pub(crate) fn replace(regex: &Regex, text: &str, with: &Replacement) -> Result<Value, Error> {
    if let Replacement::Text(with) = with
        && with.len() > REPLACED_BYTES_MAX
    {
        return Err(too_long("replacement"));
    }
    let names = regex.capture_names().enumerate();
    let named = names.filter_map(|(at, name)| Some((name?, at))).collect();
    let mut search = Search::begin();
    let (mut replaced, mut end) = (String::new(), 0);
    for found in regex.captures_iter(text) {
        search.next()?;
        let Some(whole) = found.get(0) else { continue };
        replaced.push_str(&text[end..whole.start()]);
        end = whole.end();
        match with {
            Replacement::Text(with) => expand(with, &found, &named, &mut replaced)?,
            Replacement::Function(function) => match function.call(&[shown(regex, &found)])? {
                Value::Text(with) => replaced.push_str(&with),
                _ => {
                    return Err(Error::script(
                        "the function must return the text that stands in the place of the match",
                    ));
                }
            },
        }
        if replaced.len() > REPLACED_BYTES_MAX {
            return Err(too_long("result"));
        }
    }
    replaced.push_str(&text[end..]);
    Ok(Value::Text(replaced))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::RegexBuilder;

    fn replaced(text: &str, pattern: &str, with: &str) -> Result<String, String> {
        let regex = Regex::new(pattern).expect("a pattern");
        match replace(&regex, text, &Replacement::Text(with.to_owned())) {
            Ok(Value::Text(replaced)) => Ok(replaced),
            Ok(_) => Err("no text".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn groups_stand_in_a_replacement_by_number_and_name() {
        let with = "$2-${name}-$name-$0-$$-$9$none";
        let shown = replaced("a1, b2", "(?<name>[a-z])([0-9])", with);
        assert_eq!(shown.as_deref(), Ok("1-a-a-a1-$-, 2-b-b-b2-$-"));
    }

    #[test]
    fn one_long_match_many_times_is_too_long_a_result() {
        let text = "a".repeat(1024 * 1024);
        let eight = replaced(&text, "(?s).+", &"$0".repeat(8)).expect("short enough");
        assert_eq!(eight.len(), REPLACED_BYTES_MAX);
        let with = "$0".repeat(100);
        let error = replaced(&text, "(?s).+", &with).expect_err("too long");
        assert!(error.contains("the result is longer than 8 MiB"), "{error}");
        let regex = Regex::new("(?s).+").expect("a pattern");
        let (found, mut made) = (regex.captures(&text).expect("a match"), String::new());
        assert!(expand(&with, &found, &HashMap::new(), &mut made).is_err());
        assert_eq!(made.len(), REPLACED_BYTES_MAX, "it is not made first");
        let with = "$1".repeat(REPLACED_BYTES_MAX / 2 + 1);
        let error = replaced("a", "b", &with).expect_err("too long");
        assert!(
            error.contains("the replacement is longer than 8 MiB"),
            "{error}"
        );
    }

    #[test]
    fn a_large_pattern_is_tried_by_a_search_of_the_kind_that_follows() {
        let regex = RegexBuilder::new("((?:a?){500})*").build();
        let pattern = Pattern {
            regex: regex.expect("a pattern"),
            is_small: false,
        };
        let text = "a".repeat(TEXT_BYTES_MAX);
        assert!(check_effort(&pattern, &text, Kind::Test).is_ok());
        let error = check_effort(&pattern, &text, Kind::Groups).expect_err("too long");
        assert!(
            error.to_string().contains("takes longer than 200 ms"),
            "{error}"
        );
    }
}
