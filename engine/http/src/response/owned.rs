//! Responses on their way to another thread: all but a body that is made as it is sent.

use std::sync::Arc;

use super::{Body, BodyStream, FilePart, Response, ResponseParts};

/// A response on its way to another thread.
#[derive(Debug)]
pub struct OwnedResponse {
    parts: ResponseParts,
    body: OwnedBody,
}

/// The body of a response that has one already.
#[derive(Debug)]
enum OwnedBody {
    Empty,
    Bytes(Vec<u8>),
    Shared(Arc<[u8]>),
    File(FilePart),
}

impl OwnedResponse {
    /// Returns the response, with the body that is made as it is sent in place of its own.
    pub fn into_response(self, stream: Option<Box<dyn BodyStream>>) -> Response {
        let parts = self.parts;
        let body = match self.body {
            OwnedBody::Empty => Body::Empty,
            OwnedBody::Bytes(bytes) => Body::Bytes(bytes),
            OwnedBody::Shared(bytes) => Body::Shared(bytes),
            OwnedBody::File(part) => Body::File(part),
        };
        Response {
            status: parts.status,
            fields: parts.fields,
            content_type: parts.content_type,
            has_content_type: parts.has_content_type,
            has_date: parts.has_date,
            close: parts.close,
            declared_length: parts.declared_length,
            body: stream.map_or(body, Body::Stream),
        }
    }
}

impl Response {
    /// Separates what can go to another thread from a body that is made as it is sent. Bytes of another owner are
    /// copied.
    pub fn into_owned(self) -> (OwnedResponse, Option<Box<dyn BodyStream>>) {
        let (parts, body) = self.into_parts();
        let (body, stream) = match body {
            Body::Empty => (OwnedBody::Empty, None),
            Body::Bytes(bytes) => (OwnedBody::Bytes(bytes), None),
            Body::Shared(bytes) => (OwnedBody::Shared(bytes), None),
            Body::Lent(lender) => (OwnedBody::Bytes((*lender).as_ref().to_vec()), None),
            Body::File(part) => (OwnedBody::File(part), None),
            Body::Stream(stream) => (OwnedBody::Empty, Some(stream)),
        };
        (OwnedResponse { parts, body }, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll};

    struct Endless;

    impl BodyStream for Endless {
        fn poll_chunk(
            &mut self,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<super::super::Chunk, super::super::BodyError>>> {
            Poll::Pending
        }
    }

    #[test]
    fn all_but_a_stream_goes_to_another_thread() {
        let mut response = Response::new(201);
        response.header(b"X-A", b"1").expect("a field");
        response.content_type("text/plain");
        response.set_body(Body::Lent(Box::new(b"lent".to_vec())));
        let (owned, stream) = response.into_owned();
        assert!(stream.is_none());
        let moved = std::thread::spawn(move || owned).join().expect("its end");
        let mut response = moved.into_response(None);
        assert_eq!(
            (response.status(), response.get_header("x-a")),
            (201, Some(&b"1"[..]))
        );
        assert_eq!(response.default_content_type(), Some("text/plain"));
        assert_eq!(response.body_mut(), b"lent");
        response.set_body(Body::Stream(Box::new(Endless)));
        let (owned, stream) = response.into_owned();
        assert!(matches!(
            owned.into_response(stream).body(),
            Body::Stream(_)
        ));
    }
}
