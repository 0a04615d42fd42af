//! The setup of a benchmark: its servers installed, and those started that are measured side by side.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::before::TwinComparison;
use super::cost::{Arguments, MeasuredPart};
use super::figures::Figure;
use super::{Runner, Skipped, before, machine};
use crate::error::Error;
use crate::peers::install::{self, Installer};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::{BenchStorage, Durability};
use crate::peers::{Installed, Peer};

/// The options of every benchmark.
#[derive(Args)]
pub(crate) struct SuiteOptions {
    /// Use what is installed, install nothing
    #[arg(long)]
    no_install: bool,
    /// Measure only ours, each in turn with this older executable of Sampan, and print what changed
    #[arg(long, value_name = "EXECUTABLE")]
    pub(crate) before: Option<PathBuf>,
    /// Measure only ours, each in turn with this part and without it, and print what it costs
    #[arg(long, value_name = "PART", conflicts_with = "before")]
    cost: Option<MeasuredPart>,
    /// Write the results to this folder
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    out: PathBuf,
}

/// The servers of a benchmark, and where everything is.
pub(crate) struct Setup {
    pub(crate) root: PathBuf,
    /// The folder for peers and databases.
    pub(crate) folder: PathBuf,
    pub(crate) logs: PathBuf,
    /// The folder for the results.
    pub(crate) out: PathBuf,
    /// The machine's load average at the beginning.
    pub(crate) busy: f64,
    pub(crate) installed: Vec<(&'static Peer, Installed)>,
    pub(crate) skipped: Vec<Skipped>,
}

impl SuiteOptions {
    /// Gets peers onto this machine, unless told not to.
    pub(crate) fn installer(&self) -> Installer {
        Installer::new(&crate::checkout::root(), !self.no_install)
    }

    /// Refuses `--before` and `--cost`, for the benchmarks of libraries, of which there is no older executable.
    ///
    /// # Errors
    ///
    /// When one was named, or `--cost`.
    pub(crate) fn refuse_before(&self) -> Result<(), Error> {
        self.refuse_cost()?;
        match self.before {
            Some(_) => {
                Err("--before compares executables, and this benchmark measures libraries".into())
            }
            None => Ok(()),
        }
    }

    /// Refuses `--cost`, for the benchmarks that do not compare servers on routes.
    ///
    /// # Errors
    ///
    /// When `--cost` was given.
    pub(crate) fn refuse_cost(&self) -> Result<(), Error> {
        match self.cost {
            Some(_) => Err("--cost compares routes: use it with `hello` or `db`".into()),
            None => Ok(()),
        }
    }

    /// Returns the comparison of ours with itself that is wanted in place of one with other servers.
    pub(crate) fn comparison(&self) -> Option<TwinComparison> {
        let before = self.before.as_ref().map(|_| before::BEFORE);
        before.or_else(|| self.cost.map(MeasuredPart::comparison))
    }

    fn twins(&self) -> Result<Option<Twins<'_>>, Error> {
        Ok(match (&self.before, self.cost) {
            (Some(program), _) => Some(Twins::Older(program)),
            (None, Some(cost)) => {
                let [without, with] = cost.arguments()?;
                Some(Twins::Settings { without, with })
            }
            (None, None) => None,
        })
    }

    /// Installs those of `peers` that are named, or all.
    ///
    /// # Errors
    ///
    /// When taskset is missing, our executable does not build, or a folder cannot be made.
    pub(crate) fn prepare(&self, peers: &'static [Peer], only: &[String]) -> Result<Setup, Error> {
        self.prepare_beside(peers, only, self.twins()?)
    }

    /// Prepares as [`SuiteOptions::prepare`] does, for a benchmark that measures everything, and beside an older
    /// executable only some.
    ///
    /// # Errors
    ///
    /// As [`SuiteOptions::prepare`].
    pub(crate) fn prepare_all(
        &self,
        peers: &'static [Peer],
        only: &[String],
    ) -> Result<Setup, Error> {
        self.prepare_beside(peers, only, None)
    }

    fn prepare_beside(
        &self,
        peers: &'static [Peer],
        only: &[String],
        twins: Option<Twins<'_>>,
    ) -> Result<Setup, Error> {
        if install::find("taskset").is_none() {
            return Err(
                "taskset is missing: install it, on Debian with `apt-get install util-linux`"
                    .into(),
            );
        }
        let busy = machine::warn_if_busy();
        let root = crate::checkout::root();
        let installer = self.installer();
        // It also makes the load.
        installer.sampan_program()?;
        let (folder, logs) = (installer.folder(), installer.folder().join("logs"));
        fs::create_dir_all(&logs)?;
        let mut skipped = Vec::new();
        let installed = install_all(&installer, peers, only, twins.as_ref(), &mut skipped);
        Ok(Setup {
            out: root.join(&self.out),
            root,
            folder,
            logs,
            busy,
            installed,
            skipped,
        })
    }
}

