//! The sources of the configuration's values. Each source wins over those before it: defaults, `sampan.toml`, `PORT`,
//! the environment's
//! `SAMPAN_SECTION_KEY` and `SAMPAN_SECTION_KEY_FILE`, the command line.

pub(crate) mod dotenv;
mod environment;
mod values;

use super::raw::{FILE, Flags, OptionNames, RawConfig};
use super::{fields, listen, told};
use environment::{Filled, filled};
use sampan_host::Sources as _;
use sampan_project::archive::Archive;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};
use values::{checked, lines_of, value_of};

pub(crate) use environment::Environment;

/// The prefix of our variables.
const PREFIX: &str = "SAMPAN_";
/// The ending, in small letters, of names of variables whose value is in a file.
const FILE_SUFFIX: &str = "_file";
/// The host of a server whose port is all that is said: platforms that say so connect from outside.
const PORT_HOST: &str = "0.0.0.0";

/// The values of all sources together.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    table: Table,
    pub(crate) origins: Origins,
    /// The option names used in error messages: flags for the CLI, fields for a library.
    pub(crate) names: OptionNames,
}

/// The place where each value was written.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    by_key: BTreeMap<String, String>,
    /// The configuration file, which stands for what nobody wrote.
    file: String,
}

impl Default for Origins {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            file: FILE.to_owned(),
        }
    }
}

impl Origins {
    /// Returns the place where the value of a key such as `server.listen` was written; `None` for a default.
    pub(crate) fn of(&self, key: &str) -> Option<&str> {
        self.by_key.get(key).map(String::as_str)
    }

    /// A fault in a section that begins with the name of its key, with the place where that was written.
    pub(crate) fn tell(&self, section: &str, fault: &str) -> String {
        let key = fault.split([' ', ':']).next().unwrap_or_default();
        let origin = self.of(&format!("{section}.{key}"));
        format!("{}: [{section}] {fault}", origin.unwrap_or(&self.file))
    }
}

