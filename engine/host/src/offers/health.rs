//! Checks of what a server needs in order to answer requests. They stand behind `GET /_sampan/health`.

use crate::future::LocalFuture;

/// A part that a server needs, such as its database.
pub trait HealthCheck: Send + Sync {
    /// Returns the name of the part, as answers show it: one word.
    fn name(&self) -> &'static str;

    /// Looks at the part. Runs on a thread beside requests, which it may block. It is called at most once a second, and
    /// not again before it has ended.
    ///
    /// # Errors
    /// A line that says what is wrong. Clients get it only if they may see details.
    fn check(&self) -> LocalFuture<Result<(), String>>;
}
