//! Functions of the script that run while no request waits for them.

use sampan_host::log::Log;
use sampan_host::{Background, Callback, Error, ErrorKind, LocalFuture, Value};
use sampan_serve::Gate;
use std::rc::Rc;
use std::time::Duration;

/// Runs functions of an isolate behind its worker's gate, each within `handler_millis_max`.
pub(crate) struct GatedRuns {
    pub(crate) gate: Rc<Gate>,
    pub(crate) log: Rc<dyn Log>,
    pub(crate) time_max: Duration,
}

impl Background for GatedRuns {
    fn run(&self, what: &str, function: Callback, args: Vec<Value>) -> LocalFuture<()> {
        let (log, time_max, what) = (Rc::clone(&self.log), self.time_max, what.to_owned());
        let run = self.gate.background(function.start_apart(args));
        Box::pin(async move {
            let error = match tokio::time::timeout(time_max, run).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_) => {
                    let millis = time_max.as_millis();
                    let text = format!("it took longer than {millis} ms (handler_millis_max)");
                    Error::new(ErrorKind::Timeout, text)
                }
            };
            sampan_serve::log_of(&*log, None, format!("{what}: {error}"), &error);
        })
    }
}
