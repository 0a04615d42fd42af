//! The declarations of one isolate: the jobs that it can do.

use crate::crons::{CRON_PREFIX, CronRule, CronRules};
use sampan_host::jobs::{JobDeclaration, JobPolicy, JobRunner, OWN_PREFIX};
use sampan_host::{Callback, Error, Place, refusals};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// The jobs of one name, as an isolate declares them.
pub(crate) struct Declared {
    pub(crate) policy: JobPolicy,
    /// True if there is one job with the same arguments at a time.
    pub(crate) is_unique: bool,
    pub(crate) body: Body,
    /// The place of its function, where the engine knows it.
    pub(crate) place: Option<Place>,
}

/// The body of a job.
pub(crate) enum Body {
    /// A function of the script.
    Function(Callback),
    /// A runner of a capability.
    Runner(Rc<dyn JobRunner>),
}

/// Returns the error for a second declaration of a name.
#[cold]
fn declared_twice(what: &str, name: &str, known: &Declared) -> Error {
    let place = known.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!(": its function is at {place}"));
    Error::script(format!("there is a {what} {name:?} already{place}"))
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
        if let Some(known) = self.get(&name) {
            return Err(declared_twice("job", &name, &known));
        }
        self.by_name.borrow_mut().insert(name, Rc::new(declared));
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
        let job_name = format!("{CRON_PREFIX}{name}");
        if let Some(known) = self.get(&job_name) {
            return Err(declared_twice("cron", &name, &known));
        }
        self.add(job_name, job)?;
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

    /// Returns what the project declares, without the jobs of capabilities.
    pub(crate) fn list(&self) -> Vec<JobDeclaration> {
        let (by_name, crons) = (self.by_name.borrow(), self.crons.borrow());
        let own = by_name
            .iter()
            .filter(|(name, _)| !name.starts_with(OWN_PREFIX));
        let declaration = |(name, declared): (&String, &Rc<Declared>)| {
            let cron = name.strip_prefix(CRON_PREFIX);
            let rule = cron.and_then(|cron| crons.get(cron));
            JobDeclaration {
                name: cron.unwrap_or(name).to_owned(),
                queue: declared.policy.queue.clone(),
                schedule: rule
                    .map(|rule| (rule.schedule.pattern.clone(), rule.schedule.zone.clone())),
                place: declared.place.clone(),
            }
        };
        own.map(declaration).collect()
    }

    /// Returns the rules of all.
    pub(crate) fn policies(&self) -> BTreeMap<String, JobPolicy> {
        let by_name = self.by_name.borrow();
        let all = by_name.iter();
        all.map(|(name, declared)| (name.clone(), declared.policy.clone()))
            .collect()
    }

    /// Returns the names whose jobs have no others with the same arguments.
    pub(crate) fn unique(&self) -> BTreeSet<String> {
        let by_name = self.by_name.borrow();
        let unique = by_name.iter().filter(|(_, declared)| declared.is_unique);
        unique.map(|(name, _)| name.clone()).collect()
    }
}
