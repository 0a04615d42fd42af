//! The declarations of one isolate: the jobs that it can do.

use crate::crons::{CRON_PREFIX, CronRule, CronRules};
use sampan_host::jobs::{JobPolicy, JobRunner};
use sampan_host::{Callback, Error, refusals};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The jobs of one name, as an isolate declares them.
pub(crate) struct Declared {
    pub(crate) policy: JobPolicy,
    /// True if there is one job with the same arguments at a time.
    pub(crate) is_unique: bool,
    pub(crate) body: Body,
}

/// The body of a job.
pub(crate) enum Body {
    /// A function of the script.
    Function(Callback),
    /// A runner of a capability.
    Runner(Rc<dyn JobRunner>),
}

/// The declarations of one isolate.
#[derive(Default)]
pub(crate) struct Declarations {
    by_name: RefCell<BTreeMap<String, Rc<Declared>>>,
    crons: RefCell<CronRules>,
    is_closed: Cell<bool>,
}

impl Declarations {
    /// Adds jobs.
    ///
    /// # Errors
    /// There are jobs of this name already, or the project is loaded.
    pub(crate) fn add(&self, name: String, declared: Declared) -> Result<(), Error> {
        if self.is_closed.get() {
            return Err(refusals::too_late("jobs"));
        }
        let mut by_name = self.by_name.borrow_mut();
        if by_name.contains_key(&name) {
            return Err(Error::script(format!("there is a job {name:?} already")));
        }
        by_name.insert(name, Rc::new(declared));
        Ok(())
    }

    /// Adds a cron, and the jobs that it adds.
    ///
    /// # Errors
    /// As [`Declarations::add`].
    pub(crate) fn add_cron(
        &self,
        name: String,
        rule: CronRule,
        job: Declared,
    ) -> Result<(), Error> {
        if self.crons.borrow().contains_key(&name) {
            return Err(Error::script(format!("there is a cron {name:?} already")));
        }
        self.add(format!("{CRON_PREFIX}{name}"), job)?;
        self.crons.borrow_mut().insert(name, Arc::new(rule));
        Ok(())
    }

    /// Returns the crons.
    pub(crate) fn crons(&self) -> CronRules {
        self.crons.borrow().clone()
    }

    /// Takes note that the project is loaded: nothing is added from now on.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
    }

    /// Reports whether the project is loaded.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Returns the declaration of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Rc<Declared>> {
        self.by_name.borrow().get(name).map(Rc::clone)
    }

    /// Returns the rules of all.
    pub(crate) fn policies(&self) -> BTreeMap<String, JobPolicy> {
        let by_name = self.by_name.borrow();
        let all = by_name.iter();
        all.map(|(name, declared)| (name.clone(), declared.policy.clone()))
            .collect()
    }
}
