//! Commands about servers that run: how they are, and what they do.

mod asked;
pub(crate) mod health;
mod scrape;
pub(crate) mod top;
mod view;
