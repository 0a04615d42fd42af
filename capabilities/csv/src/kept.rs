//! The memory of all writers of an isolate: a script may make any number of them, and it does not count as the
//! script's own.

use sampan_host::{Context, Error, ErrorKind, ScriptLimits};
use std::cell::Cell;
use std::rc::Rc;

/// The bytes of all writers of an isolate.
#[derive(Default)]
struct WriterBytes(Cell<usize>);

/// The part of one writer in them, for as long as this is there.
pub(crate) struct KeptPart {
    all: Rc<WriterBytes>,
    bytes: usize,
    all_bytes_max: usize,
}

impl KeptPart {
    pub(crate) fn new(context: &Context) -> Self {
        let all = context.get::<WriterBytes>().unwrap_or_else(|| {
            context.put(WriterBytes::default());
            context.get().unwrap_or_default()
        });
        let limits = context.get::<ScriptLimits>().unwrap_or_default();
        Self {
            all,
            bytes: 0,
            all_bytes_max: limits.memory_bytes_max,
        }
    }

    /// Counts so many bytes in the place of those before.
    ///
    /// # Errors
    /// They are more than before, and those of the isolate are more than it may have in memory then.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Error> {
        let (others, max) = (self.all.0.get() - self.bytes, self.all_bytes_max);
        if others > 0 && bytes > self.bytes && others.saturating_add(bytes) > max {
            let text = format!(
                "the writers of CSV need more than memory_bytes_max ({max} bytes): take() what they have written"
            );
            return Err(Error::new(ErrorKind::Memory, text));
        }
        self.all.0.set(others + bytes);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for KeptPart {
    fn drop(&mut self) {
        self.all.0.set(self.all.0.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writers_keep_has_a_limit() {
        let context = Context::default();
        context.put(ScriptLimits {
            memory_bytes_max: 1_000,
            ..ScriptLimits::default()
        });
        let mut first = KeptPart::new(&context);
        first.count(600).expect("room");
        let mut second = KeptPart::new(&context);
        second.count(400).expect("room");
        let error = second.count(401).expect_err("no room");
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert!(error.message().contains("memory_bytes_max"), "{error}");
        // After an error it counts as before, and less is no error.
        second.count(399).expect("less");
        first.count(601).expect("room");
        drop(second);
        first.count(1_000).expect("room again");
        assert!(KeptPart::new(&context).count(1).is_err());
    }
}
