//! Places that keep the objects of a copy.

mod file;
mod s3;

pub(crate) use file::FileTarget;
pub use s3::MakeFetcher;
pub(crate) use s3::{Bucket, Keys, S3Target};

/// The reason for which a target has not done what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetFault {
    /// An object with this name and other contents is there.
    Taken(String),
    /// The target cannot be reached, or refuses.
    Failed(String),
}

impl TargetFault {
    /// Returns the text for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Taken(name) => format!("{name} was written by another process"),
            Self::Failed(text) => text.clone(),
        }
    }
}

/// The outcome of an attempt to become the only writer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This process is the writer, and was when this was asked last.
    Own,
    /// This process has just become the writer.
    New,
    /// Another is, which has left this note.
    Other(String),
}

/// A place for objects. Names have `/` between their parts; none begins with a dot.
pub(crate) trait Target {
    /// Becomes the only writer, or stays it. Called before each round of writing.
    fn claim(&mut self, note: &str) -> Result<Claim, TargetFault>;

    /// Lets another process write.
    fn release(&mut self);

    /// Writes a new object: all of it, or none. Writing the same one again is no fault.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TargetFault>;

    /// Reads an object. `None` if there is none.
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, TargetFault>;

    /// Returns the names of all objects whose names begin with `folder` and a slash, or of all objects, sorted.
    fn list(&mut self, folder: &str) -> Result<Vec<String>, TargetFault>;

    /// Returns the names of the folders at the top, sorted.
    fn folders(&mut self) -> Result<Vec<String>, TargetFault>;

    /// Removes an object. One that is not there is no fault.
    fn remove(&mut self, name: &str) -> Result<(), TargetFault>;
}
