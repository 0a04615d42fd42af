//! The life of `sampan dev`: start, or wait until the project can be started; then swap at each save, until a signal.

use super::hints::Hints;
use super::https::{self, HomeCertificate};
use super::loaded_scripts::LoadedScripts;
use super::pages::browser::Browsers;
use super::pages::own_pages::OwnPages;
use super::pages::page;
use super::plans::Plans;
use super::previews::{self, Previews};
use super::reset;
use super::state::Dev;
use super::watch;
use super::watch::changes::{Changes, NOT_SERVED, Watched};
use sampan_db::DatabaseConfig;
use sampan_host::log::Level;
use sampan_host::mails;
use sampan_log::Logger;
use sampan_project::Project;
use sampan_project::config::{DEV, DevSettings, EnvFile, Flags, ListenAddress};
use sampan_runtime::{
    AppConfig, Control, Development, FLUSH_TIME_MAX, Life, ReloadOutcome, ReloadRequests, Reloader,
    Running, Server, ServerEnd, check_listening, listen_for_control, misused_promises,
};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The interval at which a start that waits for a change looks whether the process is told to end.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// The options of `sampan dev`.
#[derive(Clone, Debug, Default)]
pub(super) struct DevFlags {
    /// The options shared with `sampan run`.
    pub(super) run: Flags,
    /// `--open`: show the first page in the browser.
    pub(super) open: bool,
    /// `--https`: speak HTTPS by a certificate of this user's own authority.
    pub(super) https: bool,
    /// `--poll`: look for changes again and again.
    pub(super) poll: bool,
    /// `--reset-db`: if the migrations do not fit the database, move that away.
    pub(super) reset_db: bool,
    /// Lines of the log have colours: standard error is a terminal.
    pub(super) is_coloured: bool,
}

/// Serves a project while it is written, until SIGTERM or SIGINT.
///
/// # Errors
/// There is no project, its configuration is wrong, or its address is in use: one line that says what to do.
pub(super) fn run(flags: DevFlags) -> Result<ServerEnd, String> {
    // Before anything else finds its files.
    let home = flags.https.then(HomeCertificate::of_user).transpose()?;
    // Before the project is read, which sends none from then on.
    mails::catch_all();
    let config = resolve(&flags)?;
    let logger = config.program.logger.clone();
    crate::run::warn(&config);
    if let Some(home) = home {
        let port = config.base.listen.iter().find_map(|one| match one {
            ListenAddress::Tcp(address) => Some(address.port()),
            ListenAddress::Unix(_) => None,
        });
        logger.text(Level::Info, home.advice(port.unwrap_or_default()));
    }
    let outcome = serve(config, flags, &logger);
    logger.flush(FLUSH_TIME_MAX);
    outcome
}

/// The configuration as it is now, for development.
fn resolve(flags: &DevFlags) -> Result<AppConfig, String> {
    let (mut tls_cert, mut tls_key) = (flags.run.tls_cert.clone(), flags.run.tls_key.clone());
    if flags.https {
        // Made anew where it nears its end, at the next save.
        let home = HomeCertificate::of_user()?;
        (tls_cert, tls_key) = (Some(home.certificate), Some(home.key));
    }
    let run = Flags {
        tls_cert,
        tls_key,
        env_file: match &flags.run.env_file {
            EnvFile::None => EnvFile::OfProject,
            chosen => chosen.clone(),
        },
        ..flags.run.clone()
    };
    let mut config = AppConfig::resolve(&run)?;
    config.program.logger = config.program.logger.coloured(flags.is_coloured);
    // Pages are read on their way, and files change all the time.
    config.serving.compression = None;
    config.serving.static_files.check_millis = 0;
    Ok(config)
}

/// Has the workers of this configuration show their errors, and note the scripts that they load.
fn develop(config: &mut AppConfig, dev: &Arc<Dev>) {
    config.base.project = dev.scripts.noting(&config.base.project);
    config.program.development = Some(Arc::clone(dev) as Arc<dyn Development>);
}

