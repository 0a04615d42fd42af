//! The trace of an attempt.

use crate::desk::Desk;
use crate::table::Taken;
use sampan_host::trace::{Attributes, RemoteParent, SpanKind, SpanStatus, Trace, Tracer};
use sampan_host::{Context, CurrentRun, Error, LocalFuture};
use std::rc::Rc;

/// Ends the trace of an attempt, also of one that is given up.
struct TracedAttempt {
    trace: Trace,
    name: String,
    attributes: Attributes,
    status: SpanStatus,
}

impl TracedAttempt {
    fn end(mut self, ended: &Result<(), Error>) {
        self.status = match ended {
            Ok(()) => SpanStatus::Unset,
            Err(error) => SpanStatus::Error(error.message().to_owned()),
        };
    }
}

impl Drop for TracedAttempt {
    fn drop(&mut self) {
        let attributes = std::mem::take(&mut self.attributes);
        let status = std::mem::take(&mut self.status);
        let describe = || (format!("job {}", self.name), attributes, status);
        self.trace.finish(SpanKind::Consumer, describe);
    }
}

/// Returns the work of an attempt within the trace of the request that has added the job, or one of its own, where
/// anything is traced.
pub(super) fn within(
    context: &Context,
    desk: &Desk,
    job: &Taken,
    work: LocalFuture<Result<(), Error>>,
) -> LocalFuture<Result<(), Error>> {
    let (Some(tracer), Some(run)) = (context.get::<Rc<Tracer>>(), context.get::<CurrentRun>())
    else {
        return work;
    };
    let kept = job.trace.as_deref().and_then(RemoteParent::from_text);
    let attempt = TracedAttempt {
        trace: Trace::begin(&tracer, kept.or_else(|| desk.trace_of(job.id))),
        name: job.name.clone(),
        attributes: vec![
            ("messaging.operation.type".into(), "process".into()),
            (
                "messaging.destination.name".into(),
                job.queue.as_str().into(),
            ),
            ("messaging.message.id".into(), job.id.to_string().into()),
            ("sampan.job.attempt".into(), i64::from(job.attempt).into()),
        ],
        status: SpanStatus::Error("given up".to_owned()),
    };
    Box::pin(async move {
        // The run is the owner of what it does only while it goes on.
        if let Some(owner) = run.owner() {
            owner.store().put(attempt.trace.clone());
        }
        let ended = work.await;
        attempt.end(&ended);
        ended
    })
}
