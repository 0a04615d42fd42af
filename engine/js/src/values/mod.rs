//! Values across the border: conversion, JSON, rows of the database, and how objects lie in memory.

pub(crate) mod adopted;
pub(crate) mod inspect;
pub(crate) mod integers;
pub(crate) mod json_read;
pub(crate) mod json_write;
pub(crate) mod layout;
pub(crate) mod objects;
pub(crate) mod passing;
pub(crate) mod property_names;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod shapes;
pub(crate) mod shown;
pub(crate) mod value;
