//! The state that minijinja needs for a filter: how values are escaped, and what is not there.

use crate::program::Escape;
use crate::templates::mode_name;
use minijinja::{Environment, State, Template};
use sampan_host::reader::Name;
use std::cell::OnceCell;
use std::sync::LazyLock;

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
