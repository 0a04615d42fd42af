//! The address on which measurements alone are answered.

use super::aside::Aside;
use super::shared::ServerShared;
use crate::listening::Listening;
use crate::metrics::handler::{MetricsAlone, MetricsAnswers};
use sampan_host::log::Level;
use sampan_http::Handler;
use std::net::SocketAddr;
use std::rc::Rc;

/// The most connections that are answered there at one time.
pub(super) const METRICS_CONNECTIONS_MAX: usize = 32;

/// Answers on the address of the measurements.
pub(super) fn start_metrics(
    listening: Option<Listening>,
    shared: &ServerShared,
) -> Result<Option<(SocketAddr, Aside)>, String> {
    let settings = &shared.config.serving.metrics;
    let answers = MetricsAnswers::apart(settings, shared.metrics.as_ref());
    let (Some(listening), Some(answers)) = (listening, answers) else {
        return Ok(None);
    };
    let address = listening.acceptor.local_addr();
    let address = address.map_err(|error| format!("[metrics] listen: {error}"))?;
    let make = move || Rc::new(MetricsAlone(answers)) as Rc<dyn Handler>;
    let (listening, logger) = (vec![listening], &shared.config.program.logger);
    let aside = Aside::start(
        "sampan-metrics",
        listening,
        &shared.limits,
        METRICS_CONNECTIONS_MAX,
        make,
        logger,
    )?;
    logger.text(
        Level::Info,
        format!("measurements at http://{address}{}", settings.path),
    );
    Ok(Some((address, aside)))
}
