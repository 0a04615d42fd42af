//! The arguments of rows that wait: a script may begin any number of waits before it awaits one.

use crate::error::{Error, ErrorKind};
use crate::future::LocalFuture;
use crate::tables::args::Args;
use crate::tables::kept_bytes::{KeptBytes, NoRoom};
use crate::tables::module::Context;
use crate::value::Value;

/// Fewer bytes do not count: the 10,000 waits that a request may have then take 10 MB.
const COUNTED_BYTES_MIN: usize = 1_024;

/// The kind of bytes that the arguments of waits are.
struct WaitingArgs;

/// The arguments of a row that may wait, as they count.
pub struct HeldArgs(Option<KeptBytes<WaitingArgs>>);

impl Args {
    /// Counts the arguments of a row that may wait. Those of all waits of an isolate take at most as many bytes as the
    /// isolate may use. A single wait may have any that the script could make.
    ///
    /// # Errors
    /// There is no room for them beside those of other waits.
    pub fn hold(&self, context: &Context) -> Result<HeldArgs, Error> {
        let bytes: usize = self.values.iter().map(Value::size_bytes).sum();
        if bytes < COUNTED_BYTES_MIN {
            return Ok(HeldArgs(None));
        }
        let kept = KeptBytes::of(context, bytes).map_err(|NoRoom { bytes_max }| {
            let text = format!(
                "the arguments of what is waited for need more than memory_bytes_max ({bytes_max} bytes): wait for \
                 some of it before the next"
            );
            Error::new(ErrorKind::Memory, text)
        })?;
        Ok(HeldArgs(Some(kept)))
    }
}

impl HeldArgs {
    /// Counts them until the operation of the row has ended or is dropped.
    pub fn during(
        self,
        operation: LocalFuture<Result<Value, Error>>,
    ) -> LocalFuture<Result<Value, Error>> {
        match self.0 {
            None => operation,
            Some(part) => Box::pin(async move {
                let result = operation.await;
                drop(part);
                result
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::limits::ScriptLimits;
    use std::future::{pending, ready};
    use std::task::{Context as TaskContext, Waker};

    fn args(bytes: usize) -> Args {
        let text = Value::Text("x".repeat(bytes / 2));
        let list = Value::List(vec![Value::Bytes(vec![0; bytes / 2])]);
        Args::of(vec![text, list])
    }

    #[test]
    fn the_arguments_of_waits_have_a_limit() {
        let context = Context::default();
        context.put(ScriptLimits {
            memory_bytes_max: 100_000,
            ..ScriptLimits::default()
        });
        let hold = |bytes| args(bytes).hold(&context);
        // A single one is as large as the script could make it.
        drop(hold(200_000).expect("room"));
        let first = hold(60_000).expect("room").during(Box::pin(pending()));
        let error = hold(60_000).err().expect("no room");
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert!(
            error.message().contains("memory_bytes_max (100000 bytes)"),
            "{error}"
        );
        assert!(hold(500).is_ok(), "few bytes do not count");
        drop(first);
        let mut second = hold(60_000)
            .expect("room")
            .during(Box::pin(ready(Ok(Value::Null))));
        assert!(hold(60_000).is_err());
        let mut task = TaskContext::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut task).is_ready());
        assert!(hold(60_000).is_ok(), "it has ended");
    }
}
