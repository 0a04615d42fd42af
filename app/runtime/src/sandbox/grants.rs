//! The files and ports that a server keeps, as its configuration says.

use super::settings::{SandboxSettings, ScriptConnections};
use super::{ports, system};
use crate::app_config::AppConfig;
use crate::upgrade::new_process;
use sampan_project::config::ListenAddress;
use sampan_project::files::MIGRATIONS;
use sampan_sandbox::{Access, Connections, Grants};
use sampan_serve::fetch;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The word in each script that sends requests.
const FETCH: &str = "fetch";

/// The names of files in the URL of a PostgreSQL database, and in the environment.
const POSTGRES_FILES: [(&str, &str); 4] = [
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("passfile", "PGPASSFILE"),
];

/// Returns the settings of a process that is to be confined; `None` if it is not.
///
/// # Errors
/// `[sandbox]` is wrong.
pub(super) fn wanted(config: &AppConfig) -> Result<Option<SandboxSettings>, String> {
    if config.program.confinement.is_none() {
        return Ok(None);
    }
    let settings = SandboxSettings::of(&config.project_settings())?;
    Ok(Some(settings).filter(|settings| settings.is_enabled))
}

/// The treatment of folders that the server writes in, and that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingFolders {
    /// They are made, for a server that starts.
    Make,
    /// They are left out.
    Leave,
}

/// Returns what a server keeps that listens on these ports.
pub(super) fn of(
    config: &AppConfig,
    settings: &SandboxSettings,
    listening: &[u16],
    missing: MissingFolders,
) -> Grants {
    let mut grants = Grants {
        connections: connections(config, settings, listening),
        // systemd may listen for notifications there.
        reaches_abstract_sockets: std::env::var("NOTIFY_SOCKET")
            .is_ok_and(|name| name.starts_with('@')),
        ..Grants::default()
    };
    add_project(&mut grants, config);
    add_data(&mut grants, config, missing);
    add_certificates(&mut grants, config, missing);
    add_listeners(&mut grants, config);
    for path in &settings.read {
        grants.path(path, Access::Read, "[sandbox] read");
    }
    for path in &settings.write {
        grants.path(path, Access::Write, "[sandbox] write");
    }
    system::add(&mut grants);
    grants
}

/// Returns the connections that the server may begin.
fn connections(config: &AppConfig, settings: &SandboxSettings, listening: &[u16]) -> Connections {
    let written = match &settings.connections {
        ScriptConnections::Any => return Connections::Any,
        ScriptConnections::Auto if begins_any(config) => return Connections::Any,
        ScriptConnections::Auto => &[][..],
        ScriptConnections::Ports(ports) => ports,
    };
    let mut all = ports::of_servers(config);
    all.extend(written);
    // A server connects to its own ports when it ends: that wakes what accepts there.
    all.extend(listening);
    all.sort_unstable();
    all.dedup();
    Connections::Ports(all)
}

/// Reports whether a project may begin connections to ports that its configuration does not name now: a script has the
/// word `fetch`, scripts are read when they are asked for, a reload may name another mail server, or a service file the
/// server of the database.
pub(super) fn begins_any(config: &AppConfig) -> bool {
    config.base.scripts.check_time.is_some()
        || config.database.config.is_postgres()
        || ports::sends_mail(config)
        || config
            .base
            .project
            .may_have_word(FETCH, &folders_without_scripts(config))
}

/// Returns the folders of a project with files that come from elsewhere, or go to browsers.
fn folders_without_scripts(config: &AppConfig) -> Vec<PathBuf> {
    let storage = config.storage_folder();
    let inside = storage.strip_prefix(config.base.project.root());
    let inside = inside.map(Path::to_owned).ok();
    let inside = inside.filter(|folder| !folder.as_os_str().is_empty());
    let public = PathBuf::from(&config.serving.static_files.folder);
    inside.into_iter().chain([public]).collect()
}

/// Reports whether a server that was confined as `start` says may write in the folders of another configuration.
pub(super) fn has_folders(
    start: &AppConfig,
    settings: &SandboxSettings,
    config: &AppConfig,
) -> bool {
    let folders = |config: &AppConfig| -> Vec<PathBuf> {
        let written = config.written_folders().into_iter();
        let written = written.map(|folder| folder.path);
        let temp = config.temp_folders().into_iter();
        written.chain(temp.map(|folder| folder.path)).collect()
    };
    let wanted = folders(config);
    if wanted == folders(start) {
        return true;
    }
    let granted = of(start, settings, &[], MissingFolders::Leave).paths;
    let is_granted = |folder: &PathBuf| {
        granted.iter().any(|one| {
            let is_written = matches!(one.access, Access::Write | Access::Temporary);
            is_written && folder.starts_with(&one.path)
        })
    };
    wanted.iter().all(is_granted)
}

