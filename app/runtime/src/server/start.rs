//! Starts a server: its workers first, then what accepts connections.

use super::acme;
use super::events::{ServerEvents, Stopper};
use super::metrics_address::{METRICS_CONNECTIONS_MAX, start_metrics};
use super::redirect::{self, CONNECTIONS_MAX as REDIRECT_CONNECTIONS_MAX, RedirectAnswers};
use super::running::Running;
use super::shared::ServerShared;
use super::traces;
use crate::app_config::AppConfig;
use crate::capabilities;
use crate::database;
use crate::database::backup::{self, BeforeOpening};
use crate::generation::Generation;
use crate::health;
use crate::health::handler::HealthAnswers;
use crate::health::monitor::HealthMonitor;
use crate::inspect::promises::warn_of_missing_awaits;
use crate::lane::learned;
use crate::lane::shared::{Lane, LaneChange};
use crate::listening::{self, Listening, ServerCertificates, User};
use crate::locks::lock;
use crate::metrics;
use crate::process_state::ProcessState;
use crate::reload::swap::Reloader;
use crate::worker::free_memory;
use crate::worker::long_runs::LongRuns;
use crate::worker::watchdog::Watchdog;
use sampan_acme::AcmeSettings;
use sampan_host::log::Level;
use sampan_http::{ClientBytes, Limits, Parking, Workers};
use sampan_project::VERSION;
use sampan_serve::files::OPEN_FILES_MAX;
use sampan_serve::lane::{ENOUGH_AT_ONCE, RouteNames};
use sampan_trace::Exporter;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Files that the process may need besides its connections and what capabilities open: the project's sources.
const RESERVED_FILES: u64 = 64;

