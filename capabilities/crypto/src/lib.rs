//! Cryptography for scripts, and the project's secret keys, over AWS-LC.

mod keys;
mod limits;

pub use keys::{KeySealer, SecretKeys};
