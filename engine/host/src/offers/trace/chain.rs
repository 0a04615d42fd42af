//! The spans of a chain of middleware: one for each function and one for the handler within them.
//!
//! The server puts a [`ChainSpans`] into the store of a request whose spans are recorded, and says so in its
//! [`Call`](crate::Call). The engine's prelude then tells where each function begins and ends.

use super::span::{Attributes, SpanKind};
use super::traces::{OpenSpan, Trace};
use crate::error::Place;
use crate::request::RequestView;
use std::cell::RefCell;
use std::rc::Rc;

/// The longest name of a step, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// The most spans of one chain that are open at a time. Each function has one, unless it calls the next several times
/// without waiting.
const OPEN_MAX: usize = 1_000;

/// A function of a chain, as its spans show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainStep {
    name: String,
    place: Option<Place>,
}

impl ChainStep {
    /// Returns the step of a kind, such as `middleware`, that was declared at a place; without a place `label` tells
    /// which it is.
    pub fn new(kind: &str, label: &str, place: Option<&Place>) -> Self {
        let told = place.map_or_else(|| label.to_owned(), Place::to_string);
        let name = match kind.len() + 1 + told.len() <= NAME_BYTES_MAX {
            true => format!("{kind} {told}"),
            false => {
                // The end has the file's name and the line.
                let cut = told.len() - (NAME_BYTES_MAX - kind.len() - 4);
                format!("{kind} \u{2026}{}", &told[told.ceil_char_boundary(cut)..])
            }
        };
        Self {
            name,
            place: place.cloned(),
        }
    }

    /// Opens the step's span.
    pub fn open(&self, trace: &Trace) -> OpenSpan {
        let mut span = trace.open(self.name.clone(), SpanKind::Internal);
        if let Some(place) = &self.place {
            let attributes: Attributes = vec![
                ("code.file.path".into(), place.file.as_str().into()),
                ("code.line.number".into(), i64::from(place.line).into()),
            ];
            span.add(attributes);
        }
        span
    }
}

/// The spans of the chain of one request.
pub struct ChainSpans {
    trace: Trace,
    /// The functions, outermost first, and the handler last where a function of the script answers.
    steps: Vec<Rc<ChainStep>>,
    /// Those that are open, by their numbers.
    open: RefCell<Vec<Option<OpenSpan>>>,
}

impl ChainSpans {
    /// Begins the spans of a request.
    pub fn begin(request: &dyn RequestView, trace: &Trace, steps: Vec<Rc<ChainStep>>) -> Rc<Self> {
        request.store().put(Self {
            trace: trace.clone(),
            steps,
            open: RefCell::default(),
        })
    }

    /// Opens the span of a step, counted from 0. Returns its number.
    pub fn enter(&self, step: usize) -> usize {
        let mut open = self.open.borrow_mut();
        if open.len() >= OPEN_MAX {
            return OPEN_MAX;
        }
        let step = self.steps.get(step);
        open.push(step.map(|step| step.open(&self.trace)));
        open.len() - 1
    }

    /// Ends the span with a number.
    pub fn leave(&self, number: usize, has_failed: bool) {
        let mut open = self.open.borrow_mut();
        if let Some(mut span) = open.get_mut(number).and_then(Option::take)
            && has_failed
        {
            span.fail("");
        }
        while matches!(open.last(), Some(None)) {
            open.pop();
        }
    }

    /// Ends the spans from a number on, innermost first: an error has left their functions.
    pub fn leave_from(&self, number: usize) {
        let mut open = self.open.borrow_mut();
        while open.len() > number {
            if let Some(Some(mut span)) = open.pop() {
                span.fail("");
            }
        }
    }

    /// Ends what is still open when the script has ended, innermost first; with an error, if it has failed.
    pub fn end(&self, error: Option<&str>) {
        let mut open = self.open.borrow_mut();
        while let Some(last) = open.pop() {
            if let (Some(mut span), Some(text)) = (last, error) {
                span.fail(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_named_by_its_place_within_bounds() {
        let place = |file: &str| Place {
            file: file.to_owned(),
            line: 7,
        };
        let name = |place: Option<&Place>| ChainStep::new("middleware", "/admin/*", place).name;
        assert_eq!(name(Some(&place("app.lua"))), "middleware app.lua:7");
        assert_eq!(name(None), "middleware /admin/*");
        let long = place(&format!("{}/é/admin.lua", "folder/".repeat(100)));
        let cut = name(Some(&long));
        assert!(
            cut.len() <= NAME_BYTES_MAX && cut.len() > NAME_BYTES_MAX - 4,
            "{cut}"
        );
        assert!(
            cut.starts_with("middleware \u{2026}") && cut.ends_with("/é/admin.lua:7"),
            "{cut}"
        );
        for length in 180..200 {
            assert!(name(Some(&place(&"é".repeat(length)))).len() <= NAME_BYTES_MAX);
        }
    }
}
