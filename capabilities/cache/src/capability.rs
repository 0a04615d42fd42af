//! The capability: the cache of a process, and the changes of each worker that wait for a commit.

use crate::changes::{Changes, IsolateCache};
use crate::rows::MODULE;
use crate::settings::{CacheConfig, SECTION};
use crate::store::CacheStore;
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::{Capability, Context, CurrentRun, Effects, Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

/// The cache.
pub static CAPABILITY: Capability = Capability {
    name: "cache",
    modules: &[&MODULE],
    sections: &[&SECTION],
    process,
    restore,
    isolate,
    ..Capability::EMPTY
};

/// Makes an empty cache for each generation: code after a reload may keep values of another form.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let config = CacheConfig::read(&setup.settings.of(&SECTION));
    setup
        .shared
        .put(Arc::new(CacheStore::new(config.bytes_max)));
    Ok(())
}

fn restore(shared: &Shared) {
    if let Some(store) = shared.get::<CacheStore>() {
        store.clear();
    }
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for a cache"));
    setup.context.put(IsolateCache {
        store: setup.shared.get().ok_or_else(missing("memory"))?,
        changes: Changes::default(),
        effects: Effects::of(setup.context).ok_or_else(missing("outbox"))?,
        current: setup
            .context
            .get::<CurrentRun>()
            .map(|current| CurrentRun::clone(&current)),
    });
    Ok(())
}

/// Returns the cache of an isolate.
pub(crate) fn of(context: &Context) -> Option<Rc<IsolateCache>> {
    context.get::<IsolateCache>()
}
