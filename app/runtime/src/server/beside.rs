//! Threads beside those that take connections: isolates that do the work of a capability, of lower priority, and a
//! thread without scripts that hands it to them.
//!
//! They start when the project turns out to need them, at start or at a reload. At the end they begin nothing more;
//! what goes on has the time that requests have.

use super::crew::ready;
use super::shared::{BesideCrew, CrewMember, ServerShared};
use super::worker::{self as server_worker, SideWork};
use crate::app_config::AppConfig;
use crate::generation::Generation;
use crate::locks::lock;
use crate::worker::order::Order;
use crate::worker::plan::OnDeaf;
use crate::worker::start::run_here;
use sampan_host::capability::Beside;
use sampan_host::log::{Level, Log};
use sampan_host::{Context, Outbox, Watch};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::task::spawn_local;

impl ServerShared {
    /// Starts the threads that the project needs, unless they are there.
    ///
    /// # Errors
    /// The project does not load there, or the system has no thread left.
    pub(crate) fn start_beside(self: &Arc<Self>) -> Result<(), String> {
        if lock(&self.beside).is_some() {
            return Ok(());
        }
        let generation = self.generation();
        let Some(beside) = generation.state.beside(&generation.config) else {
            return Ok(());
        };
        let keeper = self.start_keeper(beside)?;
        *lock(&self.beside) = Some(BesideCrew {
            beside,
            members: Vec::new(),
            keeper: Some(keeper),
        });
        for place in 0..beside.isolates {
            self.fill_place_beside(place)?;
        }
        Ok(())
    }

    /// Starts the thread without scripts.
    fn start_keeper(self: &Arc<Self>, beside: Beside) -> Result<JoinHandle<()>, String> {
        let shared = Arc::clone(self);
        let body = move || {
            let kept = run_here(keep(&shared, beside));
            if let Err(error) = kept {
                let text = format!("cannot start a runtime: {error}");
                shared.config.program.logger.text(Level::Error, text);
            }
        };
        let thread = std::thread::Builder::new().name("sampan-keeper".into());
        let started = thread.spawn(body);
        started.map_err(|error| format!("cannot start a thread: {error}"))
    }

    fn fill_place_beside(self: &Arc<Self>, place: usize) -> Result<(), String> {
        let Some(beside) = lock(&self.beside).as_ref().map(|crew| crew.beside) else {
            return Ok(());
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(self);
        let is_abandoned: Arc<AtomicBool> = Arc::default();
        let abandoned = Arc::clone(&is_abandoned);
        let on_deaf: OnDeaf = Box::new(move |handle, name| {
            abandoned.store(true, Ordering::Release);
            handle.shutdown();
            shared.abandon_beside(id, place, name);
        });
        // Behind those that take connections.
        let number = self.config.base.workers + place;
        let plan = self.plan(id, number, self.generation(), on_deaf);
        let starting = server_worker::start(plan, Some(SideWork::Beside(beside, is_abandoned)));
        let starting = starting.map_err(|error| format!("cannot start a thread: {error}"))?;
        let member = ready(id, starting);
        let member = member.map_err(|error| self.config.base.project.load_fault(&error))?;
        if let Some(crew) = &mut *lock(&self.beside)
            && !self.is_ending.load(Ordering::SeqCst)
        {
            crew.members.push(member);
        } else {
            member.handle.shutdown();
        }
        Ok(())
    }

    /// Reports whether the configuration wants another number of isolates than there are: they stay until a restart.
    pub(crate) fn has_other_beside(&self, config: &AppConfig) -> bool {
        let wanted = self.generation().state.beside(config);
        let wanted = wanted.map_or(0, |beside| beside.isolates);
        let crew = lock(&self.beside);
        crew.as_ref()
            .is_some_and(|crew| crew.beside.isolates != wanted)
    }

    /// Has the isolates go on with a new generation, each when it has time. Returns their number.
    pub(crate) fn renew_beside(&self, generation: &Arc<Generation>) -> usize {
        let crew = lock(&self.beside);
        let members = crew.iter().flat_map(|crew| &crew.members);
        let order = |member: &CrewMember| member.orders.send(Order::Renew(Arc::clone(generation)));
        members.filter(|member| order(member).is_ok()).count()
    }

    /// Gives up an isolate whose script cannot be stopped, and starts another in its place.
    fn abandon_beside(self: &Arc<Self>, id: u64, place: usize, name: &str) {
        if let Some(crew) = &mut *lock(&self.beside) {
            crew.members.retain(|member| member.id != id);
        }
        let what = "a thread beside requests".to_owned();
        self.replace_deaf(what, name, move |shared| {
            // A reload meanwhile would leave the new isolate as it is.
            let _turn = shared.turn();
            shared.fill_place_beside(place)
        });
    }

    /// Tells the threads to begin with nothing more.
    pub(super) fn drain_beside(&self) {
        let generation = self.generation();
        if let Some(crew) = &*lock(&self.beside) {
            (crew.beside.drain)(generation.state.shared());
            crew.members
                .iter()
                .for_each(|member| member.handle.shutdown());
        }
    }

    /// Ends the threads, and waits for them. Returns false if some had to be left behind.
    pub(super) fn end_beside(&self) -> bool {
        self.drain_beside();
        let Some(crew) = lock(&self.beside).take() else {
            return true;
        };
        let all_ended = self.await_ends(crew.members);
        (crew.beside.close)(self.generation().state.shared());
        all_ended && crew.keeper.is_none_or(|keeper| keeper.join().is_ok())
    }
}

/// Does the work of the thread without scripts.
async fn keep(shared: &Arc<ServerShared>, beside: Beside) {
    let generation = shared.generation();
    let Generation { config, state, .. } = &*generation;
    let outbox = Outbox::default();
    let watch: Arc<Watch> = Arc::default();
    let db = shared.database.worker(outbox.clone(), watch);
    for task in db.tasks() {
        drop(spawn_local(task));
    }
    let context: Rc<Context> = Rc::default();
    context.put(db.tables());
    context.put(outbox);
    if let Some(registry) = &shared.metrics {
        context.put(Arc::clone(registry));
    }
    context.put(Rc::new(config.program.logger.clone()) as Rc<dyn Log>);
    state.keep_beside(config, &context, &beside).await;
}
