//! The bytes that wait to be written: a script may begin any number of writes before it awaits one.

use crate::values::memory_bytes_max;
use sampan_host::{Context, Error};
use std::cell::Cell;
use std::rc::Rc;

/// Those of an isolate.
#[derive(Default)]
struct UnwrittenBytes(Cell<u64>);

/// Those of one write. Dropping it takes them off.
pub(crate) struct Unwritten {
    all: Rc<UnwrittenBytes>,
    bytes: u64,
}

impl Unwritten {
    /// Counts the bytes of a write.
    ///
    /// # Errors
    /// Those of the isolate are more than it may have in memory.
    pub(crate) fn new(context: &Context, bytes: usize) -> Result<Self, Error> {
        let all = context.get::<UnwrittenBytes>().unwrap_or_else(|| {
            context.put(UnwrittenBytes::default());
            context.get().unwrap_or_default()
        });
        let (before, bytes, bytes_max) = (all.0.get(), bytes as u64, memory_bytes_max(context));
        if before > 0 && before + bytes > bytes_max {
            return Err(Error::script(format!(
                "the writes that have not ended need more than memory_bytes_max ({bytes_max} bytes): wait for each \
                 before the next"
            )));
        }
        all.0.set(before + bytes);
        Ok(Self { all, bytes })
    }
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.all.0.set(self.all.0.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::ScriptLimits;

    #[test]
    fn writes_that_have_not_ended_have_a_limit() {
        let context = Context::default();
        context.put(ScriptLimits {
            memory_bytes_max: 1_000,
            ..ScriptLimits::default()
        });
        let begin = |bytes| Unwritten::new(&context, bytes);
        // A single one is as large as the script could make it.
        drop(begin(2_000).expect("room"));
        let (first, second) = (begin(600).expect("room"), begin(400).expect("room"));
        let error = begin(1).err().expect("no room");
        assert!(error.message().contains("memory_bytes_max"), "{error}");
        drop(first);
        let third = begin(600).expect("room");
        drop((second, third));
        assert!(begin(2_000).is_ok());
    }
}
