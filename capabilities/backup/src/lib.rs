//! A copy of the database elsewhere, made as it is written, and what restores it.
//!
//! The database passes the pages of each commit ([`sampan_host::page_log`]). They are written to a target as objects
//! in a chain, behind a copy of the whole database (`object`, `names`). Nothing here knows SQLite: a page is bytes with
//! a number.

mod catalog;
mod cipher;
mod closing;
mod copier;
mod listing;
mod names;
mod object;
mod pending;
mod placing;
mod restore;
mod retention;
mod settings;
mod targets;
mod whole;

pub use closing::FileMarks;
pub use copier::{Backup, BackupHost};
pub use listing::{RestorableSpan, restorable};
pub use names::read_time;
pub use restore::{RestoreFault, Restored, restore_from};
pub use settings::{BackupSettings, SECTION};
pub use targets::MakeFetcher;

use sampan_host::Capability;
use sampan_host::capability::ProjectSettings;

/// The copy of the database. The server starts it beside the database, so it has no hooks but that for its settings.
pub static CAPABILITY: Capability = Capability {
    name: "backup",
    sections: &[&SECTION],
    configure,
    ..Capability::EMPTY
};

fn configure(project: &ProjectSettings<'_>) -> Result<(), String> {
    project.resolve(&SECTION, |section| {
        BackupSettings::of(section, settings::no_fetcher()).map(drop)
    })
}
