//! The configuration as it is written: `sampan.toml` with every key optional, and the flags of the command line.

use super::db::RawDb;
use super::files::{RawFiles, RawForms};
use super::listen::RawListen;
use super::scripts::RawScripts;
use super::session::RawSession;
use super::sources::dotenv::EnvFile;
use super::told;
use super::units::{Bytes, Millis};
use sampan_host::ScriptLimits;
use sampan_http::Limits;
use sampan_project::archive::Archive;
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The flags of the command line; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The project: its folder, or the file to run.
    pub path: PathBuf,
    /// `--listen`: an address, or several with commas between.
    pub listen: Option<String>,
    /// `--user`.
    pub user: Option<String>,
    /// `--workers`.
    pub workers: Option<usize>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--db`.
    pub db: Option<PathBuf>,
    /// `--no-migrate`.
    pub no_migrate: bool,
    /// Each `--set`, as `section.key=value`.
    pub set: Vec<String>,
    /// The file that variables are read from, beside those of the environment.
    pub env_file: EnvFile,
    /// The project that this program carries, which is served instead of `path`.
    pub archive: Option<Arc<Archive>>,
    /// The names of these options in error messages.
    pub names: OptionNames,
}

/// The option names used in error messages: flags for the CLI, fields for a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionNames {
    /// [`Flags::listen`].
    pub listen: &'static str,
    /// [`Flags::workers`].
    pub workers: &'static str,
    /// [`Flags::set`].
    pub set: &'static str,
}

impl Default for OptionNames {
    fn default() -> Self {
        Self {
            listen: "--listen",
            workers: "--workers",
            set: "--set",
        }
    }
}

/// `sampan.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawConfig {
    pub(crate) server: RawServer,
    pub(crate) limits: RawLimits,
    pub(crate) scripts: RawScripts,
    pub(crate) log: RawLog,
    pub(crate) db: RawDb,
    pub(crate) template: RawTemplate,
    pub(crate) secrets: RawSecrets,
    pub(crate) files: RawFiles,
    pub(crate) forms: RawForms,
    pub(crate) csrf: RawCsrf,
    pub(crate) session: RawSession,
    #[serde(rename = "static")]
    pub(crate) static_files: RawStatic,
    pub(crate) i18n: RawI18n,
    pub(crate) compression: RawCompression,
    pub(crate) dev: RawDev,
}

/// `[dev]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawDev {
    pub(crate) editor: Option<String>,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) slow_query: Option<Millis>,
}

/// `[compression]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawCompression {
    pub(crate) enabled: Option<bool>,
    pub(crate) cache_bytes_max: Option<Bytes>,
}

/// `[i18n]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawI18n {
    pub(crate) default: Option<String>,
    pub(crate) locales: Vec<String>,
}

/// `[csrf]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawCsrf {
    pub(crate) enabled: Option<bool>,
    pub(crate) trusted_origins: Vec<String>,
    pub(crate) except: Vec<String>,
}

/// `[template]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawTemplate {
    pub(crate) undefined: Option<String>,
}

/// `[secrets]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawSecrets {
    pub(crate) keys: Vec<String>,
}

/// Does not show the keys.
impl fmt::Debug for RawSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawSecrets({})", self.keys.len())
    }
}

/// `[static]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawStatic {
    pub(crate) folder: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) immutable: Option<Vec<String>>,
    pub(crate) check_millis: Option<Millis>,
    pub(crate) file_bytes_max: Option<Bytes>,
    pub(crate) cache_bytes_max: Option<Bytes>,
    pub(crate) compress: Option<bool>,
    pub(crate) fallback: Option<String>,
}

/// `[server]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawServer {
    pub(crate) listen: Option<RawListen>,
    pub(crate) workers: Option<usize>,
    pub(crate) trusted_proxies: Vec<String>,
    pub(crate) socket_mode: Option<String>,
    pub(crate) user: Option<String>,
}

/// `[log]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawLog {
    pub(crate) level: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) access: Option<String>,
    pub(crate) line_bytes_max: Option<Bytes>,
}

/// Declares `[limits]` from the names of the limits themselves, so that none can be stored and never used.
macro_rules! raw_limits {
    (http { $($http:ident: $http_type:ty,)* } script { $($script:ident: $script_type:ty,)* }) => {
        /// `[limits]`: the limits of the HTTP engine and of the scripts, by their names.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct RawLimits {
            $(pub(super) $http: Option<$http_type>,)*
            $($script: Option<$script_type>,)*
        }

        impl RawLimits {
            /// Replaces what the file sets. Taking the limits apart by name makes one that is missing here an error.
            pub(crate) fn apply(&self, http: &mut Limits, script: &mut ScriptLimits) {
                let Limits { $($http,)* } = http;
                let ScriptLimits { $($script,)* } = script;
                $(if let Some(value) = self.$http { *$http = value.into(); })*
                $(if let Some(value) = self.$script { *$script = value.into(); })*
            }

            /// Returns the default of `limits.NAME`.
            pub(super) fn default_of(key: &str) -> Option<toml::Value> {
                let (http, script) = (Limits::default(), ScriptLimits::default());
                let name = key.strip_prefix("limits.")?;
                $(if name == stringify!($http) { return whole(http.$http); })*
                $(if name == stringify!($script) { return whole(script.$script); })*
                None
            }
        }
    };
}

