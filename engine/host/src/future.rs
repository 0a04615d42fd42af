//! Work that goes on later, on the thread that began it.

use std::future::Future;
use std::pin::Pin;

/// A future that stays on its worker.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;
