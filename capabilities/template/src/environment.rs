//! The part of minijinja that runs: its filters, tests and functions, and the state that a filter needs: how values are
//! escaped, and what is not there.

use crate::jinja2;
use crate::objects;
use crate::program::Escape;
use minijinja::{Environment, State, Template, UndefinedBehavior};
use sampan_host::reader::Name;
use std::cell::OnceCell;
use std::sync::LazyLock;

/// Returns the name of an empty template that selects the mode of escaping in minijinja.
fn mode_name(mode: Escape) -> &'static str {
    match mode {
        Escape::None => "",
        Escape::Html => ".html",
        Escape::Json => ".json",
    }
}

/// minijinja with its filters, tests and functions, and those of Jinja2 that it leaves to others.
pub fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    minijinja_contrib::add_to_environment(&mut environment);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_undefined_behavior(undefined);
    environment.add_function("namespace", objects::namespace);
    jinja2::add_to(&mut environment);
    for mode in [Escape::None, Escape::Html, Escape::Json] {
        let added = environment.add_template(mode_name(mode), "");
        debug_assert!(added.is_ok(), "an empty text is a template");
    }
    environment
}

static LOOP: LazyLock<Name> = LazyLock::new(|| Name::new("loop"));
static CALLER: LazyLock<Name> = LazyLock::new(|| Name::new("caller"));
static VARARGS: LazyLock<Name> = LazyLock::new(|| Name::new("varargs"));
static KWARGS: LazyLock<Name> = LazyLock::new(|| Name::new("kwargs"));
static SUPER: LazyLock<Name> = LazyLock::new(|| Name::new("super"));

/// An environment, and for each mode of escaping an empty template, once one is needed.
pub(crate) struct Modes<'e> {
    environment: &'e Environment<'static>,
    templates: [OnceCell<Template<'e, 'e>>; 3],
}

impl<'e> Modes<'e> {
    pub(crate) fn new(environment: &'e Environment<'static>) -> Self {
        Self {
            environment,
            templates: Default::default(),
        }
    }

    /// A state with this mode.
    pub(crate) fn state(&self, mode: Escape) -> Result<State<'_, 'e>, minijinja::Error> {
        let slot = &self.templates[mode as usize];
        if let Some(template) = slot.get() {
            return Ok(template.new_state());
        }
        let template = self.environment.get_template(mode_name(mode))?;
        Ok(slot.get_or_init(|| template).new_state())
    }

    pub(crate) fn loop_name(&self) -> Name {
        *LOOP
    }

    pub(crate) fn caller_name(&self) -> Name {
        *CALLER
    }

    pub(crate) fn varargs_name(&self) -> Name {
        *VARARGS
    }

    pub(crate) fn kwargs_name(&self) -> Name {
        *KWARGS
    }

    pub(crate) fn super_name(&self) -> Name {
        *SUPER
    }
}
