//! The names that a template uses, and the fault of a text that is not a template.

use minijinja::Value;
use std::collections::BTreeSet;

/// The reason for which a text is not a template.
pub(crate) struct CompileFault {
    pub(crate) message: String,
    pub(crate) place: TextPlace,
}

/// A place in the text of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPlace {
    /// The byte at which it begins.
    Byte(u32),
    /// A line, from 1, where no more is known.
    Line(u32),
}

/// A filter with its arguments.
#[derive(Debug)]
pub(crate) struct FilterUse {
    pub(crate) name: Box<str>,
    /// `None` if lists or maps are spread among them.
    pub(crate) args: Option<FilterArgs>,
    pub(crate) at: u32,
}

/// The arguments of a filter. Those that are no constants are `None`.
#[derive(Debug)]
pub(crate) struct FilterArgs {
    /// The arguments without a name.
    pub(crate) positional: Vec<Option<Value>>,
    pub(crate) named: Vec<(Box<str>, Option<Value>)>,
}

/// A call of a function by its name.
#[derive(Debug)]
pub(crate) struct FunctionUse {
    pub(crate) name: Box<str>,
    /// The first argument, if that is a constant text.
    pub(crate) text: Option<Box<str>>,
    pub(crate) at: u32,
}

/// A test, or a template that is included, imported or extended.
#[derive(Debug)]
pub(crate) struct NameUse {
    pub(crate) name: Box<str>,
    pub(crate) at: u32,
}

/// The names in a template. `at` is the byte of its text at which a use begins.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) filters: Vec<FilterUse>,
    pub(crate) tests: Vec<NameUse>,
    pub(crate) functions: Vec<FunctionUse>,
    /// The templates whose names are constants and that must exist.
    pub(crate) templates: Vec<NameUse>,
    /// All that are assigned somewhere: variables, macros and their parameters, imports.
    pub(crate) assigned: BTreeSet<Box<str>>,
    /// True if it calls methods that change a list or a map.
    pub(crate) changes_values: bool,
}

impl Names {
    /// Moves all uses.
    pub(super) fn move_places(&mut self, moved: impl Fn(u32) -> u32) {
        let filters = self.filters.iter_mut().map(|used| &mut used.at);
        let functions = self.functions.iter_mut().map(|used| &mut used.at);
        let others = self.tests.iter_mut().chain(&mut self.templates);
        let all = filters.chain(functions);
        all.chain(others.map(|used| &mut used.at))
            .for_each(|at| *at = moved(*at));
    }
}
