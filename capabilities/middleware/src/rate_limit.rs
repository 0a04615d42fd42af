//! Rate limits: at most so many requests of one key in so much time, counted over a sliding window and once for all
//! workers.
//!
//! The fields are those of draft-ietf-httpapi-ratelimit-headers-10.

use crate::limits::RATE_SECONDS_MAX;
use crate::options::{GuardOptions, wrong};
use crate::rate_server::{RateKey, ServerRates};
use crate::rate_table::{Rate, RateTable, Taken};
use sampan_host::database::WaitingTables;
use sampan_host::{
    Args, AskingGuard, Callback, Context, Error, ErrorKind, Guard, GuardDecision, GuardStep,
    LocalFuture, NativeMiddleware, Reader, RequestView, Rerun, Value,
};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

const OPTIONS: &[&str] = &["limit", "per", "key", "name", "shared"];

/// The rate limits of an isolate. `app` puts them into the context; the table is that of the process.
pub struct RateLimits {
    table: Arc<RateTable>,
    /// The counts that processes share, where there is a server for them.
    server: Option<Rc<ServerRates>>,
    /// The number of limits that were made with the same settings. So the limits of all isolates find one another.
    made: RefCell<HashMap<(String, Rate), u32>>,
}

impl RateLimits {
    /// The limits of an isolate that is about to load.
    pub fn new(table: Arc<RateTable>, server: Option<Rc<dyn WaitingTables>>) -> Self {
        let server = server.map(|tables| Rc::new(ServerRates::new(tables, Arc::clone(&table))));
        Self {
            table,
            server,
            made: RefCell::default(),
        }
    }
}

/// One limit.
#[derive(Clone)]
struct Limit {
    table: Arc<RateTable>,
    rate: Rate,
    name: String,
    /// The number of this one among those with its name and rate.
    number: u32,
}

/// Counts per address or per value of a header field.
struct NativeLimit {
    limit: Limit,
    /// `None` for the address.
    header: Option<String>,
    /// The counts that processes share.
    server: Option<Rc<ServerRates>>,
}

/// Counts per what a function of the script returns.
struct ScriptLimit {
    limit: Limit,
    key: Callback,
}

/// `app.rate_limit(options)`
pub(crate) fn rate_limit(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), OPTIONS)?;
    let limit = options.count("limit", 1)?;
    let seconds = options.count("per", 1)?;
    let seconds = seconds.filter(|seconds| *seconds <= RATE_SECONDS_MAX);
    let (Some(limit), Some(seconds)) = (limit, seconds) else {
        let text = format!(
            "limit and per are needed: so many requests in so many seconds, {RATE_SECONDS_MAX} at most"
        );
        return Err(Error::script(text));
    };
    let name = options
        .text("name")?
        .unwrap_or_else(|| "default".to_owned());
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(wrong("name", "letters, digits, '-', '_' and '.'"));
    }
    let rate = Rate { limit, seconds };
    let limit = Limit::new(context, name, rate)?;
    let is_shared = options.flag("shared")?;
    if is_shared && options.is_function("key")? {
        let text = "a limit that processes share counts by \"ip\" or by a header field: leave out shared or the \
                    function";
        return Err(Error::script(text).naming(["shared", "key"]));
    }
    if options.is_function("key")?
        && let Some(key) = options.function("key")?
    {
        return Ok(NativeMiddleware::asking(
            context,
            ScriptLimit { limit, key },
        ));
    }
    let key = options.text("key")?.unwrap_or_else(|| "ip".to_owned());
    let is_token = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if key.is_empty() || !key.bytes().all(is_token) {
        return Err(wrong(
            "key",
            "\"ip\", the name of a header field or a function",
        ));
    }
    let header = Some(key).filter(|key| key != "ip");
    let limits = context.get::<RateLimits>().filter(|_| is_shared);
    let server = limits.and_then(|limits| limits.server.clone());
    let limit = NativeLimit {
        limit,
        header,
        server,
    };
    Ok(NativeMiddleware::guard(context, limit))
}

impl Limit {
    fn new(context: &Context, name: String, rate: Rate) -> Result<Self, Error> {
        let limits = context.get::<RateLimits>();
        let limits = limits.ok_or_else(|| Error::new(ErrorKind::Internal, "no rate limits"))?;
        let mut made = limits.made.borrow_mut();
        // The file runs once more for a request: the limit that it made when it was loaded is the one that counts.
        let number = match Rerun::is_on(context) {
            true => 0,
            false => {
                let made = made.entry((name.clone(), rate)).or_default();
                *made += 1;
                *made
            }
        };
        Ok(Self {
            table: Arc::clone(&limits.table),
            rate,
            name,
            number,
        })
    }