impl Sources {
    /// The configuration of the project in the folder `root`.
    ///
    /// # Errors
    /// One line that says what is wrong in which source.
    pub(crate) fn of(
        root: &Path,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, String> {
        let beside = root.join(FILE);
        let path = match &flags.config {
            Some(path) => Some(path),
            None => beside.exists().then_some(&beside),
        };
        let packed = flags.archive.as_deref().filter(|_| flags.config.is_none());
        let (text, name) = match (path, packed) {
            (_, Some(archive)) => (text_in(archive)?, FILE.to_owned()),
            (Some(path), None) => (read(path)?, path.display().to_string()),
            (None, None) => (String::new(), FILE.to_owned()),
        };
        Self::of_text(&text, &name, flags, environment)
    }

    /// Creates the sources with the text of a configuration file, which errors call `name`.
    pub(crate) fn of_text(
        text: &str,
        name: &str,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, String> {
        let mut sources = Self::default();
        sources.origins.file = name.to_owned();
        sources.names = flags.names;
        sources.add_file(text, name, environment)?;
        sources.add_environment(environment)?;
        sources.add_flags(flags)?;
        Ok(sources)
    }

    /// Combines all sources.
    ///
    /// # Errors
    /// None that a source had not had alone.
    pub(crate) fn resolved(&self) -> Result<RawConfig, String> {
        let raw: Result<RawConfig, _> = self.table.clone().try_into();
        raw.map_err(|error| format!("{}: {}", self.origins.file, error.message()))
    }

    fn add_file(
        &mut self,
        text: &str,
        name: &str,
        environment: &Environment,
    ) -> Result<(), String> {
        if !text.contains("${") {
            RawConfig::parse(text, name)?;
        }
        let table: Table = toml::from_str(text).map_err(|error| told::fault(text, name, &error))?;
        let lines = lines_of(text);
        for (section, value) in table {
            let Value::Table(values) = value else {
                // The parser has its words for this.
                return RawConfig::parse(text, name).map(|_| ());
            };
            for (key, value) in values {
                let full = format!("{section}.{key}");
                let origin = match lines.get(&full) {
                    Some(line) => format!("{name}:{line}"),
                    None => name.to_owned(),
                };
                let value = filled(value, environment)
                    .map_err(|fault| format!("{origin}: [{section}] {key}: {fault}"))?;
                let value = match value {
                    Filled::Same(value) => {
                        checked(&section, &key, &value.to_string(), &origin).map(|()| value)?
                    }
                    Filled::Text(text) => value_of(&section, &key, &text, &origin)?,
                };
                self.put(&section, &key, value, origin);
            }
        }
        Ok(())
    }

    fn add_environment(&mut self, environment: &Environment) -> Result<(), String> {
        if let Some(port) = environment.0.get("PORT") {
            self.add_port(port)?;
        }
        let known = fields::names::<RawConfig>();
        for (name, text) in &environment.0 {
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let rest = rest.to_ascii_lowercase();
            // Other variables of that beginning are none of ours.
            let Some((section, key)) = rest
                .split_once('_')
                .filter(|(section, _)| known.contains(section))
            else {
                continue;
            };
            match key.strip_suffix(FILE_SUFFIX) {
                Some(key) => {
                    let text = std::fs::read_to_string(text)
                        .map_err(|error| format!("{name}: cannot read {text}: {error}"))?;
                    let value = value_of(section, key, text.trim_end(), name)?;
                    self.put(section, key, value, name.clone());
                }
                None => {
                    let value = value_of(section, key, text, name)?;
                    self.put(section, key, value, name.clone());
                }
            }
        }
        Ok(())
    }

    /// `PORT`, as platforms set it: the port of the server, on the host that the file names.
    fn add_port(&mut self, text: &str) -> Result<(), String> {
        let Ok(port) = text.parse::<u16>() else {
            return Err(format!(
                "PORT: {text:?} is no port: it must be a number from 0 to 65535"
            ));
        };
        let written = self
            .table
            .get("server")
            .and_then(|server| server.get("listen")?.as_str());
        // Of several addresses, or of a path, none is the one that the port is meant for.
        let host = written
            .filter(|listen| !listen.contains(',') && !listen.starts_with("unix:"))
            .and_then(|listen| listen.rsplit_once(':'))
            .map_or(PORT_HOST, |(host, _)| host);
        let listen = Value::from(format!("{host}:{port}"));
        self.put("server", "listen", listen, "PORT".to_owned());
        Ok(())
    }

    fn add_flags(&mut self, flags: &Flags) -> Result<(), String> {
        let OptionNames {
            listen: listen_name,
            workers: workers_name,
            set,
        } = flags.names;
        for text in &flags.set {
            let split = text
                .split_once('=')
                .and_then(|(key, value)| Some((key.split_once('.')?, value)));
            let Some(((section, key), value)) = split else {
                return Err(match set.starts_with("--") {
                    true => format!("{set} {text}: write it as {set} section.key=value"),
                    false => format!("{set}: {text:?} is not of the form section.key=value"),
                });
            };
            let value = value_of(section, key, value, set)?;
            self.put(section, key, value, set.to_owned());
        }
        if let Some(listen) = &flags.listen {
            let addresses = listen::of_flag(listen, listen_name)?.0;
            let value = match &addresses[..] {
                [one] => Value::from(one.as_str()),
                _ => Value::from(addresses),
            };
            self.put("server", "listen", value, listen_name.to_owned());
        }
        if let Some(user) = &flags.user {
            let value = Value::from(user.as_str());
            self.put("server", "user", value, "--user".to_owned());
        }
        if let Some(workers) = flags.workers {
            let workers = i64::try_from(workers).unwrap_or(i64::MAX);
            self.put(
                "server",
                "workers",
                Value::from(workers),
                workers_name.to_owned(),
            );
        }
        if let Some(path) = &flags.db {
            // One on the command line is relative to the current folder.
            let path = std::path::absolute(path).map_err(|error| format!("--db: {error}"))?;
            let Some(path) = path.to_str() else {
                return Err("--db: the path is not UTF-8".to_owned());
            };
            self.put("db", "path", Value::from(path), "--db".to_owned());
        }
        if flags.no_migrate {
            self.put(
                "db",
                "migrate",
                Value::from(false),
                "--no-migrate".to_owned(),
            );
        }
        Ok(())
    }

    /// The value of a key, if it was written.
    pub(super) fn value(&self, section: &str, key: &str) -> Option<&Value> {
        self.table.get(section)?.get(key)
    }

    fn put(&mut self, section: &str, key: &str, value: Value, origin: String) {
        let place = self
            .table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(values) = place {
            values.insert(key.to_owned(), value);
            self.origins
                .by_key
                .insert(format!("{section}.{key}"), origin);
        }
    }
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => {
            format!("{} is not UTF-8: save it as UTF-8 text", path.display())
        }
        _ => format!("cannot read {}: {error}", path.display()),
    })
}

