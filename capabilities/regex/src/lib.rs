//! Regular expressions whose searches take linear time, for both languages.
//!
//! The languages' own have no alternatives, or backtrack: some patterns take exponential time over texts that a client
//! chooses. Those of the crate `regex` never do. They have neither look-around nor backreferences.

mod compile;
mod limits;
mod search;

use compile::Pattern;
use sampan_host::{
    Args, Capability, Class, Context, Error, Function, FunctionKind, Lifetime, Module, Param, Type,
    Value, param,
};
use search::{Kind, Replacement};
use std::cell::RefCell;
use std::rc::{Rc, Weak};

const TEXT: Param = param!("text": Type::Text, "The text that is searched, at most 1 MiB.");
const PATTERN: Param = param!("pattern": Type::Text,
    "The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.");
const REPLACEMENT: Param = param!("replacement": Type::TextOrFunction,
    "Text in which `$1` and `${name}` are groups and `$$` is a dollar sign, or a function that gets the match and \
     returns the text. It cannot wait.");
const TEST_DOC: &str = "Whether the pattern matches anywhere in the text.";
const FIND_DOC: &str = "The text of the first match, or nothing.";
const FIND_ALL_DOC: &str = "The texts of all matches, one behind the other.";
const MATCH_DOC: &str = "The first match, or nothing: its `text`, its `groups` in order, and those that have a name \
 in `named`. A group that took no \
     part is null.";
const MATCH_ALL_DOC: &str = "All matches, each as `match` gives it.";
const REPLACE_DOC: &str = "The text with another one in the place of each match.";
const SPLIT_DOC: &str = "The pieces of the text between the matches.";

/// The `regex` table.
pub static MODULE: Module = Module {
    name: "regex",
    doc: "Regular expressions in linear time, whatever the pattern and the text. `RegExp` backtracks, so some of its \
     patterns take \
          exponential time over a text that a client chose; these cannot. They have no look-around and no \
           backreferences. The syntax is that \
          of Rust's crate `regex`: `\\d`, `\\w`, `\\p{L}`, `(?<name>...)`, `a|b`, `a*?`.",
    functions: &[
        row("test", &[TEXT, PATTERN], Type::Bool, TEST_DOC, test),
        row(
            "find",
            &[TEXT, PATTERN],
            Type::TextOrNothing,
            FIND_DOC,
            find,
        ),
        row(
            "find_all",
            &[TEXT, PATTERN],
            Type::List,
            FIND_ALL_DOC,
            find_all,
        ),
        row("match", &[TEXT, PATTERN], Type::Any, MATCH_DOC, first_match),
        row(
            "match_all",
            &[TEXT, PATTERN],
            Type::List,
            MATCH_ALL_DOC,
            match_all,
        ),
        row(
            "replace",
            &[TEXT, PATTERN, REPLACEMENT],
            Type::Text,
            REPLACE_DOC,
            replace,
        ),
        row("split", &[TEXT, PATTERN], Type::List, SPLIT_DOC, split),
        row(
            "escape",
            &[param!("text": Type::Text, "Any text.")],
            Type::Text,
            "A pattern that matches this text and nothing else.",
            escape,
        ),
        row(
            "new",
            &[
                PATTERN,
                param!("options"? Type::Map,
                    "`flags`: any of `i` (ignore case), `m` (`^` and `$` match at lines), `s` (a dot matches line ends \
                     too) and `x` (spaces and comments in the pattern)."),
            ],
            Type::Object(&REGEX),
            "A compiled pattern, which can be used again and again.",
            new,
        ),
    ],
    classes: &[&REGEX],
    ..Module::EMPTY
};

