//! The `files` table.

use crate::limits::INLINE_BYTES_MAX;
use crate::storage::Storage;
use crate::values::{memory_bytes_max, root, storage, text};
use crate::{lines, pool, streams, uploads};
use sampan_host::{
    Args, Context, Error, FunctionKind, LocalFuture, Module, Param, Type, Value, param, row,
};

/// The functions for scripts.
pub static MODULE: Module = Module {
    name: "files",
    doc: "Files in the project's storage folder, and those of the project itself to read.",
    functions: &[
        row!("read"(PATH, READING_OPTIONS) -> Type::TextOrBytes,
            FunctionKind::Prompt {
                body: read,
                later: read_async,
                awaited: Some("read_async"),
            },
            "The text of a file, of at most 256 KiB unless the script can wait in the middle of a call."),
        row!("read_async"(PATH, READING_OPTIONS) -> Type::TextOrBytes,
            FunctionKind::Async(read_async),
            "The text of a file of any size that fits into memory."),
        row!("bytes"(PATH, READING_OPTIONS) -> Type::Bytes, FunctionKind::Async(bytes),
            "The bytes of a file, as `read_async` gives the text."),
        row!("lines"(
                PATH,
                param!("fn": Type::Function,
                    "Gets a line, without its end. It cannot wait. If it returns `false`, no more are read."),
                READING_OPTIONS,
            ) -> Type::Int, FunctionKind::Async(lines::lines),
            "Calls the function with each line of a file. Returns how many there were. A line has at most 1 MiB."),
        row!("open"(PATH, READING_OPTIONS) -> Type::Object(&streams::FILE_STREAM), FunctionKind::Async(streams::open),
            "Opens a file to be read piece by piece."),
        row!("write"(PATH, DATA) -> Type::Nothing, FunctionKind::Async(write),
            "Writes a file, and makes its folders. A reader sees the old content or the new one, whole."),
        row!("append"(PATH, DATA) -> Type::Nothing, FunctionKind::Async(append),
            "Adds to the end of a file, and makes it and its folders."),
        row!("create"(PATH) -> Type::Object(&streams::FILE_WRITER), FunctionKind::Async(streams::create),
            "Begins a file that is written piece by piece. It is there under its path once it is closed."),
        row!("list"(OPTIONAL_PATH, READING_OPTIONS) -> Type::List, FunctionKind::Sync(list),
            "The names in a folder, sorted, at most 10,000; those of folders end with `/`."),
        row!("stat"(PATH, READING_OPTIONS) -> Type::Any, FunctionKind::Sync(stat),
            "What there is: `type` (`file`, `folder` or `other`), `size` in bytes, `modified` in seconds since 1970. \
             Nothing if there is nothing."),
        row!("exists"(PATH, READING_OPTIONS) -> Type::Bool, FunctionKind::Sync(exists),
            "Whether there is a file or a folder."),
        row!("remove"(PATH) -> Type::Bool, FunctionKind::Async(remove),
            "Removes a file or an empty folder. Tells whether there was one."),
        row!("rename"(
                PATH,
                param!("to": Type::Text, "The new path, whose folders are made."),
            ) -> Type::Nothing, FunctionKind::Async(rename),
            "Gives a file or folder another path. A file that is there is replaced."),
        row!("mkdir"(PATH) -> Type::Nothing, FunctionKind::Async(mkdir),
            "Makes a folder, and those around it."),
    ],
    classes: &[
        &streams::FILE_STREAM,
        &streams::FILE_WRITER,
        &uploads::UPLOADED_FILE,
    ],
    read_multipart: Some(uploads::read_multipart),
    ..Module::EMPTY
};

const PATH: Param =
    param!("path": Type::Text, "Names with `/` between them, below the storage folder.");

const OPTIONAL_PATH: Param = param!("path"? Type::Text,
    "A folder below the storage folder; that folder itself unless given.");

const DATA: Param = param!("data": Type::Bytes, "The content.");

const READING_OPTIONS: Param =
    param!("options"? Type::Map, "`from = \"project\"`: the path is below the project's folder.");

fn read(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (storage, path) = (storage(context)?, args.text(0));
    let bytes_max = INLINE_BYTES_MAX;
    storage
        .read(root(args.take(1))?, &path, bytes_max)
        .map(text)
}

fn read_async(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    reading(context, args, text)
}

fn bytes(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    reading(context, args, Value::Bytes)
}

fn reading(
    context: &Context,
    mut args: Args,
    give: fn(Vec<u8>) -> Value,
) -> LocalFuture<Result<Value, Error>> {
    let (path, root, bytes_max) = (args.text(0), root(args.take(1)), memory_bytes_max(context));
    beside(context, move |storage| {
        storage.read(root?, &path, bytes_max).map(give)
    })
}

/// Runs what works on the disk beside the worker.
fn beside(
    context: &Context,
    work: impl FnOnce(&Storage) -> Result<Value, Error> + Send + 'static,
) -> LocalFuture<Result<Value, Error>> {
    let storage = storage(context);
    Box::pin(async move {
        let storage = storage?;
        pool::run(move || work(&storage)).await
    })
}

fn write(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (path, bytes) = (args.text(0), args.bytes(1));
    beside(context, move |storage| {
        storage.write(&path, &bytes).map(|()| Value::Null)
    })
}

fn append(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (path, bytes) = (args.text(0), args.bytes(1));
    beside(context, move |storage| {
        storage.append(&path, &bytes).map(|()| Value::Null)
    })
}

fn list(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (storage, path) = (storage(context)?, args.text(0));
    let names = storage.list(root(args.take(1))?, &path)?;
    Ok(Value::List(names.into_iter().map(Value::Text).collect()))
}

fn stat(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (storage, path) = (storage(context)?, args.text(0));
    let Some(status) = storage.stat(root(args.take(1))?, &path)? else {
        return Ok(Value::Null);
    };
    Ok(Value::Map(vec![
        ("type".to_owned(), status.kind.into()),
        ("size".to_owned(), Value::Int(status.len as i64)),
        ("modified".to_owned(), Value::Float(status.modified)),
    ]))
}

fn exists(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (storage, path) = (storage(context)?, args.text(0));
    let found = storage.stat(root(args.take(1))?, &path)?;
    Ok(Value::Bool(found.is_some()))
}

fn remove(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let path = args.text(0);
    beside(context, move |storage| {
        storage.remove(&path).map(Value::Bool)
    })
}

fn rename(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (from, to) = (args.text(0), args.text(1));
    beside(context, move |storage| {
        storage.rename(&from, &to).map(|()| Value::Null)
    })
}

fn mkdir(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let path = args.text(0);
    beside(context, move |storage| {
        storage.mkdir(&path).map(|()| Value::Null)
    })
}