impl Setup {
    /// Starts all that are installed, with so many threads each.
    pub(crate) fn start(&mut self, placement: &Placement, threads: usize) -> Vec<Runner> {
        let mut runners = Vec::new();
        for (peer, _) in &self.installed {
            match self.start_one(peer, placement, threads) {
                Ok(server) => runners.push(Runner { peer, server }),
                Err(fault) => Skipped::note(&mut self.skipped, peer.title.to_owned(), fault),
            }
        }
        runners
    }

    /// Starts one of them.
    pub(crate) fn start_one(
        &self,
        peer: &'static Peer,
        placement: &Placement,
        threads: usize,
    ) -> Result<PeerServer, String> {
        self.start_with(peer, placement, threads, None)
    }

    /// Starts one of them, with a database.
    pub(crate) fn start_with(
        &self,
        peer: &'static Peer,
        placement: &Placement,
        threads: usize,
        storage: Option<&BenchStorage>,
    ) -> Result<PeerServer, String> {
        let installed = self.installed(peer)?;
        PeerServer::start(peer, installed, placement, threads, storage, &self.logs)
            .map_err(|fault| format!("does not start: {fault}"))
    }

    /// Makes a folder for a database, with these lines in the settings.
    pub(crate) fn storage(
        &self,
        durability: Durability,
        lines: &str,
    ) -> Result<BenchStorage, String> {
        let storage = BenchStorage::new(&self.root, &self.folder, durability)
            .and_then(|storage| storage.configure(lines).map(|()| storage));
        storage.map_err(|error| format!("no folder for its database: {error}"))
    }

    /// Takes figures of each of ours, which have no peer. Notes those that cannot be taken.
    pub(crate) fn of_ours(
        &mut self,
        what: &str,
        take: impl Fn(&Self, &'static Peer) -> Result<Vec<Figure>, String>,
    ) -> Vec<Figure> {
        let ours = self.installed.iter().map(|(peer, _)| *peer);
        let ours: Vec<&'static Peer> = ours.filter(|peer| peer.is_ours()).collect();
        let mut figures = Vec::new();
        for peer in ours {
            println!("{}: {what}", peer.title);
            match take(self, peer) {
                Ok(found) => figures.extend(found.into_iter().inspect(Figure::tell)),
                Err(fault) => {
                    let what = format!("{}: {what}", peer.title);
                    Skipped::note(&mut self.skipped, what, fault);
                }
            }
        }
        figures
    }

    /// Returns what starts one of them.
    pub(crate) fn installed(&self, peer: &Peer) -> Result<&Installed, String> {
        let installed = self.installed.iter().find(|(one, _)| one.id == peer.id);
        let (_, installed) = installed.ok_or("it is not installed")?;
        Ok(installed)
    }
}

/// The two servers of ours that are compared in place of others.
enum Twins<'a> {
    /// An older executable.
    Older(&'a Path),
    /// One executable with two sets of arguments.
    Settings { without: Arguments, with: Arguments },
}

impl Twins<'_> {
    /// Returns the twin of one of ours, which gets its own arguments.
    fn of(&self, peer: &Peer, ours: &mut Installed) -> (&'static Peer, Installed) {
        match self {
            Self::Older(program) => before::twin(peer, ours, program),
            Self::Settings { without, with } => {
                let mut twin = ours.clone();
                twin.arguments.extend_from_slice(without);
                ours.arguments.extend_from_slice(with);
                before::named_twin(peer, twin, "without")
            }
        }
    }
}

/// Installs the peers that were asked for, all by default. Beside twins only ours are measured, each with its twin
/// after it.
fn install_all(
    installer: &Installer,
    peers: &'static [Peer],
    only: &[String],
    twins: Option<&Twins<'_>>,
    skipped: &mut Vec<Skipped>,
) -> Vec<(&'static Peer, Installed)> {
    let wanted = |peer: &&Peer| only.is_empty() || only.iter().any(|id| id == peer.id);
    let ours = |peer: &&Peer| twins.is_none() || peer.is_executable();
    let wanted: Vec<&'static Peer> = peers.iter().filter(wanted).filter(ours).collect();
    let mut installed = Vec::new();
    for peer in wanted {
        match installer.install(peer) {
            Ok(mut ready) => {
                let twin = twins.map(|twins| twins.of(peer, &mut ready));
                installed.push((peer, ready));
                installed.extend(twin);
            }
            Err(why) => Skipped::note(skipped, peer.title.to_owned(), why),
        }
    }
    installed
}

/// The ids of peers, as values of an option.
pub(crate) fn peer_names(peers: &[Peer]) -> clap::builder::PossibleValuesParser {
    peers.iter().map(|peer| peer.id).collect::<Vec<_>>().into()
}

/// Those that were named, or all.
pub(crate) fn chosen<T: Copy>(named: &[T], all: &[T]) -> Vec<T> {
    if named.is_empty() { all } else { named }.to_vec()
}

/// The title and version of each, those with the same title once.
pub(crate) fn versions(installed: &[(&'static Peer, Installed)]) -> Vec<(&'static str, String)> {
    let mut versions: Vec<(&'static str, String)> = Vec::new();
    for (peer, installed) in installed {
        if !versions.iter().any(|(title, _)| *title == peer.title) {
            versions.push((peer.title, installed.version.clone()));
        }
    }
    versions
}
