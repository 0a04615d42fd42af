//! The request decoder against hyper, Go's net/http and Node (llhttp): all must agree on where each request ends,
//! or ours must be the one that refuses.
//!
//! Each peer is a server that reports, for every request that reached its handler, method, target and body. The
//! same bytes go to the decoder and to the peer, and the two lists are compared. A request that only we accept
//! is a finding too, unless it is about something other than framing that the peer does not take; each of these
//! exceptions is listed in `judge.rs`.

mod hyper_peer;
mod judge;
mod process_peer;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sampan_http::Limits;
use sampan_http::codec::{Decoder, DecoderEvent};

use crate::mutate::{HTTP_WORDS, Mutator};

pub(crate) use judge::judge;

/// A request as a server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    /// The method.
    pub method: Vec<u8>,
    /// The target as sent.
    pub target: Vec<u8>,
    /// The body without its coding.
    pub body: Vec<u8>,
}

/// The decoder's result.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) seen: Vec<SeenRequest>,
    /// The whole head of each, for the exceptions.
    pub(crate) heads: Vec<Vec<u8>>,
    /// True if an empty line came before each.
    pub(crate) empty_lines: Vec<bool>,
    /// True if it then refused something, or a request ended the connection.
    pub(crate) ended: bool,
    /// True if bytes are left that it refused, did not look at, or that are not a whole request.
    pub(crate) has_rest: bool,
}

/// A server to compare with.
trait ComparedServer {
    /// Sends bytes on a connection of their own and collects what the server saw.
    fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<SeenRequest>>;
}

/// The result of the comparison with one peer went.
#[derive(Debug)]
pub enum Agreement {
    /// The comparison cannot run here, and why.
    Skipped(String),
    /// No finding in so many inputs.
    Agreed(u64),
    /// The input, in a file, and what differs.
    Disagreed(PathBuf, String),
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(reason) => write!(f, "SKIPPED: {reason}"),
            Self::Agreed(inputs) => write!(f, "agreed on {inputs} inputs"),
            Self::Disagreed(input, finding) => {
                write!(f, "DISAGREED on {}: {finding}", input.display())
            }
        }
    }
}

/// The servers to compare with.
pub const PEERS: [&str; 3] = ["hyper", "go", "node"];

/// Compares with each peer, or with `only` that one, for `budget`: the corpora `differential` and `http_codec`, then
/// mutations of them.
///
/// # Errors
/// When a corpus cannot be read, or a peer fails in a way that is not about its input.
pub fn run(
    seed: u64,
    budget: Duration,
    only: Option<&str>,
) -> io::Result<Vec<(&'static str, Agreement)>> {
    let seeds = seeds()?;
    let mut found = Vec::new();
    for name in PEERS
        .into_iter()
        .filter(|peer| only.is_none_or(|only| only == *peer))
    {
        let started: Result<Box<dyn ComparedServer>, String> = match name {
            "hyper" => Ok(Box::new(hyper_peer::HyperPeer)),
            other => process_peer::start(other)?.map(|peer| Box::new(peer) as _),
        };
        let comparison = match started {
            Ok(mut peer) => compare(name, &mut *peer, &seeds, seed, budget)?,
            Err(reason) => Agreement::Skipped(reason),
        };
        found.push((name, comparison));
    }
    Ok(found)
}

/// Both corpora.
fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let corpora = [crate::corpus("differential")?, crate::corpus("http_codec")?];
    Ok(corpora
        .into_iter()
        .flatten()
        .map(|(_, bytes)| bytes)
        .collect())
}

fn compare(
    name: &str,
    peer: &mut dyn ComparedServer,
    seeds: &[Vec<u8>],
    seed: u64,
    budget: Duration,
) -> io::Result<Agreement> {
    let end = Instant::now() + budget;
    let mut mutator = Mutator::new(seed, HTTP_WORDS);
    let mut inputs = 0;
    while (inputs as usize) < seeds.len() || Instant::now() < end {
        let bytes = match seeds.get(inputs as usize) {
            Some(bytes) => bytes.clone(),
            None => mutator.next(seeds, 2048),
        };
        inputs += 1;
        if let Some(finding) = judge(name, &ours(&bytes), &peer.ask(&bytes)?) {
            let input = crate::keep(&format!("differential-{name}"), &bytes)?;
            return Ok(Agreement::Disagreed(input, finding));
        }
    }
    Ok(Agreement::Agreed(inputs))
}

/// Returns the requests that a connection of ours would hand to its handler.
fn ours(bytes: &[u8]) -> Ours {
    let limits = Limits::default();
    let mut decoder = Decoder::new();
    decoder.feed(bytes);
    let mut ours = Ours {
        seen: Vec::new(),
        heads: Vec::new(),
        empty_lines: Vec::new(),
        ended: false,
        has_rest: false,
    };
    loop {
        match decoder.next(&limits) {
            DecoderEvent::Incomplete(_) => {
                ours.has_rest = decoder.buffered() > 0;
                return ours;
            }
            DecoderEvent::Head => {
                let _ = decoder.accept_body(limits.body_bytes_max);
            }
            DecoderEvent::Fault(_) => {
                ours.ended = true;
                ours.has_rest = true;
                return ours;
            }
            DecoderEvent::Request => {
                let (head, text) = (decoder.head(), decoder.head_bytes());
                ours.seen.push(SeenRequest {
                    method: head.method_text.of(text).to_vec(),
                    target: head.target.of(text).to_vec(),
                    body: decoder.body().to_vec(),
                });
                ours.heads.push(text.to_vec());
                ours.empty_lines.push(decoder.follows_empty_line());
                if !head.keep_alive {
                    ours.ended = true;
                    ours.has_rest = !decoder.rest().is_empty();
                    return ours;
                }
                decoder.advance();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyper_reports_what_it_sees() {
        let (_, pipelined) = crate::corpus("http_codec")
            .unwrap()
            .into_iter()
            .find(|(name, _)| name == "pipelined")
            .unwrap();
        let seen = hyper_peer::HyperPeer.ask(&pipelined).unwrap();
        assert_eq!(seen, ours(&pipelined).seen);
        assert_eq!(
            seen.iter()
                .map(|request| &request.target[..])
                .collect::<Vec<_>>(),
            [&b"/1"[..], b"/2", b"/p", b"/3"]
        );
        assert_eq!(seen[2].body, b"hello");
    }

    #[test]
    fn hyper_agrees() {
        let budget = Duration::from_millis(500);
        let found = compare(
            "hyper",
            &mut hyper_peer::HyperPeer,
            &seeds().unwrap(),
            1,
            budget,
        );
        let found = found.unwrap();
        assert!(matches!(found, Agreement::Agreed(_)), "{found}");
    }

    /// A peer that reads a chunked body as empty, which is how smuggling works, is found.
    struct Smuggled;

    impl ComparedServer for Smuggled {
        fn ask(&mut self, bytes: &[u8]) -> io::Result<Vec<SeenRequest>> {
            let mut seen = ours(bytes).seen;
            for request in &mut seen {
                request.body.clear();
            }
            Ok(seen)
        }
    }

    #[test]
    fn a_disagreement_is_found() {
        let seeds = vec![
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \
         chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
                .to_vec(),
        ];
        let found = compare("smuggled", &mut Smuggled, &seeds, 1, Duration::ZERO).unwrap();
        let Agreement::Disagreed(input, _) = found else {
            panic!("{found}")
        };
        std::fs::remove_file(input).unwrap();
    }
}
