//! The jobs of one isolate: what it declares, and what tells the keeper of jobs that were added.

use crate::crons::CRON_PREFIX;
use crate::declared::Declarations;
use crate::desk::Desk;
use sampan_host::database::{AppTables, WorkerDatabase};
use sampan_host::jobs::{JobPolicy, OWN_PREFIX};
use sampan_host::log::Log;
use sampan_host::{Background, Context, Effects, Error, ErrorKind, Verdict, clock};
use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The jobs of one isolate.
pub(crate) struct IsolateJobs {
    pub(crate) desk: Arc<Desk>,
    pub(crate) tables: Rc<dyn AppTables>,
    pub(crate) effects: Effects,
    pub(crate) declarations: Declarations,
    /// The context of the isolate, which has this.
    pub(crate) context: Weak<Context>,
    /// True if the keeper is told when the open group is committed.
    pub(crate) is_telling: Rc<Cell<bool>>,
}

/// The time of day in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    i64::try_from(clock::since_1970().as_millis()).unwrap_or(i64::MAX)
}

impl IsolateJobs {
    /// Returns the rules for the jobs of a name, from this isolate or the process.
    ///
    /// # Errors
    /// There are no jobs of this name, or a cron adds them.
    pub(crate) fn policy(&self, name: &str) -> Result<JobPolicy, Error> {
        if name.starts_with(CRON_PREFIX) {
            return Err(Error::script(format!(
                "the job {name:?} is added by the clock only: declare one with app.job"
            )));
        }
        if let Some(declared) = self.declarations.get(name) {
            return Ok(declared.policy.clone());
        }
        // A script beside the project declares nothing itself.
        self.desk.policy(name).ok_or_else(|| self.unknown(name))
    }

    /// Reports whether there is one job of this name with the same arguments at a time.
    pub(crate) fn is_unique(&self, name: &str) -> bool {
        match self.declarations.get(name) {
            Some(declared) => declared.is_unique,
            None => self.desk.is_unique(name),
        }
    }

    #[cold]
    fn unknown(&self, name: &str) -> Error {
        let mut known = self.desk.names();
        known.retain(|name| !name.starts_with(OWN_PREFIX) && !name.starts_with(CRON_PREFIX));
        let text = match known.is_empty() {
            true => format!("there is no job {name:?}: declare it with app.job"),
            false => format!("there is no job {name:?}; there are {}", known.join(", ")),
        };
        Error::script(text)
    }

    /// Returns a function that tells of jobs which were committed: the keeper, or other processes if this one has none.
    pub(crate) fn teller(&self) -> impl Fn() + 'static {
        let (desk, tables) = (Arc::clone(&self.desk), Rc::downgrade(&self.tables));
        move || {
            desk.tell();
            if !desk.has_keeper()
                && let Some(tables) = tables.upgrade()
            {
                tables.ring();
            }
        }
    }

    /// Tells the keeper when what was written is committed, once for all jobs of a group.
    pub(crate) fn tell_when_committed(&self) -> Result<(), Error> {
        if self.is_telling.replace(true) {
            return Ok(());
        }
        let (tell, is_telling) = (self.teller(), Rc::clone(&self.is_telling));
        let told = self.effects.when_settled(None, move |verdict| {
            is_telling.set(false);
            if verdict == Verdict::Committed {
                tell();
            }
        });
        if told.is_err() {
            self.is_telling.set(false);
        }
        told
    }

    /// Returns the tables as the open transaction of the run that goes on now sees them, if it has one.
    pub(crate) fn own_transaction(&self) -> Option<Rc<dyn AppTables>> {
        let database = self.context.upgrade()?.get::<Rc<dyn WorkerDatabase>>()?;
        database.own_transaction()
    }

    /// Returns what runs functions of the isolate.
    pub(crate) fn background(&self) -> Option<Rc<dyn Background>> {
        let context = self.context.upgrade()?;
        context
            .get::<Rc<dyn Background>>()
            .map(|background| Rc::clone(&*background))
    }

    pub(crate) fn log(&self) -> Option<Rc<dyn Log>> {
        let context = self.context.upgrade()?;
        context.get::<Rc<dyn Log>>().map(|log| Rc::clone(&*log))
    }
}

/// Returns the jobs of an isolate.
pub(crate) fn of(context: &Context) -> Result<Rc<IsolateJobs>, Error> {
    let jobs = context.get::<Rc<IsolateJobs>>();
    let missing = || Error::new(ErrorKind::Internal, "there are no jobs here");
    jobs.map(|jobs| Rc::clone(&*jobs)).ok_or_else(missing)
}
