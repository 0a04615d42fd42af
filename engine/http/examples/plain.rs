//! A server without scripts: what the engine alone costs, and how it is put together.
//!
//! `cargo run --release -p sampan-http --example plain -- 127.0.0.1:8080 [CERTIFICATE KEY]`

use std::rc::Rc;
use std::sync::Arc;

use sampan_http::{
    Acceptor, Answer, CertificateFiles, Handler, Limits, Observer, Precomputed, Request, Response,
    Tls, TlsSettings, Workers,
};

struct Plain {
    version: Arc<Precomputed>,
}

impl Handler for Plain {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        match request.path() {
            "/version" => Answer::Precomputed(self.version.clone()),
            "/echo" => {
                let mut response = Response::new(200);
                response.content_type("application/octet-stream");
                response.body_mut().extend_from_slice(request.body());
                Answer::Now(response)
            }
            path => {
                let mut response = Response::new(200);
                response.content_type("text/plain; charset=utf-8");
                response.body_mut().extend_from_slice(path.as_bytes());
                Answer::Now(response)
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into())
        .parse()?;
    let mut limits = Limits::default();
    if let Some(note) = sampan_http::raise_open_files(&mut limits, 0, 0)? {
        eprintln!("{note}");
    }
    let limits = Arc::new(limits);
    let mut version = Response::new(200);
    version.content_type("application/json");
    version
        .body_mut()
        .extend_from_slice(b"{\"version\":\"1.0\"}");
    let version = Precomputed::new(version).map_err(|_| "a body of bytes can be precomputed")?;

    let (handle, worker) = sampan_http::worker(limits.clone());
    let mut acceptor = Acceptor::bind(address, &limits)?;
    if let (Some(certificate), Some(key)) = (std::env::args().nth(2), std::env::args().nth(3)) {
        let (tls, warnings) = Tls::read(TlsSettings {
            certificates: vec![CertificateFiles {
                certificate: certificate.into(),
                key: key.into(),
            }],
            acme: None,
            clients: None,
            takes_http2: true,
            strict_transport: None,
        })?;
        warnings.iter().for_each(|warning| eprintln!("{warning}"));
        acceptor = acceptor.with_tls(tls);
    }
    println!("listening on {}", acceptor.local_addr()?);
    let _accepting = acceptor.start(Workers::new(vec![handle], &limits), |note| {
        eprintln!("{note}")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    tokio::task::LocalSet::new().block_on(&runtime, worker.run(Rc::new(Plain { version })));
    Ok(())
}