/// Starts servers.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Loads the project on every worker, then accepts connections.
    ///
    /// # Errors
    /// The project does not load, or the address cannot be listened on: one line that says what to do.
    pub fn start(config: AppConfig) -> Result<Running, String> {
        let (stopper, events) = Stopper::new();
        Self::start_until(config, &stopper, events)
    }

    /// Starts a server that `stop` can end, also while it starts: that is an error then.
    pub fn start_until(
        config: AppConfig,
        stopper: &Stopper,
        inbox: ServerEvents,
    ) -> Result<Running, String> {
        let listeners = Self::listen(&config)?;
        Self::start_on(listeners, config, stopper, inbox)
    }

    /// Opens what the server listens on, as the user who started the process, and becomes the user that it is to run
    /// as. Starts no thread.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub(crate) fn listen(config: &AppConfig) -> Result<ServerListeners, String> {
        config.check_host()?;
        listen(config)
    }

    /// Starts a server on sockets that are open.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub(crate) fn start_on(
        listeners: ServerListeners,
        mut config: AppConfig,
        stopper: &Stopper,
        inbox: ServerEvents,
    ) -> Result<Running, String> {
        let ServerListeners {
            listening,
            plain,
            metrics: metrics_listening,
            limits,
            certificates,
            acme,
            notes,
        } = listeners;
        for note in notes {
            config.program.logger.text(Level::Warn, note);
        }
        let ports = listening.iter().map(|one| one.acceptor.local_addr());
        let addresses: Vec<SocketAddr> = ports.filter_map(Result::ok).collect();
        let names: Vec<&str> = listening.iter().map(|one| one.name.as_str()).collect();
        let names = names.join(" and ");
        let plain_names: Vec<&str> = plain.iter().map(|one| one.name.as_str()).collect();
        let plain_names = plain_names.join(" and ");
        config.follow_files();
        let kept = config.keep_files();
        let state = ProcessState::of(&config)?;
        ProcessState::warn(&config);
        state.start();
        backup::restore_at_start(&config)?;
        let before = BeforeOpening::look(&config);
        let (database, migrated) = database::prepare(&config)?;
        warn_of_missing_awaits(&config);
        let database_checks = health::checks(&config, &database)?;
        let is_stopping = Arc::clone(&stopper.is_stopping);
        let health = HealthMonitor::new(database_checks, state.get(), is_stopping);
        let (lane, changes) = slow_lane_of(&config).unzip();
        let metrics = metrics::registry(&config);
        let parking = parking_of(&config)?;
        let exporter = traces::start(&config)?;
        let config = Arc::new(config);
        let generation = Generation::new(Arc::clone(&config), state);
        let shared = Arc::new(ServerShared {
            config,
            unsent: ClientBytes::new(&limits),
            limits: Arc::new(limits),
            parking,
            certificates,
            database,
            generation: Mutex::new(Arc::new(generation)),
            reloading: Mutex::default(),
            watchdog: Watchdog::default(),
            crew: Mutex::default(),
            workers: Mutex::default(),
            beside: Mutex::default(),
            route_names: match &lane {
                Some(lane) => Arc::clone(lane.routes.names()),
                None => Arc::new(RouteNames::new()),
            },
            lane: lane.map(Arc::new),
            lane_crew: Mutex::default(),
            events: stopper.events.clone(),
            next_id: AtomicU64::new(0),
            abandoned: AtomicUsize::new(0),
            is_ending: AtomicBool::new(false),
            ending: Arc::clone(&stopper.ending),
            is_stopping: Arc::clone(&stopper.is_stopping),
            health,
            metrics,
            tracing: exporter.as_ref().map(Exporter::tracing),
            started_once: Arc::default(),
        });
        metrics::collect_workers(&shared);
        let script_time_max = Duration::from_millis(shared.config.serving.script.script_millis_max);
        if let Some(lane) = &shared.lane {
            let lane = Arc::clone(lane);
            shared.watchdog.report_long_runs(LongRuns {
                time_min: lane.routes.slow_time(),
                time_enough: lane.routes.slow_time() * ENOUGH_AT_ONCE,
                tell: Box::new(move |route, used| {
                    if lane.routes.note_long(route, used) {
                        lane.tell(LaneChange::Moved);
                    }
                }),
            });
        }
        // Only its host can stop a script that a host runs.
        if shared.config.program.host.is_none() {
            shared
                .watchdog
                .start(script_time_max)
                .map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        free_memory::give_back();
        // Before a script writes: the copy of an earlier process goes on with what is in the log.
        let backup = backup::start(&shared.config, &shared.database, before)?;
        if let (Some(backup), Some(registry)) = (&backup, &shared.metrics) {
            backup.measure(registry);
        }
        let loaded = shared.start_workers();
        let loaded = loaded.and_then(|()| shared.start_beside());
        let loaded = loaded.and_then(|()| shared.start_slow_lane());
        let loaded = loaded.and_then(|()| match changes {
            Some(changes) => shared.keep_slow_lane(changes),
            None => Ok(()),
        });
        if let Err(fault) = loaded {
            shared.end_workers();
            shared.end_slow_lane();
            shared.end_beside();
            shared.watchdog.stop();
            shared.database.shutdown();
            if let Some(backup) = backup {
                backup.finish();
            }
            if let Some(exporter) = exporter {
                exporter.finish();
            }
            return Err(database::with_applied(fault, &migrated));
        }
        if let Some(kept) = kept {
            kept.keep_missing();
        }
        if let Some(files) = &shared.config.program.script_files {
            files.followed.seen().is_loaded();
            let reloader = Reloader(Arc::clone(&shared));
            // The log is told of the outcome.
            files.start(move || drop(reloader.reload_files()))?;
        }
        let handles = shared
            .crew()
            .iter()
            .map(|member| member.handle.clone())
            .collect();
        let workers = Workers::new(handles, &shared.limits);
        *lock(&shared.workers) = Some(workers.clone());
        let logger = &shared.config.program.logger;
        let accepting = listening.into_iter().map(|one| {
            let logger = logger.clone();
            let note = move |note: &str| logger.text(Level::Warn, note);
            let started = one.acceptor.start(workers.clone(), note);
            let accepting =
                started.map_err(|error| format!("cannot accept connections: {error}"))?;
            Ok((one.usage, accepting))
        });
        let accepting = accepting.collect::<Result<_, String>>()?;
        if let Some(certificates) = &shared.certificates {
            let started = certificates.look_after();
            started.map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        let redirect = match addresses.first() {
            Some(https) if !plain.is_empty() => Some(redirect::start(
                plain,
                &shared.limits,
                https.port(),
                RedirectAnswers {
                    challenges: acme.as_ref().map(AcmeSettings::challenge_folder),
                    // In development other hosts are refused, which only the address with TLS does.
                    health: match shared.config.program.development {
                        None => shared.health_answers().map(HealthAnswers::without_token),
                        Some(_) => None,
                    },
                },
                logger,
            )?),
            _ => None,
        };
        let metrics = start_metrics(metrics_listening, &shared)?;
        // When challenges can be answered.
        let renewing = acme.zip(shared.certificates.as_ref());
        let renewing = renewing.map(|(acme, certificates)| acme::start(acme, certificates, logger));
        let renewing = renewing.transpose()?;
        let is_delayed = !shared.config.serving.health.stop_delay.is_zero();
        stopper.is_delayed.store(is_delayed, Ordering::Release);
        let ready = ready_line(&shared.config, &names, &plain_names);
        logger.text(Level::Info, ready);
        Ok(Running {
            addresses,
            shared,
            accepting,
            redirect,
            metrics,
            renewing,
            backup,
            exporter,
            names,
            events: inbox,
        })
    }
}

/// Returns the slow lane of a server whose workers are its own, with the receiver of its changes. There is none while a
/// project is developed or profiled.
fn slow_lane_of(config: &AppConfig) -> Option<(Lane, Receiver<LaneChange>)> {
    let settings = config.serving.lane;
    let program = &config.program;
    let is_other = program.host.is_some() || program.development.is_some() || program.is_profiled;
    if is_other || settings.isolates == 0 || config.base.project.entry().is_empty() {
        return None;
    }
    let file = learned::file_of(config);
    let read = file.as_deref().map_or(Ok(Vec::new()), learned::read);
    let known = read.unwrap_or_else(|fault| {
        let file = file.unwrap_or_default();
        let text = format!("{}: {fault}: slow routes are measured anew", file.display());
        program.logger.text(Level::Warn, text);
        Vec::new()
    });
    Some(Lane::new(settings, config.serving.overload, known))
}

/// Returns the place for the idle connections of a server with several workers of its own.
fn parking_of(config: &AppConfig) -> Result<Option<Arc<Parking>>, String> {
    if config.program.host.is_some() || config.base.workers < 2 {
        return Ok(None);
    }
    let parking = Parking::new().map_err(|error| format!("cannot watch connections: {error}"))?;
    Ok(Some(Arc::new(parking)))
}

/// The listeners of a server, before its workers start.
pub(crate) struct ServerListeners {
    listening: Vec<Listening>,
    /// Those of plain HTTP that is sent on to HTTPS.
    plain: Vec<Listening>,
    /// The listener of the measurements, if they have an address of their own.
    metrics: Option<Listening>,
    limits: Limits,
    certificates: Option<ServerCertificates>,
    /// The certificates among them that renew themselves.
    acme: Option<AcmeSettings>,
    /// Warnings, told when the process is confined: the first line starts the thread of the log.
    notes: Vec<String>,
}

impl ServerListeners {
    /// Returns the ports.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let all = self.listening.iter().chain(&self.plain);
        let all = all.chain(&self.metrics);
        let addresses = all.filter_map(|one| one.acceptor.local_addr().ok());
        addresses.map(|address| address.port()).collect()
    }
}

