//! Patterns, compiled once per isolate.

use crate::limits::{
    COMPILED_BYTES_MAX, COMPILED_PATTERNS_MAX, LEARNED_BYTES_MAX, NESTED_GROUPS_MAX,
    PATTERN_BYTES_MAX, SMALL_BYTES_MAX,
};
use regex::{Error as Fault, Regex, RegexBuilder};
use sampan_host::{Context, Error, Value, refusals};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A compiled pattern.
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    /// True if no text takes long to be searched.
    pub(crate) is_small: bool,
}

/// The compiled patterns of an isolate, that of the last call in front.
#[derive(Default)]
struct Compiled(RefCell<VecDeque<(String, Rc<Pattern>)>>);

/// Returns the compiled pattern: from an earlier call, or compiled now.
///
/// # Errors
/// A pattern that is none or too large: what is wrong with it and where.
pub(crate) fn compiled(context: &Context, pattern: &str) -> Result<Rc<Pattern>, Error> {
    let kept = context.get::<Compiled>().unwrap_or_else(|| {
        context.put(Compiled::default());
        context.get().unwrap_or_default()
    });
    let mut kept = kept.0.borrow_mut();
    if let Some(at) = kept.iter().position(|(known, _)| known == pattern) {
        if at > 0
            && let Some(found) = kept.remove(at)
        {
            kept.push_front(found);
        }
        return Ok(Rc::clone(&kept[0].1));
    }
    let made = Rc::new(compile(pattern)?);
    kept.truncate(COMPILED_PATTERNS_MAX - 1);
    kept.push_front((pattern.to_owned(), Rc::clone(&made)));
    Ok(made)
}

fn compile(pattern: &str) -> Result<Pattern, Error> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let text = format!(
            "the pattern is longer than {} KiB",
            PATTERN_BYTES_MAX / 1024
        );
        return Err(Error::script(text));
    }
    let build = |bytes_max| {
        RegexBuilder::new(pattern)
            .size_limit(bytes_max)
            .dfa_size_limit(LEARNED_BYTES_MAX)
            .nest_limit(NESTED_GROUPS_MAX)
            .build()
    };
    if let Ok(regex) = build(SMALL_BYTES_MAX) {
        let is_small = true;
        return Ok(Pattern { regex, is_small });
    }
    let made = build(COMPILED_BYTES_MAX).map(|regex| Pattern {
        regex,
        is_small: false,
    });
    made.map_err(|fault| match fault {
        Fault::CompiledTooBig(bytes) => Error::script(format!(
            "the pattern needs more than {} KiB when it is compiled: repeat less, or a smaller class",
            bytes / 1024
        )),
        fault => Error::script(format!("the pattern is invalid: {}", advised(&fault.to_string()))),
    })
}

/// Returns the fault with what to write instead, where people expect what a search in linear time cannot do.
fn advised(fault: &str) -> String {
    let fault = fault.trim_end();
    let absent = [
        ("look-around", "look-around is"),
        ("backreferences", "backreferences are"),
    ];
    match absent.iter().find(|(name, _)| fault.contains(name)) {
        Some((_, are)) => {
            format!("{fault}\n({are} not supported: all searches take linear time)")
        }
        None => fault.to_owned(),
    }
}

/// Returns the pattern with its flags in front.
///
/// # Errors
/// Options or flags that do not exist.
pub(crate) fn with_flags(pattern: &str, options: Value) -> Result<String, Error> {
    let Value::Map(options) = options else {
        return Ok(pattern.to_owned());
    };
    let mut flagged = pattern.to_owned();
    for (name, value) in options {
        match (name.as_str(), value) {
            ("flags", Value::Text(flags)) if flags.chars().all(|flag| "imsx".contains(flag)) => {
                if !flags.is_empty() {
                    flagged = format!("(?{flags}){pattern}");
                }
            }
            ("flags", _) => {
                let text = "flags must be a string of the letters i (ignore case), m (^ and $ match at lines), s (a \
                 dot matches line \
                            ends) and x (spaces and comments in the pattern)";
                return Err(Error::script(text));
            }
            (name, _) => return Err(refusals::unknown_option(name, &["flags"])),
        }
    }
    Ok(flagged)
}
