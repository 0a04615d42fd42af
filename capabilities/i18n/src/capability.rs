//! The capability: its catalogs for the process, its texts for each isolate and for other capabilities.

use crate::{Catalogs, FOLDER, I18n, I18nSettings, MODULE, SECTION, api, pages};
use sampan_host::capability::{
    IsolateSetup, KnownTexts, ProcessSetup, ProjectCheck, ProjectSettings, ProjectWarning,
};
use sampan_host::log::{Level, Log};
use sampan_host::names::hint;
use sampan_host::pages::PageValues;
use sampan_host::sockets::KeptFields;
use sampan_host::texts::{MessageTexts, Translations};
use sampan_host::{Capability, Error, ErrorKind, RequestView, Sources, Value};
use std::rc::Rc;
use std::sync::Arc;

/// Texts in the languages of an app.
pub static CAPABILITY: Capability = Capability {
    name: "i18n",
    modules: &[&MODULE],
    sections: &[&SECTION],
    offers: &["pages", "texts"],
    reads: &[FOLDER],
    process,
    isolate,
    check,
    ..Capability::EMPTY
};

fn catalogs(sources: &dyn Sources, settings: ProjectSettings<'_>) -> Result<Catalogs, String> {
    let section = settings.of(&SECTION);
    let paths = sources.list(FOLDER).into_iter();
    let files: Vec<_> = paths
        .filter_map(|path| {
            let bytes = sources.read(&path)?;
            Some((path, bytes))
        })
        .collect();
    let catalogs = Catalogs::read(&files, &I18nSettings::from_settings(&section));
    catalogs.map_err(|fault| match fault.strip_prefix("[i18n] ") {
        Some(fault) => section.tell(fault),
        None => fault,
    })
}

fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let catalogs = catalogs(&*setup.sources, setup.settings)?;
    setup.shared.put(Arc::new(catalogs));
    Ok(())
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = || Error::new(ErrorKind::Internal, "no catalogues");
    let catalogs = setup.shared.get::<Catalogs>().ok_or_else(missing)?;
    let log = setup.context.get::<Rc<dyn Log>>();
    let warn = move |text: String| {
        if let Some(log) = &log {
            log.text(Level::Warn, text);
        }
    };
    setup.context.put(I18n::new(catalogs, warn));
    let i18n = setup.context.get::<I18n>().ok_or_else(missing)?;
    if let Some(values) = setup.context.get::<PageValues>() {
        pages::add(&values, &i18n);
    }
    if let Some(kept) = setup.context.get::<KeptFields>() {
        kept.add("locale", api::kept_locale);
    }
    setup.context.put(MessageTexts(Rc::new(Messages(i18n))));
    Ok(())
}

/// The texts of an isolate for other capabilities.
struct Messages(Rc<I18n>);

impl Translations for Messages {
    fn text(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        key: &str,
        params: &[(&str, Value)],
    ) -> Option<String> {
        let Self(i18n) = self;
        let own = || i18n.default_locale();
        let locale = request.map_or_else(own, |request| i18n.locale_of(&**request));
        i18n.lookup(locale, key, params)
    }

    fn in_locale(&self, locale: &str, run: &mut dyn FnMut()) -> bool {
        let Self(i18n) = self;
        let Some(locale) = i18n.named(locale) else {
            return false;
        };
        i18n.in_locale(locale, run);
        true
    }
}

fn check(check: &mut ProjectCheck<'_>) {
    if check.has_variables {
        return;
    }
    let settings = I18nSettings::from_settings(&check.settings.of(&SECTION));
    let catalogs = match catalogs(&*check.sources, check.settings) {
        Ok(catalogs) => catalogs,
        Err(fault) => return check.faults.push(fault),
    };
    if let Some(default) = settings.default {
        let file = format!("{FOLDER}/{default}.toml");
        if check.sources.read(&file).is_none() {
            check.warnings.push(ProjectWarning {
                file: check.settings.all.file().to_owned(),
                line: None,
                text: format!("[i18n] default names a locale without texts: there is no {file}"),
            });
        }
    }
    for (file, text) in catalogs.differences() {
        let line = None;
        check.warnings.push(ProjectWarning { file, line, text });
    }
    check.texts = Some(Box::new(Known(catalogs)));
}

/// The texts of a project that is checked.
struct Known(Catalogs);

impl KnownTexts for Known {
    fn missing(&self, key: &str) -> Option<String> {
        let Self(catalogs) = self;
        let hint = || hint(key, catalogs.keys());
        (!catalogs.has_key(key))
            .then(|| format!("t({key:?}): no file in {FOLDER}/ has this text{}", hint()))
    }
}