fn add_project(grants: &mut Grants, config: &AppConfig) {
    let project = &config.base.project;
    let root = project.root();
    if project.archive().is_none() && root.is_absolute() {
        grants.path(root, Access::Read, "the project");
        let folder = root.join(&config.serving.static_files.folder);
        // Either may be a link to a folder that several projects share.
        for (folder, reason) in [
            (folder, "[static] folder"),
            (root.join(MIGRATIONS), "the migrations"),
        ] {
            if let Ok(folder) = folder.canonicalize()
                && !folder.starts_with(root)
            {
                grants.path(folder, Access::Read, reason);
            }
        }
    }
    for folder in project.outer_folders() {
        grants.path(folder, Access::Read, "files that the project shares");
    }
    if let Ok(executable) = std::env::current_exe() {
        grants.path(executable, Access::Read, "the executable");
    }
    let confinement = config.program.confinement.iter();
    for file in confinement.flat_map(|confinement| &confinement.reads) {
        grants.replaceable_file(file, "files that a reload reads");
    }
}

fn add_data(grants: &mut Grants, config: &AppConfig, missing: MissingFolders) {
    let database = &config.database.config;
    if let Some(url) = &database.url {
        add_postgres_files(grants, url, config.base.project.root());
    } else if database.path.as_os_str() != ":memory:" {
        for path in [
            Some(database.path.clone()),
            database.path.canonicalize().ok(),
        ] {
            let folder = path.as_deref().and_then(Path::parent).map(or_current);
            if let Some(folder) = folder {
                grants.path(folder, Access::Write, "the database");
            }
        }
    }
    for folder in config.written_folders() {
        add_folder(grants, &folder.path, folder.name, missing);
    }
    if let Some(folder) = config.crash_folder() {
        add_folder(grants, &folder, "reports of crashes", missing);
    }
    for folder in config.temp_folders() {
        add_folder(grants, &folder.path, folder.key, missing);
    }
    let backup = config.base.sections.of(&sampan_backup::SECTION);
    let target = backup
        .text_if_set("url")
        .and_then(|url| url.strip_prefix("file://"));
    if let Some(target) = target {
        let target = Path::new(target);
        // A folder that is missing with all above it is a disk that is not there.
        let is_makeable = !target.exists() && target.parent().is_some_and(Path::is_dir);
        if is_makeable && missing == MissingFolders::Make {
            make_folder(target, 0o700);
        }
        grants.path(target, Access::Write, "the copy of the database");
    }
}

fn add_postgres_files(grants: &mut Grants, url: &str, root: &Path) {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    for (key, variable) in POSTGRES_FILES {
        let written = pairs.iter().find(|(name, _)| name == key);
        let written = written.map(|(_, value)| PathBuf::from(value.as_ref()));
        if let Some(file) = written.or_else(|| std::env::var_os(variable).map(PathBuf::from)) {
            grants.replaceable_file(root.join(file), "PostgreSQL");
        }
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    if let Some(home) = home.filter(|home| home.is_absolute()) {
        grants.path(home.join(".pgpass"), Access::Read, "PostgreSQL");
        grants.path(home.join(".postgresql"), Access::Read, "PostgreSQL");
    }
}

fn add_certificates(grants: &mut Grants, config: &AppConfig, missing: MissingFolders) {
    if let Some(tls) = &config.base.tls {
        let pairs = tls.certificates.iter().flat_map(|(cert, key)| [cert, key]);
        for file in pairs.chain(&tls.client_ca) {
            grants.replaceable_file(file, "certificates");
        }
        if let Some(acme) = &tls.acme {
            let reason = "certificates that renew themselves";
            add_folder(grants, &acme.folder, reason, missing);
            acme.directory_ca
                .iter()
                .for_each(|file| grants.replaceable_file(file, "certificates"));
        }
    }
    let fetch = config.base.sections.of(&fetch::SECTION);
    if let Some(file) = fetch.text_if_set("ca") {
        let file = config.base.project.root().join(file);
        grants.replaceable_file(file, "[fetch] ca");
    }
}

/// The server removes the files of its Unix sockets when it ends, and those of an old process that it does not use.
fn add_listeners(grants: &mut Grants, config: &AppConfig) {
    let redirect = config.base.tls.iter().flat_map(|tls| &tls.redirect_listen);
    let own = config.base.listen.iter().chain(redirect);
    let own = own.filter_map(|address| match address {
        ListenAddress::Unix(path) => Some(path.clone()),
        ListenAddress::Tcp(_) => None,
    });
    for path in own.chain(new_process::unused_files()) {
        if let Some(folder) = path.parent() {
            grants.path(or_current(folder), Access::Remove, "the file of a socket");
        }
    }
}

/// Adds a folder that is written. A server that starts makes it if it is not there: later that could not be granted.
/// Where it cannot be made, the first write tells why.
fn add_folder(grants: &mut Grants, folder: &Path, reason: &str, missing: MissingFolders) {
    let is_below = grants
        .paths
        .iter()
        .any(|one| one.access == Access::Write && folder.starts_with(&one.path));
    if !is_below && missing == MissingFolders::Make && !folder.exists() {
        make_folder(folder, 0o750);
    }
    grants.path(folder, Access::Write, reason);
}

fn make_folder(folder: &Path, mode: u32) {
    let made = DirBuilder::new().recursive(true).mode(mode).create(folder);
    // Its name lasts.
    let above = made.ok().and_then(|()| File::open(folder.parent()?).ok());
    if let Some(above) = above {
        let _ = above.sync_all();
    }
}

/// Returns a folder; the current one where a path has none.
fn or_current(folder: &Path) -> PathBuf {
    match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    }
}
