//! The names of filters and tests, and the errors about those that do not exist.

use crate::fault::TemplateFault;
use crate::script::ScriptFunctions;
use minijinja::{Error, ErrorKind, Value};
use sampan_host::names::hint;

/// The filters that a misspelt name may mean, beside those of the script. Those of one letter are left out.
const FILTERS: [&str; 59] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "center",
    "chain",
    "count",
    "default",
    "dictsort",
    "escape",
    "filesizeformat",
    "first",
    "float",
    "forceescape",
    "format",
    "format_date",
    "format_number",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pluralize",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "striptags",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "urlize",
    "wordcount",
    "wordwrap",
    "xmlattr",
    "zip",
];

/// The tests that a misspelt name may mean. Operators are left out.
const TESTS: [&str; 37] = [
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "safe",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Filters of other template languages, and those that do the same here.
const OTHER_FILTERS: [(&str, &str); 2] =
    [("date", "format_date"), ("number_format", "format_number")];

/// Returns the error for a filter that does not exist, with the name that is most like it. That is never `safe`, which
/// turns escaping off.
#[cold]
pub(crate) fn no_filter(name: &str, functions: &ScriptFunctions) -> Box<TemplateFault> {
    let own = functions.filters();
    let known = own.iter().map(String::as_str).chain(FILTERS);
    let known = known.filter(|known| *known != "safe");
    let hint = match OTHER_FILTERS.iter().find(|(other, _)| *other == name) {
        Some((_, own)) => format!("; did you mean {own:?}?"),
        None => hint(name, known),
    };
    missing("filter", name, &hint)
}

/// Returns the error for a test that does not exist, with the name that is most like it.
#[cold]
pub(crate) fn no_test(name: &str) -> Box<TemplateFault> {
    missing("test", name, &hint(name, TESTS))
}

fn missing(what: &str, name: &str, hint: &str) -> Box<TemplateFault> {
    TemplateFault::new(format!("unknown {what}: there is no {what} {name}{hint}"))
}

/// Returns the error of a filter. minijinja does not say which filter or test it does not know.
#[cold]
pub(crate) fn filter_error(
    error: Error,
    filter: &str,
    args: &[Value],
    functions: &ScriptFunctions,
) -> Box<TemplateFault> {
    let applied = applied_place(filter).and_then(|at| args.get(at + 1)?.as_str());
    let is_bare = error.detail().is_none();
    match (error.kind(), applied) {
        (ErrorKind::UnknownFilter, applied) if is_bare => {
            no_filter(applied.unwrap_or(filter), functions)
        }
        (ErrorKind::UnknownTest, Some(test)) if is_bare && filter != "map" => no_test(test),
        _ => error.into(),
    }
}

/// Returns the error of a test.
#[cold]
pub(crate) fn test_error(error: Error, test: &str) -> Box<TemplateFault> {
    match error.kind() {
        ErrorKind::UnknownTest if error.detail().is_none() => no_test(test),
        _ => error.into(),
    }
}

/// Returns the place among the arguments at which some filters have the name of what they apply to each item: `map` has
/// a filter there, the others a test.
pub(crate) fn applied_place(filter: &str) -> Option<usize> {
    match filter {
        "map" | "select" | "reject" => Some(0),
        "selectattr" | "rejectattr" => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::UndefinedBehavior;

    #[test]
    fn the_names_are_those_of_the_environment() {
        let environment = crate::environment(UndefinedBehavior::SemiStrict);
        let shown = format!("{environment:?}");
        for (what, mut ours) in [("filters", FILTERS.to_vec()), ("tests", TESTS.to_vec())] {
            // Those of the server are added to each isolate.
            ours.retain(|name| !name.starts_with("format_"));
            let (_, rest) = shown.split_once(&format!(" {what}: ")).expect(what);
            let (names, _) = rest.split_once([']', '}']).expect(what);
            let quoted = names.split('"').skip(1).step_by(2);
            let is_word = |name: &&str| name.len() > 1 && name.starts_with(char::is_alphabetic);
            assert_eq!(quoted.filter(is_word).collect::<Vec<_>>(), ours, "{what}");
        }
    }
}
