//! The HTML of an answer, searched by CSS selectors.

mod dom;
mod selector;

use dom::{Dom, NodeId};
use sampan_host::{
    Args, Class, Context, Error, Function, FunctionKind, Lifetime, Param, Type, Value,
};
use selector::Selector;
use std::cell::OnceCell;

/// A page.
pub(super) static PAGE: Class = Class {
    name: "HtmlPage",
    variable: "html",
    doc: "The HTML of an answer.",
    methods: &[
        Function {
            name: "text",
            params: &[Param {
                optional: true,
                ..SELECTOR
            }],
            returns: Type::TextOrNothing,
            doc: "The text of the first element that the selector finds, or nothing; without a selector that of the \
             whole page. Runs of white space \
                  are one space.",
            kind: FunctionKind::Sync(text),
        },
        Function {
            name: "one",
            params: &[SELECTOR],
            returns: Type::Any,
            doc: "The first element that the selector finds, or nothing: `tag`, `text`, `html` (what is inside), \
             `attributes`.",
            kind: FunctionKind::Sync(one),
        },
        Function {
            name: "all",
            params: &[SELECTOR],
            returns: Type::List,
            doc: "All elements that the selector finds, each as `one` gives it.",
            kind: FunctionKind::Sync(all),
        },
        Function {
            name: "count",
            params: &[SELECTOR],
            returns: Type::Int,
            doc: "How many elements the selector finds.",
            kind: FunctionKind::Sync(count),
        },
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

const SELECTOR: Param = Param {
    name: "selector",
    ty: Type::Text,
    optional: false,
    doc: "A CSS selector, as in `ul.notes > li a[href]`.",
};

/// A page, parsed at its first query.
pub(super) struct Page {
    source: String,
    parsed: OnceCell<Dom>,
}

impl Page {
    pub(super) fn new(source: String) -> Self {
        Self {
            source,
            parsed: OnceCell::new(),
        }
    }

    fn dom(&self) -> &Dom {
        self.parsed.get_or_init(|| Dom::parse(&self.source))
    }
}

fn described(dom: &Dom, id: NodeId) -> Value {
    let attributes = dom.attributes(id).iter();
    let attributes = attributes.map(|(name, value)| (name.clone(), value.as_str().into()));
    Value::Map(vec![
        ("tag".into(), dom.name(id).unwrap_or_default().into()),
        ("text".into(), Value::Text(dom.text(Some(id)))),
        ("html".into(), Value::Text(dom.inner_html(id))),
        ("attributes".into(), Value::Map(attributes.collect())),
    ])
}

/// Calls `use_it` with the page and its elements that the selector `text` finds.
fn found<R>(
    context: &Context,
    args: &Args,
    text: &str,
    use_it: impl FnOnce(&Dom, &mut dyn Iterator<Item = NodeId>) -> R,
) -> Result<R, Error> {
    let (_, page) = args.object::<Page>(context)?;
    let selector = Selector::parse(text).map_err(|fault| {
        Error::script(format!(
            "{text:?} is no CSS selector that is known here: {fault}"
        ))
    })?;
    let dom = page.dom();
    let elements = dom.elements().into_iter();
    Ok(use_it(
        dom,
        &mut elements.filter(|id| selector.matches(dom, *id)),
    ))
}

fn text(context: &Context, mut args: Args) -> Result<Value, Error> {
    let text = match args.take(0) {
        Value::Text(wanted) => found(context, &args, &wanted, |dom, elements| {
            elements.next().map(|id| dom.text(Some(id)))
        })?,
        _ => Some(args.object::<Page>(context)?.1.dom().text(None)),
    };
    Ok(text.map_or(Value::Null, Value::Text))
}

fn one(context: &Context, mut args: Args) -> Result<Value, Error> {
    let wanted = args.text(0);
    found(context, &args, &wanted, |dom, elements| {
        elements.next().map_or(Value::Null, |id| described(dom, id))
    })
}

fn all(context: &Context, mut args: Args) -> Result<Value, Error> {
    let wanted = args.text(0);
    found(context, &args, &wanted, |dom, elements| {
        Value::List(elements.map(|id| described(dom, id)).collect())
    })
}

fn count(context: &Context, mut args: Args) -> Result<Value, Error> {
    let wanted = args.text(0);
    found(context, &args, &wanted, |_, elements| {
        Value::Int(elements.count() as i64)
    })
}
