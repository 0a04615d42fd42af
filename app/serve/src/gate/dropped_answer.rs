//! The sink for the answer of a request that was given up.

use sampan_host::{Error, ResponseSink, StreamedBody};

/// Drops an answer, but for its stream, whose script is to end in order too.
#[derive(Default)]
pub(super) struct DroppedAnswer {
    body: Vec<u8>,
    stream: Option<Box<dyn StreamedBody>>,
}

impl DroppedAnswer {
    /// Returns the stream that would have been the body.
    pub(super) fn into_stream(self) -> Option<Box<dyn StreamedBody>> {
        self.stream
    }
}

impl ResponseSink for DroppedAnswer {
    fn status(&mut self, _: u16) -> Result<(), Error> {
        Ok(())
    }

    fn header(&mut self, _: &[u8], _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn default_type(&mut self, _: &'static str) {}

    fn body(&mut self) -> &mut Vec<u8> {
        self.body.clear();
        &mut self.body
    }

    fn lend(&mut self, _: Box<dyn AsRef<[u8]>>) {}

    fn file(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn stream(&mut self, body: Box<dyn StreamedBody>) {
        self.stream = Some(body);
    }

    fn reset(&mut self) {
        self.stream = None;
    }
}