fn serve(mut config: AppConfig, flags: DevFlags, logger: &Logger) -> Result<ServerEnd, String> {
    let life = Life::begin()?;
    check_listening(&config)?;
    let mut settings = config.base.resolve(&DEV, DevSettings::from_settings)?;
    settings.hosts.extend(config.base.listen_names());
    if flags.https {
        settings.hosts.extend(https::lan_names());
    }
    let dev = Arc::new(Dev {
        root: config.base.project.root().to_owned(),
        settings,
        logger: logger.clone(),
        browsers: Browsers::new(),
        own_pages: OwnPages::default(),
        mails: mails::catch_all(),
        previews: Arc::new(Previews::new({
            let mut flags = flags.clone();
            flags.https = false;
            let settings = previews::SETTINGS.map(str::to_owned);
            flags.run.set.extend(settings);
            Box::new(move || resolve(&flags))
        })),
        scripts: LoadedScripts::default(),
        plans: Plans::start(config.database.config.clone(), logger.clone())?,
        hints: Hints::default(),
    });
    let watched = Watched {
        root: dev.root.clone(),
        public: config.serving.static_files.folder.clone(),
        storage: config.storage_folder(),
        ignored: NOT_SERVED,
        config: flags
            .run
            .config
            .as_deref()
            .and_then(|path| path.canonicalize().ok()),
        is_polled: flags.poll,
    };
    // Before the project is read, so that no change is missed.
    let changes = watch::start(watched, logger)?;
    if flags.reset_db {
        reset::reset(&config, logger)?;
    }
    let resolve = {
        let (dev, flags) = (Arc::clone(&dev), flags.clone());
        move || {
            let mut config = resolve(&flags)?;
            develop(&mut config, &dev);
            Ok(config)
        }
    };
    develop(&mut config, &dev);
    let db = config.database.config.clone();
    let mut next = Ok(config);
    let running = loop {
        let started = next.and_then(|config| {
            let tried = Server::start_until(config, &life.stopper, Arc::clone(&life.events));
            tried.map_err(|fault| with_advice(fault, &resolve))
        });
        match started {
            Ok(running) => break running,
            Err(_) if life.stopper.is_stopped() => return Ok(ServerEnd::Ended),
            Err(fault) => {
                let text = format!("{fault}\nwaiting for a change");
                logger.text(Level::Error, text);
            }
        }
        if !waits_for_change(&changes, &life) {
            return Ok(ServerEnd::Ended);
        }
        next = resolve();
    };
    let control = Control {
        reloads: life.requests.clone(),
        upgrades: None,
    };
    let _ = listen_for_control(&dev.root, control, logger);
    warn_of_promises(&dev);
    let folder = dev.root.display();
    logger.text(Level::Info, format!("watching {folder}; Ctrl-C ends"));
    if flags.open && running.address().port() != 0 {
        open(running.address(), flags.https, logger);
    }
    follow(&life, running.reloader(), &dev, &db, resolve, changes)?;
    Ok(ends(running, &dev, life, logger))
}

/// Warns of the promises that the loaded scripts use as if they were their values.
fn warn_of_promises(dev: &Dev) {
    if let Ok(project) = Project::find(&dev.root) {
        let scripts = dev.scripts.texts(&*project.sources());
        for finding in misused_promises(&scripts) {
            dev.logger.text(Level::Warn, finding.to_string());
        }
    }
}

