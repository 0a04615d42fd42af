//! The capability: where the mails of a project go.

use crate::rows::MODULE;
use crate::runner::{self, MailRunner};
use crate::settings::{MailConfig, SECTION};
use sampan_host::capability::{IsolateSetup, ProcessSetup, ProjectSettings, Shared};
use sampan_host::jobs::JobQueue;
use sampan_host::mails::{self, Mailbox};
use sampan_host::{AllSettings, Capability, Context, Effects, Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

/// Mails.
pub static CAPABILITY: Capability = Capability {
    name: "mail",
    modules: &[&MODULE],
    sections: &[&SECTION],
    asks: &["jobs", "renderer"],
    configure: |settings| {
        settings
            .resolve(&SECTION, MailConfig::from_settings)
            .map(drop)
    },
    warnings,
    packing,
    process,
    restore,
    isolate,
    ..Capability::EMPTY
};

/// The place where mails go.
#[derive(Clone)]
pub(crate) enum Target {
    /// They are caught, in development and in tests.
    Mailbox(Arc<Mailbox>),
    /// They are delivered by jobs.
    Jobs,
    /// No place, as there is no server.
    Nothing,
}

/// The mails of a generation of the project.
struct ProcessMail {
    config: Arc<MailConfig>,
    target: Target,
}

/// The mails as an isolate sends them.
pub(crate) struct IsolateMail {
    pub(crate) config: Arc<MailConfig>,
    pub(crate) target: Target,
    pub(crate) effects: Effects,
}

/// Warns of a project that seems to send mails, and has no server for them.
fn warnings(settings: &ProjectSettings<'_>) -> Vec<String> {
    let is_caught = settings.scratch.is_some() || mails::caught().is_some();
    let settings = settings.of(&SECTION);
    let is_set = |key: &str| settings.text_if_set(key).is_some();
    match is_set("from") && !is_set("url") && !is_caught {
        true => vec![settings.tell(
            "from is set, but no mail can be sent without a mail server: set url, or SAMPAN_MAIL_URL",
        )],
        false => Vec::new(),
    }
}

fn packing(settings: &AllSettings, file: &str) -> Vec<String> {
    let settings = settings.of(&SECTION);
    let is_set = |key: &str| settings.text_if_set(key).is_some();
    match is_set("url") || is_set("dkim_key") {
        false => Vec::new(),
        true => vec![format!(
            "{file} has the login of the mail server or the key for DKIM, which everybody can read who has the built \
             file: SAMPAN_MAIL_URL and SAMPAN_MAIL_DKIM_KEY keep them out of it"
        )],
    }
}

/// Decides where the mails of a generation go.
fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let config = setup
        .settings
        .resolve(&SECTION, MailConfig::from_settings)?;
    let target = match (setup.settings.scratch, mails::caught()) {
        (Some(_), _) => {
            let mailbox = Arc::<Mailbox>::default();
            setup.shared.put(Arc::clone(&mailbox));
            Target::Mailbox(mailbox)
        }
        (None, Some(mailbox)) => Target::Mailbox(mailbox),
        (None, None) if config.server.is_some() => Target::Jobs,
        (None, None) => Target::Nothing,
    };
    setup.shared.put(Arc::new(ProcessMail {
        config: Arc::new(config),
        target,
    }));
    Ok(())
}

fn restore(shared: &Shared) {
    if let Some(mailbox) = shared.get::<Mailbox>() {
        mailbox.clear();
    }
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let missing = |what| move || Error::new(ErrorKind::Internal, format!("no {what} for mails"));
    let process = setup.shared.get::<ProcessMail>();
    let process = process.ok_or_else(missing("settings"))?;
    if matches!(process.target, Target::Jobs) {
        let jobs = setup.context.get::<Rc<dyn JobQueue>>();
        let jobs = jobs.ok_or_else(missing("jobs"))?;
        let runner = Rc::new(MailRunner(Arc::clone(&process.config)));
        jobs.declare(runner::JOB, runner::policy(&process.config), runner);
    }
    setup.context.put(IsolateMail {
        config: Arc::clone(&process.config),
        target: process.target.clone(),
        effects: Effects::of(setup.context).ok_or_else(missing("outbox"))?,
    });
    Ok(())
}

/// Returns the mails of an isolate.
pub(crate) fn of(context: &Context) -> Result<Rc<IsolateMail>, Error> {
    let mails = context.get::<IsolateMail>();
    mails.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no mails here"))
}
