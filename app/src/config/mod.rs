//! The configuration of a run, in two steps: as written ([`raw`]), then resolved, with defaults filled in and
//! everything checked.

pub(crate) mod db;
mod fields;
mod files;
mod fixed;
mod listen;
mod packed;
mod raw;
mod scripts;
mod sections;
mod session;
mod shown;
mod sources;
mod told;
pub(crate) mod units;

pub use db::Storage;
pub use listen::{ListenAddress, address};
pub(crate) use packed::PackedSettings;
pub use raw::{Flags, OptionNames};
pub(crate) use scripts::ScriptSettings;
pub use shown::{Setting, settings};
pub use sources::dotenv::EnvFile;
pub(crate) use sources::dotenv::FILE as DOTENV_FILE;

use crate::csrf::CsrfGuard;
use crate::dev::{Dev, DevSettings};
use crate::embedding::Embedding;
use crate::project::Project;
use crate::reload::{FollowedFiles, ScriptFiles};
use crate::server::hosted::Host;
use listen::RawListen;
use raw::FILE;
use sampan_crypto::SecretKeys;
use sampan_env::Variables;
use sampan_files::FilesConfig;
use sampan_host::sources::PackedFiles;
use sampan_host::{Module, ScriptLimits};
use sampan_http::Limits;
use sampan_log::{Logger, Settings};
use sampan_project::Language;
use sampan_serve::TrustedProxy;
use sampan_serve::files::StaticSettings;
use sampan_session::SessionConfig;
use sampan_template::UndefinedBehavior;
use sections::{dev_settings, limits, log_settings, static_settings, undefined};
use sources::{Environment, Sources};
use std::path::Path;
use std::sync::Arc;

/// The default listen address.
const LISTEN: &str = "127.0.0.1:8080";
/// The rights of the files of Unix sockets unless told otherwise: those of the server's user and group may connect.
const SOCKET_MODE: &str = "660";
/// The number of bytes of compressed bodies that each worker keeps unless told otherwise.
const COMPRESSED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most workers that can be asked for.
pub const WORKERS_MAX: usize = 1_024;

/// Everything that a server needs to know, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The files.
    pub project: Project,
    /// The address to listen on.
    pub listen: Vec<ListenAddress>,
    /// The rights of the files of Unix sockets.
    pub(crate) socket_mode: u32,
    /// The user, or user and group, that the process becomes once it listens.
    pub(crate) user: Option<String>,
    /// The number of threads that run scripts.
    pub workers: usize,
    /// The networks of proxies whose `X-Forwarded-*` fields are believed.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// The limits of the HTTP engine.
    pub http: Limits,
    /// The limits of the scripts.
    pub script: ScriptLimits,
    /// The sharing between requests, and the moment when files are read.
    pub(crate) scripts: ScriptSettings,
    /// The files of a running server that looks whether they change.
    pub(crate) script_files: Option<Arc<ScriptFiles>>,
    /// The database.
    pub db: sampan_db::DatabaseConfig,
    /// True if migrations run at start.
    pub migrate: bool,
    /// The logger of the server.
    pub logger: Logger,
    /// The number of bytes of compressed answers that each worker keeps; `None` turns compression off.
    pub compression: Option<usize>,
    /// The secret keys, if it has any.
    pub secret_keys: Option<SecretKeys>,
    /// The settings for stored files and for uploads in forms.
    pub files: FilesConfig,
    /// The treatment of undefined values in templates.
    pub undefined: UndefinedBehavior,
    /// The languages of the project.
    pub(crate) i18n: sampan_i18n::Settings,
    /// The check that refuses unsafe requests of other sites.
    pub(crate) csrf: Option<CsrfGuard>,
    /// The way sessions are kept.
    pub session: SessionConfig,
    /// The files that are served by their paths.
    pub(crate) static_files: StaticSettings,
    /// Variables of the environment beside those of the process.
    pub(crate) variables: Variables,
    /// `[dev]`.
    pub(crate) dev_settings: DevSettings,
    /// The state that workers share in development.
    pub(crate) dev: Option<Arc<Dev>>,
    /// The capabilities that scripts get.
    pub modules: &'static [&'static Module],
    /// The connection between `sampan repl` and the scripts.
    pub(crate) repl: Option<crate::repl::Link>,
    /// The option names used in error messages: flags for the CLI, fields for a library.
    pub(crate) option_names: OptionNames,
    /// The parts that the embedding program adds.
    pub embedding: Arc<Embedding>,
    /// True if samples can be taken of what scripts do; in Lua of one worker only.
    pub is_profiled: bool,
    /// The host that runs the workers, if they have no threads of their own, and the scripts, if there is no engine for
    /// them.
    pub host: Option<Arc<dyn Host>>,
}

