//! Pages of a long list: which rows a request asks for, and the links to the other pages.

mod pages;

use pages::{Asked, Pages};
use sampan_host::names::snake_case;
use sampan_host::{
    Args, Capability, Error, FunctionKind, Module, Type, Value, param, refusals, row,
};

/// The rows of a page unless told otherwise, and the most.
const PER_PAGE: u64 = 20;
const PER_PAGE_MAX: u64 = 10_000;
/// The largest whole number that both languages have.
const TOTAL_MAX: u64 = 1 << 53;

/// The functions for scripts.
pub static MODULE: Module = Module {
    name: "app",
    doc: "Pages of long lists.",
    functions: &[row!("paginate"(
            param!("total": Type::Number, "The number of rows."),
            param!("options"? Type::Map,
                "`query`: that of the request. `per_page`: how many rows a page has, 20 unless given. `param`: the \
                 name of the page in the query, `page` unless given."),
        ) -> Type::Record(&[
            ("page", Type::Int),
            ("pages", Type::Int),
            ("limit", Type::Int),
            ("total", Type::Int),
            ("offset", Type::Int),
            ("first", Type::Int),
            ("last", Type::Int),
            ("prev", Type::TextOrNothing),
            ("next", Type::TextOrNothing),
            ("links", Type::List),
        ]), FunctionKind::Sync(|_, args| paginate(args)),
        "The page of a list that a request asks for: a page that is not there is the nearest that is. `limit` and \
         `offset` are for `LIMIT ? OFFSET ?`. `first` and `last` number the rows of the page, from 1. `prev` and \
         `next` are URLs with the rest of the query. `links` has the first and the last page and those around this \
         one, each with `page`, `url` and `current`; where pages are left out stands one with `gap`.")],
    ..Module::EMPTY
};

/// Pages of rows.
pub static CAPABILITY: Capability = Capability {
    name: "paginate",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

fn paginate(mut args: Args) -> Result<Value, Error> {
    let total = whole(&args.take(0), 0, TOTAL_MAX);
    let total = total.ok_or_else(|| Error::script("total must be a whole number from 0"))?;
    let mut asked = Asked {
        total,
        per_page: PER_PAGE,
        param: "page".to_owned(),
        query: Vec::new(),
    };
    const KNOWN: [&str; 3] = ["query", "per_page", "param"];
    let options = match args.take(1) {
        Value::Map(options) => options,
        _ => Vec::new(),
    };
    for (name, value) in options {
        match (snake_case(&name).as_str(), value) {
            ("query", Value::Map(query)) => asked.query = pairs(query),
            ("query", Value::List(none)) if none.is_empty() => {}
            ("query", _) => return Err(Error::script("query must be that of a request")),
            ("per_page", value) => {
                asked.per_page = whole(&value, 1, PER_PAGE_MAX).ok_or_else(|| {
                    let text = format!("per_page must be a whole number from 1 to {PER_PAGE_MAX}");
                    Error::script(text).naming(["per_page"])
                })?;
            }
            ("param", Value::Text(param)) => asked.param = param,
            ("param", _) => return Err(Error::script("param must be a text")),
            (name, _) => return Err(refusals::unknown_option(name, &KNOWN)),
        }
    }
    Ok(Pages::of(asked).record())
}

fn whole(value: &Value, min: u64, max: u64) -> Option<u64> {
    let number = match value {
        Value::Int(number) => u64::try_from(*number).ok()?,
        Value::Float(number) if number.fract() == 0.0 && (0.0..=max as f64).contains(number) => {
            *number as u64
        }
        _ => return None,
    };
    (min..=max).contains(&number).then_some(number)
}

/// The names and values of a query. A name that came twice has a list.
fn pairs(query: Vec<(String, Value)>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in query {
        match value {
            Value::Text(text) => pairs.push((name, text)),
            Value::List(items) => {
                let texts = items.into_iter().filter_map(|item| match item {
                    Value::Text(text) => Some((name.clone(), text)),
                    _ => None,
                });
                pairs.extend(texts);
            }
            _ => {}
        }
    }
    pairs
}
