//! The values that the server gives to templates: `asset`, `url_for`, and the fields of `request`.

use sampan_host::pages::{ForRequest, PageValues, RequestField};
use sampan_host::request::{Pairs, Twice};
use sampan_host::{Context, Error, RequestView, Value};
use sampan_serve::files::StaticFiles;
use sampan_serve::routing::names::RouteNames;
use std::rc::Rc;

/// Puts these values into the context of an isolate. Capabilities add theirs.
pub(crate) fn put_into(context: &Context, files: Rc<StaticFiles>) {
    let asset = move |_: ForRequest<'_>, args: &[Value]| match args {
        [Value::Text(name)] => files.asset(name).map(Value::Text),
        _ => Err(Error::script("asset takes the name of a file")),
    };
    let names = context.get::<RouteNames>();
    let url_for = move |_: ForRequest<'_>, args: &[Value]| {
        let names = names
            .as_ref()
            .ok_or_else(|| Error::script("there are no routes here"))?;
        match args {
            [Value::Text(name)] => names.url(name, &Value::Null).map(Value::Text),
            [Value::Text(name), params] => names.url(name, params).map(Value::Text),
            _ => Err(Error::script(
                "url_for takes the name of a route and its parameters",
            )),
        }
    };
    let values = PageValues::default();
    values.function("asset", Rc::new(asset));
    values.function("url_for", Rc::new(url_for));
    values.fields("request", REQUEST);
    context.put(values);
}

/// The fields of the variable `request`. Reading `id` adds `X-Request-Id` to the answer.
const REQUEST: &[(&str, RequestField)] = &[
    ("method", |request| request.method().into()),
    ("path", |request| request.path().into()),
    ("url", |request| request.url().into()),
    ("id", |request| request.id().into_owned().into()),
    ("params", |request| members(request, Pairs::Params)),
    ("query", |request| members(request, Pairs::Query)),
    ("cookies", |request| members(request, Pairs::Cookies)),
];

/// Returns the pairs as the script has them.
fn members(request: &dyn RequestView, which: Pairs) -> Value {
    let mut members: Vec<(String, Value)> = Vec::new();
    which.each(request, &mut |name, value| {
        let value = Value::Text(String::from_utf8_lossy(value).into_owned());
        let Some((_, known)) = members.iter_mut().find(|(known, _)| known == name) else {
            members.push((name.to_owned(), value));
            return;
        };
        if which.twice() == Twice::List {
            match known {
                Value::List(values) => values.push(value),
                first => *first = Value::List(vec![std::mem::take(first), value]),
            }
        }
    });
    Value::Map(members)
}
