//! What the log says of a handler that the server stopped waiting for.

use crate::request::request_view::View;
use crate::request::response_sink;
use crate::routing::loaded::Control;
use sampan_host::{Error, ErrorKind};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Writes to the log when a handler is given up because it never answered.
pub(super) struct WaitLog<'a> {
    control: &'a Control,
    view: &'a Rc<View>,
    since: Instant,
    /// Set when the handler has ended.
    pub(super) is_over: bool,
}

impl<'a> WaitLog<'a> {
    /// A handler begins to wait.
    pub(super) fn begin(control: &'a Control, view: &'a Rc<View>) -> Self {
        Self {
            control,
            view,
            since: Instant::now(),
            is_over: false,
        }
    }
}

impl Drop for WaitLog<'_> {
    fn drop(&mut self) {
        /// The HTTP engine counts with a coarse clock, which may run ahead of this one by so much.
        const CLOCK_MILLIS_MAX: u64 = 100;
        if self.is_over {
            return;
        }
        // The time of a handler that reads its body as that comes begins again with each read.
        let since = self
            .view
            .read_at()
            .map_or(self.since, |read| read.max(self.since));
        let waited = since.elapsed();
        let coarse = Duration::from_millis(CLOCK_MILLIS_MAX);
        let control = self.control;
        if control
            .ending
            .get()
            .is_some_and(|begun| begun.elapsed() + coarse >= control.shutdown_time_max)
        {
            let message = format!(
                "{}: cut by the shutdown after {} ms (shutdown_millis_max)",
                self.view.title(),
                waited.as_millis()
            );
            response_sink::warn_cut(control, self.view, message);
        } else if waited + coarse >= control.handler_time_max {
            let message = format!(
                "no answer after {} ms: given up (handler_millis_max)",
                waited.as_millis()
            );
            let error = Error::new(ErrorKind::Timeout, message);
            response_sink::log(control, Some(self.view), "", &error);
        }
    }
}
