//! The capability: the counts of the rate limits, which all workers share and which outlive a reload.

use crate::{MODULE, RateLimits, RateTable, SECTION};
use sampan_host::Capability;

/// Ready middleware.
pub static CAPABILITY: Capability = Capability {
    name: "middleware",
    modules: &[&MODULE],
    sections: &[&SECTION],
    process: |setup| {
        let before = setup.before.and_then(|before| before.get::<RateTable>());
        setup.shared.put(before.unwrap_or_default());
        Ok(())
    },
    restore: |shared| {
        if let Some(rates) = shared.get::<RateTable>() {
            rates.clear();
        }
    },
    isolate: |setup| {
        let rates = setup.shared.get::<RateTable>().unwrap_or_default();
        setup.context.put(RateLimits::new(rates));
        Ok(())
    },
    ..Capability::EMPTY
};
