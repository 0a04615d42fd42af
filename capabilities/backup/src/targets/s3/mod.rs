//! A bucket of Amazon S3, or of a server that speaks as it does.
//!
//! Requests go through the client of the server, on the thread of the copy. An object is written by one PUT with
//! `If-None-Match`, so it appears as a whole, and none is replaced. A thread of its own renews the lease: a request, or
//! a copy of the database, may take longer than the lease lasts.

mod client;
mod lease;
mod signing;
#[cfg(test)]
mod tests;

pub(crate) use signing::Keys;

use super::{Claim, Target, TargetFault};
use client::{Condition, S3Client, element, elements};
use lease::{Lease, RENEWED_EVERY};
use sampan_host::fetch::Fetcher;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Makes the client of a thread.
pub type MakeFetcher = Arc<dyn Fn() -> Rc<dyn Fetcher> + Send + Sync>;

/// A place in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) bucket: String,
    /// The beginning of all names, without slashes at its ends; it may be empty.
    pub(crate) prefix: String,
    /// The server, such as `https://minio.example.org:9000`, if it is not Amazon's.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: String,
    pub(crate) keys: Keys,
}

/// A bucket of objects.
pub(crate) struct S3Target {
    place: Bucket,
    fetcher: MakeFetcher,
    client: S3Client,
    /// Shared with the thread that renews it.
    lease: Arc<Mutex<Lease>>,
    /// Ends that thread when it is dropped; absent where another process is the writer.
    keeper: Option<Sender<()>>,
    renewed_every: Duration,
}

impl S3Target {
    pub(crate) fn new(place: Bucket, fetcher: MakeFetcher) -> Result<Self, String> {
        Self::renewing(place, fetcher, RENEWED_EVERY)
    }

    fn renewing(
        place: Bucket,
        fetcher: MakeFetcher,
        renewed_every: Duration,
    ) -> Result<Self, String> {
        Ok(Self {
            client: S3Client::new(place.clone(), fetcher())?,
            place,
            fetcher,
            lease: Arc::new(Mutex::new(Lease::new(renewed_every)?)),
            keeper: None,
            renewed_every,
        })
    }

    /// Begins to renew the lease, until what this returns is dropped.
    fn keep(&self) -> Result<Sender<()>, TargetFault> {
        let (place, fetcher) = (self.place.clone(), Arc::clone(&self.fetcher));
        let (lease, pause) = (Arc::clone(&self.lease), self.renewed_every / 2);
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("sampan-lease".into());
        let thread = thread.spawn(move || {
            // Without this client the claims of the copy renew the lease, between two requests.
            let Ok(client) = S3Client::new(place, fetcher()) else {
                return;
            };
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // The next claim meets the same fault, and the copy reports it.
                let _ = lock(&lease).renew(&client);
            }
        });
        let failed = |error| TargetFault::Failed(format!("cannot start a thread: {error}"));
        thread.map(|_| end).map_err(failed)
    }

    /// Lists names, or the folders among them, below the folder of the copy.
    fn listed(&self, folder: &str, are_folders: bool) -> Result<Vec<String>, TargetFault> {
        let start = match folder {
            "" => self.client.key(""),
            folder => format!("{}/", self.client.key(folder)),
        };
        let own = self.client.key("");
        let mut names = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", start.as_str())];
            if let Some(token) = &token {
                query.push(("continuation-token", token));
            }
            if are_folders {
                query.push(("delimiter", "/"));
            }
            query.sort_unstable();
            let answer = self.client.ask("GET", "", &query, &[], &[])?;
            if answer.status != 200 {
                return Err(answer.fault("cannot list the objects"));
            }
            let text = String::from_utf8_lossy(&answer.body);
            // Without this check, what is no list would be one without objects.
            if !text.contains("<ListBucketResult") {
                return Err(answer.fault("the answer is no list of objects"));
            }
            let found = match are_folders {
                true => elements(&text, "CommonPrefixes")
                    .filter_map(|one| element(one, "Prefix"))
                    .collect(),
                false => elements(&text, "Contents")
                    .filter_map(|one| element(one, "Key"))
                    .collect::<Vec<_>>(),
            };
            let found = found.iter().filter_map(|key| key.strip_prefix(&own));
            names.extend(found.map(|name| name.trim_end_matches('/').to_owned()));
            token = element(&text, "NextContinuationToken");
            if token.is_none() {
                names.sort();
                return Ok(names);
            }
        }
    }
}

fn lock(lease: &Mutex<Lease>) -> MutexGuard<'_, Lease> {
    lease.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Target for S3Target {
    fn claim(&mut self, note: &str) -> Result<Claim, TargetFault> {
        let claimed = lock(&self.lease).claim(&self.client, note)?;
        match claimed {
            Claim::Own => {}
            Claim::New => self.keeper = Some(self.keep()?),
            Claim::Other(_) => self.keeper = None,
        }
        Ok(claimed)
    }

    fn release(&mut self) {
        self.keeper = None;
        lock(&self.lease).release(&self.client);
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TargetFault> {
        if self.client.write(name, bytes, Condition::New)?.is_some() {
            return Ok(());
        }
        // The answer to an earlier attempt may have been lost.
        match self.client.read(name)? {
            Some(there) if there.body == bytes => Ok(()),
            _ => Err(TargetFault::Taken(name.to_owned())),
        }
    }

    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, TargetFault> {
        Ok(self.client.read(name)?.map(|answer| answer.body))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, TargetFault> {
        self.listed(folder, false)
    }

    fn folders(&mut self) -> Result<Vec<String>, TargetFault> {
        self.listed("", true)
    }

    fn remove(&mut self, name: &str) -> Result<(), TargetFault> {
        let answer = self
            .client
            .ask("DELETE", &self.client.key(name), &[], &[], &[])?;
        match answer.status {
            200..=299 | 404 => Ok(()),
            _ => Err(answer.fault(&format!("cannot remove {name}"))),
        }
    }
}
