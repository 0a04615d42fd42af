//! The capability: the counts of the rate limits, which all workers share and which outlive a reload, the field `auth`
//! that sockets keep of their requests, and the variable `csp_nonce` of templates.

use crate::idempotency::{IdempotencyTables, RunningKeys};
use crate::rate_server::SERVER_TABLES;
use crate::{MODULE, RateLimits, RateTable, SECTION, auth, csp_nonce};
use sampan_host::Capability;
use sampan_host::database::AppTables;
use sampan_host::pages::PageValues;
use sampan_host::sockets::KeptFields;
use std::rc::Rc;
use std::sync::Arc;

/// Ready middleware.
pub static CAPABILITY: Capability = Capability {
    name: "middleware",
    modules: &[&MODULE],
    sections: &[&SECTION],
    offers: &["pages"],
    server_tables: &[SERVER_TABLES],
    process: |setup| {
        let before = setup.before.and_then(|before| before.get::<RateTable>());
        setup.shared.put(before.unwrap_or_default());
        // Requests of the generation before go on.
        let running = setup.before.and_then(|before| before.get::<RunningKeys>());
        let running = match running {
            Some(running) => running,
            None => Arc::new(RunningKeys::new().map_err(|error| error.to_string())?),
        };
        setup.shared.put(running);
        Ok(())
    },
    restore: |shared| {
        if let Some(rates) = shared.get::<RateTable>() {
            rates.clear();
        }
    },
    isolate: |setup| {
        let rates = setup.shared.get::<RateTable>().unwrap_or_default();
        let tables = setup.worker.get::<Rc<dyn AppTables>>();
        let server = tables.as_ref().and_then(|tables| tables.waiting());
        if let Some(running) = setup.shared.get::<RunningKeys>() {
            setup.context.put(IdempotencyTables {
                running,
                tables: tables.map(|tables| Rc::clone(&*tables)),
            });
        }
        setup.context.put(RateLimits::new(rates, server));
        if let Some(kept) = setup.context.get::<KeptFields>() {
            kept.add("auth", auth::kept);
        }
        if let Some(values) = setup.context.get::<PageValues>() {
            csp_nonce::add_to(&values);
        }
        Ok(())
    },
    ..Capability::EMPTY
};