/// Reloads at each save, on a thread of its own.
fn follow(
    life: &Life,
    reloader: Reloader,
    dev: &Arc<Dev>,
    db: &DatabaseConfig,
    resolve: impl Fn() -> Result<AppConfig, String> + Clone + Send + 'static,
    changes: Receiver<Changes>,
) -> Result<(), String> {
    let (of_outcome, of_changes) = (Arc::clone(dev), Arc::clone(dev));
    let for_advice = resolve.clone();
    let after = move |outcome: &ReloadOutcome| match outcome {
        Ok(_) => {
            of_outcome.browsers.reload();
            warn_of_promises(&of_outcome);
        }
        Err(fault) => {
            let told = with_advice(fault.clone(), &for_advice);
            if let Some(advice) = told
                .strip_prefix(fault.as_str())
                .filter(|rest| !rest.is_empty())
            {
                of_outcome.logger.text(Level::Info, advice.trim());
            }
            let project = Project::find(&of_outcome.root).ok();
            let page = page::of_project(&of_outcome, project.as_ref(), &told);
            of_outcome.browsers.fail(page);
        }
    };
    life.take_reloads()?.serve(reloader, resolve, after)?;
    let (requests, db) = (life.requests.clone(), db.clone());
    let body = move || {
        while let Ok(changed) = changes.recv() {
            if changed.project && db.has_lost_file() {
                start_anew(&db, &of_changes.logger);
            }
            act(changed, &of_changes, &requests);
        }
    };
    let thread = std::thread::Builder::new().name("sampan-dev".into());
    let thread = thread.spawn(body);
    thread
        .map(drop)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

/// Begins again as a new process in the place of this one, whose database is gone: the migrations make another one.
/// Returns where that fails.
fn start_anew(db: &DatabaseConfig, logger: &Logger) {
    let text = format!(
        "{} was removed: starting anew without it",
        db.path.display()
    );
    logger.text(Level::Warn, text);
    let told: Result<(), String> = reset::leave_rest(&db.path, logger).and_then(|()| {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let args = std::env::args_os().skip(1);
        // What was done at the first start is done.
        let args = args.filter(|arg| arg != "--open" && arg != "--reset-db");
        logger.flush(FLUSH_TIME_MAX);
        Err(Command::new(program).args(args).exec().to_string())
    });
    if let Err(fault) = told {
        let text = format!("cannot start anew: {fault}");
        logger.text(Level::Error, text);
    }
}

fn act(changed: Changes, dev: &Dev, requests: &ReloadRequests) {
    if changed.project {
        // What came of it has been told.
        let _ = requests.ask_and_wait();
    } else if changed.pages {
        dev.browsers.reload();
    } else {
        dev.browsers.restyle();
    }
}

fn ends(running: Running, dev: &Dev, life: Life, logger: &Logger) -> ServerEnd {
    let browsers = || dev.browsers.close();
    life.wait(running, browsers, logger)
}

/// False if the process is told to end.
fn waits_for_change(changes: &Receiver<Changes>, life: &Life) -> bool {
    loop {
        if life.stopper.is_stopped() {
            return false;
        }
        match changes.recv_timeout(LOOKS_EVERY) {
            Ok(Changes { project: true, .. }) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
            _ => {}
        }
    }
}

/// Adds advice to the error of migrations that do not fit the database, which in development means that one was edited.
fn with_advice(fault: String, resolve: &impl Fn() -> Result<AppConfig, String>) -> String {
    match resolve().ok().filter(reset::is_needed) {
        Some(config) => {
            let file = config.database.config.path.display();
            format!(
                "{fault}\nto begin with an empty database: sampan dev --reset-db moves {file} away, deletes nothing, \
                 and applies all migrations anew"
            )
        }
        None => fault,
    }
}

/// Shows the first page.
fn open(address: SocketAddr, is_https: bool, logger: &Logger) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    let command = command.arg(match is_https {
        true => format!("https://localhost:{}/", address.port()),
        false => format!("http://{address}/"),
    });
    // Ctrl-C goes to the whole group, and is not meant for the browser.
    let quiet = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match quiet.spawn() {
        // Reaped when it ends: some openers live as long as the browser.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => logger.text(
            Level::Warn,
            format!("cannot open the browser: {opener}: {error}"),
        ),
    }
}
