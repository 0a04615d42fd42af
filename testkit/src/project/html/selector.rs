//! CSS selectors (Selectors Level 4, as far as pages are tested by them): types, `#id`, `.class`, `[attribute]` with
//! all its operators, the four combinators, lists, and the pseudo-classes `:first-child`, `:last-child`, `:only-child`,
//! `:nth-child()`, `:empty`,
//! `:not()` and `:is()`.

use super::dom::{Dom, NodeId};

/// A list of selectors: an element matches if one of them does.
#[derive(Debug, PartialEq)]
pub(super) struct Selector(Vec<Complex>);

/// Compounds, the last of which is the element's own, each but the first with how it stands to the one before.
#[derive(Debug, PartialEq)]
struct Complex {
    first: Vec<Simple>,
    rest: Vec<(Combinator, Vec<Simple>)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Combinator {
    Descendant,
    Child,
    Next,
    Later,
}

#[derive(Debug, PartialEq)]
enum Simple {
    All,
    Type(String),
    Id(String),
    Class(String),
    Attribute {
        name: String,
        test: Option<(char, String)>,
        ignores_case: bool,
    },
    /// The `n`th, `n = step * k + offset`, from the front or the end.
    Nth {
        step: i64,
        offset: i64,
        is_from_end: bool,
    },
    OnlyChild,
    Empty,
    Is(Selector),
    Not(Selector),
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// The part that is not understood, and its place.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            chars: text.chars().collect(),
            at: 0,
        };
        let selector = parser.list()?;
        match parser.peek() {
            None => Ok(selector),
            Some(one) => Err(parser.fault(&format!("{one:?} is not understood"))),
        }
    }

    /// Reports whether an element matches.
    pub(super) fn matches(&self, dom: &Dom, id: NodeId) -> bool {
        self.0.iter().any(|complex| complex.matches(dom, id))
    }
}

impl Complex {
    fn matches(&self, dom: &Dom, id: NodeId) -> bool {
        self.matches_up_to(dom, id, self.rest.len())
    }

    /// Reports whether the first `count` compounds behind the first end at this element.
    fn matches_up_to(&self, dom: &Dom, id: NodeId, count: usize) -> bool {
        let Some(before) = count.checked_sub(1) else {
            return self.first.iter().all(|simple| simple.matches(dom, id));
        };
        let (combinator, compound) = &self.rest[before];
        if !compound.iter().all(|simple| simple.matches(dom, id)) {
            return false;
        }
        let fits = |id: NodeId| self.matches_up_to(dom, id, before);
        match combinator {
            Combinator::Child => dom.parent(id).is_some_and(fits),
            Combinator::Descendant => {
                let mut parents = std::iter::successors(dom.parent(id), |id| dom.parent(*id));
                parents.any(fits)
            }
            Combinator::Next | Combinator::Later => {
                let siblings = dom.siblings(id);
                let at = siblings.iter().position(|other| *other == id).unwrap_or(0);
                let mut before = siblings[..at].iter().rev().copied();
                match combinator {
                    Combinator::Next => before.next().is_some_and(fits),
                    _ => before.any(fits),
                }
            }
        }
    }
}

impl Simple {
    fn matches(&self, dom: &Dom, id: NodeId) -> bool {
        match self {
            Self::All => true,
            Self::Type(name) => dom.name(id) == Some(name),
            Self::Id(wanted) => dom.attribute(id, "id") == Some(wanted),
            Self::Class(wanted) => {
                let classes = dom.attribute(id, "class").unwrap_or_default();
                classes
                    .split_ascii_whitespace()
                    .any(|class| class == wanted)
            }
            Self::Attribute {
                name,
                test,
                ignores_case,
            } => {
                let found = dom.attribute(id, name);
                found.is_some_and(|found| match test {
                    None => true,
                    Some((kind, wanted)) if *ignores_case => {
                        is_met(*kind, &found.to_lowercase(), &wanted.to_lowercase())
                    }
                    Some((kind, wanted)) => is_met(*kind, found, wanted),
                })
            }
            Self::Nth {
                step,
                offset,
                is_from_end,
            } => {
                let mut siblings = dom.siblings(id);
                if *is_from_end {
                    siblings.reverse();
                }
                let at = siblings.iter().position(|other| *other == id);
                let behind = at.map_or(0, |at| at as i64 + 1) - offset;
                match *step {
                    0 => behind == 0,
                    step => behind % step == 0 && behind / step >= 0,
                }
            }
            Self::OnlyChild => dom.siblings(id).len() == 1,
            Self::Empty => dom.is_empty(id),
            Self::Is(selector) => selector.matches(dom, id),
            Self::Not(selector) => !selector.matches(dom, id),
        }
    }
}

