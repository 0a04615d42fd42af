//! The configuration as it is written: `sampan.toml` with every key optional, and the flags of the command line.

use super::db::RawDb;
use sampan_host::ScriptLimits;
use sampan_http::Limits;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// What the command line says; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The project: its folder, or the file to run.
    pub path: PathBuf,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--workers`.
    pub workers: Option<usize>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--db`.
    pub db: Option<PathBuf>,
    /// `--no-migrate`.
    pub no_migrate: bool,
}

/// `sampan.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawConfig {
    pub(crate) server: RawServer,
    pub(crate) limits: RawLimits,
    pub(crate) log: RawLog,
    pub(crate) db: RawDb,
}

/// `[server]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawServer {
    pub(crate) listen: Option<String>,
    pub(crate) workers: Option<usize>,
    pub(crate) trusted_proxies: Vec<String>,
}

/// `[log]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawLog {
    pub(crate) level: Option<String>,
}

/// Declares `[limits]` from the names of the limits themselves, so that none can be stored and never used.
macro_rules! raw_limits {
    (http { $($http:ident: $http_type:ty,)* } script { $($script:ident: $script_type:ty,)* }) => {
        /// `[limits]`: the limits of the HTTP engine and of the scripts, by their names.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct RawLimits {
            $($http: Option<$http_type>,)*
            $($script: Option<$script_type>,)*
        }

        impl RawLimits {
            /// Replaces what the file sets. Taking the limits apart by name makes one that is missing here an error.
            pub(crate) fn apply(&self, http: &mut Limits, script: &mut ScriptLimits) {
                let Limits { $($http,)* } = http;
                let ScriptLimits { $($script,)* } = script;
                $(if let Some(value) = self.$http { *$http = value; })*
                $(if let Some(value) = self.$script { *$script = value; })*
            }
        }
    };
}

raw_limits! {
    http {
        head_bytes_max: usize,
        target_bytes_max: usize,
        headers_max: usize,
        body_bytes_max: usize,
        chunk_ext_bytes_max: usize,
        trailer_bytes_max: usize,
        head_millis_max: u64,
        body_idle_millis_max: u64,
        write_idle_millis_max: u64,
        progress_bytes_min: usize,
        idle_millis_max: u64,
        handler_millis_max: u64,
        stream_idle_millis_max: u64,
        connections_max: usize,
        refused_max: usize,
        retry_after_seconds: u32,
        backlog_max: i32,
        pipeline_bytes_max: usize,
        out_bytes_max: usize,
        held_max: usize,
        linger_millis_max: u64,
        linger_idle_millis_max: u64,
        shutdown_millis_max: u64,
    }
    script {
        script_millis_max: u64,
        memory_bytes_max: usize,
        json_depth_max: usize,
    }
}

/// The name of the configuration file in a project folder.
pub(super) const FILE: &str = "sampan.toml";

impl RawConfig {
    /// The configuration of the project in the folder `root`, and the name of its file for errors.
    pub(crate) fn of(root: &Path, flags: &Flags) -> Result<(Self, String), String> {
        let beside = root.join(FILE);
        let path = match &flags.config {
            Some(path) => path,
            None if beside.exists() => &beside,
            None => return Ok((Self::default(), FILE.to_owned())),
        };
        Ok((Self::read(path)?, path.display().to_string()))
    }

    /// Reads a configuration file. The error is one line that names the file, the line and the key.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads the text of a configuration that is called `name` in errors.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text
                .as_bytes()
                .iter()
                .take(start)
                .filter(|&&b| b == b'\n')
                .count()
                + 1;
            let message = error.message().replace('\n', " ");
            format!("{name}:{line}: {message}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_line_and_the_key() {
        for (text, line, part) in [
            ("[server]\nlisen = \"x\"\n", 2, "lisen"),
            ("[limits]\n\nbody_bytes = 3\n", 3, "body_bytes"),
            ("[sever]\n", 1, "sever"),
            ("[server]\nworkers = \"two\"\n", 2, "invalid type"),
            ("[server]\nworkers = -1\n", 2, "-1"),
            ("[server\n", 1, ""),
        ] {
            let error = RawConfig::parse(text, "sampan.toml").expect_err(text);
            assert!(
                error.starts_with(&format!("sampan.toml:{line}: ")),
                "{error}"
            );
            assert!(error.contains(part), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn every_limit_that_can_be_written_is_applied() {
        let text =
            "[limits]\nhead_bytes_max = 4096\nscript_millis_max = 5\nshutdown_millis_max = 7\n";
        let raw = RawConfig::parse(text, "x").expect("a configuration");
        let (mut http, mut script) = (Limits::default(), ScriptLimits::default());
        raw.limits.apply(&mut http, &mut script);
        assert_eq!(
            (
                http.head_bytes_max,
                http.shutdown_millis_max,
                script.script_millis_max
            ),
            (4096, 7, 5)
        );
        assert_eq!(http.headers_max, Limits::default().headers_max);
    }
}
