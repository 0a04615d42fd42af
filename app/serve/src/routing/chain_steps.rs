//! The functions of chains, as traces show them.

use sampan_host::trace::ChainStep;
use sampan_host::{HandlerId, Program};
use std::collections::HashMap;
use std::rc::Rc;

/// The functions of a project that stand in chains, by their numbers, as their spans show them.
#[derive(Default)]
pub(crate) struct ChainSteps(HashMap<HandlerId, Rc<ChainStep>>);

impl ChainSteps {
    /// Returns those of a project.
    pub(crate) fn of(program: &Program) -> Self {
        let middleware = program.middleware.iter().map(|def| {
            let step = ChainStep::new("middleware", &def.pattern, def.place.as_ref());
            (def.handler, step)
        });
        let routes = program.routes.iter().map(|def| {
            let step = ChainStep::new("handler", &def.pattern, def.place.as_ref());
            (def.handler, step)
        });
        let others = [(program.not_found, "not_found"), (program.fetch, "fetch")];
        let others = others
            .into_iter()
            .filter_map(|(handler, name)| Some((handler?, ChainStep::new("handler", name, None))));
        let all = middleware.chain(routes).chain(others);
        Self(
            all.map(|(handler, step)| (handler, Rc::new(step)))
                .collect(),
        )
    }

    /// Returns the steps of a chain, outermost first.
    pub(crate) fn steps(&self, chain: impl Iterator<Item = HandlerId>) -> Vec<Rc<ChainStep>> {
        let unknown = || Rc::new(ChainStep::new("function", "", None));
        chain
            .map(|handler| self.0.get(&handler).cloned().unwrap_or_else(unknown))
            .collect()
    }
}
