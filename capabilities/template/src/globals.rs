//! The variables that all templates have: those of the request, functions, and what minijinja has.

use crate::script::Variable;
use minijinja::{Environment, Value};
use sampan_host::reader::Name;

/// All of them, found by the number of their name.
pub(crate) struct Globals {
    by_name: Vec<Option<Box<Global>>>,
}

/// The meaning of a name.
#[derive(Default)]
pub(crate) struct Global {
    /// A variable, computed when it is used.
    pub(crate) variable: Option<Variable>,
    /// The meaning where there is no such variable.
    pub(crate) value: Option<Value>,
}

impl Globals {
    pub(crate) fn new(environment: &Environment<'_>, variables: &[(Name, Variable)]) -> Self {
        let mut globals = Self {
            by_name: Vec::new(),
        };
        for (name, value) in environment.globals() {
            globals.at(Name::new(name)).value = Some(value);
        }
        for (name, variable) in variables {
            globals.at(*name).variable = Some(variable.clone());
        }
        globals
    }

    fn at(&mut self, name: Name) -> &mut Global {
        let count = self.by_name.len().max(name.number() + 1);
        self.by_name.resize_with(count, || None);
        self.by_name[name.number()].get_or_insert_default()
    }

    #[inline]
    pub(crate) fn get(&self, name: Name) -> Option<&Global> {
        self.by_name.get(name.number())?.as_deref()
    }
}
