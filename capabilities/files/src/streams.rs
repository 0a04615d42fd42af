//! Files that are read or written piece by piece.

use crate::held_open::CountedFile;
use crate::limits::PIECE_BYTES;
use crate::storage::{Storage, fault};
use crate::values::{root, storage};
use crate::{path, pool};
use sampan_host::sources::FileReader;
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, Lifetime, LocalFuture, Type, Value, param, row,
};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;

/// A file that is read.
pub(crate) static FILE_STREAM: Class = Class {
    name: "FileStream",
    variable: "stream",
    doc: "Reads a file piece by piece, for answers that are streamed. It goes with its request.",
    methods: &[
        row!("read"() -> Type::Any, FunctionKind::Async(read),
            "The next bytes, at most 64 KiB; nothing at the end."),
        row!("close"() -> Type::Nothing, FunctionKind::Sync(close),
            "Closes the file, which the end of the request does too."),
    ],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// A file that is written.
pub(crate) static FILE_WRITER: Class = Class {
    name: "FileWriter",
    variable: "writer",
    doc: "Writes a file piece by piece. Without `close` nothing is kept of it. It goes with its request.",
    methods: &[
        row!("write"(param!("data": Type::Bytes, "The next bytes.")) -> Type::Nothing, FunctionKind::Async(write),
            "Writes the next bytes."),
        row!("close"() -> Type::Nothing, FunctionKind::Async(finish),
            "Ends the file, and gives it its path. A file that is there is replaced."),
    ],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// An open file. It is taken out while a call works on it.
struct OpenFile<F> {
    file: RefCell<Option<F>>,
    /// True once it has been read to its end, where it is closed.
    is_at_end: Cell<bool>,
    /// Counts the file until it is closed.
    held: Cell<Option<CountedFile>>,
    path: String,
    storage: Arc<Storage>,
}

impl<F> OpenFile<F> {
    fn taken(&self) -> Result<F, Error> {
        let busy = || Error::script(format!("{}: it is closed, or in use", self.path));
        self.file.take().ok_or_else(busy)
    }
}

pub(crate) fn open(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (storage, path, root) = (storage(context), args.text(0), root(args.take(1)));
    let (objects, held) = (context.objects().clone(), CountedFile::new(context));
    Box::pin(async move {
        let (storage, root, held) = (storage?, root?, held?);
        let (own, opened) = (Arc::clone(&storage), path.clone());
        let file = pool::run(move || Ok(own.open_file(root, &opened)?.0)).await?;
        let file = OpenFile {
            file: RefCell::new(Some(file)),
            is_at_end: Cell::new(false),
            held: Cell::new(Some(held)),
            path,
            storage,
        };
        Ok(Value::Object(objects.add(&FILE_STREAM, file)))
    })
}

fn read(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let this = args.object::<OpenFile<FileReader>>(context);
    Box::pin(async move {
        let this = this?.1;
        if this.is_at_end.get() {
            return Ok(Value::Null);
        }
        let (mut file, path, held) = (this.taken()?, this.path.clone(), this.held.take());
        let (file, piece) = pool::run(move || {
            let mut piece = vec![0; PIECE_BYTES];
            let read = file.read(&mut piece);
            piece.truncate(read.map_err(|error| fault(&path, &error))?);
            Ok((file, piece))
        })
        .await?;
        if piece.is_empty() {
            this.is_at_end.set(true);
            return Ok(Value::Null);
        }
        this.file.replace(Some(file));
        this.held.set(held);
        Ok(Value::Bytes(piece))
    })
}

fn close(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, this) = args.object::<OpenFile<FileReader>>(context)?;
    // One that is being read stays open.
    if this.file.take().is_some() {
        this.held.take();
    }
    Ok(Value::Null)
}

pub(crate) fn create(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (storage, path) = (storage(context), args.text(0));
    let (objects, held) = (context.objects().clone(), CountedFile::new(context));
    Box::pin(async move {
        let (storage, held) = (storage?, held?);
        path::check(&path)?;
        let own = Arc::clone(&storage);
        let file = pool::run(move || own.unnamed()).await?;
        let file = OpenFile {
            file: RefCell::new(Some(file)),
            is_at_end: Cell::new(false),
            held: Cell::new(Some(held)),
            path,
            storage,
        };
        Ok(Value::Object(objects.add(&FILE_WRITER, file)))
    })
}

fn write(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (this, data) = (args.object::<OpenFile<File>>(context), args.bytes(0));
    Box::pin(async move {
        let this: Rc<OpenFile<File>> = this?.1;
        let (mut file, path, held) = (this.taken()?, this.path.clone(), this.held.take());
        let file = pool::run(move || {
            let written = file.write_all(&data);
            written.map_err(|error| fault(&path, &error))?;
            Ok(file)
        })
        .await?;
        this.file.replace(Some(file));
        this.held.set(held);
        Ok(Value::Null)
    })
}

fn finish(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let this = args.object::<OpenFile<File>>(context);
    Box::pin(async move {
        let this: Rc<OpenFile<File>> = this?.1;
        let (mut file, path, _held) = (this.taken()?, this.path.clone(), this.held.take());
        let storage = Arc::clone(&this.storage);
        pool::run(move || {
            let length = file.metadata().map_err(|error| fault(&path, &error))?.len();
            storage.publish(&mut file, length, &path)
        })
        .await
        .map(|()| Value::Null)
    })
}
