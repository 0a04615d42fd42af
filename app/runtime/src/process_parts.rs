//! The state of capabilities that the process keeps: all workers share it, and it outlives their isolates. A reload
//! makes it anew, except
//! for the counts of the rate limits.

use crate::app_config::AppConfig;
use sampan_files::Storage;
use sampan_host::log::{Cause, Entry, Level};
use sampan_host::{Context, RequestView, Value};
use sampan_i18n::{Catalogs, I18n, I18nSettings};
use sampan_log::Logger;
use sampan_middleware::{RateLimits, RateTable};
use sampan_password::HashWarnings;
use sampan_project::Project;
use sampan_project::files::TEMPLATES;
use sampan_template::Templates;
use sampan_validate::{MessageTexts, Translations};
use std::rc::Rc;
use std::sync::Arc;

/// These parts; clones share them.
#[derive(Clone)]
pub(crate) struct ProcessParts {
    templates: Arc<Templates>,
    rates: Arc<RateTable>,
    storage: Arc<Storage>,
    catalogs: Arc<Catalogs>,
}

impl ProcessParts {
    /// The parts of a project, from its files.
    ///
    /// # Errors
    /// A file that is wrong: its name, its line and what is around it.
    pub(crate) fn of(config: &AppConfig) -> Result<Self, String> {
        Self::with_rates(config, Arc::default())
    }

    /// The parts of the project as it is now. What clients have used up of their rate limits stays.
    ///
    /// # Errors
    /// As [`ProcessParts::of`].
    pub(crate) fn renewed(&self, config: &AppConfig) -> Result<Self, String> {
        Self::with_rates(config, Arc::clone(&self.rates))
    }

    fn with_rates(config: &AppConfig, rates: Arc<RateTable>) -> Result<Self, String> {
        let templates = templates_of(&config.base.project)?;
        let templates = templates.with_undefined(config.capabilities.undefined);
        Ok(Self {
            templates: Arc::new(templates),
            rates,
            storage: Arc::new(Storage::new(config.capabilities.files.clone())),
            catalogs: Arc::new(catalogs_of(
                &config.base.project,
                &config.capabilities.i18n,
            )?),
        })
    }

    /// Returns the parts with the folders of files that another configuration of the same project names.
    pub(crate) fn with_storage_of(&self, config: &AppConfig) -> Self {
        Self {
            storage: Arc::new(Storage::new(config.capabilities.files.clone())),
            ..self.clone()
        }
    }

    /// The project's templates.
    pub(crate) fn templates(&self) -> Arc<Templates> {
        Arc::clone(&self.templates)
    }

    /// The project's folders of files.
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Forgets what rate limits have counted.
    pub(crate) fn forget_rates(&self) {
        self.rates.clear();
    }

    /// Makes the others available to the scripts of an isolate.
    pub(crate) fn put_into(&self, context: &Context, logger: &Logger) {
        context.put(RateLimits::new(Arc::clone(&self.rates)));
        context.put(Arc::clone(&self.storage));
        context.put(Self::hash_warnings(logger));
        context.put(self.i18n(logger));
        context.put(MessageTexts(Rc::new(Messages(self.i18n(logger)))));
    }

    fn hash_warnings(logger: &Logger) -> HashWarnings {
        let logger = logger.clone();
        HashWarnings(Box::new(move |fault| {
            let entry = Entry::text(format!("password.verify is false: {fault}"));
            logger.write_limited(Level::Warn, Cause::message(fault), &entry);
        }))
    }

    fn i18n(&self, logger: &Logger) -> I18n {
        let logger = logger.clone();
        let warn = move |text| logger.text(Level::Warn, text);
        I18n::new(Arc::clone(&self.catalogs), warn)
    }
}

/// The messages of forms that are not valid, in the languages of the project.
struct Messages(I18n);

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
}

/// The templates of a project, compiled.
///
/// # Errors
/// One that is no template: its file, its line and what is around it.
pub(crate) fn templates_of(project: &Project) -> Result<Templates, String> {
    let sources = project.sources();
    let files = sources.list(TEMPLATES).into_iter().filter_map(|path| {
        let text = sources.read(&path)?;
        let name = path.strip_prefix(TEMPLATES)?.strip_prefix('/')?;
        Some((name.to_owned(), text))
    });
    Templates::compile(files).map_err(|error| error.to_string())
}

/// The texts of a project in the languages of its readers.
///
/// # Errors
/// One line: a file that is wrong, its line and why, or a setting.
pub(crate) fn catalogs_of(project: &Project, settings: &I18nSettings) -> Result<Catalogs, String> {
    let sources = project.sources();
    let files = sources
        .list(sampan_i18n::FOLDER)
        .into_iter()
        .filter_map(|path| {
            let bytes = sources.read(&path)?;
            Some((path, bytes))
        });
    Catalogs::read(&files.collect::<Vec<_>>(), settings)
}
