//! The benchmarks: what each measures, and what it tells.

mod backup;
mod db;
mod fetch;
mod gust;
mod hello;
mod jobs;
mod load;
mod petclinic;
mod postgres;
mod side_by_side;
pub(crate) mod static_files;
mod stream;
mod wire;

pub(crate) use backup::{BackupOptions, backup};
pub(crate) use db::{DbOptions, db};
pub(crate) use fetch::{Fetch, fetch};
pub(crate) use gust::{GustOptions, gust};
pub(crate) use hello::{HelloOptions, hello};
pub(crate) use jobs::{JobsOptions, jobs};
pub(crate) use load::{LoadOptions, load};
pub(crate) use petclinic::{PetClinicOptions, petclinic};
pub(crate) use postgres::{PostgresOptions, postgres};
pub(crate) use side_by_side::{FigureOptions, SideOptions};
pub(crate) use static_files::{Static, static_files};
pub(crate) use stream::{StreamOptions, stream};
pub(crate) use wire::{H2, Tls, Ws, h2, tls, ws};

use crate::error::Error;
use crate::measure::ExtraCases;
use crate::peers::{GOLUA_PEERS, LIMIT_PEERS, Peer, TEMPLATE_PEERS};
use crate::report::targets::{self, RatioTarget};
use crate::report::{self, Suite};
use crate::routes::{self, Route};
use side_by_side::SideBySide;

/// `bench template`: pages rendered from templates, with the routes of examples/bench_template.
pub(crate) struct Template;

impl SideBySide for Template {
    const SUITE: &'static Suite = &report::TEMPLATE;
    const PEERS: &'static [Peer] = TEMPLATE_PEERS;
    const ROUTES: &'static [Route] = routes::TEMPLATE;
    const TARGETS: &'static [RatioTarget] = targets::TEMPLATE;
}

/// `bench limit`: a JSON route of a script beside an epoll loop in C that parses nothing.
pub(crate) struct Limit;

impl SideBySide for Limit {
    const SUITE: &'static Suite = &report::LIMIT;
    const PEERS: &'static [Peer] = LIMIT_PEERS;
    const ROUTES: &'static [Route] = routes::LIMIT;
    const TARGETS: &'static [RatioTarget] = targets::LIMIT;
    const EXTRA: ExtraCases = ExtraCases::None;
}

/// `bench golua`: a short text from Lua in a program in Go, and from a handler in Go.
pub(crate) struct GoLua;

impl SideBySide for GoLua {
    const SUITE: &'static Suite = &report::GOLUA;
    const PEERS: &'static [Peer] = GOLUA_PEERS;
    const ROUTES: &'static [Route] = routes::GOLUA;
    const TARGETS: &'static [RatioTarget] = targets::GOLUA;
    const EXTRA: ExtraCases = ExtraCases::None;
}

/// Runs `bench golua`.
///
/// # Errors
///
/// As [`SideOptions::run`], and with `--before`.
pub(crate) fn golua(options: &SideOptions<GoLua>) -> Result<bool, Error> {
    options.shared.suite.refuse_before()?;
    options.run()
}
