//! `files.lines`: a function of the script for each line.

use crate::held_open::CountedFile;
use crate::limits::{LINE_BYTES_MAX, PIECE_BYTES, TURN_MAX};
use crate::pool;
use crate::storage::fault;
use crate::values::{root, storage};
use sampan_host::{Args, Callback, Context, Error, ErrorKind, LocalFuture, Value};
use std::io::Read;
use std::time::Instant;
use tokio::task::yield_now;

pub(crate) fn lines(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (storage, path, root) = (storage(context), args.text(0), root(args.take(2)));
    let missing = || Error::new(ErrorKind::Internal, "no function");
    let function = args.function(1).ok_or_else(missing);
    let held = CountedFile::new(context);
    Box::pin(async move {
        let (storage, root, _held) = (storage?, root?, held?);
        let mut calls = Calls::new(function?, &path);
        let opened = path.clone();
        let mut file = pool::run(move || Ok(storage.open_file(root, &opened)?.0)).await?;
        loop {
            let name = path.clone();
            let (back, piece) = pool::run(move || {
                let mut piece = vec![0; PIECE_BYTES];
                let read = file.read(&mut piece);
                piece.truncate(read.map_err(|error| fault(&name, &error))?);
                Ok((file, piece))
            })
            .await?;
            file = back;
            let is_last = piece.is_empty();
            if !calls.feed(&piece, is_last).await? || is_last {
                return Ok(Value::Int(calls.count));
            }
        }
    })
}

/// A function of the script, and what it is called with.
struct Calls {
    function: Callback,
    path: String,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    count: i64,
}

impl Calls {
    fn new(function: Callback, path: &str) -> Self {
        Self {
            function,
            path: path.to_owned(),
            begun: Vec::new(),
            count: 0,
        }
    }

    /// Calls the function with each line that ends in the piece. False if it wants no more.
    async fn feed(&mut self, mut piece: &[u8], is_last: bool) -> Result<bool, Error> {
        let mut turn = Instant::now();
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.begin(&piece[..end])?;
            piece = &piece[end + 1..];
            if !self.call()? {
                return Ok(false);
            }
            if turn.elapsed() >= TURN_MAX {
                // Sockets are looked at before this goes on.
                yield_now().await;
                turn = Instant::now();
            }
        }
        self.begin(piece)?;
        if is_last && !self.begun.is_empty() {
            return self.call();
        }
        Ok(true)
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.begun.len() + bytes.len() > LINE_BYTES_MAX {
            let (path, line) = (&self.path, self.count + 1);
            let text = format!("{path}: line {line} has more than {LINE_BYTES_MAX} bytes");
            return Err(Error::script(text).with_code("too_large"));
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    fn call(&mut self) -> Result<bool, Error> {
        let line = self.begun.strip_suffix(b"\r").unwrap_or(&self.begun);
        let line = crate::values::text(line.to_vec());
        self.begun.clear();
        self.count += 1;
        Ok(self.function.call(&[line])? != Value::Bool(false))
    }
}
