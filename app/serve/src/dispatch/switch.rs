//! The answer 101, or 200 over HTTP/2: a request whose handler has accepted a socket becomes one.

use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use crate::gate::commit_gate::Visit;
use crate::sockets::Serving;
use crate::sockets::connection::SocketConnection;
use sampan_host::sockets::{AcceptedSocket, Socket};
use sampan_host::{Error, ErrorKind, RequestView};
use sampan_http::websocket::{self, Deflate, Refusal};
use sampan_http::{Answer, HeaderError, Response, Upgrade};
use std::rc::Rc;

/// The answer to a handshake.
struct Agreed {
    /// The value of `Sec-WebSocket-Accept`; nothing over HTTP/2.
    accept: Option<String>,
    deflate: Option<Deflate>,
    accepted: Rc<AcceptedSocket>,
    serving: Rc<Serving>,
}

impl DispatchedRequest {
    /// Answers a request whose handler has accepted a socket. The connection is turned over once what the handler wrote
    /// is committed.
    pub(crate) fn switch(self, visit: Visit, response: Response) -> Answer {
        let agreed = match self.agree() {
            Ok(agreed) => agreed,
            Err(error) => return self.failed(&error, visit),
        };
        match self.release_now(&visit, response) {
            Answer::Now(response) => self.upgrade(response, agreed),
            // The ticket waits for transactions too, which are not in the worker's group.
            Answer::Held(response, ticket) => Answer::Later(Box::pin(async move {
                match ticket.released().await {
                    Ok(()) => self.upgrade(response, agreed),
                    Err(status) => {
                        let refusal = errors::refusal(status, None, Some(self.view.request()));
                        Answer::Now(refusal)
                    }
                }
            })),
            other => other,
        }
    }

    /// Checks the handshake of the client.
    fn agree(&self) -> Result<Agreed, Error> {
        let view = &self.view;
        let none = || Error::new(ErrorKind::Internal, "no socket was accepted");
        let accepted = view.store().get::<AcceptedSocket>().ok_or_else(none)?;
        let request = view.request();
        let field = |name: &str| {
            request
                .joined_header(name)
                .filter(|_| view.method() == "GET")
        };
        let serving = self.loaded.context.get::<Rc<Serving>>();
        let serving = Rc::clone(&*serving.ok_or_else(none)?);
        let checked = match request.is_extended_connect() {
            true => websocket::check_version(field).map(|()| None),
            false if request.protocol() == "HTTP/1.0" => Err(Refusal::Http10),
            false => websocket::check_handshake(field).map(Some),
        };
        let accept = checked.map_err(|refusal| {
            // An answer that has no room for it goes without. The encoder adds `Upgrade`.
            let _ = view.add_header("sec-websocket-version", b"13");
            Error::new(ErrorKind::Status(refusal.status()), refusal.text())
        })?;
        let offers = request.joined_header("sec-websocket-extensions");
        let deflate = offers
            .as_deref()
            .filter(|_| accepted.socket.settings().compress)
            .and_then(websocket::negotiate);
        Ok(Agreed {
            accept,
            deflate,
            accepted,
            serving,
        })
    }

    /// Turns the connection over.
    fn upgrade(&self, response: Response, agreed: Agreed) -> Answer {
        // Middleware may have made another answer of it.
        if response.status() != 200 {
            return Answer::Now(response);
        }
        match self.upgraded(&response, agreed) {
            Ok(upgrade) => Answer::Upgrade(Box::new(upgrade)),
            Err(fault) => {
                self.log(&Error::new(ErrorKind::Internal, fault.to_string()));
                Answer::Now(errors::refusal(500, None, Some(self.view.request())))
            }
        }
    }

    fn upgraded(&self, response: &Response, agreed: Agreed) -> Result<Upgrade, HeaderError> {
        let Agreed {
            accept,
            deflate,
            accepted,
            serving,
        } = agreed;
        let socket: Rc<Socket> = Rc::clone(&accepted.socket);
        let mut upgrade = Upgrade::new("websocket", move |stream| {
            Box::pin(SocketConnection::new(stream, socket, serving, deflate))
        })?;
        if let Some(accept) = accept {
            upgrade.header(b"Sec-WebSocket-Accept", accept.as_bytes())?;
        }
        if let Some(protocol) = accepted.socket.protocol() {
            upgrade.header(b"Sec-WebSocket-Protocol", protocol.as_bytes())?;
        }
        if let Some(deflate) = deflate {
            upgrade.header(b"Sec-WebSocket-Extensions", deflate.answer().as_bytes())?;
        }
        for (name, value) in response.headers() {
            if !name.eq_ignore_ascii_case(b"content-type") {
                upgrade.header(name, value)?;
            }
        }
        Ok(upgrade)
    }
}
