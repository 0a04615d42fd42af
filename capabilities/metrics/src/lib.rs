//! Measurements of scripts: counters, gauges and histograms beside those of the server.
//!
//! Each isolate declares its metrics while it loads. Handles belong to the worker and outlive its isolates, so a reload
//! loses no count. Where the server is not measured, the values are kept and nothing shows them.

mod declaration;
mod labels;
mod limits;
mod metric;
mod rows;

use metric::WorkerMetrics;
use rows::IsolateMetrics;
use sampan_host::capability::IsolateSetup;
use sampan_host::{Capability, Context, Error};
use std::rc::Rc;

/// Measurements of scripts.
pub static CAPABILITY: Capability = Capability {
    name: "metrics",
    modules: &[&rows::MODULE],
    isolate,
    loaded,
    ..Capability::EMPTY
};

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let worker = setup.worker.get::<WorkerMetrics>().unwrap_or_else(|| {
        setup.worker.put(WorkerMetrics::of(setup.worker));
        // It has just been put there.
        setup.worker.get().unwrap_or_default()
    });
    setup.context.put(IsolateMetrics::new(worker));
    Ok(())
}

fn loaded(context: &Context) -> Result<(), Error> {
    if let Some(metrics) = context.get::<IsolateMetrics>() {
        metrics.close();
    }
    Ok(())
}

/// Returns the metrics of an isolate.
fn of(context: &Context) -> Result<Rc<IsolateMetrics>, Error> {
    let internal = || {
        Error::new(
            sampan_host::ErrorKind::Internal,
            "there are no metrics here",
        )
    };
    context.get::<IsolateMetrics>().ok_or_else(internal)
}
