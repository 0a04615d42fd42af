//! Values across the border: conversion, JSON, rows of the database, and how tables lie in memory.

pub(crate) mod integers;
pub(crate) mod json_read;
pub(crate) mod json_write;
mod keys;
pub(crate) mod layout;
pub(crate) mod member;
pub(crate) mod objects;
pub(crate) mod reader;
pub(crate) mod row_shapes;
pub(crate) mod rows;
pub(crate) mod shown;
pub(crate) mod value;
