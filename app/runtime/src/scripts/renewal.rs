//! The way of a pool's worker to the current generation.

use super::job::WorkerState;
use super::shared::PoolShared;
use crate::generation::Generation;
use crate::worker::loader::{Loader, NextProject};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The loaded generation of a worker, and the one being loaded.
pub(super) struct Renewal {
    shared: Arc<PoolShared>,
    state: Arc<WorkerState>,
    loader: Rc<Loader>,
    /// The generation that it answers with.
    loaded: Arc<Generation>,
    /// The trial that it has taken part in, and what it has loaded of that.
    tried: Option<(Arc<Generation>, Option<NextProject>)>,
    /// The number of the changes that it knows.
    changes: u64,
}

impl Renewal {
    /// `changes` is as it was before this generation was asked for.
    pub(super) fn new(
        shared: Arc<PoolShared>,
        state: Arc<WorkerState>,
        loader: Rc<Loader>,
        loaded: Arc<Generation>,
        changes: u64,
    ) -> Self {
        Self {
            shared,
            state,
            loader,
            loaded,
            tried: None,
            changes,
        }
    }

    /// Reports whether there is something to load or to drop.
    pub(super) fn is_behind(&self) -> bool {
        self.shared.generations.changes() != self.changes
    }

    /// Looks whether a file has changed, if that is due, and loads the script anew if so: for all, if it loads.
    pub(super) async fn look(&mut self) {
        let shared = Arc::clone(&self.shared);
        let Some(_turn) = shared.generations.changed(&self.state) else {
            return;
        };
        let read = match shared.read_anew() {
            Ok(read) => read,
            Err(fault) => return shared.tell(&fault),
        };
        let prepared = self.loader.prepare(&read.0).await;
        // It came back to life after another took its place: what it knows is no longer asked for.
        if self.state.is_abandoned.load(Ordering::Acquire) {
            return;
        }
        match prepared {
            Ok(next) => {
                self.loaded = Arc::clone(&read.0);
                shared.generations.accept(read);
                self.loader.swap(next);
            }
            Err(error) => {
                shared.generations.reject(&read);
                shared.tell(&error.to_string());
            }
        }
    }

    /// Loads what counts, and what is tried, if that is not done.
    pub(super) async fn renew(&mut self) {
        while self.is_behind() {
            self.changes = self.shared.generations.changes();
            let wanted = self.shared.generations.wanted();
            if !Arc::ptr_eq(&self.loaded, &wanted.current) {
                self.load(wanted.current).await;
            }
            match wanted.trial {
                Some(trial) => self.attempt(trial).await,
                None => self.forget().await,
            }
        }
    }

    async fn load(&mut self, current: Arc<Generation>) {
        let mut tried = self.tried.take();
        let of_trial = tried
            .as_mut()
            .filter(|(tried, _)| Arc::ptr_eq(tried, &current))
            .and_then(|(_, next)| next.take());
        self.tried = tried;
        let next = match of_trial {
            Some(next) => Ok(next),
            None => self.loader.prepare(&current).await,
        };
        match next {
            Ok(next) => {
                self.loader.swap(next);
                self.loaded = current;
            }
            Err(error) => {
                self.shared.tell(&error.to_string());
                self.shared.generations.go_back(&current);
                self.shared.queue.waiting.wake_all();
            }
        }
    }

    async fn attempt(&mut self, trial: Arc<Generation>) {
        let tried = self.tried.as_ref();
        if tried.is_some_and(|(tried, _)| Arc::ptr_eq(tried, &trial)) {
            return;
        }
        self.forget().await;
        let (told, next) = match self.loader.prepare(&trial).await {
            Ok(next) => (Ok(()), Some(next)),
            Err(error) => (Err(error), None),
        };
        self.tried = Some((Arc::clone(&trial), next));
        // Another has its place, and reports in its stead.
        if !self.state.is_abandoned.load(Ordering::Acquire) {
            self.shared.generations.report(&trial, told);
        }
    }

    /// Drops what was loaded for a trial and did not come to count.
    pub(super) async fn forget(&mut self) {
        let next = self.tried.take().and_then(|(_, next)| next);
        self.loader.discard(next).await;
    }
}
