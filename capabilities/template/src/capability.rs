//! The capability: its templates for the process, its store for each isolate.

use crate::api::FileRenderer;
use crate::{ANSWERS, MODULE, SECTION, TemplateStore, Templates, undefined};
use sampan_host::capability::{IsolateSetup, ProcessSetup, ProjectCheck, TextKey};
use sampan_host::pages::PageValues;
use sampan_host::renderer::TemplateRenderer;
use sampan_host::{Capability, Context, Error, ErrorKind, Sources};
use std::rc::Rc;
use std::sync::Arc;

/// The folder of the templates in a project.
const FOLDER: &str = "templates";

/// Templates.
pub static CAPABILITY: Capability = Capability {
    name: "template",
    modules: &[&ANSWERS, &MODULE],
    sections: &[&SECTION],
    offers: &["renderer"],
    asks: &["pages"],
    reads: &[FOLDER],
    process,
    isolate,
    loaded,
    check,
    ..Capability::EMPTY
};

/// The templates of a project: their names and their texts.
fn files(sources: &dyn Sources) -> Vec<(String, Vec<u8>)> {
    let paths = sources.list(FOLDER).into_iter();
    let files = paths.filter_map(|path| {
        let name = path.strip_prefix(FOLDER)?.strip_prefix('/')?;
        Some((name.to_owned(), sources.read(&path)?))
    });
    files.collect()
}

fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let templates = Templates::compile(files(&*setup.sources));
    let templates = templates.map_err(|error| error.to_string())?;
    let undefined = undefined(&setup.settings.of(&SECTION));
    setup
        .shared
        .put(Arc::new(templates.with_undefined(undefined)));
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = || Error::new(ErrorKind::Internal, "no templates");
    let templates = setup.shared.get::<Templates>().ok_or_else(missing)?;
    let values = setup.context.get::<PageValues>();
    let values = values.map(|values| values.take()).unwrap_or_default();
    let store = TemplateStore::new(templates)
        .with_values(values)
        .within(setup.context.get());
    setup.context.put(match setup.is_project {
        true => store,
        false => store.beside_project(),
    });
    if let Some(store) = setup.context.get::<TemplateStore>() {
        setup
            .context
            .put(TemplateRenderer(Rc::new(FileRenderer(store))));
    }
    Ok(())
}

fn loaded(context: &Context) -> Result<(), Error> {
    match context.get::<TemplateStore>() {
        Some(store) => store.close(),
        None => Ok(()),
    }
}

/// Compiles each template by itself, so that all faults are found.
fn check(check: &mut ProjectCheck<'_>) {
    for (name, text) in files(&*check.sources) {
        match Templates::compile([(name.as_str(), text)]) {
            Ok(compiled) => {
                let keys = compiled.text_keys().into_iter();
                let keys = keys.map(|(file, line, key)| TextKey { file, line, key });
                check.text_keys.extend(keys);
            }
            Err(error) => check.faults.push(error.to_string()),
        }
        check.templates.push(name);
    }
}
