//! Loads a project to look at it.

use crate::app_config::AppConfig;
use crate::local_app::{LocalApp, LocalRun};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// Sends the outcome of loading, also where the thread panics.
struct Telling<T>(Sender<Result<T, String>>);

impl<T> Drop for Telling<T> {
    fn drop(&mut self) {
        let text = "a fault of Sampan itself: the thread that loads the project panicked";
        // Only what is sent first counts.
        let _ = self.0.send(Err(text.to_owned()));
    }
}

/// Loads the project and looks at it. Its database and its storage folder lie in the folder `scratch`: a project on a
/// server gets a file of SQLite too, because it would have to write into a database of the server otherwise. Where its
/// migrations are for PostgreSQL alone, that is empty.
pub(super) fn look<T: Send + 'static>(
    mut config: AppConfig,
    scratch: &Path,
    at: fn(&LocalApp) -> T,
) -> Result<T, String> {
    if !config.database.config.is_postgres() {
        return look_in_file(config, scratch, at);
    }
    config.database.config.url = None;
    look_in_file(config.clone(), &scratch.join("migrated"), at).or_else(|_| {
        config.database.migrate = false;
        look_in_file(config, &scratch.join("empty"), at)
    })
}

fn look_in_file<T: Send + 'static>(
    config: AppConfig,
    scratch: &Path,
    at: fn(&LocalApp) -> T,
) -> Result<T, String> {
    let unusable = |error| format!("{}: {error}", scratch.display());
    std::fs::create_dir_all(scratch).map_err(unusable)?;
    let run = LocalRun::new(config, scratch)?;
    let (sender, inbox) = channel();
    let told = sender.clone();
    let when_deaf = Arc::new(move |what: &str| {
        let text = format!("{what} did not end and could not be stopped");
        let _ = told.send(Err(text));
    });
    let telling = Telling(sender);
    let body = move |app: Result<Rc<LocalApp>, String>| -> sampan_host::LocalFuture<()> {
        Box::pin(async move {
            let _ = telling.0.send(app.map(|app| at(&app)));
        })
    };
    let thread = run.start("project", when_deaf, body);
    thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    let looked = inbox.recv();
    looked.map_err(|_| "nothing was told about the project".to_owned())?
}
