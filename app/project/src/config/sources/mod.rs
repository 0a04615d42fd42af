//! The sources of the configuration's values. Each source wins over those before it: defaults, `sampan.toml`, `PORT`,
//! the environment's `SAMPAN_SECTION_KEY` and `SAMPAN_SECTION_KEY_FILE`, the command line.

pub(crate) mod dotenv;
mod environment;
mod misspelt;
mod values;

use super::flags::{Flags, OptionNames};
use super::{acme, listen, server};
use crate::archive::Archive;
use environment::{FILE_SUFFIX, Filled, PREFIX, filled};
use sampan_host::Sources as _;
use sampan_host::settings::{AllSettings, Section};
use std::path::Path;
use toml::Value;
use values::{Entry, parsed, plain, value_of};

pub use environment::{Environment, Variables};
pub(super) use misspelt::misspelt;

/// The host of a server whose port is all that is said: platforms that say so connect from outside.
const PORT_HOST: &str = "0.0.0.0";
/// The file that lists addresses of IPv6, where the system has it.
const IP6: &str = "/proc/net/if_inet6";

/// The name of the configuration file in a project folder.
pub const FILE: &str = "sampan.toml";

/// The sections that are read.
pub type Sections<'a> = &'a [&'static Section];

/// Reads the configuration of the project in the folder `root` from all sources.
///
/// # Errors
/// A line that says what is wrong in which source; of the file, a line for each thing.
pub fn read_all(
    root: &Path,
    flags: &Flags,
    environment: &Environment,
    sections: Sections<'_>,
) -> Result<AllSettings, String> {
    let beside = root.join(FILE);
    let path = match &flags.config {
        Some(path) => Some(path),
        None => is_entry(&beside).then_some(&beside),
    };
    let packed = flags.archive.as_deref().filter(|_| flags.config.is_none());
    let (text, name) = match (path, packed) {
        (_, Some(archive)) => (text_in(archive)?, FILE.to_owned()),
        (Some(path), None) => (read(path)?, path.display().to_string()),
        (None, None) => (String::new(), FILE.to_owned()),
    };
    read_text(&text, &name, flags, environment, sections)
}

/// Reads all sources, with the text of a configuration file, which errors call `name`.
pub fn read_text(
    text: &str,
    name: &str,
    flags: &Flags,
    environment: &Environment,
    sections: Sections<'_>,
) -> Result<AllSettings, String> {
    let mut reading = Reading(AllSettings::new(sections, name));
    reading.add_file(text, name, Some(environment), None)?;
    reading.add_environment(environment)?;
    reading.add_flags(flags)?;
    reading.add_public_port()?;
    Ok(reading.0)
}

/// Reads the configuration file of the project in the folder `root` alone. Texts with variables of the environment in
/// them are as if they were not there: those of the machine that serves the project count. The flag is true if there
/// are any.
pub fn read_file(root: &Path, sections: Sections<'_>) -> Result<(AllSettings, bool), String> {
    let (text, name) = text_of(root)?;
    let mut reading = Reading(AllSettings::new(sections, &name));
    reading.add_file(&text, &name, None, None)?;
    Ok((reading.0, text.contains("${")))
}

/// Returns the text of the configuration file in the folder `root`, which is empty if there is none, and its name.
fn text_of(root: &Path) -> Result<(String, String), String> {
    let path = root.join(FILE);
    let text = match is_entry(&path) {
        true => read(&path)?,
        false => String::new(),
    };
    Ok((text, path.display().to_string()))
}

/// Reports whether a name is in its folder, also as a link to nothing.
fn is_entry(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads the configuration file of the project in the folder `root` and the environment, also where the file has
/// variables without a value and without a default. Keys with those are as if they were not there; they are returned
/// as `[section] key`.
pub fn read_known(
    root: &Path,
    environment: &Environment,
    sections: Sections<'_>,
) -> Result<(AllSettings, Vec<String>), String> {
    let (text, name) = text_of(root)?;
    let mut reading = Reading(AllSettings::new(sections, &name));
    let mut unknown = Vec::new();
    reading.add_file(&text, &name, Some(environment), Some(&mut unknown))?;
    reading.add_environment(environment)?;
    Ok((reading.0, unknown))
}

/// The values so far.
struct Reading(AllSettings);

impl Reading {
    /// Adds the values of a file. With `unknown`, keys whose variables have no value that fits are noted there instead
    /// of being a fault.
    ///
    /// # Errors
    /// A line for each section and key that is wrong.
    fn add_file(
        &mut self,
        text: &str,
        name: &str,
        environment: Option<&Environment>,
        mut unknown: Option<&mut Vec<String>>,
    ) -> Result<(), String> {
        let is_section = |name: &str| self.0.named(name).is_ok();
        let mut faults = Vec::new();
        for (section, keys) in parsed(text, name, is_section)? {
            if let Err(fault) = self.check_section(&section) {
                faults.push(format!("{name}:{}: {fault}", section.line));
                continue;
            }
            for entry in keys {
                let key = (section.key.as_str(), entry.key.as_str());
                let origin = format!("{name}:{}", entry.line);
                let filled = filled(entry.value, environment);
                let filled =
                    filled.map_err(|fault| format!("{origin}: [{}] {}: {fault}", key.0, key.1));
                let put = filled.and_then(|filled| match filled {
                    Filled::Same(value) => self.put(key, &value, origin),
                    Filled::Text(text) => self.put_text(key, &text, origin),
                    Filled::Unknown => Ok(()),
                });
                match (put, &mut unknown) {
                    (Err(_), Some(unknown)) => unknown.push(format!("[{}] {}", key.0, key.1)),
                    (put, _) => faults.extend(put.err()),
                }
            }
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(faults.join("\n")),
        }
    }

    /// Checks that there is a section of that name, and that it has keys.
    fn check_section(&self, section: &Entry) -> Result<(), String> {
        let (key, value) = (&section.key, &section.value);
        if let Err(fault) = self.0.named(key) {
            let homes = match value.is_table() {
                true => Vec::new(),
                false => self.sections_with(key),
            };
            return Err(match homes.is_empty() {
                true => fault,
                false => {
                    let homes = homes.join(" or ");
                    format!("{key} stands before the first section: it belongs into {homes}")
                }
            });
        }
        if value.is_table() {
            return Ok(());
        }
        let is_list_of_tables = value
            .as_array()
            .is_some_and(|all| all.iter().all(Value::is_table));
        let written = match is_list_of_tables {
            true => format!("[[{key}]]"),
            false => format!("{key} = {value}"),
        };
        Err(format!(
            "{written}: a section with keys of its own, such as [{key}] is expected"
        ))
    }

    /// Returns the sections that have a key of this name, in brackets.
    fn sections_with(&self, key: &str) -> Vec<String> {
        let sections = self.0.iter().map(|one| one.section());
        let having = sections.filter(|one| one.keys.iter().any(|known| known.name == key));
        having.map(|one| format!("[{}]", one.name)).collect()
    }

    fn add_environment(&mut self, environment: &Environment) -> Result<(), String> {
        // An empty one is how some tools unset it.
        let port = environment.0.get("PORT");
        if let Some(port) = port.filter(|port| !port.is_empty()) {
            self.add_port(port)?;
        }
        for (name, text) in &environment.0 {
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let rest = rest.to_ascii_lowercase();
            // Other variables of that beginning are none of ours.
            let Some((section, key)) = self.section_and_key(&rest, '_') else {
                continue;
            };
            match key.strip_suffix(FILE_SUFFIX) {
                Some(key) => {
                    let text = std::fs::read_to_string(text)
                        .map_err(|error| format!("{name}: cannot read {text}: {error}"))?;
                    self.put_text((section, key), text.trim_end(), name.clone())?;
                }
                None => self.put_text((section, key), text, name.clone())?,
            }
        }
        Ok(())
    }

    /// Splits the name of a key, in which the dots of its section are `dot`: `tls.acme.email` is of `tls.acme`.
    fn section_and_key<'a>(&self, name: &'a str, dot: char) -> Option<(&'static str, &'a str)> {
        let sections = self.0.iter().map(|one| one.section().name);
        let found = sections.filter_map(|section| {
            let written = section.replace('.', dot.encode_utf8(&mut [0; 4]));
            let key = name.strip_prefix(&written)?.strip_prefix(dot)?;
            Some((section, key))
        });
        found.max_by_key(|(section, _)| section.len())
    }

    /// A server that gets certificates listens where the whole world finds it, unless it is told where.
    fn add_public_port(&mut self) -> Result<(), String> {
        let domains = self.0.of(&acme::SECTION);
        let is_listening = self.0.of(&server::SECTION).written("listen").is_some();
        if is_listening || domains.list("domains").is_empty() {
            return Ok(());
        }
        let host = match Path::new(IP6).exists() {
            true => "[::]",
            false => PORT_HOST,
        };
        let listen = Value::from(format!("{host}:443"));
        let origin = "domains of [tls.acme]".to_owned();
        self.put(("server", "listen"), &listen, origin)
    }

    /// `PORT`, as platforms set it: the port of the server, on the host that the file names.
    fn add_port(&mut self, text: &str) -> Result<(), String> {
        let Ok(port) = text.parse::<u16>() else {
            return Err(format!(
                "PORT: {text:?} is no port: it must be a number from 0 to 65535"
            ));
        };
        let server = self.0.of(&server::SECTION);
        let written = server.written("listen").map(|_| server.list("listen"));
        // Of several addresses, or of a path, none is the one that the port is meant for.
        let host = match written.as_deref() {
            Some([one]) if !one.starts_with("unix:") => one.rsplit_once(':'),
            _ => None,
        };
        let host = host.map_or(PORT_HOST, |(host, _)| host);
        let listen = Value::from(format!("{host}:{port}"));
        self.put(("server", "listen"), &listen, "PORT".to_owned())
    }

    fn add_flags(&mut self, flags: &Flags) -> Result<(), String> {
        let OptionNames {
            listen: listen_name,
            workers: workers_name,
            set,
        } = flags.names;
        for text in &flags.set {
            let split = text.split_once('=').and_then(|(key, value)| {
                // Of a section that there is not, the fault is told.
                let known = self.section_and_key(key, '.');
                Some((known.or_else(|| key.split_once('.'))?, value))
            });
            let Some((key, value)) = split else {
                return Err(match set.starts_with("--") {
                    true => format!("{set} {text}: write it as {set} section.key=value"),
                    false => format!("{set}: {text:?} is not of the form section.key=value"),
                });
            };
            self.put_text(key, value, set.to_owned())?;
        }
        if let Some(listen) = &flags.listen {
            let addresses = listen::of_flag(listen, listen_name)?;
            let value = match &addresses[..] {
                [one] => Value::from(one.as_str()),
                _ => Value::from(addresses),
            };
            self.put(("server", "listen"), &value, listen_name.to_owned())?;
        }
        if let Some(user) = &flags.user {
            let value = Value::from(user.as_str());
            self.put(("server", "user"), &value, "--user".to_owned())?;
        }
        if let Some(workers) = flags.workers {
            let workers = Value::from(i64::try_from(workers).unwrap_or(i64::MAX));
            self.put(("server", "workers"), &workers, workers_name.to_owned())?;
        }
        let server = flags.db.as_deref().and_then(server_url);
        if let Some(url) = server {
            self.put(("db", "url"), &Value::from(url), "--db".to_owned())?;
        } else if let Some(scheme) = flags.db.as_deref().and_then(other_scheme) {
            return Err(format!(
                "--db: {scheme}:// is no database that Sampan knows: give a file, or postgres://user@host/name"
            ));
        } else if let Some(path) = absolute(flags.db.as_deref(), "--db")? {
            self.put(("db", "path"), &Value::from(path), "--db".to_owned())?;
            // The file, also where the project names a server.
            self.put(("db", "url"), &Value::from(""), "--db".to_owned())?;
        }
        for (path, key, name) in [
            (&flags.tls_cert, "cert", "--tls-cert"),
            (&flags.tls_key, "key", "--tls-key"),
        ] {
            if let Some(path) = absolute(path.as_deref(), name)? {
                // A list, since a path may have commas in it.
                self.put(("tls", key), &Value::from(vec![path]), name.to_owned())?;
            }
        }
        if !flags.tls.is_empty() {
            let domains = Value::from(flags.tls.clone());
            self.put(("tls.acme", "domains"), &domains, "--tls".to_owned())?;
        }
        if flags.no_migrate {
            let value = Value::from(false);
            self.put(("db", "migrate"), &value, "--no-migrate".to_owned())?;
        }
        if flags.restore {
            let value = Value::from(true);
            self.put(("backup", "restore"), &value, "--restore".to_owned())?;
        }
        Ok(())
    }

    fn put_text(&mut self, key: (&str, &str), text: &str, origin: String) -> Result<(), String> {
        let known = self.0.named(key.0);
        let known = known.and_then(|settings| settings.section().key(key.1));
        let kind = &known.map_err(|fault| format!("{origin}: {fault}"))?.kind;
        self.put(key, &value_of(kind, text), origin)
    }

    fn put(&mut self, key: (&str, &str), value: &Value, origin: String) -> Result<(), String> {
        self.0.put(key, plain(value), value.to_string(), origin)
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

/// Returns the URL of a database on a server, if an argument is one.
fn server_url(argument: &Path) -> Option<&str> {
    let text = argument.to_str()?;
    let is_url = |scheme: &str| text.starts_with(scheme);
    ["postgres://", "postgresql://"]
        .into_iter()
        .any(is_url)
        .then_some(text)
}

/// Returns the scheme of a URL, if an argument is one.
fn other_scheme(argument: &Path) -> Option<&str> {
    let (scheme, _) = argument.to_str()?.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then_some(scheme)
}

/// Returns a path of the command line, which is relative to the current folder.
fn absolute(path: Option<&Path>, name: &str) -> Result<Option<String>, String> {
    let Some(path) = path else {
        return Ok(None);
    };
    let path = std::path::absolute(path).map_err(|error| format!("{name}: {error}"))?;
    let path = path.to_str().map(str::to_owned);
    path.map(Some)
        .ok_or_else(|| format!("{name}: the path is not UTF-8"))
}

/// The configuration that an archive has; empty where it has none.
fn text_in(archive: &Archive) -> Result<String, String> {
    let bytes = archive.read(FILE).unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| format!("{FILE} is not UTF-8: save it as UTF-8 text"))
}

#[cfg(test)]
mod tests;
