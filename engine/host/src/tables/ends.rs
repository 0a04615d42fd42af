//! The ends of rows around a function of the script that waits.

use crate::error::Error;
use crate::future::LocalFuture;
use crate::tables::module::FunctionKind;
use crate::value::Value;
use std::rc::Rc;

/// Ends a row of kind [`FunctionKind::Fill`]: `leave` is called with what the function returned, or with nothing where
/// that is no value to keep.
pub fn end_fill(
    leave: impl FnOnce(Option<Value>) -> LocalFuture<Result<Value, Error>>,
    made: Result<Option<Value>, Error>,
) -> LocalFuture<Result<Value, Error>> {
    match made {
        Ok(Some(made)) => leave(Some(made)),
        Ok(None) => leave(None),
        Err(error) => {
            let left = leave(None);
            Box::pin(async move {
                left.await?;
                Err(error)
            })
        }
    }
}

/// Ends a bracket that waits: `left` is what its `leave` gave. What a function threw is more telling than what `leave`
/// says on top of it, which is only reported then.
pub fn end_bracket(
    left: LocalFuture<Result<(), Error>>,
    succeeded: bool,
    report: Rc<dyn Fn(Error)>,
) -> LocalFuture<Result<Value, Error>> {
    Box::pin(async move {
        match left.await {
            Err(error) if !succeeded => report(error),
            left => left?,
        }
        Ok(Value::Null)
    })
}

impl FunctionKind {
    /// Reports whether it returns at once or waits, as its body decides.
    pub fn waits(&self) -> bool {
        matches!(
            self,
            Self::Waiting(_)
                | Self::WaitingTag(_)
                | Self::WaitingBracket { .. }
                | Self::ReadingWaiting(_)
        )
    }

    /// Reports whether the last argument is a function of the script that is not among the parameters. Optional
    /// parameters before it may be left out.
    pub fn is_around_function(&self) -> bool {
        matches!(
            self,
            Self::Bracket { .. }
                | Self::WaitingBracket { .. }
                | Self::AsyncBracket { .. }
                | Self::Fill { .. }
        )
    }
}
