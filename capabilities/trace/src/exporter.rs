//! The thread that sends spans to the collector.

use crate::limits::{
    BATCH_WAIT, END_WAIT, RETRY_PAUSE, RETRY_PAUSE_MAX, SEND_TIME_MAX, TELL_PAUSE,
};
use crate::otlp;
use crate::queue::SpanQueue;
use crate::settings::TraceSettings;
use sampan_host::fetch::{FetchBody, FetchOptions, FetchRequest, Fetcher, RedirectMode};
use sampan_host::log::Level;
use sampan_host::trace::{SpanSink, Tracing};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

/// Makes the client of the thread that calls.
pub type MakeFetcher = Arc<dyn Fn() -> Rc<dyn Fetcher> + Send + Sync>;

/// The exporter of a server. Dropping it without [`Exporter::finish`] leaves the thread running.
pub struct Exporter {
    queue: Arc<SpanQueue>,
    tracing: Arc<Tracing>,
    thread: JoinHandle<()>,
}

impl Exporter {
    /// Begins to send what workers record, on a thread of its own.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(
        settings: TraceSettings,
        fetcher: MakeFetcher,
        log: Box<dyn Fn(Level, String) + Send>,
    ) -> io::Result<Self> {
        let queue = Arc::new(SpanQueue::default());
        let tracing = Arc::new(Tracing {
            sample: settings.sample,
            slow: settings.slow,
            sink: Arc::clone(&queue) as Arc<dyn SpanSink>,
        });
        let of_thread = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("sampan-trace".into());
        let thread = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return log(Level::Error, format!("traces: {error}")),
            };
            let sending = Sending {
                fetcher: fetcher(),
                settings,
                queue: of_thread,
                log,
                fault: None,
                dropped: 0,
                told: None,
            };
            LocalSet::new().block_on(&runtime, sending.run());
        })?;
        Ok(Self {
            queue,
            tracing,
            thread,
        })
    }

    /// Returns the rules for the tracers of workers.
    pub fn tracing(&self) -> Arc<Tracing> {
        Arc::clone(&self.tracing)
    }

    /// Sends the last spans, for a short time, and ends. The workers have ended by then.
    pub fn finish(self) {
        self.queue.end();
        // A panic there has been told on standard error already.
        let _ = self.thread.join();
    }
}

/// The thread's own side.
struct Sending {
    fetcher: Rc<dyn Fetcher>,
    settings: TraceSettings,
    queue: Arc<SpanQueue>,
    log: Box<dyn Fn(Level, String) + Send>,
    /// The last fault, until spans are taken again.
    fault: Option<String>,
    /// The spans that were dropped since the log was told.
    dropped: u64,
    told: Option<Instant>,
}

/// The reason for which spans were not taken.
struct SendFault {
    text: String,
    /// True if the same spans may be taken later.
    may_retry: bool,
}

