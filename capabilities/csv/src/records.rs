//! `csv.each` and `req:csv_records`: a function of the script for each record.

use crate::limits::TURN_MAX;
use crate::options::{CsvOptions, READING};
use crate::read::Records;
use sampan_host::{Args, Callback, Context, Error, ErrorKind, LocalFuture, RequestView, Value};
use std::time::Instant;
use tokio::task::yield_now;

/// A function of the script, the records that it is called with, and how many there were.
struct Calls {
    function: Callback,
    records: Records,
    count: i64,
}

/// The result of looking for the next record.
#[derive(PartialEq)]
enum Step {
    Called,
    /// The piece has no whole record any more.
    NeedsMore,
    /// The function wants no more.
    Stopped,
}

impl Calls {
    /// The function is the argument of that index, the options are the next.
    fn new(args: &mut Args, index: usize, fault: ErrorKind) -> Result<Self, Error> {
        let missing = || Error::new(ErrorKind::Internal, "no function");
        let options = CsvOptions::read(args.take(index + 1), READING)?;
        Ok(Self {
            function: args.function(index).ok_or_else(missing)?,
            records: Records::new(&options, fault),
            count: 0,
        })
    }

    fn step(&mut self, piece: &mut &[u8]) -> Result<Step, Error> {
        let record = self.records.next(piece)?;
        self.call(record)
    }

    fn last_step(&mut self) -> Result<Step, Error> {
        let record = self.records.last()?;
        self.call(record)
    }

    fn call(&mut self, record: Option<Value>) -> Result<Step, Error> {
        let Some(record) = record else {
            return Ok(Step::NeedsMore);
        };
        self.count += 1;
        match self.function.call(&[record])? {
            Value::Bool(false) => Ok(Step::Stopped),
            _ => Ok(Step::Called),
        }
    }
}

pub(crate) fn each(_: &Context, mut args: Args) -> Result<Value, Error> {
    let text = args.bytes(0);
    let mut calls = Calls::new(&mut args, 1, ErrorKind::Script)?;
    let mut rest = &text[..];
    let mut step = Step::Called;
    while step == Step::Called {
        step = calls.step(&mut rest)?;
    }
    if step == Step::NeedsMore {
        calls.last_step()?;
    }
    Ok(Value::Int(calls.count))
}

pub(crate) fn csv_records(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let calls = Calls::new(&mut args, 0, ErrorKind::BadRequest);
    Box::pin(async move {
        let mut calls = calls?;
        let request = args.request();
        refuse_forms(&**request)?;
        let Some(source) = request.body_source() else {
            if run(&mut calls, request.body()).await? == Step::NeedsMore {
                calls.last_step()?;
            }
            return Ok(Value::Int(calls.count));
        };
        source.begin()?;
        while let Value::Bytes(piece) = source.read().await? {
            if run(&mut calls, &piece).await? == Step::Stopped {
                return Ok(Value::Int(calls.count));
            }
        }
        calls.last_step()?;
        Ok(Value::Int(calls.count))
    })
}

/// Calls the function with each record of a piece. The worker has others to serve: they get their turn now and then.
async fn run(calls: &mut Calls, mut piece: &[u8]) -> Result<Step, Error> {
    let mut begun = Instant::now();
    loop {
        match calls.step(&mut piece)? {
            Step::Called if begun.elapsed() < TURN_MAX => {}
            Step::Called => {
                // Sockets are looked at before this goes on.
                yield_now().await;
                begun = Instant::now();
            }
            end => return Ok(end),
        }
    }
}

/// A form is not CSV, even if it carries one: `curl -d` says that it sends a form, and a browser's upload is in one.
fn refuse_forms(request: &dyn RequestView) -> Result<(), Error> {
    let given = request.header("content-type").unwrap_or_default();
    let essence = given.split(|byte| *byte == b';').next().unwrap_or_default();
    let is = |name: &str| essence.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    if is("multipart/form-data") || is("application/x-www-form-urlencoded") {
        let text = "expected a body of type text/csv, not a form";
        return Err(Error::new(ErrorKind::Status(415), text));
    }
    Ok(())
}
