//! Between the values of a call and the storage: its folders, options, texts, and the memory that there is.

use crate::storage::{Root, Storage};
use sampan_host::{Context, Error, ErrorKind, ScriptLimits, Value, refusals};
use std::sync::Arc;

/// The folders of the isolate's project.
pub(crate) fn storage(context: &Context) -> Result<Arc<Storage>, Error> {
    let storage = context.get::<Arc<Storage>>();
    let missing = || Error::new(ErrorKind::Internal, "there are no files");
    storage
        .map(|storage| Arc::clone(&*storage))
        .ok_or_else(missing)
}

/// Reads the options of what reads.
pub(crate) fn root(options: Value) -> Result<Root, Error> {
    let mut root = Root::Storage;
    let Value::Map(options) = options else {
        return Ok(root);
    };
    for (name, value) in options {
        match (name.as_str(), value) {
            ("from", Value::Text(from)) if from == "storage" => root = Root::Storage,
            ("from", Value::Text(from)) if from == "project" => root = Root::Project,
            ("from", _) => {
                return Err(Error::script("from must be \"storage\" or \"project\""));
            }
            (name, _) => return Err(refusals::unknown_option(name, &["from"])),
        }
    }
    Ok(root)
}

/// Bytes as a script has text: what is not UTF-8 stays what it is where text may be any bytes.
pub(crate) fn text(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Bytes(error.into_bytes()),
    }
}

/// The memory that the isolate may have, in bytes.
pub(crate) fn memory_bytes_max(context: &Context) -> u64 {
    let limits = context.get::<ScriptLimits>().unwrap_or_default();
    limits.memory_bytes_max as u64
}
