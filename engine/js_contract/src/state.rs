//! The state of the contract in one isolate.

use crate::row::BoundRow;
use crate::spellings::Spellings;
use sampan_host::{BodyOptions, Context, Error, HandlerId, Module, Program, Setup, refusals};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The tables of an isolate, and its declarations.
pub struct Contract {
    /// The modules that scripts see.
    pub modules: &'static [&'static Module],
    /// The state of the capabilities.
    pub context: Rc<Context>,
    /// Logs an error that no script is told.
    pub report: Rc<dyn Fn(Error)>,
    /// The declarations of the project while it loads; `None` afterwards.
    declared: RefCell<Option<Program>>,
    /// The innermost bracket whose function runs.
    pub(crate) open_bracket: Cell<Option<BoundRow>>,
    /// The names of records as JavaScript spells them.
    pub(crate) spellings: Spellings,
}

impl Contract {
    /// Creates the state of an isolate that begins to load.
    pub fn new(setup: &Setup) -> Self {
        Self {
            modules: setup.modules,
            context: Rc::clone(&setup.context),
            report: Rc::clone(&setup.report),
            declared: RefCell::new(Some(Program::default())),
            open_bracket: Cell::new(None),
            spellings: Spellings::default(),
        }
    }

    /// Reports whether the project is still loading: nothing can wait then.
    pub fn is_loading(&self) -> bool {
        self.declared.borrow().is_some()
    }

    /// Changes the declarations of the project.
    ///
    /// # Errors
    /// The project is loaded.
    pub(crate) fn declare(&self, change: impl FnOnce(&mut Program)) -> Result<(), Error> {
        match self.declared.borrow_mut().as_mut() {
            Some(program) => change(program),
            None => return Err(refusals::too_late("routes and middleware")),
        }
        Ok(())
    }

    /// Ends the loading, and returns the program. `fetch` is the handler of the default export.
    pub fn finish(&self, fetch: Option<(HandlerId, BodyOptions)>) -> Program {
        let mut program = self.declared.borrow_mut().take().unwrap_or_default();
        let (fetch, fetch_body) = fetch.unzip();
        program.fetch = fetch;
        program.fetch_body = fetch_body.unwrap_or_default();
        program
    }
}
