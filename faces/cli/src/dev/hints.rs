//! Hints in the log about what is probably a mistake, each once.

use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_project::Language;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The most routes that are remembered.
const ROUTES_MAX: usize = 10_000;

/// The hints that the log has.
#[derive(Default)]
pub(super) struct Hints {
    /// The routes whose handlers have returned nothing.
    without_answer: Mutex<HashSet<String>>,
}

impl Hints {
    /// Tells the log that the handler of a route has returned nothing, unless it has been told.
    pub(super) fn tell_of_nothing(&self, route: String, language: Language, logger: &Logger) {
        let known = self.without_answer.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ROUTES_MAX || known.contains(&route) {
            return;
        }
        let on_purpose = match language {
            Language::Lua => "app.text(\"\", 204)",
            Language::Js => "null",
        };
        let text = format!(
            "{route} returned nothing, so the answer is 204: is a return missing? To answer so on purpose, return \
             {on_purpose}"
        );
        logger.text(Level::Info, text);
        known.insert(route);
    }
}
