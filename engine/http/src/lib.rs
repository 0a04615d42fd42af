//! The HTTP/1.1 engine: from bytes on a socket to a native [`Handler`] and back.
//!
//! Two halves. [`codec`] is a state machine without I/O: bytes in, events out, bytes out. The driver ([`worker`],
//! [`Acceptor`]) moves the bytes: one thread per [`Worker`], one future per connection, on a tokio current-thread
//! runtime or on a [`Pump`] in a loop of the program's own. The crate knows no scripts, routes or databases; its user
//! implements [`Handler`].
//!
//! ```no_run
//! use std::{rc::Rc, sync::Arc};
//! use sampan_http::{Acceptor, Answer, Handler, Limits, Observer, Request, Response, Workers};
//!
//! struct Hello;
//! impl Handler for Hello {
//!     fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
//!         let mut response = Response::new(200);
//!         response.content_type("text/plain; charset=utf-8");
//!         response.body_mut().extend_from_slice(request.path().as_bytes());
//!         Answer::Now(response)
//!     }
//! }
//!
//! let limits = Arc::new(Limits::default());
//! let (handle, worker) = sampan_http::worker(limits.clone());
//! let acceptor = Acceptor::bind("127.0.0.1:8080".parse().unwrap(), &limits).unwrap();
//! let accepting = acceptor.start(Workers::new(vec![handle], &limits), |note| eprintln!("{note}")).unwrap();
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! tokio::task::LocalSet::new().block_on(&runtime, worker.run(Rc::new(Hello)));
//! accepting.stop();
//! ```

mod accepting;
mod answer;
pub mod client;
pub mod codec;
mod direct;
mod driver;
mod future;
mod limits;
mod method;
mod peer;
mod precomputed;
mod process;
mod received;
mod request;
mod request_body;
mod response;
mod send_file;
mod tls;
mod upgrade;
pub mod websocket;

pub use accepting::{Accepting, Acceptor, ListeningSocket, Proxies, Workers};
pub use answer::{
    Answer, BodyRule, ClosedUnread, ConnectionFault, Handler, HandlerSlot, Observer,
    RequestOutcome, Seal, Ticket,
};
pub use direct::{DirectAnswer, DirectSocket, answer_directly, connect_directly, decided};
pub use driver::{
    ClientBytes, Direction, Opening, Parking, Pump, PumpSocket, Runtime, Socket, Tokio, Turn,
    Worker, WorkerHandle, panic_text, worker, worker_sharing,
};
pub use future::LocalFuture;
pub use limits::Limits;
pub use method::Method;
pub use peer::Peer;
pub use precomputed::{Precomputed, PrecomputedRest};
pub use process::{process_memory_bytes, raise_open_files};
pub use received::MessageRoom;
pub use request::{CopiedRequest, OwnedRequest, Request};
pub use request_body::ReadError;
pub use response::{
    Body, BodyError, BodyStream, Chunk, FilePart, HeaderError, LengthCheck, OwnedResponse,
    Response, WorkerMoment,
};
pub use tls::{
    AcmeFiles, CertificateFiles, ClientAuth, ClientCertificate, Tls, TlsError, TlsInfo, TlsSettings,
};
pub use upgrade::{Upgrade, Upgraded};
