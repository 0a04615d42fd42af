//! The module `sampan` as JavaScript sees it, once for every JavaScript engine.
//!
//! [`PRELUDE`] is the part that is written in JavaScript: routes, groups, middleware, builders, streams, the `fetch` of
//! a default export. Its value is a function of an engine's primitives:
//!
//! | primitive | meaning |
//! |---|---|
//! | `native` | the functions of [`Native`] and `report(error)`, and the tables of [`describe`] |
//! | `native.headerList(fields, type)` | the flat list of plain fields, if the engine can make it by itself |
//! | `stringify(value)` | the JSON of a value by the rules of an answer |
//! | `response(status, type, body, statusText)` | a response whose only field is its content type, or none |
//! | `responseWithFields(status, list, body, statusText)` | a response with the flat list `[name, value, ...]` |
//! | `listOf(headers)` | the flat list of a `Headers` |
//! | `fileBody(path)` | a body that the server puts in |
//! | `partsOf(response)` | `[content type, body]` |
//! | `isResponse(value)` | reports whether a value other than `undefined` and `null` is a response |
//! | `finished(response, status)` | the response with its status, and headers that can be changed |
//! | `otherResponse(value, status)` | the response of a value that is no text and no response |
//! | `keepHandler(handler)` | keeps a handler or the value of a route; its number |
//! | `openToFetch(request)`, `closeToFetch(request)` | the request as a `fetch` sees it, while that runs |
//! | `routeRequest(request)` | the request of a route behind the one that a `fetch` got |
//! | `requestField(request, name)` | a field of the request of a route |
//!
//! It returns `exports` (those of `"sampan"`), `runHandler(request, chain, handler, status, error, isTraced)`,
//! `runEmpty(request, chain, status, isTraced)`, `serve(target)`, and `httpClient`: the rows behind `fetch`, if there
//! are any.
//!
//! The rest is Rust over the trait [`Vm`]: [`describe`] gives the prelude its tables and rules, [`Native`] are the
//! native functions behind it, and [`call`] runs a row of a module by its kind.

#![forbid(unsafe_code)]

mod args;
mod bracket;
mod call;
mod callback;
mod describe;
mod guards;
mod native;
mod prelude;
pub mod refused;
mod row;
mod spellings;
mod state;
mod vm;
mod well_formed;

pub use call::{call, call_method, renamed, request_field, set_request_field};
pub use callback::{call_at_once, call_kept};
pub use describe::describe;
pub use native::{Native, served};
pub use prelude::PRELUDE;
pub use row::{BoundRow, methods};
pub use state::Contract;
pub use vm::{Failure, Kind, Thrown, Vm, found};
