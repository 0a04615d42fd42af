//! Answers that capabilities keep: how an answer is copied for its keeper, and given again.

use crate::request::additions::FieldCounts;
use crate::request::request_view::View;
use sampan_host::request::{AnswerKeeper, HookStep, KeptHead, WholeAnswer};
use sampan_host::sockets::AcceptedSocket;
use sampan_host::{Error, ResponseSink};
use sampan_http::{Body, Response};
use std::rc::Rc;
use std::sync::Arc;

/// The body of an answer that is given again. The keeper has it as well.
struct LentBody(Arc<WholeAnswer>);

impl AsRef<[u8]> for LentBody {
    fn as_ref(&self) -> &[u8] {
        &self.0.body
    }
}

/// Returns the response for an answer that was kept.
pub(crate) fn response_of(answer: &Arc<WholeAnswer>) -> Response {
    let mut response = head_of(answer);
    if !answer.body.is_empty() {
        response.set_body(Body::Lent(Box::new(LentBody(Arc::clone(answer)))));
    }
    response
}

/// Returns a response with the head of an answer.
fn head_of(answer: &WholeAnswer) -> Response {
    let mut response = Response::new(answer.status);
    for (name, value) in &answer.fields {
        // They were valid in the response from which they were copied.
        let _ = response.header(name, value);
    }
    if let Some(content_type) = answer.content_type {
        response.content_type(content_type);
    }
    response
}

/// Copies the head of a response.
fn copy_of_head(response: &Response) -> WholeAnswer {
    WholeAnswer {
        status: response.status(),
        fields: fields_of(response),
        content_type: response.default_content_type(),
        body: Vec::new(),
    }
}

fn fields_of(response: &Response) -> Vec<(Vec<u8>, Vec<u8>)> {
    let lines = response.headers();
    lines
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect()
}

/// Copies a response; `None` for streams and files.
pub(crate) fn copy_of(response: &Response) -> Option<WholeAnswer> {
    let body = bytes_of(response.body())?.to_vec();
    Some(WholeAnswer {
        body,
        ..copy_of_head(response)
    })
}

/// Returns the bytes of a body; `None` for streams and files.
fn bytes_of(body: &Body) -> Option<&[u8]> {
    match body {
        Body::Empty => Some(&[]),
        Body::Bytes(bytes) => Some(bytes),
        Body::Shared(bytes) => Some(bytes),
        Body::Lent(lender) => Some((**lender).as_ref()),
        Body::File(_) | Body::Stream(_) => None,
    }
}

impl View {
    /// Adds to an answer the fields that capabilities have added behind the first of them; `None` where they do not
    /// fit.
    fn add_fields_to(&self, answer: &mut WholeAnswer, behind: FieldCounts) -> Option<()> {
        let mut head = head_of(answer);
        if !answer.body.is_empty() {
            head.body_mut();
        }
        self.additions.add_fields(&mut head, behind).ok()?;
        answer.fields = fields_of(&head);
        Some(())
    }

    /// Copies the answer of the request for its keeper, before the fields of guards around that are added. Returns the
    /// function that keeps it, to be called when all is committed that the answer may depend on.
    #[inline]
    pub(crate) fn kept_answer(&self, response: &Response) -> Option<Box<dyn FnOnce()>> {
        let (keeper, around) = self.additions.take_keeper()?;
        self.kept_by(keeper, around, response)
    }

    #[cold]
    fn kept_by(
        &self,
        keeper: Rc<dyn AnswerKeeper>,
        around: FieldCounts,
        response: &Response,
    ) -> Option<Box<dyn FnOnce()>> {
        if self.additions.store().get::<AcceptedSocket>().is_some() {
            return None;
        }
        // A small file is sent from memory, but a copy would not change with it, and has no ranges.
        let bytes = bytes_of(response.body()).filter(|_| !self.additions.is_file());
        let mut answer = copy_of_head(response);
        self.add_fields_to(&mut answer, around)?;
        let is_wanted = keeper.wants(KeptHead {
            answer: &answer,
            body_bytes: bytes.map(<[u8]>::len),
            is_personal: self.additions.is_personal(),
        });
        if !is_wanted {
            return None;
        }
        answer.body = bytes?.to_vec();
        Some(Box::new(move || keeper.keep(answer)))
    }

    /// Hands what the script has written to the recorder of the answer, if there is one.
    pub(crate) fn record_written(&self, sink: &dyn ResponseSink) -> Result<HookStep, Error> {
        let Some((recorder, around)) = self.additions.recorder() else {
            return Ok(HookStep::Done);
        };
        let answer = sink.written().and_then(|mut answer| {
            self.add_fields_to(&mut answer, around)?;
            Some(answer)
        });
        recorder.record(self, answer)
    }
}
