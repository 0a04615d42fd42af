//! The functions of scripts.

use crate::capability::{IsolateMail, Target, of};
use crate::compose::{Content, Mail, compose};
use crate::delivery::Delivery;
use crate::draft::Draft;
use crate::runner::JOB;
use sampan_host::jobs::{JobQueue, NewJob};
use sampan_host::mails::CaughtMail;
use sampan_host::renderer::TemplateRenderer;
use sampan_host::texts::MessageTexts;
use sampan_host::{
    Args, Context, Error, ErrorKind, Function, FunctionKind, Module, Param, Prompt, Reader, Type,
    Value, Verdict, param, row,
};
use std::rc::Rc;
use std::sync::Arc;

/// The table of functions.
pub(crate) static MODULE: Module = Module {
    name: "mail",
    elsewhere: Some(&SERVER_MODULE),
    ..module(&ROWS)
};

/// The functions where the database is on a server: the job of a mail waits for it.
static SERVER_MODULE: Module = module(&SERVER_ROWS);

static ROWS: [Function; 2] = rows_of(FunctionKind::ReadingPrompt(send));

static SERVER_ROWS: [Function; 2] = rows_of(FunctionKind::ReadingWaiting(send));

const fn module(functions: &'static [Function]) -> Module {
    Module {
        name: "mail",
        doc: "Mails.",
        functions,
        ..Module::EMPTY
    }
}

const fn rows_of(send: FunctionKind) -> [Function; 2] {
    [
        row!("send"(MAIL) -> Type::Nothing, send,
            "Sends a mail. It is a job: a row of the app's database, in the same transaction as the other writes of \
             the request, so it is sent if they are kept. What the mail server does not take for now is tried again; \
             `sampan jobs` shows what was not delivered. `sampan dev` shows the mail in place of that, and tests find \
             it in `t.mails`."),
        row!("source"(MAIL) -> Type::Text, FunctionKind::Reading(source),
            "The mail as it would be sent, by RFC 5322. Nothing is sent."),
    ]
}

const MAIL: Param = param!("mail": Type::InPlace,
    "`to`, `cc`, `bcc`: an address, `\"Ann <ann@example.org>\"` or `{ name, address }`, or a list of them. `from`: \
     that of `[mail]` unless given. `reply_to`. `subject`. `template` and `data`: the templates `NAME.html` and \
     `NAME.txt`, or one of them. `locale`: the language of `t` in them, that of the app unless given. `text`, \
     `html`: without a text it is made from the HTML. `attachments`: a list of \
     `{ name, content, content_type }`. `inline`: such a list of pictures, which the HTML shows as `cid:NAME`. \
     `headers`: further header fields by their names.");

fn send(context: &Context, args: Args, reader: &dyn Reader) -> Result<Prompt, Error> {
    let kept = of(context)?;
    let done = Prompt::Done(Value::Null);
    match &kept.target {
        Target::Mailbox(mailbox) => {
            let mailbox = Arc::clone(mailbox);
            let (_, caught) = composed(&kept, context, &args, reader)?;
            kept.effects.when_settled(None, move |verdict| {
                if verdict == Verdict::Committed {
                    mailbox.catch(caught);
                }
            })?;
            Ok(done)
        }
        Target::Jobs => {
            let (mail, _) = composed(&kept, context, &args, reader)?;
            let job = NewJob {
                name: JOB.to_owned(),
                args: Delivery::new(mail)?.to_json()?,
                ..NewJob::default()
            };
            let jobs = context.get::<Rc<dyn JobQueue>>();
            let jobs = jobs.ok_or_else(|| Error::script("there are no jobs here"))?;
            if jobs.waits() {
                return Ok(match jobs.enqueue_waiting(job)? {
                    Prompt::Done(_) => done,
                    Prompt::Waits(added) => {
                        Prompt::Waits(Box::pin(async move { added.await.map(|_| Value::Null) }))
                    }
                });
            }
            match jobs.enqueue(&job, args.may_wait()) {
                Err(error) if error.kind() == ErrorKind::TooLong && args.may_wait() => {
                    Ok(Prompt::Waits(Box::pin(add_later(Rc::clone(&*jobs), job))))
                }
                added => added.map(|_| done),
            }
        }
        Target::Nothing => Err(Error::script(
            "there is no mail server: set url in [mail] of sampan.toml, or the environment variable SAMPAN_MAIL_URL",
        )),
    }
}

