//! Passwords: hashed by Argon2id, on threads of their own.

mod hashers;
mod hashes;
mod limits;

use hashers::HASHERS;
use hashes::{Hash, Parameters};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::{
    Args, Capability, Context, Error, ErrorKind, FunctionKind, LocalFuture, Module, Param, Type,
    Value, param, row,
};
use std::rc::Rc;

/// The `password` table.
pub static MODULE: Module = Module {
    name: "password",
    doc: "Hashes passwords and verifies them, on threads of their own.",
    functions: &[
        row!("hash"(PASSWORD) -> Type::Text, FunctionKind::Async(hash),
            "The hash of a password, to be kept in a database: Argon2id with 19 MiB, two passes and a random salt. An \
             empty password and one of more than 65536 bytes is an error."),
        row!("verify"(
                PASSWORD,
                param!("hash"? Type::Text,
                    "What `password.hash` gave, or a hash of bcrypt. Nothing where there is no such user: that takes \
                     as long, and is false. So is a text that is no hash, and the log has a warning."),
            ) -> Type::Bool, FunctionKind::Async(verify),
            "Whether a password is the one that was hashed. False for an empty one, for one of more than 65536 bytes, \
             and against bcrypt for one with a zero byte. bcrypt reads the first 72 bytes only."),
        row!("needs_rehash"(param!("hash": Type::Text, "The hash that was kept.")) -> Type::Bool,
            FunctionKind::Sync(needs_rehash),
            "Whether `password.hash` would make a stronger hash today. After a login the password is at hand: hash it \
             again then."),
    ],
    ..Module::EMPTY
};

const PASSWORD: Param = param!("password": Type::Bytes, "The password as it was typed.");

/// Hashing of passwords.
pub static CAPABILITY: Capability = Capability {
    name: "password",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

/// Warns that a hash that was kept is wrong.
fn warn(log: Option<&Rc<dyn Log>>, fault: &str) {
    if let Some(log) = log {
        let entry = Entry::text(format!("password.verify is false: {fault}"));
        log.write_limited(Level::Warn, Cause::message(fault), &entry);
    }
}

fn hash(_: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let password = bytes_of(args.take(0));
    Box::pin(async move {
        hashes::check(&password)?;
        let work = move |memory: &mut _| hashes::hash(&password, memory);
        HASHERS.run(work).await.map(Value::Text)
    })
}

fn verify(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let (password, kept) = (bytes_of(args.take(0)), args.take(1));
    let log = context.get::<Rc<dyn Log>>();
    Box::pin(async move {
        let hash = match kept {
            Value::Text(text) => Hash::parse(&text).map(Some),
            _ => Ok(None),
        };
        if hashes::check(&password).is_err() {
            return Ok(Value::Bool(false));
        }
        let work = move |memory: &mut _| match hash {
            Ok(Some(hash)) => hash.verify(&password, memory),
            // Neither the time nor the answer reveals whether there is such a user.
            none => hashes::hash(&password, memory).and(none.map(|_| false)),
        };
        match HASHERS.run(work).await {
            Err(error) if error.kind() == ErrorKind::Script => {
                warn(log.as_deref(), error.message());
                Ok(Value::Bool(false))
            }
            verified => verified.map(Value::Bool),
        }
    })
}

fn needs_rehash(_: &Context, mut args: Args) -> Result<Value, Error> {
    let hash = Hash::parse(&args.text(0))?;
    Ok(Value::Bool(!hash.has(&Parameters::CURRENT)))
}

/// The bytes of an argument of [`Type::Bytes`].
fn bytes_of(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}