    fn take(&self, request: &dyn RequestView, key: Key<'_>) -> Result<(), Error> {
        let taken = self
            .table
            .take(self.rate, (&self.name, self.rate, self.number, key));
        self.decide(request, taken)
    }

    /// Returns a hash of what is counted together in all processes.
    fn shared_key(&self, key: &Key<'_>) -> RateKey {
        let (kind, bytes) = match key {
            Key::Address(address) => {
                let address = address.map(|address| address.to_string());
                (b'a', address.unwrap_or_default().into_bytes())
            }
            Key::Field(field) => (b'f', field.to_vec()),
            Key::Script(text) => (b's', text.as_bytes().to_vec()),
        };
        let (name, Rate { limit, seconds }, number) = (&self.name, self.rate, self.number);
        let mut hash = Sha256::new();
        hash.update(format!("{name} {limit} {seconds} {number} "));
        hash.update([kind]);
        hash.update(bytes);
        hash.finalize().into()
    }

    fn decide(&self, request: &dyn RequestView, taken: Taken) -> Result<(), Error> {
        self.tell(request, taken)?;
        if taken.is_allowed {
            return Ok(());
        }
        let seconds = taken.reset_seconds;
        request.add_header("Retry-After", seconds.to_string().as_bytes())?;
        let text = format!("too many requests: try again in {seconds} s");
        Err(Error::new(ErrorKind::Status(429), text))
    }

    fn tell(&self, request: &dyn RequestView, taken: Taken) -> Result<(), Error> {
        let (name, Rate { limit, seconds }) = (&self.name, self.rate);
        let policy = format!("\"{name}\";q={limit};w={seconds}");
        request.add_header("RateLimit-Policy", policy.as_bytes())?;
        let state = format!("\"{name}\";r={};t={}", taken.remaining, taken.reset_seconds);
        request.add_header("RateLimit", state.as_bytes())
    }
}

/// The key under which requests are counted together.
#[derive(Hash)]
enum Key<'a> {
    Address(Option<IpAddr>),
    Field(&'a [u8]),
    Script(&'a str),
}

/// The address of a client. One client has a whole /64 of IPv6, and all its addresses count as one.
fn address(request: &dyn RequestView) -> Key<'static> {
    let address = request
        .client()
        .map(|address| match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                IpAddr::V6(network.into())
            }
            other => other,
        });
    Key::Address(address)
}

impl NativeLimit {
    fn key<'a>(&self, request: &'a dyn RequestView) -> Key<'a> {
        let field = self.header.as_ref().and_then(|name| request.header(name));
        field.map_or_else(|| address(request), Key::Field)
    }
}

impl Guard for NativeLimit {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        self.limit.take(request, self.key(request))?;
        Ok(GuardStep::Pass)
    }

    fn counted_field(&self) -> Option<&str> {
        self.header.as_deref()
    }

    fn ask(&self, request: &dyn RequestView) -> Option<LocalFuture<GuardDecision>> {
        let server = Rc::clone(self.server.as_ref()?);
        let limit = self.limit.clone();
        let key = limit.shared_key(&self.key(request));
        Some(Box::pin(async move {
            let taken = match server.refused(&key) {
                Some(refused) => Ok(refused),
                None => server.take(limit.rate, key).await,
            };
            let decide = move |request: &dyn RequestView| {
                limit.decide(request, taken?).map(|()| GuardStep::Pass)
            };
            Box::new(decide) as GuardDecision
        }))
    }
}

impl AskingGuard for ScriptLimit {
    fn function(&self) -> Callback {
        Rc::clone(&self.key)
    }

    fn ask(&self, _: &dyn RequestView) -> Result<Vec<Value>, Error> {
        Ok(Vec::new())
    }

    fn decide(&self, request: &dyn RequestView, returned: Value) -> Result<bool, Error> {
        match returned {
            // Nothing to count: the script lets this request pass.
            Value::Null | Value::Bool(false) => {}
            Value::Text(key) => self.limit.take(request, Key::Script(&key))?,
            Value::Bytes(key) => self.limit.take(request, Key::Field(&key))?,
            Value::Int(key) => self.limit.take(request, Key::Script(&key.to_string()))?,
            other => {
                let found = other.type_name();
                let text =
                    format!("the key of a rate limit must be text or a whole number, not {found}");
                return Err(Error::script(text));
            }
        }
        Ok(false)
    }
}
