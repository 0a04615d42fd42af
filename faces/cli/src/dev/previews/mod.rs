//! Previews of mails: files `mails/*.preview.lua` and the like, whose functions make mails as `mail.send` takes them.
//!
//! Each look at a preview loads the project and the file anew, on a thread of its own and with a database of its own,
//! as `sampan test` does: so it shows what the files say now, and changes nothing. A file of ours runs the project's
//! and hands the functions to `module`; the mail of the one that is wanted is caught.

mod module;

use module::{Declared, MODULE};
use sampan_host::LocalFuture;
use sampan_host::mails::{CaughtMail, Mailbox};
use sampan_project::{Language, Project};
use sampan_runtime::{AppConfig, ContextSetup, Embedding, LocalApp, LocalRun, modules_with};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The folder of the files.
pub(super) const FOLDER: &str = "mails";
/// The settings of the project for previews: one isolate, whose functions are called as they were loaded.
pub(super) const SETTINGS: [&str; 2] = ["scripts.isolation=worker", "scripts.mode=cached"];

const LUA: &str = include_str!("driver.lua");
const JS: &str = include_str!("driver.js");
/// The name of our file in projects of Lua.
const LUA_ENTRY: &str = ".previews.lua";
/// The name of our file in projects of JavaScript.
const JS_ENTRY: &str = ".previews.js";
/// The longest time that a preview may wait.
const PREVIEW_TIME_MAX: Duration = Duration::from_secs(10);

/// Reads the configuration as it is now.
type Resolve = Box<dyn Fn() -> Result<AppConfig, String> + Send + Sync>;

/// The previews of a project.
pub(super) struct Previews {
    resolve: Resolve,
    /// The names in each file, by its path.
    known: Mutex<HashMap<String, KnownNames>>,
}

/// The names of the previews in a file.
struct KnownNames {
    /// The text of the file that they were read from.
    text: Vec<u8>,
    names: Vec<String>,
}

/// The previews in one file: their names, or why the file does not load.
pub(super) struct PreviewFile {
    /// The path of the file in the project.
    pub(super) path: String,
    pub(super) names: Result<Vec<String>, String>,
}

/// The results of one run of a file.
struct Ran {
    names: Vec<String>,
    /// The mail that was wanted, or why there is none; `None` if there is no such preview.
    mail: Option<Result<CaughtMail, String>>,
}

impl Previews {
    pub(super) fn new(resolve: Resolve) -> Self {
        Self {
            resolve,
            known: Mutex::default(),
        }
    }

    /// Lists the files and their previews. A file that has not changed is not run again.
    pub(super) fn list(self: &Arc<Self>) -> LocalFuture<Result<Vec<PreviewFile>, String>> {
        let previews = Arc::clone(self);
        apart(move || {
            let config = (previews.resolve)()?;
            let project = &config.base.project;
            let paths = files(project).into_iter();
            let files = paths.map(|path| {
                let names = previews.names_in(&config, &path);
                PreviewFile { path, names }
            });
            Ok(files.collect())
        })
    }

    /// Makes the mail of a preview. `None` if there is no such preview.
    pub(super) fn mail(
        self: &Arc<Self>,
        path: String,
        name: String,
    ) -> LocalFuture<Result<Option<CaughtMail>, String>> {
        let previews = Arc::clone(self);
        apart(move || {
            let config = (previews.resolve)()?;
            if !files(&config.base.project).contains(&path) {
                return Ok(None);
            }
            run(&config, &path, Some(name))?.mail.transpose()
        })
    }

    fn names_in(&self, config: &AppConfig, path: &str) -> Result<Vec<String>, String> {
        let text = config.base.project.sources().read(path).unwrap_or_default();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(path).filter(|known| known.text == text) {
            return Ok(known.names.clone());
        }
        let names = run(config, path, None)?.names;
        let read = KnownNames {
            text,
            names: names.clone(),
        };
        known().insert(path.to_owned(), read);
        Ok(names)
    }
}

/// Returns the files of previews in the project's language, sorted.
fn files(project: &Project) -> Vec<String> {
    let is_preview = |path: &String| {
        let stem = path.rsplit_once('.').map_or("", |(stem, _)| stem);
        stem.ends_with(".preview") && Language::of(path) == project.language()
    };
    let mut files = project.sources().list(FOLDER);
    files.retain(is_preview);
    files.sort();
    files
}

