//! The capability: the folders of files, which all workers share.

use crate::limits::OPEN_FILES_MAX;
use crate::settings::check;
use crate::{Durability, FORMS, FilesConfig, MODULE, SECTION, SPOOLED_FILES_MAX, Storage};
use sampan_host::capability::{
    IsolateSetup, ProcessSetup, ProjectSettings, Shared, TempFolder, WrittenFolder,
};
use sampan_host::{Capability, Error};
use std::sync::Arc;

/// The name of the storage folder in the paths of scripts, and of the folder in its place where nothing is kept.
const STORAGE: &str = "storage";

/// Files that scripts keep, and forms with files.
pub static CAPABILITY: Capability = Capability {
    name: "files",
    modules: &[&MODULE],
    sections: &[&SECTION, &FORMS],
    open_files_max: (SPOOLED_FILES_MAX + OPEN_FILES_MAX) as u64,
    configure: |settings| settings.resolve(&SECTION, |files| check(files, settings.root)),
    folders: |settings| {
        vec![WrittenFolder {
            name: STORAGE,
            path: config(settings).storage,
        }]
    },
    temp_folders: |settings| {
        let folder = |path| TempFolder {
            key: "[files] temp",
            path,
        };
        config(settings).temp.map(folder).into_iter().collect()
    },
    process,
    start: |shared| with_storage(shared, Storage::clean),
    restore: |shared| with_storage(shared, Storage::empty),
    isolate,
    ..Capability::EMPTY
};

fn config(settings: &ProjectSettings<'_>) -> FilesConfig {
    let (files, forms) = (settings.of(&SECTION), settings.of(&FORMS));
    let config = FilesConfig::from_settings(&files, &forms, settings.root);
    match settings.scratch {
        Some(scratch) => FilesConfig {
            storage: scratch.join(STORAGE),
            durability: Durability::Normal,
            ..config
        },
        None => config,
    }
}

fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    setup.shared.put(Arc::new(Storage::new(FilesConfig {
        packed: setup.packed.clone(),
        ..config(&setup.settings)
    })));
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    if let Some(storage) = setup.shared.get::<Storage>() {
        setup.context.put(storage);
    }
    Ok(())
}

fn with_storage(shared: &Shared, act: fn(&Storage)) {
    if let Some(storage) = shared.get::<Storage>() {
        act(&storage);
    }
}