/// Opens what it listens on, as the user who started it, and becomes the user that it is to run as.
fn listen(config: &AppConfig) -> Result<ServerListeners, String> {
    let mut limits = config.serving.http.clone();
    // Each worker keeps the files of two folders open.
    let isolates = config.base.workers + config.serving.lane.isolates;
    let files = isolates * 2 * OPEN_FILES_MAX;
    let is_redirecting =
        (config.base.tls.as_ref()).is_some_and(|tls| !tls.redirect_listen.is_empty());
    let of_redirect = if is_redirecting {
        REDIRECT_CONNECTIONS_MAX
    } else {
        0
    };
    let of_metrics = match config.serving.metrics.listen {
        Some(_) => METRICS_CONNECTIONS_MAX,
        None => 0,
    };
    let files = RESERVED_FILES + (files + of_redirect + of_metrics) as u64;
    let shared = capabilities::open_files_max();
    let lowered = sampan_http::raise_open_files(&mut limits, files, shared)?;
    let mut notes = Vec::from_iter(lowered);
    let user = config
        .base
        .user
        .as_deref()
        .map(User::find)
        .transpose()?
        .flatten();
    // Before it becomes another user, who may not read keys.
    let logger = &config.program.logger;
    let acme = acme::acme_settings(config)?;
    let certificates = config.base.tls.as_ref();
    let takes_http2 = config.serving.takes_http2;
    let certificates =
        certificates.map(|tls| ServerCertificates::read(tls, acme.as_ref(), takes_http2, logger));
    let (certificates, warnings) = certificates.transpose()?.unzip();
    notes.extend(warnings.into_iter().flatten());
    let tls = certificates.as_ref().map(ServerCertificates::tls);
    let listening = listening::open(config, &limits, user.as_ref(), tls.as_ref())?;
    let plain = listening::open_plain(config, &limits, user.as_ref())?;
    let metrics = listening::open_metrics(config, &limits, user.as_ref())?;
    if let Some(user) = &user {
        // From here on: what is made later, such as the database, is that user's.
        user.become_it()?;
    }
    Ok(ServerListeners {
        listening,
        plain,
        metrics,
        limits,
        certificates,
        acme,
        notes,
    })
}

/// Returns the log line for the moment when connections are accepted.
fn ready_line(config: &AppConfig, names: &str, plain_names: &str) -> String {
    let count = config.base.workers;
    let plural = if count == 1 { "" } else { "s" };
    let entry = match config.base.project.entry() {
        "" => "no project",
        entry => entry,
    };
    let redirect = match plain_names {
        "" => String::new(),
        plain_names => format!(" (and {plain_names}, which redirects)"),
    };
    format!(
        "listening on {names}{redirect} with {count} worker{plural} ({entry}, sampan {VERSION})"
    )
}
