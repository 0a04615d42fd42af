//! The fetcher of a worker, over the client of the HTTP engine.

use super::settings;
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::fetch::{FetchAnswer, FetchBody, FetchFault, FetchRequest, Fetcher, RedirectMode};
use sampan_host::settings::Settings;
use sampan_host::{Chunk, Error, ErrorKind, LocalFuture, StreamedBody};
use sampan_http::client::{
    AddressPolicy, Client, ClientAnswer, ClientAnswerBody, ClientBody, ClientFault,
    ClientFaultKind, ClientOptions, ClientRequest, ClientSettings, Lookups, Redirects,
};
use sampan_http::{BodyError, BodyStream};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The servers that the scripts of an isolate may reach, in its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchReach {
    /// No servers: the worker's runtime has no sockets.
    Nothing,
    /// Those with public addresses, and those that the settings name.
    Public,
    /// The machine itself beside them, for developers.
    PublicAndOwn,
    /// The machine itself, while a project starts without a server. Requests that a test lets through leave by
    /// [`LocalNetwork`].
    Local,
}

/// The reason for which requests do not leave while a project starts without a server.
const NETWORK_IS_OFF: &str = "the network is off while a project starts that is tested or checked; catch this error, \
     or send the request later";

/// The fetcher of requests that a test lets through to the network, in the context of its project.
pub struct LocalNetwork(pub Rc<dyn Fetcher>);

/// The settings of the clients of a process, and their lookups.
struct FetchState {
    strict: Arc<ClientSettings>,
    open: Arc<ClientSettings>,
    starting: Arc<ClientSettings>,
    lookups: Lookups,
}

/// Makes what the clients of all workers share.
///
/// # Errors
/// The place, the key, and what is wrong with its value.
pub fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let read = |settings: &_| settings::read(settings, setup.settings.root);
    let strict = setup.settings.resolve(&settings::SECTION, read)?;
    let open = ClientSettings {
        policy: strict.policy.clone().with_loopback(),
        ..strict.clone()
    };
    let starting = ClientSettings {
        policy: AddressPolicy::only_own(NETWORK_IS_OFF),
        ..strict.clone()
    };
    let before = setup.before.and_then(Shared::get::<FetchState>);
    let before = before.map(|before| before.lookups.clone());
    setup.shared.put(Arc::new(FetchState {
        strict: Arc::new(strict),
        open: Arc::new(open),
        starting: Arc::new(starting),
        lookups: before.unwrap_or_default(),
    }));
    Ok(())
}

/// The client of a worker, for as long as its settings stay as they are.
struct WorkerClient(RefCell<(Arc<ClientSettings>, Client)>);

/// Gives the scripts of an isolate the fetcher of their worker, unless its runtime has no sockets.
///
/// # Errors
/// None of its own.
pub fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    let state = setup.shared.get::<FetchState>();
    let state = state.ok_or_else(|| Error::new(ErrorKind::Internal, "no settings of [fetch]"))?;
    let reach = setup.context.get::<FetchReach>();
    let reach = reach.map_or(FetchReach::Public, |reach| *reach);
    let settings = match reach {
        FetchReach::Nothing => return Ok(()),
        FetchReach::PublicAndOwn | FetchReach::Local => &state.open,
        FetchReach::Public => &state.strict,
    };
    let made = || Client::new(Arc::clone(settings), state.lookups.clone());
    let client = match setup.worker.get::<WorkerClient>() {
        // A reload keeps the connections unless it has changed the settings.
        Some(kept) => {
            let mut kept = kept.0.borrow_mut();
            if kept.0 != *settings {
                *kept = (Arc::clone(settings), made());
            }
            kept.1.clone()
        }
        None => {
            let client = made();
            let kept = (Arc::clone(settings), client.clone());
            setup.worker.put(WorkerClient(RefCell::new(kept)));
            client
        }
    };
    let fetcher = Rc::new(ClientFetcher(client)) as Rc<dyn Fetcher>;
    if reach == FetchReach::Local {
        setup.context.put(LocalNetwork(fetcher));
        let own = Client::new(Arc::clone(&state.starting), state.lookups.clone());
        setup
            .context
            .put(Rc::new(ClientFetcher(own)) as Rc<dyn Fetcher>);
        return Ok(());
    }
    setup.context.put(fetcher);
    Ok(())
}

/// Makes a client for requests of the server itself to a place that its operator has named: it reaches all addresses.
/// The client belongs to the thread that calls.
///
/// # Errors
/// The settings of `[fetch]` are wrong.
pub fn client_everywhere(settings: &Settings, root: &Path) -> Result<Rc<dyn Fetcher>, String> {
    let everywhere = ["0.0.0.0/0", "::/0"].map(str::to_owned);
    let settings = ClientSettings {
        policy: AddressPolicy::of(&everywhere)?.with_loopback(),
        ..settings::read(settings, root)?
    };
    let client = Client::new(Arc::new(settings), Lookups::default());
    Ok(Rc::new(ClientFetcher(client)))
}

struct ClientFetcher(Client);

impl Fetcher for ClientFetcher {
    fn fetch(&self, request: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
        let upload_fault = UploadFault::default();
        let request = converted(request, &upload_fault);
        let client = self.0.clone();
        Box::pin(async move {
            let answer = client.fetch(request).await;
            let answer = answer.map_err(|fault| upload_fault.error(fault))?;
            Ok(given(answer, upload_fault))
        })
    }
}

/// The error of a script that its upload failed with: the client knows its text alone.
#[derive(Clone, Default)]
struct UploadFault(Rc<RefCell<Option<Error>>>);