/// The configuration that an archive has; empty where it has none.
fn text_in(archive: &Archive) -> Result<String, String> {
    let bytes = archive.read(FILE).unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| format!("{FILE} is not UTF-8: save it as UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::super::listen::RawListen;
    use super::*;

    fn sources(text: &str, variables: &[(&str, &str)], set: &[&str]) -> Result<Sources, String> {
        let flags = Flags {
            set: set.iter().map(|text| (*text).to_owned()).collect(),
            ..Flags::default()
        };
        Sources::of_text(text, FILE, &flags, &Environment::from_pairs(variables))
    }

    #[test]
    fn each_source_wins_over_those_before_it() {
        let text = "[server]\nlisten = \"127.0.0.1:81\"\n\nworkers = 3\n[limits]\nbody_bytes_max = \"1MB\"\n";
        let variables = [
            ("SAMPAN_SERVER_WORKERS", "4"),
            ("SAMPAN_LIMITS_IDLE_MILLIS_MAX", "10s"),
            ("SAMPAN_SERVER_TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
            ("SAMPAN_CSRF_ENABLED", "false"),
            ("SAMPAN_ROCKS", "elsewhere"),
        ];
        let all = sources(
            text,
            &variables,
            &["server.workers=5", "limits.idle_millis_max=700"],
        )
        .expect("valid");
        let raw = all.resolved().expect("valid");
        assert_eq!(raw.server.workers, Some(5));
        assert_eq!(raw.server.listen, Some(RawListen::split("127.0.0.1:81")));
        assert_eq!(raw.server.trusted_proxies, ["10.0.0.0/8", "::1"]);
        assert_eq!(raw.csrf.enabled, Some(false));
        let origin = |key| all.origins.of(key);
        assert_eq!(origin("server.listen"), Some("sampan.toml:2"));
        assert_eq!(origin("server.workers"), Some("--set"));
        assert_eq!(
            origin("server.trusted_proxies"),
            Some("SAMPAN_SERVER_TRUSTED_PROXIES")
        );
        assert_eq!(origin("limits.body_bytes_max"), Some("sampan.toml:6"));
        assert_eq!(origin("limits.headers_max"), None);
    }

    #[test]
    fn a_port_alone_is_that_of_the_file_or_of_all_networks() {
        let listen = |text: &str, port: &str| {
            let raw = sources(text, &[("PORT", port)], &[])?.resolved()?;
            Ok::<_, String>(
                raw.server
                    .listen
                    .map_or_else(String::new, |all| all.0.join(",")),
            )
        };
        assert_eq!(listen("", "5000").as_deref(), Ok("0.0.0.0:5000"));
        assert_eq!(
            listen("[server]\nlisten = \"[::1]:80\"", "5000").as_deref(),
            Ok("[::1]:5000")
        );
        for text in ["unix:/run/a.sock", "[::1]:80,[::1]:81"] {
            let text = format!("[server]\nlisten = \"{text}\"");
            assert_eq!(listen(&text, "5000").as_deref(), Ok("0.0.0.0:5000"));
        }
        let fault = listen("", "http").expect_err("no number");
        assert!(fault.starts_with("PORT: \"http\" is no port"), "{fault}");
    }

    #[test]
    fn the_file_takes_variables_of_every_type() {
        let text = "[server]\nlisten = \"${HOST}:80\"\nworkers = \"${COUNT}\"\n[db]\npath \
         = \"${DIR:-here}/x.db\"\n[csrf]\nexcept = [\"/${A}/*\"]\n[i18n]\ndefault = \"$${x}\"\n";
        let variables = [("HOST", "::1"), ("COUNT", "2"), ("A", "hooks")];
        let raw = sources(text, &variables, &[])
            .and_then(|all| all.resolved())
            .expect("valid");
        assert_eq!(raw.server.listen, Some(RawListen::split("::1:80")));
        assert_eq!(raw.server.workers, Some(2));
        assert_eq!(raw.csrf.except, ["/hooks/*"]);
        assert_eq!(raw.i18n.default.as_deref(), Some("${x}"));
        let fault = sources(text, &variables[..2], &[]).expect_err("one is missing");
        assert_eq!(
            fault,
            "sampan.toml:7: [csrf] except: the environment has no variable A"
        );
    }

    #[test]
    fn a_value_may_lie_in_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        std::fs::write(&path, "one,two\n").expect("written");
        let name = "SAMPAN_SECRETS_KEYS_FILE";
        let found = sources("", &[(name, path.to_str().expect("text"))], &[]).expect("valid");
        assert_eq!(
            found.resolved().expect("valid").secrets.keys,
            ["one", "two"]
        );
        assert_eq!(found.origins.of("secrets.keys"), Some(name));
        let fault = sources("", &[(name, "/nowhere/at/all")], &[]).expect_err("no file");
        assert!(
            fault.starts_with("SAMPAN_SECRETS_KEYS_FILE: cannot read /nowhere/at/all"),
            "{fault}"
        );
    }

    #[test]
    fn faults_name_their_source() {
        for (text, variables, set, told) in [
            (
                "",
                &[("SAMPAN_SERVER_WORKERS", "two")][..],
                &[][..],
                "SAMPAN_SERVER_WORKERS: [server] workers = \"two\": a whole number from 0 is expected",
            ),
            (
                "",
                &[("SAMPAN_SERVER_WORKES", "2")],
                &[],
                "SAMPAN_SERVER_WORKES: [server] has no key \"workes\"; it has listen",
            ),
            (
                "",
                &[],
                &["limits.body=3"],
                "--set: [limits] has no key \"body\"",
            ),
            (
                "",
                &[],
                &["limits=3"],
                "--set limits=3: write it as --set section.key=value",
            ),
            (
                "",
                &[],
                &["limit.body=3"],
                "--set: there is no section or key \"limit\" here",
            ),
            (
                "[server]\nworkers = \"two\"\n",
                &[],
                &[],
                "sampan.toml:2: [server] workers = \"two\"",
            ),
            (
                "[server]\n\nworkers = \"${A}\"\n",
                &[("A", "x")],
                &[],
                "sampan.toml:3: [server] workers = \"x\"",
            ),
            (
                "[server]\nlisten = \"${A\"\n",
                &[],
                &[],
                "sampan.toml:2: [server] listen: \"${A\" has no '}'",
            ),
        ] {
            let fault = sources(text, variables, set).expect_err(told);
            assert!(fault.starts_with(told), "{fault}");
        }
    }
}
