//! Sampan as a library: a web server with routes in Rust, in Lua and in JavaScript, and scripts without a server.
//!
//! # A server
//!
//! [`App`] takes routes that your program answers, and the folder of a project if there is one. Both stand in one tree
//! of routes, on the same workers, under the same limits.
//!
//! ```
//! use sampan::{App, Request, Response};
//!
//! let server = App::new()
//!     .get("/hello/:name", |request: Request| {
//!         let name = request.param("name").unwrap_or_default().into_owned();
//!         Response::text(format!("Hello, {name}"))
//!     })
//!     .listen("127.0.0.1:0")
//!     .workers(1)
//!     .start()?;
//! # let mut client = std::net::TcpStream::connect(server.address()).unwrap();
//! # use std::io::{Read, Write};
//! # client.write_all(b"GET /hello/Ada HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
//! # let mut answer = String::new();
//! # client.read_to_string(&mut answer).unwrap();
//! # assert!(answer.ends_with("\r\n\r\nHello, Ada"), "{answer}");
//! println!("http://{}", server.address());
//! server.stop();
//! # Ok::<(), sampan::Error>(())
//! ```
//!
//! A handler gets a [`Request`] and returns what becomes a [`Response`]; or a future of that, for which its worker does
//! not wait. Handlers run on the threads of the workers. What takes long without waiting belongs on a thread of your
//! own.
//!
//! Bodies need not be whole. [`Response::stream`] and [`Response::reader`] answer with what comes piece by piece:
//! server-sent events, large downloads. A handler that takes a [`RequestBody`] beside the request reads what a client
//! sends as it arrives.
//!
//! Inside of a program that has tokio already, [`App::run`] serves until the future is dropped or the server ends.
//!
//! # Scripts around native routes
//!
//! Guards of the project (CSRF protection, rate limits and other middleware in Rust) check the requests of native
//! routes as they do those of scripts. Middleware of the script runs first too: what `next` gives there stands for the
//! answer to come, as it does for a file. When the middleware returns it, the native handler runs, and its answer has
//! the header fields and the status that the middleware has set. When it returns something else, that is the answer,
//! and the native handler does not run. Middleware cannot read the body of a native answer.
//!
//! # Capabilities of your own
//!
//! [`App::module`] gives scripts a table of functions in Rust, next to those of Sampan. See [`host::Module`].
//!
//! # Scripts without a server
//!
//! [`Scripts`] loads a file or a text into isolates on threads of their own, calls functions by name, and has requests
//! answered that you have from elsewhere.
//!
//! ```
//! use sampan::{Scripts, Value};
//!
//! let scripts = Scripts::text("greet.lua", "function greet(name) return 'Hello, ' .. name end")
//!     .workers(1)
//!     .load()?;
//! let greeting = scripts.call_blocking("greet", [Value::from("Ada")], None)?;
//! assert_eq!(greeting, Value::from("Hello, Ada"));
//! # scripts.stop();
//! # Ok::<(), sampan::Error>(())
//! ```
//!
//! # Building
//!
//! SQLite takes its build flags from the environment. A program that depends on this crate needs a line for them in its
//! own
//! `.cargo/config.toml`; without it the build stops and shows the line. A C compiler and make are needed too.

mod app;
mod error;
mod handler;
mod json;
mod options;
mod request;
mod response;
mod running;
mod scripts;
mod stream;

pub use app::App;
pub use error::{Error, ErrorKind};
pub use handler::{Async, BodyLimit, IntoHandler, Limited, Plain, Streaming, body_bytes_max};
pub use json::{from_json, to_json};
pub use request::Request;
pub use response::{IntoResponse, Response};
pub use running::Server;
pub use sampan_host::Value;
pub use sampan_host::log::Level;
pub use sampan_project::VERSION;
pub use scripts::{Answer, PendingWork, Scripts, ScriptsBuilder};
pub use stream::RequestBody;

/// The parts of your own capabilities: tables of functions, values, errors.
pub mod host {
    pub use sampan_host::*;
}
