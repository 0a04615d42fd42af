//! Commands about servers that run: how they are, and what they do.

mod asked;
mod cells;
pub(crate) mod health;
mod scrape;
mod tables;
pub(crate) mod top;
mod view;
