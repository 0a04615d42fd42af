//! Answers that are computed once, at start: those of routes that are values.

use crate::compression;
use crate::gate::control::Control;
use crate::gate::response_sink::HttpSink;
use sampan_host::request::Coding;
use sampan_host::{Call, Error, ErrorKind, Isolate, RequestView, RouteDef, Step, Store, request};
use sampan_http::{Precomputed, Request, Response};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// An answer that is computed at start.
pub(crate) struct FixedAnswer {
    whole: Arc<Precomputed>,
    /// The encoded forms in the codings that make it smaller.
    coded: Vec<(Coding, Arc<Precomputed>)>,
    /// The response behind guards, to be given with the header fields that they add.
    open: Option<RefCell<Response>>,
}

impl FixedAnswer {
    /// The whole answer, in the coding that the client likes best.
    #[inline]
    pub(crate) fn whole(&self, request: &Request) -> Arc<Precomputed> {
        if self.coded.is_empty() {
            return Arc::clone(&self.whole);
        }
        let wanted = compression::accepted(request);
        let coded = self
            .coded
            .iter()
            .find(|(coding, _)| Some(*coding) == wanted);
        Arc::clone(coded.map_or(&self.whole, |(_, coded)| coded))
    }

    /// The answer, to be given once, with other header fields beside its own.
    pub(crate) fn opened(&self) -> Option<Response> {
        self.open.as_ref()?.borrow_mut().twin()
    }
}

/// Computes the answer of a route that is a value, and that may be checked by guards.
pub(super) fn precompute(
    engine: &dyn Isolate,
    def: &RouteDef,
    control: &Rc<Control>,
    is_guarded: bool,
) -> Result<FixedAnswer, Error> {
    let view = AtStart {
        method: def.method.clone().unwrap_or_else(|| "GET".into()),
        path: def.pattern.clone(),
        store: Store::default(),
    };
    let call = Call {
        request: Rc::new(view),
        handler: Some(def.handler),
        fallback: 200,
        file: None,
        middleware: &[],
        error: None,
        is_traced: false,
    };
    let mut sink = HttpSink::new(200, control, None);
    let fault = |message: String| Error::new(ErrorKind::Load, message).at(def.place.clone());
    match engine.start(call, &mut sink) {
        Step::Done => {
            let mut response = sink.into_response();
            let compression = control.compression_for(&def.body);
            let coded = compression.map(|compression| compression.variants(&mut response));
            let coded = coded.into_iter().flatten();
            let coded = coded
                .filter_map(|(coding, response)| Some((coding, Precomputed::new(response).ok()?)));
            let coded = coded.collect();
            let open = is_guarded.then(|| response.twin()).flatten();
            let whole = Precomputed::new(response)
                .map_err(|_| fault(format!("the value of {} cannot be a stream", def.pattern)))?;
            let open = open.map(RefCell::new);
            Ok(FixedAnswer { whole, coded, open })
        }
        Step::Failed(error) => Err(fault(format!(
            "the value of {} cannot be sent: {}",
            def.pattern,
            error.message()
        ))),
        Step::Waiting(_) => Err(fault(format!(
            "the value of {} cannot be a promise",
            def.pattern
        ))),
    }
}

/// The request for which the answers of values are computed.
struct AtStart {
    method: String,
    path: String,
    store: Store,
}

impl RequestView for AtStart {
    fn method(&self) -> &str {
        &self.method
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn query(&self) -> Option<&str> {
        None
    }
    fn url(&self) -> String {
        format!("http://localhost{}", self.path)
    }
    fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
        None
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
    fn ip(&self) -> String {
        "127.0.0.1".into()
    }
    fn id(&self) -> Cow<'_, str> {
        Cow::Borrowed("start")
    }
    fn body(&self) -> &[u8] {
        &[]
    }
    fn store(&self) -> &Store {
        &self.store
    }
    fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
        Err(request::is_answered())
    }
    fn is_over(&self) -> bool {
        false
    }
}
