//! The projects that are served, copied into the folder of the run.

use crate::random::Random;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The languages that each project is written in.
pub(crate) const LANGUAGES: [&str; 2] = ["lua", "js"];

/// The name of the project that clients write to.
pub(crate) const APP: &str = "soak";

/// The folder of the database in each project.
const DATA: &str = "data";

/// The examples, whose pages are read.
const EXAMPLES: [&str; 3] = ["petclinic", "notes", "chat"];

/// A project, whose languages take turns.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) name: String,
    folder: PathBuf,
}

/// Copies all projects: the app first, then the examples.
pub(crate) fn all(root: &Path, app: &Path, folder: &Path) -> Result<Vec<Project>, String> {
    let examples = EXAMPLES.map(|name| (name, root.join("examples").join(name)));
    let sources = [(APP, app.to_path_buf())].into_iter().chain(examples);
    sources
        .map(|(name, source)| Project::copy(name, &source, folder))
        .collect()
}

impl Project {
    fn copy(name: &str, source: &Path, folder: &Path) -> Result<Self, String> {
        let to = folder.join(name);
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(source).arg(&to);
        let told = |error: std::io::Error| format!("{}: {error}", to.display());
        let status = copy.status().map_err(told)?;
        if !status.success() {
            return Err(format!("cp -r {}: {status}", source.display()));
        }
        std::fs::create_dir(to.join(DATA)).map_err(told)?;
        Ok(Self {
            name: name.to_owned(),
            folder: to,
        })
    }

    /// Reports whether it is the app that clients write to.
    pub(crate) fn is_app(&self) -> bool {
        self.name == APP
    }

    /// Returns the folder of the database.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// Returns the file of the log, which all processes of the project share.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// Returns the language of a process: they take turns, and the seed decides which is the first.
    pub(crate) fn language(&self, seed: u64, life: u64) -> &'static str {
        let first = Random::new(seed, self.name.len() as u64).between(0, 1);
        LANGUAGES[((first + life) % 2) as usize]
    }

    /// Returns the command that serves it in a language, with two workers.
    ///
    /// A SIGHUP reloads where no terminal could have sent it: so the server gets a session of its own. It ends with
    /// this program, also where that is killed.
    pub(crate) fn command(&self, program: &Path, language: &str) -> Command {
        let in_folder = self.folder.join(language);
        let app = match in_folder.is_dir() {
            true => in_folder,
            false => self.folder.join(format!("app.{language}")),
        };
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "setsid"]);
        command.arg(program).arg("run").arg(app);
        command.args(["--listen", "127.0.0.1:0", "--workers", "2"]);
        command.arg("--db").arg(self.data().join("soak.db"));
        command.env(
            "SAMPAN_SECRETS_KEYS",
            "a key of the soak that is long enough",
        );
        command.env("SAMPAN_MAIL_URL", "smtp://127.0.0.1:9");
        command
    }
}
