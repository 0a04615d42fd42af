//! The records of requests: for the access log, the metrics and traces.

use crate::dispatch::dispatch::Dispatch;
use crate::lane::crossing::LaneTiming;
use crate::request::record::{Record, RequestTrace};
use crate::request::traced::TracedRequest;
use sampan_http::{Peer, Request};
use std::rc::Rc;

impl Dispatch {
    /// Creates the record of a request that has just arrived.
    pub fn record(
        &self,
        peer: Peer,
        request: Option<&Request>,
        trace: Option<Box<dyn RequestTrace>>,
    ) -> Rc<Record> {
        let loaded = self.current.borrow();
        let control = &loaded.control;
        let (meters, method) = (control.meters.as_ref(), request.map(Request::method));
        let is_pooled = trace.is_none() && !control.logger.has_access_log();
        let record = match is_pooled && (meters.is_some() || control.tracer.is_some()) {
            true => self.records.begin(meters, method),
            false => {
                let logger = Rc::clone(&control.logger);
                let record = Record::new(logger, peer, request, &loaded.no_route, trace);
                if let Some(meters) = meters {
                    record.measure(meters, method);
                }
                record
            }
        };
        if let (Some(tracer), Some(request)) = (&control.tracer, request) {
            record.begin_trace(TracedRequest::begin(tracer, request, &loaded.no_route));
        }
        record
    }

    /// Creates the record of a request whose line another worker writes: it collects times alone.
    pub(crate) fn record_apart(&self, timing: LaneTiming) -> Rc<Record> {
        let control = Rc::clone(&self.current.borrow().control);
        let record = Record::apart(Rc::clone(&control.logger), timing.id, timing.arrived);
        if let (Some(tracer), Some(of)) = (&control.tracer, timing.trace) {
            record.begin_trace(TracedRequest::apart(tracer, of));
        }
        record
    }
}