/// Adds the job of a mail when a write need not wait.
async fn add_later(jobs: Rc<dyn JobQueue>, job: NewJob) -> Result<Value, Error> {
    loop {
        jobs.writable().await?;
        match jobs.enqueue(&job, true) {
            Err(error) if error.kind() == ErrorKind::TooLong => {}
            added => return added.map(|_| Value::Null),
        }
    }
}

fn source(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let (mail, _) = composed(&*of(context)?, context, &args, reader)?;
    Ok(Value::Text(
        String::from_utf8_lossy(&mail.source).into_owned(),
    ))
}

/// Reads a mail, renders its templates, and puts it together.
fn composed(
    kept: &IsolateMail,
    context: &Context,
    args: &Args,
    reader: &dyn Reader,
) -> Result<(Mail, CaughtMail), Error> {
    let config = &kept.config;
    let draft = Draft::read(reader, args.handle(0))?;
    let from = draft.from.clone().or_else(|| config.from.clone());
    let from = from.ok_or_else(|| {
        Error::script("the mail has no from: give one, or set from in [mail] of sampan.toml")
    })?;
    let content = content(&draft, context, reader)?;
    compose(
        &draft,
        content,
        from,
        config.signer.as_deref(),
        config.message_bytes_max,
    )
}

/// Calls `render` while templates speak a locale.
fn in_locale<T>(
    context: &Context,
    locale: &str,
    render: &mut dyn FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut rendered = None;
    let texts = context.get::<MessageTexts>();
    let is_known = texts.is_some_and(|texts| {
        let mut run = || rendered = Some(render());
        texts.0.in_locale(locale, &mut run)
    });
    match rendered {
        Some(rendered) if is_known => rendered,
        _ => Err(Error::script(format!(
            "the app has no locale {locale:?}: there is no file for it in locales/"
        ))),
    }
}

fn content(draft: &Draft, context: &Context, reader: &dyn Reader) -> Result<Content, Error> {
    let mut content = Content {
        text: draft.text.clone(),
        html: draft.html.clone(),
    };
    let Some(name) = &draft.template else {
        let given = draft.data.map(|_| "data");
        let given = given.or(draft.locale.as_ref().map(|_| "locale"));
        if let Some(name) = given {
            return Err(Error::script(format!(
                "{name} is for template: the mail has none"
            )));
        }
        return Ok(content);
    };
    if content.text.is_some() || content.html.is_some() {
        return Err(Error::script(
            "a mail has either template, or text and html",
        ));
    }
    let Some(renderer) = context.get::<TemplateRenderer>() else {
        return Err(Error::script("there are no templates here"));
    };
    let (html, text) = (format!("{name}.html"), format!("{name}.txt"));
    // A handle behind all arguments means nothing: a template without data.
    let data = draft
        .data
        .unwrap_or_else(|| sampan_host::Handle::new(u32::MAX));
    let render = |file: &str| match renderer.0.has(file) {
        true => renderer.0.render(context, reader, file, data).map(Some),
        false => Ok(None),
    };
    let mut both = || Ok::<_, Error>((render(&html)?, render(&text)?));
    (content.html, content.text) = match &draft.locale {
        None => both()?,
        Some(locale) => in_locale(context, locale, &mut both)?,
    };
    if content.html.is_none() && content.text.is_none() {
        return Err(Error::script(format!(
            "there is neither templates/{html} nor templates/{text}"
        )));
    }
    Ok(content)
}
