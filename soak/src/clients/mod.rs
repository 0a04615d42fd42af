//! The clients, each a thread that asks until the run ends and then compares what it was told with what is there.

mod answers;
mod client;
mod jobs;
mod leavers;
mod pages;
mod sessions;
mod sockets;
mod uploads;
mod writers;

use crate::project::APP;
use crate::random::Random;
use crate::run::{Run, Site};
use crate::visitor::Visitor;
use client::Client;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The clients that write rows.
const WRITERS: u64 = 4;
/// The clients whose answers carry a token: several, as the requests of one connection run one after the other.
const ANSWERS: u64 = 4;
/// The clients with sockets.
const SOCKETS: u64 = 2;
/// The clients that leave without an answer.
const LEAVERS: u64 = 2;

/// A kind of client: its loop.
type Work = fn(Client);

/// Starts all clients.
pub(crate) fn start(run: &Arc<Run>, sites: &[Arc<Site>]) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    let mut start = |site: &Arc<Site>, kind: &str, count: u64, work: Work| {
        for number in 0..count {
            let client = Client {
                visitor: Visitor::new(site),
                random: Random::new(run.seed, 1000 + threads.len() as u64),
                number,
            };
            let thread = std::thread::Builder::new().name(format!("{kind} {number}"));
            match thread.spawn(move || work(client)) {
                Ok(thread) => threads.push(thread),
                Err(error) => run.fail(format_args!("no thread for a client: {error}")),
            }
        }
    };
    for site in sites {
        if site.name == APP {
            start(site, "writer", WRITERS, writers::work);
            start(site, "sessions", 1, sessions::work);
            start(site, "answers", ANSWERS, answers::work);
            start(site, "uploads", 1, uploads::work);
            start(site, "jobs", 1, jobs::work);
            start(site, "sockets", SOCKETS, sockets::work);
            start(site, "leavers", LEAVERS, leavers::work);
        } else {
            start(site, "pages", 1, pages::work);
        }
    }
    threads
}
