//! The transactions of a worker that are open or wait for their turn, and what depends on them. Both backends have
//! them.

use sampan_host::database::AppTables;
use sampan_host::{Fate, Outbox, RequestView, RunOwner, Verdict};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// The transactions of others that a request or another run has used. In Lua there are none. In JavaScript the code of
/// one request can run in another's turn, and may have been given another's `tx`.
#[derive(Default)]
struct UsedTransactions(RefCell<Vec<(Outbox, Fate)>>);

/// The error of a request that begins a transaction in its transaction.
pub(crate) const SECOND: &str = "db.transaction: a transaction is open here already: use its tx, \
     or begin the next one after it; around functions that wait at the same time, begin one for all of them";

/// The error of a statement in a transaction that has ended.
pub(crate) const OVER: &str = "this Transaction is over";

/// The error of a request that writes outside of its transaction.
pub(crate) const OUTSIDE: &str = "a transaction is open here: use tx, which its function was given, \
     instead of db; around functions that wait at the same time, begin one for all of them";

/// Put into the store of a request or another run whose writes were rolled back while it goes on.
struct LostWrites;

/// The transactions of a worker that are open or wait for their turn.
#[derive(Default)]
pub(crate) struct Running(RefCell<Vec<RunningTransaction>>);

/// One of them.
struct RunningTransaction {
    owner: Option<RunOwner>,
    /// Open until the transaction has ended.
    outbox: Outbox,
    /// Its outcome: known before its function has ended, if it was rolled back meanwhile.
    fate: Fate,
    kind: RunningKind,
    /// True if it was its turn: before, there is nothing that could be rolled back.
    has_begun: Rc<Cell<bool>>,
    /// The tables as it sees them, once it was its turn.
    tables: Option<Weak<dyn AppTables>>,
}

/// The kinds of what runs in a transaction of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunningKind {
    /// A function of the script, which may wait.
    Function,
    /// Statements that the script has begun: the server commits them without a further word.
    Statements,
}

impl RunningTransaction {
    fn is_of(&self, owner: &RunOwner) -> bool {
        self.owner.as_ref().is_some_and(|own| own.is(owner))
    }

    fn is_function(&self) -> bool {
        self.kind == RunningKind::Function
    }
}

/// The place of a transaction among those of its worker.
pub(crate) struct RunningPlace {
    running: Rc<Running>,
    /// Open until the transaction has ended.
    pub(crate) outbox: Outbox,
    owner: Option<RunOwner>,
    /// True if its function has ended.
    pub(crate) has_ended: Cell<bool>,
    has_begun: Rc<Cell<bool>>,
}

impl RunningPlace {
    /// Adds a transaction of `owner`.
    pub(crate) fn new(running: &Rc<Running>, kind: RunningKind, owner: Option<RunOwner>) -> Self {
        let outbox = Outbox::default();
        outbox.open();
        let fate = outbox.fate().unwrap_or_default();
        let has_begun: Rc<Cell<bool>> = Rc::default();
        running.0.borrow_mut().push(RunningTransaction {
            owner: owner.clone(),
            outbox: outbox.clone(),
            fate,
            kind,
            has_begun: Rc::clone(&has_begun),
            tables: None,
        });
        Self {
            running: Rc::clone(running),
            outbox,
            owner,
            has_ended: Cell::new(false),
            has_begun,
        }
    }

    /// Takes note that it is the transaction's turn.
    pub(crate) fn begun(&self, tables: Option<Weak<dyn AppTables>>) {
        self.has_begun.set(true);
        let mut all = self.running.0.borrow_mut();
        if let Some(own) = all.iter_mut().find(|own| own.outbox.is(&self.outbox)) {
            own.tables = tables;
        }
    }

    /// Reports whether it belongs to a run. Timers share one run, so which of its transactions a timer is in cannot be
    /// told.
    pub(crate) fn is_of(&self, owner: &RunOwner) -> bool {
        !is_endless(owner) && self.owner.as_ref().is_some_and(|own| own.is(owner))
    }

    /// To be called before each use by the run that goes on: it depends on this transaction from now on.
    pub(crate) fn note_use(&self, now: Option<RunOwner>) {
        let (Some(owner), Some(fate)) = (now, self.outbox.fate()) else {
            return;
        };
        if !self.owner.as_ref().is_some_and(|own| own.is(&owner)) {
            depend(&owner, &self.outbox, fate);
        }
    }
}

impl Drop for RunningPlace {
    fn drop(&mut self) {
        self.running
            .0
            .borrow_mut()
            .retain(|running| !running.outbox.is(&self.outbox));
        // One that never began, or whose request was given up.
        self.outbox.settle(Verdict::Failed);
        let is_given_up = self.has_begun.get() && !self.has_ended.get();
        if is_given_up && let Some(owner) = &self.owner {
            // Its function may go on, and see that what it waits for is cancelled.
            note_lost(owner);
        }
    }
}

