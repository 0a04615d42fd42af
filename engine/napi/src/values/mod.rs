//! Values between JavaScript and capabilities.

pub(crate) mod columns;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod value;
