//! The engine behind the contract of `host`. One program, because each test program links all of LuaJIT.

mod callbacks;
mod compiled_errors;
mod error_values;
mod gather;
mod isolation;
mod lua;
mod modules;
mod objects;
mod reading;
mod requests;
mod rocks;
mod rows;
mod sandbox;
mod support;
mod tail_calls;
mod text_libraries;
