//! All that a server or a pool of scripts runs with: the configuration of the run, the settings of the parts that the
//! program has, resolved from it, and what the program adds.

mod fixed;
pub(crate) mod limits;
mod serving;

pub use serving::ServeConfig;

use crate::capabilities;
use crate::program::development::Development;
use crate::program::embedding::Embedding;
use crate::program::hosted::Host;
use crate::reload::followed_files::FollowedFiles;
use crate::reload::script_files::ScriptFiles;
use crate::reload::seen_files::SeenFiles;
use crate::sandbox::confinement::Confinement;
use sampan_db::DatabaseConfig;
use sampan_env::MissedVariables;
use sampan_host::Module;
use sampan_host::capability::{ProjectSettings, TempFolder, WrittenFolder};
use sampan_host::settings::{AllSettings, SettingValue};
use sampan_log::{LogSettings, Logger};
use sampan_project::Language;
use sampan_project::Project;
use sampan_project::config::{self, Config, ConfigFaults, DevSettings, Flags, Setting};
use sampan_serve::fetch::FetchReach;
use sampan_serve::files::STORAGE;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All that a server or a pool of scripts runs with.
#[derive(Clone, Debug)]
pub struct AppConfig {
    /// The project and its settings, as files, environment and flags say.
    pub base: Config,
    /// The settings of the database.
    pub database: DatabaseSettings,
    /// The settings on the way from a request to its answer.
    pub serving: ServeConfig,
    /// The parts that the program adds.
    pub program: ProgramParts,
}

/// The settings of the database.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// The database.
    pub config: DatabaseConfig,
    /// True if migrations run at start.
    pub migrate: bool,
}

impl DatabaseSettings {
    fn of(config: &Config) -> Self {
        let settings = config.sections.of(&sampan_db::SECTION);
        Self {
            config: DatabaseConfig::from_settings(&settings, config.project.root()),
            migrate: settings.flag("migrate"),
        }
    }
}

/// The parts that the program adds to what it runs.
#[derive(Clone, Debug)]
pub struct ProgramParts {
    /// The logger of the server.
    pub logger: Logger,
    /// The capabilities that scripts get.
    pub modules: &'static [&'static Module],
    /// Routes, and values for capabilities.
    pub embedding: Arc<Embedding>,
    /// The host that runs the workers, if they have no threads of their own, and the scripts, if there is no engine for
    /// them.
    pub host: Option<Arc<dyn Host>>,
    /// The folder for everything that scripts write beside the database, in place of the project's own. Nothing in it
    /// is kept: for tests.
    pub scratch: Option<PathBuf>,
    /// True if the project runs without a server, to be tested or checked.
    pub(crate) is_local: bool,
    /// Notes the variables that scripts miss, where the project is loaded only to see that it loads. Its `on_start`
    /// does not run then.
    pub(crate) trial: Option<MissedVariables>,
    /// True if samples can be taken of what scripts do; in Lua of one worker only.
    pub is_profiled: bool,
    /// True if the server runs beside the one that serves the project: see [`AppConfig::make_secondary`].
    pub(crate) is_secondary: bool,
    /// The files of a running server that looks whether they change.
    pub(crate) script_files: Option<Arc<ScriptFiles>>,
    /// The additions of a program in which the project is developed.
    pub development: Option<Arc<dyn Development>>,
    /// Confines the process by [`run`](crate::run), as `[sandbox]` says; `None` never does.
    pub confinement: Option<Confinement>,
}

