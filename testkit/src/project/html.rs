//! The HTML of an answer, searched by CSS selectors.

use ego_tree::NodeRef;
use sampan_host::{
    Args, Class, Context, Error, Function, FunctionKind, Lifetime, Param, Type, Value,
};
use scraper::error::SelectorErrorKind;
use scraper::{ElementRef, Html, Node, Selector};
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
    parsed: OnceCell<Html>,
}

impl Page {
    pub(super) fn new(source: String) -> Self {
        Self {
            source,
            parsed: OnceCell::new(),
        }
    }

    fn html(&self) -> &Html {
        self.parsed
            .get_or_init(|| Html::parse_document(&self.source))
    }
}

/// Elements whose text is not text of the page.
const WITHOUT_TEXT: [&str; 4] = ["script", "style", "noscript", "template"];

/// The text below a node, with one space for each run of white space.
fn text_of(node: NodeRef<'_, Node>) -> String {
    fn add(node: NodeRef<'_, Node>, whole: &mut String) {
        for child in node.children() {
            match child.value() {
                Node::Text(text) => whole.push_str(text),
                Node::Element(element) if WITHOUT_TEXT.contains(&element.name()) => {}
                _ => add(child, whole),
            }
        }
    }
    let mut whole = String::new();
    add(node, &mut whole);
    let words: Vec<&str> = whole.split_whitespace().collect();
    words.join(" ")
}

fn described(element: ElementRef<'_>) -> Value {
    let attributes = element.value().attrs();
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.into()));
    Value::Map(vec![
        ("tag".into(), element.value().name().into()),
        ("text".into(), Value::Text(text_of(*element))),
        ("html".into(), Value::Text(element.inner_html())),
        ("attributes".into(), Value::Map(attributes.collect())),
    ])
}

/// The elements that a selector finds, in the order of the page.
fn found<'a>(
    page: &'a Html,
    selector: &str,
) -> Result<impl Iterator<Item = ElementRef<'a>> + use<'a>, Error> {
    let parsed = Selector::parse(selector).map_err(|fault| {
        let fault = fault_of(&fault);
        Error::script(format!(
            "{selector:?} is no CSS selector that is known here: {fault}"
        ))
    })?;
    let elements = page.tree.root().descendants().filter_map(ElementRef::wrap);
    Ok(elements.filter(move |element| parsed.matches(element)))
}

/// The fault of a selector, in the words of people who write tests.
fn fault_of(fault: &SelectorErrorKind) -> String {
    match fault {
        SelectorErrorKind::EndOfLine => "something is missing at its end".to_owned(),
        // Its `Debug` is the name of the fault, and its `Display` asks to report it.
        SelectorErrorKind::UnexpectedSelectorParseError(kind) => words(&format!("{kind:?}")),
        other => other.to_string().to_lowercase(),
    }
}

/// `UnsupportedPseudoClass` as "unsupported pseudo class".
fn words(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn text(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, page) = args.object::<Page>(context)?;
    let text = match args.take(0) {
        Value::Text(wanted) => found(page.html(), &wanted)?
            .next()
            .map(|element| text_of(*element)),
        _ => Some(text_of(page.html().tree.root())),
    };
    Ok(text.map_or(Value::Null, Value::Text))
}

fn one(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, page) = args.object::<Page>(context)?;
    let mut elements = found(page.html(), &args.text(0))?;
    Ok(elements.next().map_or(Value::Null, described))
}

fn all(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, page) = args.object::<Page>(context)?;
    let elements = found(page.html(), &args.text(0))?;
    Ok(Value::List(elements.map(described).collect()))
}

fn count(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (_, page) = args.object::<Page>(context)?;
    let elements = found(page.html(), &args.text(0))?;
    Ok(Value::Int(elements.count() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html><title>T</title><body class='a b'><ul id=x>\
        <li>1<li class=on>2<li data-k='K-1' lang=en-GB>3 <b>bold</b></ul>\
        <p>one<p><a href='/notes/1'>link</a><br><script>x</script></p><table><tr><td>cell</table>";

    #[test]
    fn selectors_find_what_browsers_find() {
        let page = Html::parse_document(PAGE);
        for (selector, texts) in [
            ("title", &["T"][..]),
            ("#x > li", &["1", "2", "3 bold"]),
            ("body.a.b ul li.on", &["2"]),
            ("li:first-child, li:last-child", &["1", "3 bold"]),
            ("li:nth-child(2n+1)", &["1", "3 bold"]),
            ("li:nth-child(-n+2)", &["1", "2"]),
            ("li:nth-last-child(1)", &["3 bold"]),
            ("li + li", &["2", "3 bold"]),
            ("li.on ~ *", &["3 bold"]),
            ("li:not(.on):not([lang])", &["1"]),
            ("[data-k=k-1 i] b", &["bold"]),
            ("[lang|='en']", &["3 bold"]),
            ("a[href^='/notes/'][href$=\"1\"][href*=ote]", &["link"]),
            ("p > a:only-child", &[]),
            ("br:empty", &[""]),
            ("tbody td", &["cell"]),
            ("ul :is(b, .on)", &["2", "bold"]),
            ("html > body > p > *", &["link", "", "x"]),
        ] {
            let texts_found = found(&page, selector).expect(selector);
            let texts_found: Vec<String> = texts_found.map(|element| text_of(*element)).collect();
            assert_eq!(texts_found, texts, "{selector}");
        }
    }

    #[test]
    fn the_fault_of_a_selector_is_named() {
        let page = Html::parse_document(PAGE);
        for (text, part) in [
            ("", "empty selector"),
            ("a >", "dangling combinator"),
            ("li:hover", "unsupported pseudo class"),
            ("li[", "missing at its end"),
            ("[a~b]", "unexpected token in attribute selector"),
            ("a)", "token was not expected"),
            ("li:nth-child(x)", "token was not expected"),
            ("a!b", "token was not expected"),
        ] {
            let fault = found(&page, text).err().expect(text).message().to_owned();
            assert!(
                fault.starts_with(&format!("{text:?} is no CSS selector")),
                "{fault}"
            );
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }

    #[test]
    fn the_inside_of_an_element_is_html() {
        let page = Html::parse_document("<div><a href='?a&amp;b=\"'>1 &lt; 2</a><br>&nbsp;</div>");
        let html = found(&page, "div")
            .expect("valid")
            .next()
            .map(|div| div.inner_html());
        let expected = "<a href=\"?a&amp;b=&quot;\">1 &lt; 2</a><br>&nbsp;";
        assert_eq!(html.as_deref(), Some(expected));
    }
}