impl UploadFault {
    /// Returns the error of a script for a fault of the client.
    fn error(&self, fault: ClientFault) -> Error {
        use ClientFaultKind as Kind;
        let kind = match fault.kind {
            Kind::Upload => {
                let of_script = self.0.borrow_mut().take();
                return of_script.unwrap_or_else(|| FetchFault::Request.error(fault.text));
            }
            Kind::Request => FetchFault::Request,
            Kind::Refused => FetchFault::Refused,
            Kind::Name => FetchFault::Name,
            Kind::Connect => FetchFault::Connect,
            Kind::Tls => FetchFault::Tls,
            Kind::Timeout => FetchFault::Timeout,
            Kind::Closed => FetchFault::Closed,
            Kind::Answer => FetchFault::Answer,
            Kind::TooLarge => FetchFault::TooLarge,
            Kind::Redirect => FetchFault::Redirect,
            Kind::Coding => FetchFault::Coding,
            Kind::Proxy => FetchFault::Proxy,
            Kind::Busy => FetchFault::Busy,
        };
        kind.error(fault.text)
    }
}

fn converted(request: FetchRequest, fault: &UploadFault) -> ClientRequest {
    let options = request.options;
    ClientRequest {
        method: request.method,
        url: request.url,
        fields: request.fields,
        body: match request.body {
            FetchBody::None => ClientBody::None,
            FetchBody::Bytes(bytes) => ClientBody::Bytes(bytes.into()),
            FetchBody::Stream { body, length } => {
                let fault = fault.clone();
                ClientBody::Stream(Box::new(UploadStream { body, fault }), length)
            }
        },
        options: ClientOptions {
            connect_millis_max: options.connect_millis_max,
            head_millis_max: options.head_millis_max,
            total_millis_max: options.total_millis_max,
            idle_millis_max: options.idle_millis_max,
            answer_bytes_max: options.answer_bytes_max,
            redirects: match options.redirect {
                RedirectMode::Follow => Redirects::Follow,
                RedirectMode::Manual => Redirects::Manual,
                RedirectMode::Error => Redirects::Error,
            },
            keeps_coding: options.keeps_coding,
        },
    }
}

fn given(answer: ClientAnswer, fault: UploadFault) -> FetchAnswer {
    let stream = |body| Box::new(AnswerStream { body, fault }) as Box<dyn StreamedBody>;
    FetchAnswer {
        status: answer.status,
        status_text: answer.status_text,
        fields: answer.fields,
        url: answer.url,
        is_redirected: answer.is_redirected,
        body: answer.body.map(stream),
    }
}

/// The body of a script's request, as the client reads it.
struct UploadStream {
    body: Box<dyn StreamedBody>,
    fault: UploadFault,
}

impl BodyStream for UploadStream {
    fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<sampan_http::Chunk, BodyError>>> {
        let piece = ready!(self.body.poll_chunk(cx));
        Poll::Ready(piece.map(|piece| match piece {
            Ok(piece) => Ok(sampan_http::Chunk::Bytes(piece.into_bytes())),
            Err(error) => {
                let text = error.message().to_owned();
                *self.fault.0.borrow_mut() = Some(error);
                Err(BodyError(text))
            }
        }))
    }
}

/// The body of an answer, as scripts read it.
struct AnswerStream {
    body: ClientAnswerBody,
    fault: UploadFault,
}

impl StreamedBody for AnswerStream {
    fn pause(&mut self) {
        self.body.pause();
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        let piece = ready!(self.body.poll_piece(cx));
        let piece = piece.map_err(|fault| self.fault.error(fault));
        Poll::Ready(piece.transpose().map(|piece| piece.map(Chunk::from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::fetch::FetchOptions;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn fetch(policy: AddressPolicy, request: FetchRequest) -> Result<FetchAnswer, Error> {
        let settings = ClientSettings {
            policy,
            ..ClientSettings::default()
        };
        let client = Client::new(Arc::new(settings), Lookups::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, ClientFetcher(client).fetch(request))
    }

    fn request(url: String, body: FetchBody) -> FetchRequest {
        FetchRequest {
            method: "POST".to_owned(),
            url,
            fields: Vec::new(),
            body,
            options: FetchOptions::default(),
        }
    }

    #[test]
    fn faults_have_codes_for_scripts() {
        let asked = request("http://127.0.0.1:9/".to_owned(), FetchBody::None);
        let error = fetch(AddressPolicy::default(), asked)
            .err()
            .expect("refused");
        assert_eq!(error.code(), Some("fetch_refused"));
        assert_eq!(error.kind(), ErrorKind::Script);
        let asked = request("nonsense".to_owned(), FetchBody::None);
        let error = fetch(AddressPolicy::default(), asked)
            .err()
            .expect("refused");
        assert_eq!(error.code(), Some("fetch_request"));
    }

    struct Failing;

    impl StreamedBody for Failing {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
            let error = Error::new(ErrorKind::Memory, "no room").with_code("own");
            Poll::Ready(Some(Err(error)))
        }
    }

    #[test]
    fn an_upload_fails_with_the_error_of_its_script() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a connection");
            let _ = socket.read_to_end(&mut Vec::new());
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        });
        let body = FetchBody::Stream {
            body: Box::new(Failing),
            length: None,
        };
        let policy = AddressPolicy::default().with_loopback();
        let error = fetch(policy, request(format!("http://{address}/"), body));
        let error = error.err().expect("an error");
        assert_eq!(
            (error.code(), error.kind()),
            (Some("own"), ErrorKind::Memory)
        );
        server.join().expect("the server");
    }
}
