//! The capability: the project's secret keys, and the sealer that other capabilities ask for.

use crate::MODULE;
use crate::keys::{KeySealer, SecretKeys};
use crate::settings::SECTION;
use sampan_host::capability::{IsolateSetup, ProcessSetup};
use sampan_host::{AllSettings, Capability, Error, sealer};
use std::rc::Rc;
use std::sync::Arc;

/// Cryptography.
pub static CAPABILITY: Capability = Capability {
    name: "crypto",
    modules: &[&MODULE],
    sections: &[&SECTION],
    offers: &["sealer"],
    configure: |settings| {
        settings
            .resolve(&SECTION, SecretKeys::from_settings)
            .map(drop)
    },
    packing,
    process,
    isolate,
    ..Capability::EMPTY
};

fn packing(settings: &AllSettings, file: &str) -> Vec<String> {
    match settings.of(&SECTION).list("keys").is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "{file} has secret keys, which everybody can read who has the built file: SAMPAN_SECRETS_KEYS keeps them \
             out of it"
        )],
    }
}

fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let keys = setup
        .settings
        .resolve(&SECTION, SecretKeys::from_settings)?;
    if let Some(keys) = keys {
        setup.shared.put(Arc::new(keys));
    }
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    if let Some(keys) = setup.shared.get::<SecretKeys>() {
        sealer::put(
            setup.context,
            Rc::new(KeySealer::new(SecretKeys::clone(&keys))),
        );
    }
    Ok(())
}