impl AppConfig {
    /// Finds the project and its configuration file, and checks both together with the flags.
    ///
    /// # Errors
    /// A line for each value that is wrong, which says what to do.
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        Self::of_project(flags.project()?, flags)
    }

    /// Resolves the settings of a project that was found.
    ///
    /// # Errors
    /// As [`AppConfig::resolve`].
    pub fn of_project(project: Project, flags: &Flags) -> Result<Self, String> {
        Self::of(Config::of_project(
            project,
            flags,
            capabilities::sections(),
            &other_faults,
        )?)
    }

    /// The configuration of a project folder or file, with a configuration file's text instead of a file, and nothing
    /// of the environment.
    ///
    /// # Errors
    /// As [`AppConfig::resolve`].
    pub fn from_text(path: &Path, text: &str) -> Result<Self, String> {
        let sections = capabilities::sections();
        Self::of(Config::from_text(path, text, sections, &other_faults)?)
    }

    /// The configuration of a project that has no folder: flags, environment and, if the flags name one, a
    /// configuration file.
    pub(crate) fn in_memory(project: Project, flags: &Flags) -> Result<Self, String> {
        let sections = capabilities::sections();
        Self::of(Config::in_memory(project, flags, sections, &other_faults)?)
    }

    /// The configuration of a server with routes of the program alone: the flags, and the file that they name. Nothing
    /// is read from or written to the current folder.
    ///
    /// # Errors
    /// As [`AppConfig::resolve`].
    pub fn without_project(flags: &Flags) -> Result<Self, String> {
        let mut config = Self::in_memory(Project::none(), flags)?;
        // No script can ask for it, so it is never opened.
        config.database.config.path = ":memory:".into();
        config.database.migrate = false;
        Ok(config)
    }

    fn of(base: Config) -> Result<Self, String> {
        let log = base.sections.of(&sampan_log::SECTION);
        let mut faults = ConfigFaults::default();
        let serving = ServeConfig::of(&base.sections, &mut faults);
        let database = DatabaseSettings::of(&base);
        database.config.check_url().map_err(|error| {
            let fault = error.message();
            let fault = fault.strip_prefix("[db] ").unwrap_or(fault);
            base.sections.of(&sampan_db::SECTION).tell(fault)
        })?;
        Ok(Self {
            database,
            serving: serving.ok_or_else(|| faults.text())?,
            program: ProgramParts {
                logger: Logger::new(LogSettings::from_settings(&log)),
                modules: capabilities::modules(),
                embedding: Arc::default(),
                host: None,
                scratch: None,
                is_local: false,
                trial: None,
                is_profiled: false,
                is_secondary: false,
                script_files: None,
                development: None,
                confinement: None,
            },
            base,
        })
    }

    /// Sets a list of texts, as the configuration file would.
    ///
    /// # Errors
    /// There is no such key, or the value is wrong.
    pub fn set_list(&mut self, section: &str, key: &str, list: &[&str]) -> Result<(), String> {
        let list: Vec<String> = list.iter().map(|text| (*text).to_owned()).collect();
        let (shown, origin) = (format!("{list:?}"), "the program".to_owned());
        let value = Some(SettingValue::List(list));
        let sections = Arc::make_mut(&mut self.base.sections);
        sections.put((section, key), value, shown, origin)
    }

    /// Makes the server one beside that which serves the project, to be measured or talked to. Such a server does not
    /// write to the target of `[backup]`: its database is another one, or the server that serves the project copies it.
    /// It runs no jobs and keeps no schedules, which would run twice.
    /// It speaks plain HTTP on the addresses of `[server] listen` alone, as the user who started it.
    pub fn make_secondary(&mut self) {
        self.program.is_secondary = true;
        self.base.tls = None;
        self.base.user = None;
        self.serving.proxy_protocol = false;
        self.serving.metrics.listen = None;
    }

    /// Returns the settings as capabilities read them.
    pub(crate) fn project_settings(&self) -> ProjectSettings<'_> {
        ProjectSettings {
            all: &self.base.sections,
            root: self.base.project.root(),
            scratch: self.program.scratch.as_deref(),
        }
    }

    /// Returns the servers that scripts may reach: this machine too while the project is developed, and nothing but
    /// this machine while a project starts that is tested or checked. Scripts that a host runs have the requests of its
    /// platform.
    pub(crate) fn fetch_reach(&self) -> FetchReach {
        if self.program.host.is_some() {
            return FetchReach::Nothing;
        }
        match self.program.is_local {
            true => FetchReach::Local,
            false if self.program.development.is_some() => FetchReach::PublicAndOwn,
            false => FetchReach::Public,
        }
    }

    /// Returns the folders in which the scripts write.
    pub fn written_folders(&self) -> Vec<WrittenFolder> {
        let settings = self.project_settings();
        let folders = capabilities::ordered().map(|one| (one.folders)(&settings));
        folders.flatten().collect()
    }

    /// Returns the folders of files that are not complete yet.
    pub(crate) fn temp_folders(&self) -> Vec<TempFolder> {
        let settings = self.project_settings();
        let folders = capabilities::ordered().map(|one| (one.temp_folders)(&settings));
        folders.flatten().collect()
    }

    /// Returns the folder in which scripts write files by the name `storage`.
    pub fn storage_folder(&self) -> PathBuf {
        let mut folders = self.written_folders().into_iter();
        let storage = folders.find(|folder| folder.name == STORAGE);
        storage.map(|folder| folder.path).unwrap_or_default()
    }

    /// Returns the folder in which a server writes reports of crashes; `None` where it writes none.
    pub fn crash_folder(&self) -> Option<PathBuf> {
        let (root, database) = (self.base.project.root(), &self.database.config);
        let crash = &self.serving.crash;
        crash.folder(root, database, &self.storage_folder())
    }

    /// Refuses what the program cannot do that runs the scripts.
    pub(crate) fn check_host(&self) -> Result<(), String> {
        let is_js = self.base.project.language() == Some(Language::Js);
        let is_hosted = self.program.host.is_some() && is_js;
        match is_hosted && self.base.scripts.check_time.is_some() {
            true => Err("[scripts] mode = \"file\": the program that runs the scripts keeps the modules that it has \
             loaded: leave it out, or serve with the executable sampan".into()),
            false => Ok(()),
        }
    }

    /// Notes from now on what is read of the files, for a server that looks whether they change.
    pub(crate) fn follow_files(&mut self) {
        if let (Some(check_time), None) = (self.base.scripts.check_time, &self.program.development)
        {
            let (files, project) = FollowedFiles::of(&self.base.project, check_time);
            self.base.project = project;
            self.program.script_files = Some(Arc::new(ScriptFiles::new(files)));
        }
    }

    /// Keeps from now on what is read of the project, so that isolates that load later load the same. Returns the kept
    /// files; `None` where they are followed or cannot change, and while the project is developed.
    pub(crate) fn keep_files(&mut self) -> Option<Arc<SeenFiles>> {
        let (project, program) = (&self.base.project, &self.program);
        let is_followed = program.script_files.is_some() || program.development.is_some();
        let is_on_disk = project.archive().is_none() && project.root().is_absolute();
        if is_followed || !is_on_disk {
            return None;
        }
        let seen = Arc::new(SeenFiles::new(project.root(), project.sources()));
        self.base.project = project.with_sources(Arc::clone(&seen) as _);
        Some(seen)
    }

    /// Returns the settings of the log.
    pub fn log_settings(&self) -> LogSettings {
        self.program.logger.settings()
    }
}

/// Finds the faults of the sections that are not those of the server itself.
fn other_faults(sections: &AllSettings, root: &Path, faults: &mut ConfigFaults) {
    for one in capabilities::ordered() {
        faults.keep((one.configure)(&ProjectSettings {
            all: sections,
            root,
            scratch: None,
        }));
    }
    // Told wherever the file is read, also where nothing uses it.
    faults.resolve(sections, &config::DEV, DevSettings::from_settings);
    ServeConfig::of(sections, faults);
}

/// Every key of the configuration, in the order of the sections. Secrets are counted and not shown.
///
/// # Errors
/// As [`AppConfig::resolve`].
pub fn settings(flags: &Flags) -> Result<Vec<Setting>, String> {
    let config = AppConfig::resolve(flags)?;
    Ok(config::shown(&config.base.sections))
}

#[cfg(test)]
mod tests;
