//! Sealed and signed texts: data that leaves the process and comes back unchanged, or is noticed: sealed and signed
//! texts, by the project's secret keys.

use crate::error::Error;
use crate::tables::module::Context;
use std::rc::Rc;

/// Seals and signs with the project's keys. The first key seals and signs; all of them open and verify, so that keys
/// can be replaced one by one. What was made for one purpose is nothing for any other.
pub trait Sealer {
    /// Encrypts bytes. The text has letters, digits, `-` and `_`.
    ///
    /// # Errors
    /// The system has no random numbers.
    fn seal(&self, purpose: &str, bytes: &[u8]) -> Result<String, Error>;

    /// The bytes of a sealed text; `None` if no key of the project sealed it for this purpose.
    fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>>;

    /// A signature of bytes that stay readable: a text of 43 letters, digits, `-` and `_`.
    fn sign(&self, purpose: &str, bytes: &[u8]) -> String;

    /// Reports whether a key of the project made this signature of these bytes, for this purpose.
    fn verify(&self, purpose: &str, bytes: &[u8], signature: &str) -> bool;
}

/// The sealer of an isolate, as its [`Context`] keeps it.
struct IsolateSealer(Rc<dyn Sealer>);

/// Gives the capabilities of an isolate a sealer.
pub fn put(context: &Context, sealer: Rc<dyn Sealer>) {
    context.put(IsolateSealer(sealer));
}

/// The sealer of an isolate.
///
/// # Errors
/// The project has no secret keys: what to do.
pub fn of(context: &Context) -> Result<Rc<dyn Sealer>, Error> {
    let kept = context.get::<IsolateSealer>().ok_or_else(|| {
        Error::script(
            "the project has no secret keys: set keys in [secrets] of sampan.toml, or the environment variable \
             SAMPAN_SECRETS_KEYS",
        )
    })?;
    Ok(Rc::clone(&kept.0))
}
