//! Jobs in servers of this process, whose clock and database the tests change beside them.

mod busy;
mod cancelled;
mod clock;
mod followers;
mod kept;
mod million;
mod rings;
mod versions;

use sampan_client::Client;
use sampan_db::{Database, DatabaseConfig, Db};
use sampan_host::{Outbox, Watch};
use sampan_runtime::{AppConfig, Running, Server};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The clock is that of the process: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a server of the project in a folder, which has the database `data.db`.
pub(crate) fn start(folder: &Path, app: &str, sections: &str) -> Running {
    Server::start(config(folder, app, sections)).expect("it starts")
}

/// Makes that project.
pub(crate) fn config(folder: &Path, app: &str, sections: &str) -> AppConfig {
    std::fs::write(folder.join("app.lua"), app).expect("written");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\npath = \"data.db\"\n{sections}"
    );
    AppConfig::from_text(folder, &text).expect("valid")
}

/// Asks over a connection of its own.
pub(crate) fn ask(running: &Running, method: &str, path: &str) -> String {
    let mut client = Client::connect(running.address()).expect("connected");
    let answer = client.ask(method, path, &[], "").expect("an answer");
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    answer.text()
}

/// Opens the database beside a server, or without one.
pub(crate) fn database(folder: &Path) -> Db {
    let config = DatabaseConfig {
        write_millis_max: 600_000,
        query_inline_millis_max: 600_000,
        ..DatabaseConfig::new(folder.join("data.db"))
    };
    let database = Arc::new(Database::new(config, Arc::new(|_, _: &str| {})));
    Db::new(database, Outbox::default(), Arc::<Watch>::default())
}