/// Does work on a thread of its own.
fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> LocalFuture<Result<T, String>> {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("sampan-previews".into());
    let started = thread.spawn(move || {
        // A browser that has gone receives nothing.
        let _ = sender.send(work());
    });
    Box::pin(async move {
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
        let lost =
            |_| Err("a fault of Sampan itself: the thread of the preview panicked".to_owned());
        receiver.await.unwrap_or_else(lost)
    })
}

/// Runs a file, and the function of a preview.
fn run(config: &AppConfig, path: &str, wanted: Option<String>) -> Result<Ran, String> {
    let mut config = config.clone();
    let project = &config.base.project;
    let entry = own_entry(project, path).ok_or("the project is in no language that is known")?;
    config.base.project = project.with_entry(&entry);
    config.program.modules = modules_with(&[&MODULE]);
    let put: ContextSetup = Arc::new(|context| context.put(Declared::default()));
    config.program.embedding = Arc::new(Embedding {
        contexts: vec![put],
        ..Embedding::default()
    });
    let scratch = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
    let local = LocalRun::new(config, scratch.path())?;
    let (sender, receiver) = channel();
    let told: Sender<Result<Ran, String>> = sender.clone();
    let when_deaf = Arc::new(move |what: &str| {
        let _ = told.send(Err(format!("{what} cannot be stopped")));
    });
    let body = move |app| -> LocalFuture<()> {
        Box::pin(async move {
            let _ = sender.send(ran(app, wanted).await);
        })
    };
    let thread = local.start("preview", when_deaf, body);
    thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    let lost = "a fault of Sampan itself: the thread of the preview panicked";
    receiver.recv().unwrap_or_else(|_| Err(lost.to_owned()))
}

async fn ran(app: Result<Rc<LocalApp>, String>, wanted: Option<String>) -> Result<Ran, String> {
    let app = app?;
    let declared = app.kept::<Declared>().unwrap_or_default();
    let declared = declared.0.borrow().clone();
    let names = declared.iter().map(|(name, _)| name.clone()).collect();
    let found = declared
        .into_iter()
        .find(|(name, _)| Some(name) == wanted.as_ref());
    let mail = match found {
        Some((_, function)) => {
            let called = tokio::time::timeout(PREVIEW_TIME_MAX, app.call(function)).await;
            Some(match called {
                Ok(Ok(())) => {
                    let mailbox = app.shared::<Mailbox>();
                    let mail = mailbox.and_then(|mailbox| mailbox.all().pop());
                    mail.ok_or_else(|| "no mail was sent".to_owned())
                }
                Ok(Err(error)) => Err(app.fault(&error)),
                Err(_) => Err(format!(
                    "the preview did not end within {} s",
                    PREVIEW_TIME_MAX.as_secs()
                )),
            })
        }
        None => None,
    };
    Ok(Ran { names, mail })
}

/// Returns the name and the text of the file that is run in place of the project's own.
fn own_entry(project: &Project, path: &str) -> Option<(String, String)> {
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.split(".preview.").next().unwrap_or(stem);
    let entry = project.entry();
    match project.language()? {
        Language::Lua => {
            let module = entry.trim_end_matches(".lua").replace('/', ".");
            let text = project.sources().read(path).unwrap_or_default();
            let text = long_string(&String::from_utf8_lossy(&text));
            let text = format!(
                "local path, stem, text = {path:?}, {stem:?}, {text} require {module:?} {LUA}"
            );
            Some((LUA_ENTRY.to_owned(), text))
        }
        Language::Js => {
            let text = format!(
                "import {:?}; import * as made from {:?}; const stem = {stem:?}; {JS}",
                format!("./{entry}"),
                format!("./{path}")
            );
            Some((JS_ENTRY.to_owned(), text))
        }
    }
}

/// Writes a text as a string of Lua.
fn long_string(text: &str) -> String {
    let mut level = String::new();
    while text.contains(&format!("]{level}]")) || text.ends_with(&format!("]{level}")) {
        level.push('=');
    }
    // A line break that follows at once is not part of it.
    format!("[{level}[\n{text}]{level}]")
}