impl Config {
    /// Finds the project and its configuration file, and checks both together with the flags.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub fn resolve(flags: &Flags) -> Result<Self, String> {
        Self::of_project(Project::of(flags)?, flags)
    }

    /// Resolves the settings of a project that was found.
    pub(crate) fn of_project(project: Project, flags: &Flags) -> Result<Self, String> {
        let variables = flags.env_file.read(project.root())?;
        let environment = Environment::of_process().with(&variables);
        let sources = Sources::of(project.root(), flags, &environment)?;
        let mut config = Self::from_sources(project, &sources)?;
        config.variables = variables;
        Ok(config)
    }

    /// The configuration of a project folder or file, with a configuration file's text instead of a file, and nothing
    /// of the environment.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn from_text(path: &Path, text: &str) -> Result<Self, String> {
        let sources = Sources::of_text(text, FILE, &Flags::default(), &Environment::default())?;
        Self::from_sources(Project::find(path)?, &sources)
    }

    /// The configuration of a project that has no folder: flags, environment and, if the flags name one, a
    /// configuration file.
    pub(crate) fn in_memory(project: Project, flags: &Flags) -> Result<Self, String> {
        let environment = Environment::of_process();
        let sources = match &flags.config {
            Some(_) => Sources::of(project.root(), flags, &environment)?,
            None => Sources::of_text("", FILE, flags, &environment)?,
        };
        Self::from_sources(project, &sources)
    }

    /// Replaces the secret keys by one.
    ///
    /// # Errors
    /// It is too short.
    pub fn set_secret_key(&mut self, key: &str) -> Result<(), String> {
        self.secret_keys = SecretKeys::new(&[key.to_owned()])?;
        Ok(())
    }

    /// Refuses what the program cannot do that runs the scripts.
    pub(crate) fn check_host(&self) -> Result<(), String> {
        let is_hosted = self.host.is_some() && self.project.language() == Some(Language::Js);
        match is_hosted && self.scripts.check_time.is_some() {
            true => Err("[scripts] mode = \"file\": the program that runs the scripts keeps the modules that it has \
             loaded: leave it out, or serve with the executable sampan".into()),
            false => Ok(()),
        }
    }

    /// For a server that looks whether its files change: notes from now on what is read of them.
    pub(crate) fn follow_files(&mut self) {
        if let (Some(check_time), None) = (self.scripts.check_time, &self.dev) {
            let (files, project) = FollowedFiles::of(&self.project, check_time);
            self.project = project;
            self.script_files = Some(Arc::new(ScriptFiles::new(files)));
        }
    }

    /// The settings of the log from `[log]`.
    pub fn log_settings(&self) -> Settings {
        self.logger.settings()
    }

    fn from_sources(project: Project, sources: &Sources) -> Result<Self, String> {
        let raw = &sources.resolved()?;
        let tell =
            |section: &'static str| move |fault: String| sources.origins.tell(section, &fault);
        let listen = raw.server.listen.clone();
        let listen = listen.unwrap_or_else(|| RawListen::split(LISTEN));
        let mut dev_settings = dev_settings(&raw.dev).map_err(tell("dev"))?;
        dev_settings.hosts.extend(listen.host_names());
        let listen = listen.resolve(project.root());
        let listen = listen.map_err(|fault| tell("server")(format!("listen: {fault}")))?;
        let socket_mode = raw.server.socket_mode.as_deref().unwrap_or(SOCKET_MODE);
        let socket_mode = listen::mode(socket_mode)
            .map_err(|fault| tell("server")(format!("socket_mode: {fault}")))?;
        let workers = raw.server.workers.unwrap_or_else(cores);
        if !(1..=WORKERS_MAX).contains(&workers) {
            let fault = format!("workers: {workers} workers; it must be 1 to {WORKERS_MAX}");
            return Err(tell("server")(fault));
        }
        let trusted = raw.server.trusted_proxies.iter().map(|text| text.parse());
        let trusted: Result<Vec<TrustedProxy>, String> = trusted.collect();
        let trusted_proxies =
            trusted.map_err(|fault| tell("server")(format!("trusted_proxies: {fault}")))?;
        let (http, script) = limits(raw).map_err(tell("limits"))?;
        let scripts = raw.scripts.resolve(&project).map_err(tell("scripts"))?;
        let db = raw.db.resolve(project.root()).map_err(tell("db"))?;
        let logger = Logger::new(log_settings(&raw.log).map_err(tell("log"))?);
        let cache_bytes_max = raw.compression.cache_bytes_max;
        let cache_bytes_max = cache_bytes_max.map_or(COMPRESSED_BYTES_MAX, usize::from);
        let compresses = raw.compression.enabled.unwrap_or(true);
        let secret_keys = SecretKeys::new(&raw.secrets.keys)
            .map_err(|fault| tell("secrets")(format!("keys: {fault}")))?;
        let mut files = raw.files.resolve(project.root(), &raw.forms);
        files.packed = project
            .archive()
            .map(|archive| Arc::clone(archive) as Arc<dyn PackedFiles>);
        let undefined = undefined(raw.template.undefined.as_deref())
            .map_err(|fault| tell("template")(format!("undefined: {fault}")))?;
        let csrf = CsrfGuard::new(&raw.csrf.trusted_origins, &raw.csrf.except);
        let csrf = csrf.map_err(tell("csrf"))?;
        let session = raw.session.resolve().map_err(tell("session"))?;
        let static_files = static_settings(&raw.static_files).map_err(tell("static"))?;
        Ok(Self {
            project,
            listen,
            socket_mode,
            user: raw.server.user.clone(),
            workers,
            trusted_proxies,
            http,
            script,
            scripts,
            script_files: None,
            db,
            migrate: raw.db.migrates(),
            logger,
            compression: compresses.then_some(cache_bytes_max),
            secret_keys,
            files,
            undefined,
            i18n: sampan_i18n::Settings {
                default: raw.i18n.default.clone(),
                locales: raw.i18n.locales.clone(),
            },
            csrf: Some(csrf).filter(|_| raw.csrf.enabled != Some(false)),
            session,
            static_files,
            variables: Variables::default(),
            dev_settings,
            dev: None,
            is_profiled: false,
            host: None,
            modules: crate::MODULES,
            option_names: sources.names,
            embedding: Arc::default(),
            repl: None,
        })
    }
}

