//! The `files` table.

use crate::limits::INLINE_BYTES_MAX;
use crate::storage::Storage;
use crate::values::{memory_bytes_max, root, storage, text};
use crate::{lines, pool, streams, uploads};
use sampan_host::{
    Args, Context, Error, Function, FunctionKind, LocalFuture, Module, Param, Type, Value,
};

/// The functions for scripts.
pub static MODULE: Module = Module {
    name: "files",
    doc: "Files in the project's storage folder, and those of the project itself to read.",
    functions: &[
        Function {
            name: "read",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Bytes,
            doc: "The text of a file, of at most 256 KiB unless the script can wait in the middle of a call.",
            kind: FunctionKind::Prompt {
                body: read,
                later: read_async,
                awaited: Some("read_async"),
            },
        },
        Function {
            name: "read_async",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Bytes,
            doc: "The text of a file of any size that fits into memory.",
            kind: FunctionKind::Async(read_async),
        },
        Function {
            name: "bytes",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Bytes,
            doc: "The bytes of a file, as `read_async` gives the text.",
            kind: FunctionKind::Async(bytes),
        },
        Function {
            name: "lines",
            params: &[
                PATH,
                Param {
                    name: "fn",
                    ty: Type::Function,
                    optional: false,
                    doc: "Gets a line, without its end. It cannot wait. If it returns `false`, no more are read.",
                },
                READING_OPTIONS,
            ],
            returns: Type::Int,
            doc: "Calls the function with each line of a file. Returns how many there were. A line has at most 1 MiB.",
            kind: FunctionKind::Async(lines::lines),
        },
        Function {
            name: "open",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Object(&streams::FILE_STREAM),
            doc: "Opens a file to be read piece by piece.",
            kind: FunctionKind::Async(streams::open),
        },
        Function {
            name: "write",
            params: &[PATH, DATA],
            returns: Type::Nothing,
            doc: "Writes a file, and makes its folders. A reader sees the old content or the new one, whole.",
            kind: FunctionKind::Async(write),
        },
        Function {
            name: "append",
            params: &[PATH, DATA],
            returns: Type::Nothing,
            doc: "Adds to the end of a file, and makes it and its folders.",
            kind: FunctionKind::Async(append),
        },
        Function {
            name: "create",
            params: &[PATH],
            returns: Type::Object(&streams::FILE_WRITER),
            doc: "Begins a file that is written piece by piece. It is there under its path once it is closed.",
            kind: FunctionKind::Async(streams::create),
        },
        Function {
            name: "list",
            params: &[OPTIONAL_PATH, READING_OPTIONS],
            returns: Type::List,
            doc: "The names in a folder, sorted, at most 10,000; those of folders end with `/`.",
            kind: FunctionKind::Sync(list),
        },
        Function {
            name: "stat",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Any,
            doc: "What there is: `type` (`file`, `folder` or `other`), `size` in bytes, `modified` in seconds since \
             1970. Nothing if there is nothing.",
            kind: FunctionKind::Sync(stat),
        },
        Function {
            name: "exists",
            params: &[PATH, READING_OPTIONS],
            returns: Type::Bool,
            doc: "Whether there is a file or a folder.",
            kind: FunctionKind::Sync(exists),
        },
        Function {
            name: "remove",
            params: &[PATH],
            returns: Type::Bool,
            doc: "Removes a file or an empty folder. Tells whether there was one.",
            kind: FunctionKind::Async(remove),
        },
        Function {
            name: "rename",
            params: &[
                PATH,
                Param {
                    name: "to",
                    ty: Type::Text,
                    optional: false,
                    doc: "The new path, whose folders are made.",
                },
            ],
            returns: Type::Nothing,
            doc: "Gives a file or folder another path. A file that is there is replaced.",
            kind: FunctionKind::Async(rename),
        },
        Function {
            name: "mkdir",
            params: &[PATH],
            returns: Type::Nothing,
            doc: "Makes a folder, and those around it.",
            kind: FunctionKind::Async(mkdir),
        },
    ],
    classes: &[
        &streams::FILE_STREAM,
        &streams::FILE_WRITER,
        &uploads::UPLOADED_FILE,
    ],
    read_multipart: Some(uploads::read_multipart),
    ..Module::EMPTY
};

const PATH: Param = Param {
    name: "path",
    ty: Type::Text,
    optional: false,
    doc: "Names with `/` between them, below the storage folder.",
};

const OPTIONAL_PATH: Param = Param {
    name: "path",
    ty: Type::Text,
    optional: true,
    doc: "A folder below the storage folder; that folder itself unless given.",
};

const DATA: Param = Param {
    name: "data",
    ty: Type::Bytes,
    optional: false,
    doc: "The content.",
};

const READING_OPTIONS: Param = Param {
    name: "options",
    ty: Type::Map,
    optional: true,
    doc: "`from = \"project\"`: the path is below the project's folder.",
};

fn taken(data: Value) -> Vec<u8> {
    match data {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}

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
    let (path, bytes) = (args.text(0), taken(args.take(1)));
    beside(context, move |storage| {
        storage.write(&path, &bytes).map(|()| Value::Null)
    })
}

fn append(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (path, bytes) = (args.text(0), taken(args.take(1)));
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
