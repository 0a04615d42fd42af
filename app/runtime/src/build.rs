//! `sampan build`, with what it needs to know of the capabilities' settings and files.

use crate::capabilities;
use crate::crash::settings::{self as crash, CrashSettings};
use crate::inspect;
use crate::migrations::migrations_of;
use sampan_db::DatabaseConfig;
use sampan_host::capability::{ProjectCheck, ProjectSettings};
use sampan_host::settings::AllSettings;
use sampan_project::Project;
use sampan_project::build::{BuildFlags, Built, PackedSettings};
use sampan_project::config::{ACME, EnvFile, Environment, FILE, TLS, read_file, read_known};
use sampan_serve::files;
use std::path::{Path, PathBuf};

/// The keys that say where a machine keeps files which are not packed.
const PLACES: [&str; 5] = [
    "[files] storage",
    "[db] path",
    "[crash] folder",
    "[tls] key",
    "[tls.acme] folder",
];

/// The consequence of a place that is not known.
const MAY_BE: &str =
    "files that this machine keeps there may be packed: leave them out with --exclude";

/// Writes an executable with a project in it. `db` is the database that the project will have, if its configuration
/// does not say so; `scratch` is a folder of the caller's, where the project is loaded. Without one it is not.
///
/// # Errors
/// The fault of the project, with its place; or why the file cannot be written.
pub fn build(
    flags: &BuildFlags,
    db: Option<PathBuf>,
    scratch: Option<&Path>,
) -> Result<Built, String> {
    let load = |project: &Project| match scratch {
        Some(scratch) => inspect::try_out(project, db, scratch),
        None => Ok(None),
    };
    sampan_project::build::build(flags, check, load)
}

/// Looks for what would keep the project from starting anywhere. Variables of the environment have no values: those of
/// the machine that serves it count.
fn check(project: &Project) -> Result<PackedSettings, String> {
    let (all, has_variables) = read_file(project.root(), capabilities::sections())?;
    let settings = ProjectSettings {
        all: &all,
        root: project.root(),
        scratch: None,
    };
    let mut check = ProjectCheck::new(settings, project.sources());
    check.has_variables = has_variables;
    capabilities::ordered().for_each(|one| (one.check)(&mut check));
    if let Some(fault) = check.faults.into_iter().next() {
        return Err(fault);
    }
    let migrations = migrations_of(project)?;
    sampan_db::migrate::check(&migrations).map_err(|error| error.to_string())?;
    let mut warnings: Vec<String> = capabilities::ordered()
        .flat_map(|one| (one.packing)(&all, FILE))
        .collect();
    let own = OwnFiles::of(project.root(), &all);
    warnings.extend(own.warnings);
    let folder = all.of(&files::SECTION);
    Ok(PackedSettings {
        static_folder: folder.text("folder").trim_end_matches('/').to_owned(),
        written: own.written,
        databases: own.databases,
        warnings,
    })
}

/// The files of the project's folder that belong to this machine: those that servers and scripts write, and private
/// keys.
#[derive(Default)]
struct OwnFiles {
    written: Vec<PathBuf>,
    databases: Vec<PathBuf>,
    /// The warnings about places that are not known.
    warnings: Vec<String>,
}

impl OwnFiles {
    /// Finds them by the configuration file alone, then with the defaults of its variables, and with their values here:
    /// the project may have run with each.
    fn of(root: &Path, file: &AllSettings) -> Self {
        let mut own = Self::default();
        own.add(root, file);
        let variables = EnvFile::OfProject.read(root).unwrap_or_default();
        let here = Environment::of_process().with(&variables);
        for environment in [Environment::default(), here] {
            own.warnings = match read_known(root, &environment, capabilities::sections()) {
                Ok((all, unknown)) => {
                    own.add(root, &all);
                    let unknown = unknown.iter().filter(|key| PLACES.contains(&key.as_str()));
                    unknown
                        .map(|key| {
                            format!("{FILE}: {key} has variables without a value here: {MAY_BE}")
                        })
                        .collect()
                }
                Err(fault) => vec![format!("{fault}: {MAY_BE}")],
            };
        }
        own
    }

    fn add(&mut self, root: &Path, all: &AllSettings) {
        let settings = ProjectSettings {
            all,
            root,
            scratch: None,
        };
        let folders = capabilities::ordered().flat_map(|one| (one.folders)(&settings));
        let folders: Vec<_> = folders.collect();
        let storage = folders.iter().find(|folder| folder.name == files::STORAGE);
        let storage = storage.map_or_else(PathBuf::new, |folder| folder.path.clone());
        let database = DatabaseConfig::from_settings(&all.of(&sampan_db::SECTION), root);
        let crashes = CrashSettings::from_settings(&all.of(&crash::SECTION));
        let keys = all.of(&TLS).list("key");
        self.written.extend(folders.into_iter().map(|one| one.path));
        self.written
            .extend(crashes.folder(root, &database, &storage));
        self.written.extend(keys.iter().map(|key| root.join(key)));
        self.written.push(root.join(all.of(&ACME).text("folder")));
        self.databases
            .push(root.join(all.of(&sampan_db::SECTION).text("path")));
    }
}