impl Sending {
    async fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        // Also for what is on its way when the process ends: a collector that does not answer must not delay the end.
        let deadline = async {
            queue.ended().await;
            sleep(END_WAIT).await;
        };
        tokio::select! {
            () = self.send_until_end() => {}
            () = deadline => {}
        }
        self.tell(true);
    }

    /// Sends spans until the process ends and none are left.
    async fn send_until_end(&mut self) {
        while !self.queue.is_ending() {
            self.queue.arrived.notified().await;
            let _ = timeout(BATCH_WAIT, self.queue.filled.notified()).await;
            self.send_all().await;
        }
        self.send_all().await;
    }

    /// Sends the spans that wait.
    async fn send_all(&mut self) {
        loop {
            let batch = self.queue.batch();
            if batch.is_empty() {
                return self.tell(false);
            }
            let count = batch.iter().map(|finished| finished.spans.len()).sum();
            let body = otlp::encoded(&self.settings.service_name, &batch);
            drop(batch);
            let mut pause = RETRY_PAUSE;
            loop {
                let Err(fault) = self.send(body.clone()).await else {
                    self.taken();
                    break;
                };
                self.fault = Some(fault.text);
                if !fault.may_retry || self.queue.is_ending() {
                    self.queue.drop_spans(count);
                    self.tell(false);
                    break;
                }
                self.tell(false);
                let _ = timeout(pause, self.queue.ended()).await;
                pause = (pause * 2).min(RETRY_PAUSE_MAX);
            }
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<(), SendFault> {
        let field = |name: &str, value: &str| (name.as_bytes().into(), value.as_bytes().into());
        let mut fields = vec![field("content-type", "application/json")];
        let own = self.settings.headers.iter();
        fields.extend(own.map(|(name, value)| field(name, value)));
        let request = FetchRequest {
            method: "POST".to_owned(),
            url: self.settings.url.to_string(),
            fields,
            body: FetchBody::Bytes(body),
            options: FetchOptions {
                redirect: RedirectMode::Error,
                ..FetchOptions::default()
            },
        };
        let sent = timeout(SEND_TIME_MAX, self.fetcher.fetch(request)).await;
        let fault = |text: String, may_retry| Err(SendFault { text, may_retry });
        match sent {
            Ok(Ok(answer)) if (200..300).contains(&answer.status) => Ok(()),
            Ok(Ok(answer)) => {
                // Those that OTLP names, section "Failures".
                let may_retry = matches!(answer.status, 429 | 502 | 503 | 504);
                fault(format!("it answers {}", answer.status), may_retry)
            }
            Ok(Err(error)) => fault(error.message().to_owned(), true),
            Err(_) => fault(
                format!("no answer within {} s", SEND_TIME_MAX.as_secs()),
                true,
            ),
        }
    }

    fn taken(&mut self) {
        if self.fault.take().is_some() {
            let place = self.settings.place();
            (self.log)(Level::Info, format!("traces: {place} takes spans again"));
        }
    }

    /// Tells the log once a minute of a fault, and of spans that were dropped.
    fn tell(&mut self, is_last: bool) {
        self.dropped += self.queue.take_dropped();
        let is_due = self.told.is_none_or(|told| told.elapsed() >= TELL_PAUSE);
        if (self.fault.is_none() && self.dropped == 0) || !(is_due || is_last && self.dropped > 0) {
            return;
        }
        self.told = Some(Instant::now());
        let dropped = std::mem::take(&mut self.dropped);
        let place = self.settings.place();
        let text = match &self.fault {
            Some(fault) => {
                format!("traces: {place} does not take spans: {fault}; {dropped} were dropped")
            }
            None => format!("traces: {dropped} spans were dropped: more came than {place} takes"),
        };
        (self.log)(Level::Warn, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BATCH_SPANS;
    use crate::settings::SECTION;
    use sampan_host::fetch::FetchAnswer;
    use sampan_host::settings::{SettingValue, Settings};
    use sampan_host::trace::{
        Attributes, FinishedSpans, Span, SpanId, SpanKind, SpanStatus, TraceId,
    };
    use sampan_host::{Error, LocalFuture};
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    /// A collector that takes a connection and never answers.
    struct Silent(Sender<()>);

    impl Fetcher for Silent {
        fn fetch(&self, _: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
            self.0.send(()).expect("the test waits");
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_silent_collector_delays_the_end_for_a_short_time_only() {
        let endpoint = SettingValue::Text("http://127.0.0.1:4318".to_owned());
        let settings = Settings::with(&SECTION, [("endpoint", endpoint)]).expect("valid");
        let settings = TraceSettings::of(&settings).expect("valid");
        let (asked, was_asked) = channel();
        let fetcher: MakeFetcher = Arc::new(move || Rc::new(Silent(asked.clone())));
        let exporter = Exporter::start(settings.expect("traced"), fetcher, Box::new(|_, _| ()));
        let exporter = exporter.expect("a thread");
        let span = Span {
            id: SpanId(1),
            parent: None,
            name: "x".into(),
            kind: SpanKind::Internal,
            start_nanos: 1,
            end_nanos: 2,
            attributes: Attributes::new(),
            status: SpanStatus::Unset,
        };
        exporter.tracing().sink.take(FinishedSpans {
            trace: TraceId(1),
            state: None,
            spans: vec![span; BATCH_SPANS],
        });
        was_asked.recv().expect("a request");
        let began = Instant::now();
        exporter.finish();
        let took = began.elapsed();
        assert!(took < END_WAIT + Duration::from_secs(3), "{took:?}");
    }
}
