//! A bucket in memory.

use super::*;
use sampan_host::LocalFuture;
use sampan_host::fetch::{FetchAnswer, FetchBody, FetchRequest};
use sampan_host::{Chunk, Error, ErrorKind, StreamedBody};
use std::collections::BTreeMap;
use std::task::{Context, Poll};
use tokio::task::yield_now;
use tokio::time::timeout;

/// The longest time that a test waits.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The objects by their paths, each with the number of its writes.
type Objects = Arc<Mutex<BTreeMap<String, (u64, Vec<u8>)>>>;

struct MemoryBucket(Objects);

struct WholeBody(Option<Vec<u8>>);

impl StreamedBody for WholeBody {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Chunk::Bytes(bytes))))
    }
}

impl MemoryBucket {
    fn writes(&self, path: &str) -> u64 {
        let objects = self.0.lock().expect("no panic");
        objects.get(path).map_or(0, |(writes, _)| *writes)
    }

    fn answer(&self, request: &FetchRequest) -> (u16, u64, Vec<u8>) {
        let path = request.url.replace("http://memory", "");
        let mut objects = self.0.lock().expect("no panic");
        let there = objects.get(&path).cloned();
        let FetchBody::Bytes(body) = &request.body else {
            return there.map_or((404, 0, Vec::new()), |(tag, bytes)| (200, tag, bytes));
        };
        let condition = request
            .fields
            .iter()
            .find_map(|(name, value)| match &**name {
                b"if-match" => Some(String::from_utf8_lossy(value).into_owned()),
                _ => None,
            });
        let tag = there.map(|(tag, _)| tag);
        if condition != tag.map(|tag| tag.to_string()) {
            return (412, 0, Vec::new());
        }
        let tag = tag.unwrap_or(0) + 1;
        objects.insert(path, (tag, body.clone()));
        (200, tag, Vec::new())
    }
}

impl Fetcher for MemoryBucket {
    fn fetch(&self, request: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
        let bucket = Self(Arc::clone(&self.0));
        Box::pin(async move {
            if request.url.ends_with("/slow") {
                // The server takes this object when it has seen two more signs of life.
                let before = bucket.writes("/b/owner");
                let seen = timeout(WAIT_MAX, async {
                    while bucket.writes("/b/owner") < before + 2 {
                        yield_now().await;
                    }
                });
                let missed = |_| Error::new(ErrorKind::TooLong, "no sign of life");
                seen.await.map_err(missed)?;
            }
            let (status, tag, body) = bucket.answer(&request);
            Ok(FetchAnswer {
                status,
                status_text: String::new(),
                fields: [(b"etag"[..].into(), tag.to_string().into_bytes().into())].into(),
                url: request.url,
                is_redirected: false,
                body: Some(Box::new(WholeBody(Some(body)))),
            })
        })
    }
}

fn target(objects: &Objects, renewed_every: Duration) -> S3Target {
    let place = Bucket {
        bucket: "b".to_owned(),
        prefix: String::new(),
        endpoint: Some("http://memory".to_owned()),
        region: "r".to_owned(),
        keys: Keys {
            access: "a".to_owned(),
            secret: "s".to_owned(),
            token: None,
        },
    };
    let objects = Arc::clone(objects);
    let fetcher: MakeFetcher = Arc::new(move || Rc::new(MemoryBucket(Arc::clone(&objects))));
    S3Target::renewing(place, fetcher, renewed_every).expect("a target")
}

#[test]
fn the_lease_is_renewed_while_a_request_takes_long() {
    let objects = Objects::default();
    let mut target = target(&objects, Duration::from_millis(2));
    assert_eq!(target.claim("one"), Ok(Claim::New));
    assert_eq!(target.put("slow", b"x"), Ok(()));
    assert_eq!(target.claim("one"), Ok(Claim::Own));
    target.release();
    let owner = objects.lock().expect("no panic")["/b/owner"].clone();
    assert!(String::from_utf8_lossy(&owner.1).contains("\"released\":true"));
}

#[test]
fn a_writer_whose_renewal_got_no_answer_stays_the_writer() {
    let objects = Objects::default();
    let mut target = target(&objects, Duration::ZERO);
    assert_eq!(target.claim("one"), Ok(Claim::New));
    target.keeper = None;
    // The server has another tag than the last that this process knows.
    objects
        .lock()
        .expect("no panic")
        .get_mut("/b/owner")
        .expect("there")
        .0 += 7;
    assert_eq!(target.claim("one"), Ok(Claim::Own));
    // Another process has taken it over.
    let other = br#"{"note":"two","machine":"","process":1,"id":0,"count":1,"released":false}"#;
    objects
        .lock()
        .expect("no panic")
        .insert("/b/owner".to_owned(), (99, other.to_vec()));
    assert_eq!(target.claim("one"), Ok(Claim::Other("two".to_owned())));
    let released = br#"{"note":"","machine":"","process":1,"id":0,"count":1,"released":true}"#;
    objects
        .lock()
        .expect("no panic")
        .insert("/b/owner".to_owned(), (100, released.to_vec()));
    assert_eq!(target.claim("one"), Ok(Claim::New));
}

#[test]
fn lists_are_read() {
    let text = "<R><Contents><Key>a/b</Key><Size>1</Size></Contents><Contents><Key>a/&amp;c</Key></Contents></R>";
    let keys: Vec<_> = elements(text, "Contents")
        .filter_map(|one| element(one, "Key"))
        .collect();
    assert_eq!(keys, ["a/b", "a/&c"]);
    assert_eq!(element(text, "NextContinuationToken"), None);
}