/// Takes note that what a request or another run gives depends on a transaction.
fn depend(owner: &RunOwner, outbox: &Outbox, fate: Fate) {
    let store = owner.store();
    let used = store
        .get()
        .unwrap_or_else(|| store.put(UsedTransactions::default()));
    let mut used = used.0.borrow_mut();
    if !used.iter().any(|(known, _)| known.is(outbox)) {
        used.push((outbox.clone(), fate));
    }
}

/// Takes note that writes of a request or another run were rolled back while it goes on.
pub(crate) fn note_lost(owner: &RunOwner) {
    owner.store().put(LostWrites);
}

/// Reports whether writes of a request or another run were rolled back while it goes on.
pub(crate) fn has_lost(owner: &RunOwner) -> bool {
    // Timers that come later have nothing to do with it.
    !is_endless(owner) && owner.store().get::<LostWrites>().is_some()
}

fn is_endless(owner: &RunOwner) -> bool {
    matches!(owner, RunOwner::Background(run) if run.is_endless)
}

impl Running {
    /// Reports whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Reports whether a request or another run has a transaction of a function, open or waiting for its turn. Timers
    /// may have several: they share one run.
    pub(crate) fn has_own(&self, owner: Option<RunOwner>) -> bool {
        let owner = owner.filter(|owner| !is_endless(owner));
        owner.is_some_and(|owner| self.any_of(&owner, RunningTransaction::is_function))
    }

    /// Reports whether a run may have a transaction of a function, open or waiting for its turn. Timers share theirs.
    pub(crate) fn may_have_own(&self, owner: Option<RunOwner>) -> bool {
        owner.is_some_and(|owner| self.any_of(&owner, RunningTransaction::is_function))
    }

    /// Reports whether a request or another run has an open transaction of a function.
    pub(crate) fn is_within(&self, owner: Option<RunOwner>) -> bool {
        let is_open = |own: &RunningTransaction| own.is_function() && own.has_begun.get();
        let owner = owner.filter(|owner| !is_endless(owner));
        owner.is_some_and(|owner| self.any_of(&owner, is_open))
    }

    fn any_of(&self, owner: &RunOwner, is_it: impl Fn(&RunningTransaction) -> bool) -> bool {
        let all = self.0.borrow();
        let mut own = all.iter().filter(|running| running.is_of(owner));
        own.any(is_it)
    }

    /// Returns the tables as the open transaction of a run sees them, if it has one. Timers share one run, so which of
    /// its transactions a timer is in cannot be told.
    pub(crate) fn tables(&self, owner: &RunOwner) -> Option<Rc<dyn AppTables>> {
        if is_endless(owner) {
            return None;
        }
        let all = self.0.borrow();
        let own = all.iter().find(|own| own.is_function() && own.is_of(owner));
        own?.tables.as_ref()?.upgrade()
    }

    /// The outboxes of the transactions on which what a request or another run gives depends, one that waits for its
    /// turn included: its own, and others' that it has used. None at all if one of them was rolled back, and its
    /// function goes on or it was another's.
    pub(crate) fn behind(&self, owner: &RunOwner) -> Option<Vec<Outbox>> {
        let mut outboxes = used(owner)?;
        for own in &*self.0.borrow() {
            if own.is_of(owner) {
                match own.fate.verdict() {
                    None => outboxes.push(own.outbox.clone()),
                    Some(Verdict::Committed) => {}
                    Some(Verdict::Failed) => return None,
                }
            }
        }
        Some(outboxes)
    }

    /// Reports whether what a request gives now may be rolled back, or was.
    pub(crate) fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool {
        let owner = RunOwner::Request(Rc::clone(request));
        let is_at_risk = |own: &RunningTransaction| {
            own.has_begun.get() && own.fate.verdict() != Some(Verdict::Committed)
        };
        self.any_of(&owner, is_at_risk) || used(&owner).is_none_or(|used| !used.is_empty())
    }
}

fn used(owner: &RunOwner) -> Option<Vec<Outbox>> {
    let mut outboxes = Vec::new();
    if let Some(used) = owner.store().get::<UsedTransactions>() {
        for (outbox, fate) in &*used.0.borrow() {
            match fate.verdict() {
                None => outboxes.push(outbox.clone()),
                Some(Verdict::Committed) => {}
                // Timers that come later have nothing to do with it.
                Some(Verdict::Failed) if is_endless(owner) => {}
                Some(Verdict::Failed) => return None,
            }
        }
    }
    Some(outboxes)
}