fn is_met(kind: char, found: &str, wanted: &str) -> bool {
    match kind {
        '=' => found == wanted,
        '~' => found.split_ascii_whitespace().any(|word| word == wanted),
        '|' => {
            found == wanted
                || found
                    .strip_prefix(wanted)
                    .is_some_and(|rest| rest.starts_with('-'))
        }
        _ if wanted.is_empty() => false,
        '^' => found.starts_with(wanted),
        '$' => found.ends_with(wanted),
        _ => found.contains(wanted),
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_it = self.peek() == Some(wanted);
        self.at += usize::from(is_it);
        is_it
    }

    fn fault(&self, what: &str) -> String {
        format!("{what} at character {}", self.at + 1)
    }

    /// True if there was any.
    fn skip_space(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at > start
    }

    fn name(&mut self) -> Result<String, String> {
        let mut name = String::new();
        while let Some(one) = self.peek() {
            let one = match one {
                '\\' => {
                    self.at += 1;
                    self.peek()
                        .ok_or_else(|| self.fault("nothing follows the \\"))?
                }
                one if one.is_alphanumeric() || matches!(one, '-' | '_') || !one.is_ascii() => one,
                _ => break,
            };
            name.push(one);
            self.at += 1;
        }
        match name.as_str() {
            "" => Err(self.fault("a name is missing")),
            _ => Ok(name),
        }
    }

    fn list(&mut self) -> Result<Selector, String> {
        let mut all = vec![self.complex()?];
        while self.takes(',') {
            all.push(self.complex()?);
        }
        Ok(Selector(all))
    }

    fn complex(&mut self) -> Result<Complex, String> {
        self.skip_space();
        let mut complex = Complex {
            first: self.compound()?,
            rest: Vec::new(),
        };
        loop {
            let is_apart = self.skip_space();
            let combinator = match self.peek() {
                Some('>') => Combinator::Child,
                Some('+') => Combinator::Next,
                Some('~') => Combinator::Later,
                None | Some(',' | ')') => return Ok(complex),
                Some(_) if is_apart => Combinator::Descendant,
                Some(one) => return Err(self.fault(&format!("{one:?} is not understood"))),
            };
            if combinator != Combinator::Descendant {
                self.at += 1;
                self.skip_space();
            }
            let compound = self.compound()?;
            complex.rest.push((combinator, compound));
        }
    }

    fn compound(&mut self) -> Result<Vec<Simple>, String> {
        let mut all = Vec::new();
        loop {
            let simple = match self.peek() {
                Some('*') => {
                    self.at += 1;
                    Simple::All
                }
                Some('#') => {
                    self.at += 1;
                    Simple::Id(self.name()?)
                }
                Some('.') => {
                    self.at += 1;
                    Simple::Class(self.name()?)
                }
                Some('[') => self.attribute()?,
                Some(':') => self.pseudo_class()?,
                _ if all.is_empty() => Simple::Type(self.name()?.to_lowercase()),
                _ => return Ok(all),
            };
            all.push(simple);
        }
    }

    fn attribute(&mut self) -> Result<Simple, String> {
        self.at += 1;
        self.skip_space();
        let name = self.name()?.to_lowercase();
        self.skip_space();
        if self.takes(']') {
            return Ok(Simple::Attribute {
                name,
                test: None,
                ignores_case: false,
            });
        }
        let kind = match self.peek() {
            Some('=') => '=',
            Some(one @ ('~' | '|' | '^' | '$' | '*')) => {
                self.at += 1;
                one
            }
            _ => return Err(self.fault("= or ] is expected")),
        };
        if !self.takes('=') {
            return Err(self.fault("= is expected"));
        }
        self.skip_space();
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.at += 1;
                let rest = &self.chars[self.at..];
                let length = rest.iter().position(|one| *one == quote);
                let length = length.ok_or_else(|| self.fault(&format!("{quote} is missing")))?;
                let value = rest[..length].iter().collect();
                self.at += length + 1;
                value
            }
            _ => self.name()?,
        };
        let ignores_case = self.skip_space() && (self.takes('i') || self.takes('I'));
        self.skip_space();
        if !self.takes(']') {
            return Err(self.fault("] is expected"));
        }
        Ok(Simple::Attribute {
            name,
            test: Some((kind, value)),
            ignores_case,
        })
    }

    fn pseudo_class(&mut self) -> Result<Simple, String> {
        self.at += 1;
        let start = self.at;
        let nth = |step, offset, is_from_end| Simple::Nth {
            step,
            offset,
            is_from_end,
        };
        let name = self.name()?.to_lowercase();
        Ok(match name.as_str() {
            "first-child" => nth(0, 1, false),
            "last-child" => nth(0, 1, true),
            "only-child" => Simple::OnlyChild,
            "empty" => Simple::Empty,
            "nth-child" | "nth-last-child" => {
                let inside: String = self.inside()?.split_whitespace().collect();
                let (step, offset) = an_plus_b(&inside.to_lowercase())
                    .ok_or_else(|| self.fault(&format!("{inside:?} is no position")))?;
                nth(step, offset, name == "nth-last-child")
            }
            "not" | "is" | "where" => {
                if !self.takes('(') {
                    return Err(self.fault("( is expected"));
                }
                let selector = self.list()?;
                if !self.takes(')') {
                    return Err(self.fault(") is expected"));
                }
                match name.as_str() {
                    "not" => Simple::Not(selector),
                    _ => Simple::Is(selector),
                }
            }
            _ => {
                self.at = start;
                return Err(self.fault(&format!("the pseudo-class :{name} is not known")));
            }
        })
    }

    /// Returns the text in parentheses.
    fn inside(&mut self) -> Result<String, String> {
        if !self.takes('(') {
            return Err(self.fault("( is expected"));
        }
        let rest = &self.chars[self.at..];
        let length = rest.iter().position(|one| *one == ')');
        let length = length.ok_or_else(|| self.fault(") is missing"))?;
        let inside = rest[..length].iter().collect();
        self.at += length + 1;
        Ok(inside)
    }
}