/// Regular expressions.
pub static CAPABILITY: Capability = Capability {
    name: "regex",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

static REGEX: Class = Class {
    name: "Regex",
    variable: "pattern",
    doc: "A compiled pattern of `regex.new`.",
    methods: &[
        row("test", &[TEXT], Type::Bool, TEST_DOC, test),
        row("find", &[TEXT], Type::TextOrNothing, FIND_DOC, find),
        row("find_all", &[TEXT], Type::List, FIND_ALL_DOC, find_all),
        row("match", &[TEXT], Type::Any, MATCH_DOC, first_match),
        row("match_all", &[TEXT], Type::List, MATCH_ALL_DOC, match_all),
        row(
            "replace",
            &[TEXT, REPLACEMENT],
            Type::Text,
            REPLACE_DOC,
            replace,
        ),
        row("split", &[TEXT], Type::List, SPLIT_DOC, split),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

const fn row(
    name: &'static str,
    params: &'static [Param],
    returns: Type,
    doc: &'static str,
    body: fn(&Context, Args) -> Result<Value, Error>,
) -> Function {
    Function {
        name,
        params,
        returns,
        doc,
        kind: FunctionKind::Sync(body),
    }
}

/// A pattern of `regex.new`. A script may keep any number of them, so they share the compiled ones of their isolate:
/// one that is not used for long is compiled again.
struct KeptPattern {
    text: String,
    compiled: RefCell<Weak<Pattern>>,
}

impl KeptPattern {
    fn new(context: &Context, text: String) -> Result<Self, Error> {
        let pattern = compile::compiled(context, &text)?;
        let compiled = RefCell::new(Rc::downgrade(&pattern));
        Ok(Self { text, compiled })
    }

    fn compiled(&self, context: &Context) -> Result<Rc<Pattern>, Error> {
        if let Some(pattern) = self.compiled.borrow().upgrade() {
            return Ok(pattern);
        }
        let pattern = compile::compiled(context, &self.text)?;
        self.compiled.replace(Rc::downgrade(&pattern));
        Ok(pattern)
    }
}

/// The arguments of a search: of a function of the module the pattern is the second, a method has it.
struct Searched {
    pattern: Rc<Pattern>,
    text: String,
    /// The index of the argument behind these.
    next: usize,
}

fn searched(context: &Context, args: &mut Args, kind: Kind) -> Result<Searched, Error> {
    let text = args.text(0);
    search::check(&text)?;
    let (pattern, next) = if args.is_method() {
        let kept = args.object::<KeptPattern>(context)?.1;
        (kept.compiled(context)?, 1)
    } else {
        (compile::compiled(context, &args.text(1))?, 2)
    };
    search::check_effort(&pattern, &text, kind)?;
    Ok(Searched {
        pattern,
        text,
        next,
    })
}

fn test(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Test)?;
    Ok(search::test(&pattern.regex, &text))
}

fn find(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Bounds)?;
    Ok(search::first_text(&pattern.regex, &text))
}

fn find_all(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Bounds)?;
    search::all_texts(&pattern.regex, &text)
}

fn first_match(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Groups)?;
    Ok(search::first_match(&pattern.regex, &text))
}

fn match_all(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Groups)?;
    search::all_matches(&pattern.regex, &text)
}

fn replace(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched {
        pattern,
        text,
        next,
    } = searched(context, &mut args, Kind::Groups)?;
    let with = match args.function(next) {
        Some(function) => Replacement::Function(function),
        None => Replacement::Text(args.text(next)),
    };
    search::replace(&pattern.regex, &text, &with)
}

fn split(context: &Context, mut args: Args) -> Result<Value, Error> {
    let Searched { pattern, text, .. } = searched(context, &mut args, Kind::Bounds)?;
    search::split(&pattern.regex, &text)
}

fn escape(_: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.text(0);
    search::check(&text)?;
    Ok(Value::Text(regex::escape(&text)))
}

fn new(context: &Context, mut args: Args) -> Result<Value, Error> {
    let pattern = compile::with_flags(&args.text(0), args.take(1))?;
    let kept = KeptPattern::new(context, pattern)?;
    Ok(Value::Object(context.objects().add(&REGEX, kept)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::COMPILED_PATTERNS_MAX;

    #[test]
    fn of_many_patterns_that_are_kept_few_are_compiled() {
        let context = Context::default();
        let make = |at| KeptPattern::new(&context, format!("a{at}")).expect("a pattern");
        let kept: Vec<KeptPattern> = (0..1_000).map(make).collect();
        let is_compiled = |one: &&KeptPattern| one.compiled.borrow().upgrade().is_some();
        let count = kept.iter().filter(is_compiled).count();
        assert_eq!(count, COMPILED_PATTERNS_MAX);
        let first = kept[0].compiled(&context).expect("a pattern");
        assert!(first.regex.is_match("a0") && is_compiled(&&kept[0]));
    }
}
