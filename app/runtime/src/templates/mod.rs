//! The values that templates get beside their data: the request that they are rendered for (`req:render`), and
//! functions of other capabilities.

mod texts;

use sampan_host::request::{Pairs, Twice};
use sampan_host::{Context, Error, ErrorKind, RequestView, Value};
use sampan_serve::files::StaticFiles;
use sampan_serve::routing::names::RouteNames;
use sampan_session::Session;
use sampan_template::{ForRequest, RequestField, TemplateStore, Templates};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// Puts the templates into a context, with what they get from elsewhere. `is_project`: it is the project's script that
/// is loaded, which declares the filters that they name.
pub(crate) fn put_store(
    context: &Rc<Context>,
    templates: Arc<Templates>,
    files: Rc<StaticFiles>,
    is_project: bool,
) {
    let (of_session, of_flashes) = (Rc::downgrade(context), Rc::downgrade(context));
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
    let store = TemplateStore::new(templates)
        .with_function("asset", Rc::new(asset))
        .with_function("url_for", Rc::new(url_for))
        .with_fields("request", REQUEST)
        .with_variable(
            "session",
            Rc::new(move |request| Ok(session(&of_session, &**request)?.values())),
        )
        .with_variable(
            "flashes",
            Rc::new(move |request| {
                let session = session(&of_flashes, &**request)?;
                Ok(Value::List(session.take_flashes()))
            }),
        );
    let store = match is_project {
        true => store,
        false => store.beside_project(),
    };
    context.put(texts::given(store, context));
}

fn session(context: &Weak<Context>, request: &dyn RequestView) -> Result<Rc<Session>, Error> {
    let context = context.upgrade();
    let context = context.ok_or_else(|| Error::new(ErrorKind::Internal, "no context"))?;
    sampan_session::of(&context, request)
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