/// `2n+1`, `odd`, `3`: step and offset.
fn an_plus_b(text: &str) -> Option<(i64, i64)> {
    match text {
        "odd" => return Some((2, 1)),
        "even" => return Some((2, 0)),
        _ => {}
    }
    let Some((step, offset)) = text.split_once('n') else {
        return Some((0, text.parse().ok()?));
    };
    let step = match step {
        "" | "+" => 1,
        "-" => -1,
        step => step.parse().ok()?,
    };
    let offset = match offset {
        "" => 0,
        offset => offset.parse().ok()?,
    };
    Some((step, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html><title>T</title><body class='a b'><ul id=x>\
        <li>1<li class=on>2<li data-k='K-1' lang=en-GB>3 <b>bold</b></ul>\
        <p>one<p><a href='/notes/1'>link</a><br></p><table><tr><td>cell</table>";

    fn found(selector: &str) -> Vec<String> {
        let dom = Dom::parse(PAGE);
        let selector = Selector::parse(selector).expect(selector);
        let all = dom.elements().into_iter();
        let all = all.filter(|id| selector.matches(&dom, *id));
        all.map(|id| dom.text(Some(id))).collect()
    }

    #[test]
    fn selectors_find_what_browsers_find() {
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
            ("html > body > p > *", &["link", ""]),
        ] {
            assert_eq!(found(selector), texts, "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_told_with_its_place() {
        for (text, part) in [
            ("", "a name is missing at character 1"),
            ("a >", "a name is missing at character 4"),
            (
                "li:hover",
                "the pseudo-class :hover is not known at character 4",
            ),
            ("[a=b", "] is expected"),
            ("[a=\"b]", "\" is missing"),
            ("a)", "')' is not understood"),
            ("li:nth-child(x)", "\"x\" is no position"),
            ("a!b", "'!' is not understood at character 2"),
        ] {
            let fault = Selector::parse(text).expect_err(text);
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }

    #[test]
    fn the_inside_of_an_element_is_html() {
        let dom = Dom::parse("<div><a href='?a&amp;b=\"'>1 &lt; 2</a><br>&nbsp;</div>");
        let div = dom
            .elements()
            .into_iter()
            .find(|id| dom.name(*id) == Some("div"));
        let html = dom.inner_html(div.expect("a div"));
        assert_eq!(html, "<a href=\"?a&amp;b=&quot;\">1 &lt; 2</a><br>\u{a0}");
    }
}
