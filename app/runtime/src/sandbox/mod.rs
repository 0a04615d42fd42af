//! `[sandbox]`: a server that has opened its sockets gives up the files, ports and system calls that it does not need.
//!
//! [`grants`] derives from the configuration what it keeps, [`confine`] gives up the rest by `sampan-sandbox`, and
//! [`explain`] tells a person both. It happens before the first thread starts, so that none is left out.

pub(crate) mod confinement;
mod explain;
mod grants;
pub(crate) mod memory;
mod ports;
pub(crate) mod settings;
mod system;

pub use explain::explain;

use crate::app_config::AppConfig;
use grants::MissingFolders;
use sampan_host::log::Level;
use sampan_sandbox::{Connections, Kernel};
use settings::ScriptConnections;
use std::sync::atomic::{AtomicBool, Ordering};

/// True once this process has given up connections because its scripts began none.
static HAS_GIVEN_UP_CONNECTIONS: AtomicBool = AtomicBool::new(false);
/// The first version of Landlock that confines connections.
const LANDLOCK_WITH_PORTS: u32 = 4;

/// Confines this process for ever, if the program and the configuration want that. To be called when the sockets are
/// open, which listen on these ports, and before there are threads.
///
/// # Errors
/// The sandbox is required, and the kernel cannot do all of it.
pub(crate) fn confine(config: &AppConfig, listening: &[u16]) -> Result<(), String> {
    let Some(settings) = grants::wanted(config)? else {
        return Ok(());
    };
    let grants = grants::of(config, &settings, listening, MissingFolders::Make);
    let confined = sampan_sandbox::confine(&grants, &Kernel::newest());
    let is_by_itself = settings.connections == ScriptConnections::Auto;
    if is_by_itself
        && grants.connections != Connections::Any
        && confined.landlock >= LANDLOCK_WITH_PORTS
    {
        HAS_GIVEN_UP_CONNECTIONS.store(true, Ordering::Relaxed);
    }
    let logger = &config.program.logger;
    match confined.missing() {
        None => {}
        Some(missing) if settings.is_required => return Err(refusal(&missing)),
        Some(missing) => {
            let is_nothing = confined.landlock == 0 && !confined.refuses_calls;
            let level = if is_nothing { Level::Warn } else { Level::Info };
            logger.text(level, format!("sandbox: {missing}"));
        }
    }
    Ok(())
}

/// Reports whether the process is to be confined.
pub(crate) fn is_wanted(config: &AppConfig) -> bool {
    matches!(grants::wanted(config), Ok(Some(_)))
}

/// Checks that this process can run the scripts of a configuration.
///
/// # Errors
/// They send requests or mail, and it has given up connections, because those that it started with sent none.
pub(crate) fn check_connections(config: &AppConfig) -> Result<(), String> {
    if !HAS_GIVEN_UP_CONNECTIONS.load(Ordering::Relaxed) || !grants::begins_any(config) {
        return Ok(());
    }
    Err(
        "the project sends requests or mail now, and this process gave up connections when it started without: \
         restart the server or run sampan upgrade; [sandbox] connect = \"any\" keeps them"
            .to_owned(),
    )
}

/// Reports whether a process that was confined as `start` says may write in the folders of another configuration.
pub(crate) fn grants_folders(start: &AppConfig, config: &AppConfig) -> bool {
    match grants::wanted(start) {
        Ok(Some(settings)) => grants::has_folders(start, &settings, config),
        _ => true,
    }
}

fn refusal(missing: &str) -> String {
    format!("[sandbox] required = true: {missing}: set it to false, or run on a newer kernel")
}
