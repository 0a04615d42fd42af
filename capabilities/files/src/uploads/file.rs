//! A file of a form, as scripts have it.

use super::spool::Content;
use crate::limits::PIECE_BYTES;
use crate::pool;
use crate::storage::{Storage, fault};
use crate::values::{memory_bytes_max, text as as_text};
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, Lifetime, LocalFuture, Type, Value, param, row,
};
use std::cell::{Cell, RefCell};

use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;

/// The keys that a script can read.
const KEYS: &[&str] = &["name", "type", "size"];

/// A file that a client has sent.
pub(crate) static UPLOADED_FILE: Class = Class {
    name: "UploadedFile",
    variable: "file",
    doc: "A file of a form. It has a `name`, which is safe to use for a file, a `type` as the client says, and a \
     `size` in bytes. It goes with its \
          request unless it is saved.",
    methods: &[
        row!("save"(
                param!("path": Type::Text, "A path below the storage folder, as for `files.write`."),
            ) -> Type::Nothing, FunctionKind::Async(save),
            "Keeps the file, and makes its folders. A file that is there is replaced."),
        row!("text"() -> Type::Text, FunctionKind::Async(text),
            "The text of the file."),
        row!("bytes"() -> Type::Bytes, FunctionKind::Async(bytes),
            "The bytes of the file."),
        row!("read"() -> Type::Any, FunctionKind::Async(read),
            "The next bytes, at most 64 KiB; nothing at the end."),
        row!("get"(param!("key": Type::Text, "`name`, `type` or `size`.")) -> Type::Any, FunctionKind::Sync(get),
            "What `file.name` and the like give."),
        row!("set"(
                param!("key": Type::Text, "Which it is makes no difference: nothing of a file can be set."),
                param!("value"? Type::Any, "Which it is makes no difference: nothing of a file can be set."),
            ) -> Type::Nothing, FunctionKind::Sync(set),
            "An error: a file that was sent cannot be changed."),
        row!("keys"() -> Type::List, FunctionKind::Sync(keys),
            "The keys."),
    ],
    lifetime: Lifetime::Request,
    is_keyed: true,
};

/// The file, and how far it was read.
pub(crate) struct UploadedFile {
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) size: u64,
    /// Taken out while a call works on it.
    content: RefCell<Option<Content>>,
    position: Cell<u64>,
    storage: Arc<Storage>,
}

impl UploadedFile {
    pub(crate) fn new(
        name: String,
        content_type: String,
        (content, size): (Content, u64),
        storage: &Arc<Storage>,
    ) -> Self {
        Self {
            name,
            content_type,
            size,
            content: RefCell::new(Some(content)),
            position: Cell::new(0),
            storage: Arc::clone(storage),
        }
    }

    /// Works on the content beside the worker.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Content, &Storage) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let content = self.content.take();
        let mut content = content.ok_or_else(|| Error::script("this file is in use"))?;
        let storage = Arc::clone(&self.storage);
        let (content, result) = pool::run(move || {
            let result = work(&mut content, &storage);
            Ok((content, result))
        })
        .await?;
        self.content.replace(Some(content));
        result
    }

    async fn read(&self, from: u64, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let length = self.size.saturating_sub(from).min(bytes_max) as usize;
        let name = self.name.clone();
        self.with(move |content, _| {
            Ok(match content {
                Content::Memory(bytes) => {
                    let from = from as usize;
                    bytes.get(from..from + length).unwrap_or_default().to_vec()
                }
                Content::Disk(spooled) => {
                    let mut bytes = vec![0; length];
                    let read = spooled.file.read_exact_at(&mut bytes, from);
                    read.map_err(|error| fault(&name, &error))?;
                    bytes
                }
            })
        })
        .await
    }
}

fn this(context: &Context, args: &Args) -> Result<Rc<UploadedFile>, Error> {
    args.object::<UploadedFile>(context).map(|(_, file)| file)
}

fn save(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (this, path) = (this(context, &args), args.text(0));
    Box::pin(async move {
        let this = this?;
        let length = this.size;
        let save = move |content: &mut Content, storage: &Storage| match content {
            Content::Memory(bytes) => storage.write(&path, bytes),
            Content::Disk(spooled) => storage.publish(&mut spooled.file, length, &path),
        };
        this.with(save).await?;
        Ok(Value::Null)
    })
}

fn whole(
    context: &Context,
    args: &Args,
    give: fn(Vec<u8>) -> Value,
) -> LocalFuture<Result<Value, Error>> {
    let (this, bytes_max) = (this(context, args), memory_bytes_max(context));
    Box::pin(async move {
        let this = this?;
        if this.size > bytes_max {
            let text = format!(
                "{}: {} bytes are larger than memory_bytes_max allows: read it in pieces",
                this.name, this.size
            );
            return Err(Error::script(text).with_code("too_large"));
        }
        this.read(0, this.size).await.map(give)
    })
}

fn text(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    whole(context, &args, as_text)
}

fn bytes(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    whole(context, &args, Value::Bytes)
}

fn read(context: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let this = this(context, &args);
    Box::pin(async move {
        let this = this?;
        let from = this.position.get();
        let piece = this.read(from, PIECE_BYTES as u64).await?;
        this.position.set(from + piece.len() as u64);
        Ok(match piece.is_empty() {
            true => Value::Null,
            false => Value::Bytes(piece),
        })
    })
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let this = this(context, &args)?;
    Ok(match args.text(0).as_str() {
        "name" => Value::Text(this.name.clone()),
        "type" => Value::Text(this.content_type.clone()),
        "size" => Value::Int(this.size as i64),
        _ => Value::Null,
    })
}

fn set(_: &Context, mut args: Args) -> Result<Value, Error> {
    let key = args.text(0);
    let text = format!("a file that was sent cannot be changed: {key}");
    Err(Error::script(text))
}

fn keys(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::List(KEYS.iter().map(|key| (*key).into()).collect()))
}