raw_limits! {
    http {
        head_bytes_max: Bytes,
        target_bytes_max: Bytes,
        headers_max: usize,
        body_bytes_max: Bytes,
        chunk_ext_bytes_max: Bytes,
        trailer_bytes_max: Bytes,
        head_millis_max: Millis,
        body_idle_millis_max: Millis,
        write_idle_millis_max: Millis,
        progress_bytes_min: Bytes,
        idle_millis_max: Millis,
        handler_millis_max: Millis,
        stream_idle_millis_max: Millis,
        connections_max: usize,
        refused_max: usize,
        retry_after_seconds: u32,
        backlog_max: i32,
        pipeline_bytes_max: Bytes,
        out_bytes_max: Bytes,
        unsent_bytes_max: Bytes,
        unsent_bytes_per_client_max: Bytes,
        held_max: usize,
        linger_millis_max: Millis,
        linger_idle_millis_max: Millis,
        shutdown_millis_max: Millis,
    }
    script {
        script_millis_max: Millis,
        cleanup_millis_max: Millis,
        memory_bytes_max: Bytes,
        json_depth_max: usize,
    }
}

/// A number for a configuration file.
pub(super) fn whole(number: impl TryInto<i64>) -> Option<toml::Value> {
    number.try_into().ok().map(toml::Value::Integer)
}

/// The name of the configuration file in a project folder.
pub(super) const FILE: &str = "sampan.toml";

impl RawConfig {
    /// Reads the text of a configuration that is called `name` in errors.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| told::fault(text, name, &error))
    }

    /// Parses a text that has no line numbers of its own.
    pub(super) fn parse_from(text: &str, origin: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| told::fault_from(text, origin, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_line_and_the_key() {
        for (text, line, part) in [
            (
                "[server]\nlisen = \"x\"\n",
                2,
                "[server] has no key \"lisen\"; it has listen, workers, trusted_proxies",
            ),
            (
                "[limits]\n\nbody_bytes = 3\n",
                3,
                "[limits] has no key \"body_bytes\"; it has head_bytes_max, ",
            ),
            (
                "[sever]\n",
                1,
                "no section or key \"sever\" here; the sections are server, ",
            ),
            (
                "listen = \"x\"\n",
                1,
                "no section or key \"listen\" here; the sections are server, ",
            ),
            (
                "[server]\nworkers = \"two\"\n",
                2,
                "[server] workers = \"two\": a whole number from 0 is expected",
            ),
            (
                "[server]\nworkers = -1\n",
                2,
                "[server] workers = -1: a whole number",
            ),
            (
                "[log]\n\n[server] # x\nlisten = 8080 # the port\n",
                4,
                "[server] listen = 8080: an address such as \"127.0.0.1:8080\"",
            ),
            (
                "[limits]\nbody_bytes_max = true\n",
                2,
                "[limits] body_bytes_max = true: a size such as 10485760 or \"10MB\" is expected",
            ),
            (
                "[limits]\nbody_bytes_max = \"10 megs\"\n",
                2,
                "[limits] body_bytes_max = \"10 megs\": a size such as",
            ),
            (
                "[limits]\nbody_bytes_max = 1.5\n",
                2,
                "[limits] body_bytes_max = 1.5: a size such as",
            ),
            (
                "[limits]\nidle_millis_max = \"5\"\n",
                2,
                "idle_millis_max = \"5\": a time such as 1500 (milliseconds) or \"10s\" is expected",
            ),
            (
                "[limits]\nidle_millis_max = -5\n",
                2,
                "idle_millis_max = -5: a time such as",
            ),
            (
                "[db]\ndurability = \"some\"\n",
                2,
                "[db] durability = \"some\": \"full\" or \"normal\" is expected",
            ),
            (
                "[db]\nmigrate = 1\n",
                2,
                "[db] migrate = 1: true or false is expected",
            ),
            (
                "[server]\ntrusted_proxies = \"x\"\n",
                2,
                "trusted_proxies = \"x\": a list such as [\"one\", \"two\"] is expected",
            ),
            (
                "[secrets]\nkeys = \"0123456789\"\n",
                2,
                "[secrets] keys = ...: a list such as",
            ),
            (
                "server = 3\n",
                1,
                "server = 3: a section with keys of its own",
            ),
            ("[server\n", 1, ""),
        ] {
            let error = RawConfig::parse(text, "sampan.toml").expect_err(text);
            assert!(
                error.starts_with(&format!("sampan.toml:{line}: ")),
                "{error}"
            );
            assert!(error.contains(part), "{error}");
            for ours in ["invalid type", "usize", "u64", "struct", "Raw"] {
                assert!(!error.contains(ours), "{error}");
            }
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn every_limit_that_can_be_written_is_applied() {
        let text = "[limits]\nhead_bytes_max = \"4 KiB\"\nscript_millis_max = 5\nshutdown_millis_max = \"7s\"\n";
        let raw = RawConfig::parse(text, "x").expect("a configuration");
        let (mut http, mut script) = (Limits::default(), ScriptLimits::default());
        raw.limits.apply(&mut http, &mut script);
        assert_eq!(
            (
                http.head_bytes_max,
                http.shutdown_millis_max,
                script.script_millis_max
            ),
            (4096, 7000, 5)
        );
        assert_eq!(http.headers_max, Limits::default().headers_max);
    }
}
