//! The events for pages in the browser: that the project is another, that a style sheet is, or why the project could
//! not be loaded.

use sampan_http::{Body, BodyError, BodyStream, Chunk, Response};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::spawn_local;

/// The path of everything that only development has.
pub(in crate::dev) const PREFIX: &str = "/_sampan/dev/";
/// The events, below it.
pub(in crate::dev) const EVENTS: &str = "events";
/// The script of the pages, below it.
pub(in crate::dev) const CLIENT: &str = "client.js";

/// The style of pages about errors, below it.
pub(in crate::dev) const PAGE_STYLE: &str = "page.css";
/// The policy of pages of `sampan dev` itself, in place of the project's own.
pub(in crate::dev) const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
 frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

/// The longest silence before a page is sent a sign of life, so that has nothing to hear hears at least something, so
/// that a browser that has gone is noticed.
const PULSE: Duration = Duration::from_secs(15);

/// The state that pages receive.
#[derive(Clone, Debug)]
struct PageState {
    /// Tells this process from others, so that a page of the one before is loaded anew.
    process: u64,
    /// Counts what a page must be loaded anew for.
    version: u64,
    /// Counts changes of style sheets.
    css: u64,
    /// The page that says why the project as it is on disk does not load.
    fault: Option<String>,
    /// Ends all connections: the server ends.
    is_over: bool,
}

impl PageState {
    fn version(&self) -> String {
        format!("{:x}-{}", self.process, self.version)
    }

    fn event(&self) -> Vec<u8> {
        let state = serde_json::json!({
            "version": self.version(), "css": self.css.to_string(), "fault": self.fault,
        });
        format!("data: {state}\n\n").into_bytes()
    }
}

/// The pages that are open in browsers.
pub(in crate::dev) struct Browsers(watch::Sender<PageState>);

impl Browsers {
    pub(in crate::dev) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(watch::Sender::new(PageState {
            process: since_1970.unwrap_or_default().as_millis() as u64,
            version: 0,
            css: 0,
            fault: None,
            is_over: false,
        }))
    }

    /// The project is another.
    pub(in crate::dev) fn reload(&self) {
        self.0.send_modify(|state| {
            state.version += 1;
            state.fault = None;
        });
    }

    /// Tells that only style sheets are others.
    pub(in crate::dev) fn restyle(&self) {
        self.0.send_modify(|state| state.css += 1);
    }

    /// The project could not be loaded; `page` says why.
    pub(in crate::dev) fn fail(&self, page: String) {
        self.0.send_modify(|state| state.fault = Some(page));
    }

    /// Ends all streams of events: the server would wait for them.
    pub(in crate::dev) fn close(&self) {
        self.0.send_modify(|state| state.is_over = true);
    }

    /// Returns the tag that brings the script into a page.
    pub(in crate::dev) fn tag(&self, nonce: Option<&str>) -> String {
        let nonce = nonce.map_or(String::new(), |nonce| format!(" nonce=\"{nonce}\""));
        let state = self.0.borrow();
        let (version, css) = (state.version(), state.css);
        format!(
            "<script src=\"{PREFIX}{CLIENT}\" data-version=\"{version}\" data-css=\"{css}\"{nonce}></script>"
        )
    }

    /// The stream of events of one page.
    pub(in crate::dev) fn events(&self) -> Response {
        let (sender, receiver) = unbounded_channel();
        drop(spawn_local(tell(self.0.subscribe(), sender)));
        let mut response = Response::new(200);
        response.content_type("text/event-stream");
        // Cannot fail: both are plain text.
        let _ = response.header(b"Cache-Control", b"no-store");
        response.set_body(Body::Stream(Box::new(Events(receiver))));
        response
    }
}

async fn tell(mut states: watch::Receiver<PageState>, page: UnboundedSender<Vec<u8>>) {
    let mut next = b"retry: 300\n".to_vec();
    next.extend(states.borrow_and_update().event());
    while page.send(next).is_ok() {
        next = match tokio::time::timeout(PULSE, states.changed()).await {
            Err(_) => b": \n\n".to_vec(),
            Ok(Err(_)) => return,
            Ok(Ok(())) if states.borrow().is_over => return,
            Ok(Ok(())) => states.borrow_and_update().event(),
        };
    }
}

/// Events on their way to a page.
struct Events(UnboundedReceiver<Vec<u8>>);

impl BodyStream for Events {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.0
            .poll_recv(cx)
            .map(|event| event.map(|event| Ok(event.into())))
    }
}
