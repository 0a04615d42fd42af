//! The configuration of a run as plain data.
//!
//! Each part of the program declares its section as a table ([`Section`]); `sources` reads the
//! file, the environment and flags into [`AllSettings`] by these tables. Here are the sections that say what to run,
//! resolved: `[server]` and `[scripts]`. Other parts resolve theirs from [`Config::sections`].

mod acme;
mod dev;
mod faults;
mod flags;
mod listen;
mod scripts;
mod server;
mod shown;
mod sources;
mod tls;

pub use acme::{AcmeConfig, SECTION as ACME, domain};
pub use dev::{DevSettings, SECTION as DEV};
pub use faults::ConfigFaults;
pub use flags::{Flags, OptionNames};
pub use listen::{ListenAddress, address};
pub use server::WORKERS_MAX;
pub use shown::Setting;
pub use sources::dotenv::EnvFile;
pub use tls::{SECTION as TLS, TlsConfig};

pub use scripts::{SECTION as SCRIPTS, ScriptSettings};
pub use server::SECTION as SERVER;
pub use shown::default_of;
pub use shown::shown;
pub use sources::dotenv::FILE as DOTENV_FILE;
pub use sources::{Environment, FILE, Sections, read_all, read_file, read_known, read_text};

use crate::files::Project;
use sampan_host::settings::{AllSettings, Section, Settings};
pub use sources::Variables;
use std::path::Path;
use std::sync::Arc;

/// Reads the sections of other parts of the program, whose project has this folder, for their faults.
pub type OtherSections<'a> = &'a dyn Fn(&AllSettings, &Path, &mut ConfigFaults);

/// The project to run, and the settings of all sections, of which those of the server itself are resolved.
#[derive(Clone, Debug)]
pub struct Config {
    /// The files.
    pub project: Project,
    /// The settings of all sections.
    pub sections: Arc<AllSettings>,
    /// The addresses to listen on.
    pub listen: Vec<ListenAddress>,
    /// The certificates, if the ports of these addresses speak TLS.
    pub tls: Option<TlsConfig>,
    /// The rights of the files of Unix sockets.
    pub socket_mode: u32,
    /// The user, or user and group, that the process becomes once it listens.
    pub user: Option<String>,
    /// The number of threads that run scripts.
    pub workers: usize,
    /// The sharing between requests, and the moment when files are read.
    pub scripts: ScriptSettings,
    /// Variables of the environment beside those of the process.
    pub variables: Variables,
    /// The option names used in error messages: flags for the CLI, fields for a library.
    pub option_names: OptionNames,
    /// The warnings about the environment: variables with misspelt names.
    pub warnings: Vec<String>,
}

impl Config {
    /// Resolves the settings of a project that was found.
    ///
    /// # Errors
    /// A line for each value that is wrong, which says what to do.
    pub fn of_project(
        project: Project,
        flags: &Flags,
        sections: Sections<'_>,
        others: OtherSections<'_>,
    ) -> Result<Self, String> {
        let variables = flags.env_file.read(project.root())?;
        let environment = Environment::of_process().with(&variables);
        let sections = read_all(project.root(), flags, &environment, sections);
        let sections = sections.map_err(|fault| match flags.names == OptionNames::default() {
            true => flags.env_file.advised(&fault, project.root()),
            false => fault,
        })?;
        Ok(Self {
            warnings: sources::misspelt(&sections, &environment),
            variables,
            ..Self::of(project, sections, flags.names, others)?
        })
    }

    /// The configuration of a project folder or file, with a configuration file's text instead of a file, and nothing
    /// of the environment.
    ///
    /// # Errors
    /// As [`Config::of_project`].
    pub fn from_text(
        path: &Path,
        text: &str,
        sections: Sections<'_>,
        others: OtherSections<'_>,
    ) -> Result<Self, String> {
        let flags = Flags::default();
        let sections = read_text(text, FILE, &flags, &Environment::default(), sections)?;
        Self::of(Project::find(path)?, sections, flags.names, others)
    }

    /// The configuration of a project that has no folder: flags, environment and, if the flags name one, a
    /// configuration file.
    pub fn in_memory(
        project: Project,
        flags: &Flags,
        sections: Sections<'_>,
        others: OtherSections<'_>,
    ) -> Result<Self, String> {
        let environment = Environment::of_process();
        let sections = match &flags.config {
            Some(_) => read_all(project.root(), flags, &environment, sections)?,
            None => read_text("", FILE, flags, &environment, sections)?,
        };
        Self::of(project, sections, flags.names, others)
    }

    /// Returns the names of hosts among the addresses to listen on, in small letters.
    pub fn listen_names(&self) -> Vec<String> {
        let listen = self.sections.of(&SERVER).list("listen");
        listen::host_names(&listen).collect()
    }

    /// Resolves the sections of the server itself, and reads the `others` for their faults.
    ///
    /// # Errors
    /// A line for each value that is wrong, with its place and its key.
    pub fn of(
        project: Project,
        sections: AllSettings,
        option_names: OptionNames,
        others: OtherSections<'_>,
    ) -> Result<Self, String> {
        let server = sections.of(&SERVER);
        let tell = |key: &'static str| {
            let server = &server;
            move |fault: String| server.tell(&format!("{key}: {fault}"))
        };
        let mut faults = ConfigFaults::default();
        let listen = listen::resolve(&server.list("listen"), project.root());
        let listen = faults.keep(listen.map_err(tell("listen")));
        let socket_mode = listen::mode(server.text("socket_mode")).map_err(tell("socket_mode"));
        let socket_mode = faults.keep(socket_mode);
        let workers = server.number("workers");
        if !(1..=WORKERS_MAX).contains(&workers) {
            let fault = format!("{workers} workers; it must be 1 to {WORKERS_MAX}");
            faults.keep::<()>(Err(tell("workers")(fault)));
        }
        let root = project.root();
        let acme = faults.resolve(&sections, &ACME, |acme| {
            AcmeConfig::from_settings(acme, root)
        });
        // What is wrong in these would show here again.
        let tls = acme.zip(listen.as_ref()).and_then(|(acme, listen)| {
            faults.resolve(&sections, &TLS, |tls| {
                TlsConfig::from_settings(tls, acme, root, listen)
            })
        });
        let scripts = faults.resolve(&sections, &SCRIPTS, |scripts| {
            ScriptSettings::from_settings(scripts, &project)
        });
        others(&sections, project.root(), &mut faults);
        let (Some(listen), Some(socket_mode), Some(tls), Some(scripts), true) =
            (listen, socket_mode, tls, scripts, faults.is_empty())
        else {
            return Err(faults.text());
        };
        Ok(Self {
            scripts,
            project,
            listen,
            tls,
            socket_mode,
            user: server.text_if_set("user").map(str::to_owned),
            workers,
            variables: Variables::default(),
            option_names,
            warnings: Vec::new(),
            sections: Arc::new(sections),
        })
    }
}

impl Config {
    /// Resolves a section, and tells a fault with the place where its key was written.
    pub fn resolve<T>(
        &self,
        section: &'static Section,
        resolve: impl FnOnce(&Settings) -> Result<T, String>,
    ) -> Result<T, String> {
        let settings = self.sections.of(section);
        resolve(&settings).map_err(|fault| settings.tell(&fault))
    }
}
