//! The templates of a project, and what they all can use.

use crate::compile::compile;
use crate::fault::{TemplateFault, syntax_error};
use crate::program::{Source, Template};
use minijinja::UndefinedBehavior;
use sampan_host::names::file_hint;
use sampan_host::statement_text::position;
use sampan_host::{Error, ErrorKind, Place};
use std::collections::HashMap;
use std::sync::Arc;

/// The templates of a project, compiled. Workers share them.
#[derive(Debug)]
pub struct Templates {
    by_name: HashMap<String, Arc<Template>>,
    undefined: UndefinedBehavior,
    changes_values: bool,
}

impl Default for Templates {
    fn default() -> Self {
        Self {
            by_name: HashMap::new(),
            undefined: UndefinedBehavior::SemiStrict,
            changes_values: false,
        }
    }
}

impl Templates {
    /// Compiles the templates in `files`: their names, with `/` between the parts, and their text.
    ///
    /// # Errors
    /// The first that is not a template, with its line.
    pub fn compile<N: Into<String>>(
        files: impl IntoIterator<Item = (N, Vec<u8>)>,
    ) -> Result<Self, Error> {
        let mut templates = Self::default();
        for (name, text) in files {
            let name = name.into();
            let text = String::from_utf8(text).map_err(|error| {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
                Error::new(ErrorKind::Load, "the template is not UTF-8").at(Some(Place {
                    file: format!("{}{name}", crate::fault::FOLDER),
                    line,
                }))
            })?;
            let template = compiled(&name, &text)?;
            templates.changes_values |= template.names.changes_values;
            templates.by_name.insert(name, Arc::new(template));
        }
        Ok(templates)
    }

    /// Returns the templates with another treatment of undefined values.
    #[must_use]
    pub fn with_undefined(mut self, undefined: UndefinedBehavior) -> Self {
        self.undefined = undefined;
        self
    }

    /// All of them, by their names.
    pub(crate) fn all(&self) -> Vec<&Template> {
        let mut all: Vec<_> = self.by_name.iter().collect();
        all.sort_by_key(|(name, _)| *name);
        all.into_iter().map(|(_, template)| &**template).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Template>> {
        self.by_name.get(name)
    }

    /// Returns the error for a template that is not there, with the name that is most like it.
    #[cold]
    pub(crate) fn not_found(&self, name: &str) -> Box<TemplateFault> {
        let known: Vec<String> = self.by_name.keys().cloned().collect();
        let near = file_hint(name, &known);
        TemplateFault::new(format!(
            "template not found: there is no template {name:?} in the folder templates{near}"
        ))
    }

    /// Reports whether one of them assigns a variable of this name.
    pub(crate) fn assigns(&self, name: &str) -> bool {
        let mut all = self.by_name.values();
        all.any(|template| template.names.assigned.contains(name))
    }

    /// Returns the names of all variables that they assign.
    pub(crate) fn assigned(&self) -> impl Iterator<Item = &str> {
        let all = self.by_name.values();
        all.flat_map(|template| template.names.assigned.iter().map(|name| &**name))
    }

    /// Returns the constant keys of the texts that they ask for with `t("key")`: the file, the line and the key.
    pub fn text_keys(&self) -> Vec<(String, u32, String)> {
        let mut keys = Vec::new();
        for template in self.all() {
            for used in &template.names.functions {
                if let ("t", Some(key)) = (&*used.name, &used.text) {
                    let source = &template.main.source;
                    let (line, _) = position(&source.text, used.at as usize);
                    keys.push((source.file(), line as u32, key.to_string()));
                }
            }
        }
        keys
    }

    /// Reports whether one of them changes lists or maps.
    pub(crate) fn changes_values(&self) -> bool {
        self.changes_values
    }

    pub(crate) fn undefined(&self) -> UndefinedBehavior {
        self.undefined
    }
}

/// A template, or why it is none.
pub(crate) fn compiled(name: &str, text: &str) -> Result<Template, Error> {
    compile(name, text).map_err(|fault| {
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        syntax_error(&source, fault)
    })
}
