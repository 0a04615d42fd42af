//! Searches in a text.

use crate::compile::Pattern;
use crate::limits::{
    MATCHES_MAX, REPLACED_BYTES_MAX, SEARCH_MILLIS_MAX, TEXT_BYTES_MAX, TRIED_BYTES,
};
use regex::{Captures, Regex};
use sampan_host::{Callback, Error, Value};
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

/// Refuses a search that would take too long. Nothing can stop the search for one match, whose time grows with the
/// length of the text and, at worst, with the size of the pattern. So a large pattern is tried on one piece of the text
/// after the other before.
pub(crate) fn check_effort(pattern: &Pattern, text: &str) -> Result<(), Error> {
    if pattern.is_small || text.len() <= TRIED_BYTES {
        return Ok(());
    }
    let search = Search::begin();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(TRIED_BYTES));
        pattern.regex.is_match(piece);
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

pub(crate) fn replace(regex: &Regex, text: &str, with: &Replacement) -> Result<Value, Error> {
    let mut search = Search::begin();
    let (mut replaced, mut end) = (String::new(), 0);
    for found in regex.captures_iter(text) {
        search.next()?;
        let Some(whole) = found.get(0) else { continue };
        replaced.push_str(&text[end..whole.start()]);
        end = whole.end();
        match with {
            Replacement::Text(with) => found.expand(with, &mut replaced),
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
            let text = format!(
                "the result is longer than {} MiB",
                REPLACED_BYTES_MAX / 1024 / 1024
            );
            return Err(Error::script(text));
        }
    }
    replaced.push_str(&text[end..]);
    Ok(Value::Text(replaced))
}
