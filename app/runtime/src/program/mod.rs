//! The program that Sampan is a part of, and what it adds: threads and an engine of its own, routes and values, pages
//! about errors.

pub(crate) mod development;
pub(crate) mod embedding;
pub(crate) mod hosted;
