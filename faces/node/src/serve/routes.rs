//! The routes of a server: answers that are serialised once, and indices of handlers.

use std::collections::BTreeMap;
use std::sync::Arc;

use sampan_http::{Method, Precomputed, Response};
use sampan_serve::routing::normal_form::normal_form;
use sampan_serve::routing::pattern::Pattern;
use sampan_serve::routing::routes::{Allow, RouteMatch, Routes as RouteTree, verb};
use sampan_serve::routing::spans::Spans;

enum Target {
    Precomputed(Arc<Precomputed>),
    Handler(u32),
}

/// The answer to a request.
pub(crate) enum Found<'a> {
    Precomputed(&'a Arc<Precomputed>),
    Handler(u32, Spans),
    /// No route, or none for its method.
    Nothing(Allow),
}

/// All routes. The default has none.
#[derive(Default)]
pub(crate) struct RouteSet {
    tree: RouteTree,
    targets: Vec<Target>,
    /// The patterns, for the error about a second route in one place.
    patterns: BTreeMap<usize, String>,
}

impl RouteSet {
    /// Adds a handler, for all methods if there is no `method`.
    ///
    /// # Errors
    /// The fault of the pattern or the method.
    pub(crate) fn add_handler(
        &mut self,
        method: &str,
        pattern: &str,
        index: u32,
    ) -> Result<(), String> {
        self.add(method, pattern, Target::Handler(index))
    }

    /// Adds an answer that is always the same.
    ///
    /// # Errors
    /// As [`RouteSet::add_handler`].
    pub(crate) fn add_precomputed(
        &mut self,
        method: &str,
        pattern: &str,
        response: Response,
    ) -> Result<(), String> {
        let response = Precomputed::new(response)
            .map_err(|_| format!("{pattern}: a stream can be sent only once"))?;
        self.add(method, pattern, Target::Precomputed(response))
    }

    fn add(&mut self, method: &str, pattern: &str, target: Target) -> Result<(), String> {
        let verb = match method {
            "" => None,
            name => Some(verb(name).ok_or_else(|| {
                format!("{pattern}: {name:?} is no method of a route: use GET, POST, PUT, PATCH, DELETE or OPTIONS")
            })?),
        };
        let parsed = Pattern::parse(pattern)?;
        let index = self.targets.len();
        self.tree.insert(verb, &parsed, index).map_err(|taken| {
            let other = self.patterns.get(&taken).map_or("", String::as_str);
            format!("{pattern}: {other} matches the same paths")
        })?;
        self.patterns.insert(index, pattern.to_owned());
        self.targets.push(target);
        Ok(())
    }

    /// Finds what answers a method and a path; the spans are those of the path in normal form.
    pub(crate) fn find(&self, method: Method, path: &str) -> Found<'_> {
        match self.tree.find(method, &normal_form(path)) {
            RouteMatch::Nothing(allow) => Found::Nothing(allow),
            RouteMatch::Route(index, spans) => match &self.targets[index] {
                Target::Precomputed(response) => Found::Precomputed(response),
                Target::Handler(index) => Found::Handler(*index, spans),
            },
        }
    }
}
