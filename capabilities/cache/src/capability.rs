//! The capability: the cache of a process, the changes of each worker that wait for a commit, and the table that
//! processes share.

use crate::answers::{self, CachedAnswer};
use crate::changes::{Changes, IsolateCache};
use crate::rows::MODULE;
use crate::server::{SeenTable, ServerCache};
use crate::settings::{CacheConfig, SECTION};
use crate::statements::SERVER_TABLES;
use crate::store::CacheStore;
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::database::AppTables;
use sampan_host::log::Log;
use sampan_host::{Capability, Context, CurrentRun, Effects, Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

/// The cache.
pub static CAPABILITY: Capability = Capability {
    name: "cache",
    modules: &[&MODULE, &answers::MODULE],
    sections: &[&SECTION],
    server_tables: &[SERVER_TABLES],
    process,
    restore,
    isolate,
    loaded,
    ..Capability::EMPTY
};

/// Makes an empty cache for each generation: code after a reload may keep values of another form.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let config = CacheConfig::read(&setup.settings.of(&SECTION));
    let values: CacheStore = CacheStore::new(config.bytes_max);
    setup.shared.put(Arc::new(values));
    let answers: CacheStore<CachedAnswer> = CacheStore::new(config.answers_bytes_max);
    setup.shared.put(Arc::new(answers));
    // A reload looks for the table again.
    setup.shared.put(Arc::<SeenTable>::default());
    Ok(())
}

fn restore(shared: &Shared) {
    if let Some(store) = shared.get::<CacheStore>() {
        store.clear();
    }
    if let Some(answers) = shared.get::<CacheStore<CachedAnswer>>() {
        answers.clear();
    }
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for a cache"));
    let answers = setup.shared.get::<CacheStore<CachedAnswer>>();
    setup.context.put(answers.ok_or_else(missing("memory"))?);
    let config = CacheConfig::read(&setup.settings.of(&SECTION));
    // A file of SQLite has none: the workers of the process share its memory.
    let tables = setup.worker.get::<Rc<dyn AppTables>>();
    let tables = tables.filter(|_| config.is_shared);
    let tables = tables.and_then(|tables| tables.waiting());
    let log = setup.context.get::<Rc<dyn Log>>();
    let log = log.map(|log| Rc::clone(&*log));
    let seen = setup.shared.get::<SeenTable>();
    setup.context.put(seen.ok_or_else(missing("table"))?);
    setup.context.put(IsolateCache {
        store: setup.shared.get().ok_or_else(missing("memory"))?,
        changes: Changes::default(),
        server: tables.map(|tables| ServerCache::new(tables, config.bytes_max, log)),
        effects: Effects::of(setup.context).ok_or_else(missing("outbox"))?,
        current: setup
            .context
            .get::<CurrentRun>()
            .map(|current| CurrentRun::clone(&current)),
    });
    Ok(())
}

fn loaded(context: &Context) -> Result<(), Error> {
    let cache = context.get::<IsolateCache>();
    if let (Some(cache), Some(seen)) = (cache, context.get::<Arc<SeenTable>>())
        && let Some(server) = &cache.server
    {
        server.make(&seen);
    }
    Ok(())
}
