//! `[metrics]`: what a server measures, and who may see it.

mod endpoint;
mod everything;
mod requests;
mod slow;
mod support;
