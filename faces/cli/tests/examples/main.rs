//! The examples as their users meet them: the same pages from both languages over HTTP, and in browsers.

mod assistant;
mod assistant_pages;
mod browser;
mod chat;
mod chat_pages;
mod dev;
mod mailbox;
mod moving;
#[path = "../it/postgres/topics/nginx.rs"]
mod nginx;
mod notes;
mod notes_pages;
mod own_tests;
mod petclinic;
#[path = "../support/mod.rs"]
mod support;
mod visitor;
mod webdriver;

use sampan_client::postgres::PostgresServer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use support::{Process, Scratch};

/// The languages: the folders of PetClinic, and the endings of the file of the others.
const LANGUAGES: [&str; 2] = ["lua", "js"];

/// The places of an example's database: a file, and a server where PostgreSQL is installed.
fn databases() -> Vec<ExampleDatabase> {
    let on_server = PostgresServer::shared().map(ExampleDatabase::OnServer);
    [ExampleDatabase::InFile]
        .into_iter()
        .chain(on_server)
        .collect()
}

/// The place of an example's database.
#[derive(Clone)]
enum ExampleDatabase {
    InFile,
    OnServer(Arc<PostgresServer>),
}

impl ExampleDatabase {
    /// Has a command use it: a new database.
    fn use_by(&self, command: &mut Command, scratch: &Scratch) {
        match self {
            Self::InFile => drop(command.arg("--db").arg(scratch.path().join("data.db"))),
            Self::OnServer(server) => drop(command.args(["--db", &server.url(&server.database())])),
        }
    }
}

/// The places of an example's database, each with both languages.
fn places() -> impl Iterator<Item = (ExampleDatabase, &'static str)> {
    let places = databases().into_iter();
    places.flat_map(|database| LANGUAGES.map(|language| (database.clone(), language)))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// PetClinic in a language, with a database of its own in `scratch`.
fn petclinic(language: &str, scratch: &Scratch) -> Process {
    Process::start(&mut petclinic_command(language, scratch))
}

fn petclinic_command(language: &str, scratch: &Scratch) -> Command {
    petclinic_on(&ExampleDatabase::InFile, language, scratch)
}

/// PetClinic in a language, with a database of its own.
fn petclinic_on(database: &ExampleDatabase, language: &str, scratch: &Scratch) -> Command {
    let mut command = sampan(&root().join("examples/petclinic").join(language));
    database.use_by(&mut command, scratch);
    command
}

/// A copy of an example of one folder, in a language, in `scratch`: a folder that it may write to.
fn copied(example: &str, language: &str, scratch: &Scratch) -> Command {
    let copied = Command::new("cp")
        .arg("-r")
        .arg(root().join("examples").join(example).join("."))
        .arg(scratch.path())
        .status();
    assert!(copied.expect("cp exists").success());
    sampan(&scratch.path().join(format!("app.{language}")))
}

/// Starts the clinic as one file, alone in an empty folder below `scratch`, with nothing of the environment.
fn petclinic_as_one_file(language: &str, scratch: &Scratch) -> Process {
    let empty = scratch.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let built = Command::new(env!("CARGO_BIN_EXE_sampan"))
        .arg("build")
        .arg(root().join("examples/petclinic").join(language))
        .arg("-o")
        .arg(empty.join("petclinic"))
        .output()
        .expect("it starts");
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{errors}");
    let mut command = Command::new("./petclinic");
    command.current_dir(&empty).env_clear();
    Process::start(command.args(["--listen", "127.0.0.1:0", "--workers", "1"]))
}

/// A command that serves a project somewhere.
fn sampan(project: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("run").arg(project);
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    command
}
