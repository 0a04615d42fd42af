//! The settings on the way from a request to its answer.

use super::limits;
use crate::crash::settings::{self as crash, CrashSettings};
use crate::csrf::CsrfGuard;
use crate::health::settings::{self as health, HealthSettings};
use crate::lane::settings::{self as lane, LaneSettings};
use crate::metrics::settings::{self as metrics, MetricsSettings};
use sampan_host::ScriptLimits;
use sampan_host::settings::AllSettings;
use sampan_http::Limits;
use sampan_project::config::{ConfigFaults, SERVER};
use sampan_serve::admission::{self, OverloadSettings};
use sampan_serve::files::{self, StaticSettings};
use sampan_serve::{COMPRESSION, TrustedProxy};
use std::net::SocketAddr;

/// The settings on the way from a request to its answer, checked.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The networks of proxies whose `X-Forwarded-*` fields are believed.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// True if these proxies tell the client's address by the PROXY protocol.
    pub proxy_protocol: bool,
    /// True if clients may choose HTTP/2 over TLS.
    pub takes_http2: bool,
    /// True if clients may begin with HTTP/2 on connections without TLS.
    pub takes_h2c: bool,
    /// The limits of the HTTP engine.
    pub http: Limits,
    /// The limits of the scripts.
    pub script: ScriptLimits,
    /// The memory of the whole process, in bytes; 0 is what the system gives it.
    pub process_bytes_max: u64,
    /// The number of bytes of compressed answers that each worker keeps; `None` turns compression off.
    pub compression: Option<usize>,
    /// The check that refuses unsafe requests of other sites.
    pub(crate) csrf: Option<CsrfGuard>,
    /// The answers about the server's health.
    pub health: HealthSettings,
    /// The isolates of slow routes.
    pub lane: LaneSettings,
    /// The settings for when requests begin on workers that have too many; `None`: as they come.
    pub overload: Option<OverloadSettings>,
    /// The reports of crashes.
    pub crash: CrashSettings,
    /// The measurements.
    pub(crate) metrics: MetricsSettings,
    /// The files that are served by their paths.
    pub static_files: StaticSettings,
}

impl ServeConfig {
    /// Resolves the settings. `None` if a value is wrong, as the faults tell.
    pub(super) fn of(sections: &AllSettings, faults: &mut ConfigFaults) -> Option<Self> {
        let server = sections.of(&SERVER);
        let proxies = server.list("trusted_proxies");
        let proxies: Result<Vec<_>, String> = proxies.iter().map(|text| text.parse()).collect();
        let tell = |fault| server.tell(&format!("trusted_proxies: {fault}"));
        let trusted_proxies: Option<Vec<_>> = faults.keep(proxies.map_err(tell));
        let has_none = trusted_proxies.as_ref().is_some_and(Vec::is_empty);
        let proxy_protocol = faults.keep(match server.flag("proxy_protocol") {
            true if has_none => Err(server
                .tell("proxy_protocol = true: name the proxies that use it in trusted_proxies")),
            is_on => Ok(is_on),
        });
        let takes_http2 = server.flag("http2");
        let takes_h2c = faults.keep(match server.flag("h2c") {
            true if !takes_http2 => {
                Err(server.tell("h2c = true is HTTP/2 without TLS, which http2 = false turns off"))
            }
            is_on => Ok(is_on),
        });
        let limits = faults.resolve(sections, &limits::SECTION, limits::from_settings);
        let csrf = faults.resolve(
            sections,
            &sampan_middleware::SECTION,
            CsrfGuard::from_settings,
        );
        let health = faults.resolve(sections, &health::SECTION, HealthSettings::from_settings);
        let crash = faults.resolve(sections, &crash::SECTION, CrashSettings::checked);
        let metrics = faults.resolve(sections, &metrics::SECTION, MetricsSettings::from_settings);
        let files = faults.resolve(sections, &files::SECTION, StaticSettings::from_settings);
        let limits = limits?;
        let lane = sections.of(&lane::SECTION);
        let lane = LaneSettings::from_settings(
            &lane,
            limits.script.memory_bytes_max,
            limits.memory_bytes(),
        );
        let compression = sections.of(&COMPRESSION);
        let cache_bytes_max = compression.number("cache_bytes_max");
        Some(Self {
            trusted_proxies: trusted_proxies?,
            proxy_protocol: proxy_protocol?,
            takes_http2,
            takes_h2c: takes_h2c?,
            process_bytes_max: limits.process_bytes_max,
            http: limits.http,
            script: limits.script,
            compression: compression.flag("enabled").then_some(cache_bytes_max),
            csrf: csrf?,
            health: health?,
            lane,
            crash: crash?,
            overload: OverloadSettings::from_settings(&sections.of(&admission::SECTION)),
            metrics: metrics?,
            static_files: files?,
        })
    }

    /// Returns the path of the measurements; `None` where there are none.
    pub fn metrics_path(&self) -> Option<&str> {
        let metrics = &self.metrics;
        metrics.is_enabled.then_some(metrics.path.as_str())
    }

    /// Returns the address of the measurements, if they have one of their own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.listen
    }

    /// The proxies that tell the client's address by the PROXY protocol.
    pub(crate) fn proxies(&self) -> &[TrustedProxy] {
        match self.proxy_protocol {
            true => &self.trusted_proxies,
            false => &[],
        }
    }
}