/// Returns the most processors that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::log::Level;

    fn resolve(text: &str, flags: &Flags) -> Result<Config, String> {
        let sources = Sources::of_text(text, FILE, flags, &Environment::default())?;
        Config::from_sources(Project::in_memory("app.lua", &[]), &sources)
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let text = "[server]\nlisten = \"127.0.0.1:81\"\nworkers = 3\ntrusted_proxies = \
         [\"10.0.0.0/8\"]\n[log]\nlevel = \"warn\"\n";
        let config = resolve(text, &Flags::default()).expect("valid");
        assert_eq!(
            (
                config.listen[0].to_string().as_str(),
                config.workers,
                config.trusted_proxies.len()
            ),
            ("http://127.0.0.1:81", 3, 1)
        );
        assert!(!config.logger.writes(Level::Info));
        let flags = Flags {
            listen: Some("[::1]:82".into()),
            workers: Some(5),
            ..Flags::default()
        };
        let config = resolve(text, &flags).expect("valid");
        assert_eq!(
            (config.listen[0].to_string().as_str(), config.workers),
            ("http://[::1]:82", 5)
        );
        assert_eq!(
            resolve("", &Flags::default()).expect("valid").listen,
            [address(LISTEN).expect("valid")]
        );
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (text, part) in [
            (
                "[server]\nlisten = \"8080\"",
                ": [server] listen: \"8080\" has no host: write 127.0.0.1:8080",
            ),
            ("[server]\nworkers = 0", "[server] workers: 0 workers"),
            (
                "[server]\ntrusted_proxies = [\"proxy\"]",
                "[server] trusted_proxies: \"proxy\" is no network",
            ),
            (
                "[limits]\nheaders_max = 1000",
                "[limits] headers_max is 1000",
            ),
            (
                "[limits]\nscript_millis_max = 0",
                "[limits] script_millis_max is 0",
            ),
            (
                "[limits]\nmemory_bytes_max = 10",
                "[limits] memory_bytes_max is 10",
            ),
            (
                "[limits]\njson_depth_max = 0",
                "[limits] json_depth_max is 0",
            ),
            (
                "[csrf]\ntrusted_origins = [\"app.example\"]",
                ": [csrf] trusted_origins: \"app.example\" is no origin: write scheme and host",
            ),
            (
                "[csrf]\nexcept = [\"hooks/*\"]",
                "[csrf] except: the pattern must begin with '/'",
            ),
            (
                "[log]\nlevel = \"loud\"",
                "[log] level: \"loud\" is none of \"debug\",",
            ),
            (
                "[log]\nformat = \"xml\"",
                "[log] format: \"xml\" is none of \"text\", \"json\"",
            ),
            (
                "[log]\naccess = \"on\"",
                "[log] access: \"on\" is none of \"off\", \"common\", \"json\"",
            ),
            (
                "[session]\nstore = \"redis\"",
                ": [session] store: \"redis\" is none of \"db\", \"cookie\"",
            ),
            (
                "[session]\nidle = 0",
                "[session] idle is 0 ms; it must be 1 ms to 366 days",
            ),
            (
                "[session]\ncookie = \"a b\"",
                "[session] cookie is \"a b\"; it must have 1 to 64 letters",
            ),
            (
                "[session]\nbytes_max = 10",
                "[session] bytes_max is 10; it must be 64 bytes to 1 MiB",
            ),
            (
                "[log]\nline_bytes_max = 10",
                "[log] line_bytes_max is 10; it must be 1024 to",
            ),
            (
                "[secrets]\nkeys = [\"short\"]",
                ": [secrets] keys: key 1 has 5 characters; it must have 32",
            ),
        ] {
            let error = resolve(text, &Flags::default()).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
        let small = "[limits]\nhead_bytes_max = \"1 KiB\"\n[log]\nline_bytes_max = \"64 KiB\"";
        let config = resolve(small, &Flags::default()).expect("valid");
        assert_eq!(config.http.target_bytes_max, 1024);
        assert_eq!(config.log_settings().line_bytes_max, 64 * 1024);
        let flags = Flags {
            workers: Some(0),
            ..Flags::default()
        };
        assert!(
            resolve("", &flags)
                .expect_err("no workers")
                .starts_with("--workers: [server] workers: 0")
        );
    }
}
