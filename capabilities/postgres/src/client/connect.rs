//! The way to a connection: the servers in their order, the login, and what is wrong in words.

use super::deadline::within;
use super::seats::Process;
use crate::config::{PostgresConfig, Target};
use crate::connection::driver;
use crate::connection::login::{Login, LoginFailure, cancel, log_in};
use crate::connection::patience::{Canceller, Patience};
use crate::connection::state::{Connection, ConnectionState, ServerFacts};
use crate::connection::tls::{Secured, TlsFault};
use crate::connection::wire::{Address, Dial};
use sampan_host::{Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The oldest version of the server that is supported.
const VERSION_MIN: u32 = 14;

/// A connection that cannot be made.
#[derive(Clone, Debug)]
pub(crate) struct ConnectFault {
    pub(crate) error: Error,
    /// True if it may work soon: the server does not answer, or begins.
    pub(crate) may_pass: bool,
}

impl ConnectFault {
    fn new(code: &'static str, may_pass: bool, message: String) -> Self {
        Self {
            error: Error::new(ErrorKind::Unavailable, message).with_code(code),
            may_pass,
        }
    }
}

/// Connects the first server that answers and is of the kind that is wanted.
pub(crate) async fn connect(
    process: &Arc<Process>,
    dial: &Rc<dyn Dial>,
) -> Result<Rc<Connection>, ConnectFault> {
    let config = &process.config;
    let mut first = None;
    for address in &config.addresses {
        let time = Duration::from_millis(config.connect_millis_max);
        let fault = match within(time, connect_one(process, dial, address)).await {
            Some(Ok(connection)) => return Ok(connection),
            Some(Err(fault)) => fault,
            None => {
                let millis = config.connect_millis_max;
                let message = format!("PostgreSQL at {address} did not answer within {millis} ms");
                ConnectFault::new("io", true, message)
            }
        };
        first.get_or_insert(fault);
    }
    let none = || ConnectFault::new("io", false, "no server is named".to_owned());
    Err(first.unwrap_or_else(none))
}

async fn connect_one(
    process: &Arc<Process>,
    dial: &Rc<dyn Dial>,
    address: &Address,
) -> Result<Rc<Connection>, ConnectFault> {
    let config = &process.config;
    let Secured {
        mut wire,
        end_point,
    } = reach(process, &**dial, address).await?;
    let session = session(config);
    let login = Login {
        user: &config.user,
        password: config.password.as_deref(),
        database: &config.database,
        session: &session,
        end_point,
        binding: config.tls.binding,
    };
    let logged_in = log_in(&mut *wire, &login).await;
    let server = logged_in.map_err(|failure| login_fault(failure, address))?;
    check(config, &server, address)?;
    let patience = Patience::new(
        canceller(process, dial, address),
        config.statement_millis_max,
    );
    let state = ConnectionState::new(server, patience, config.statements_max, config.prepare);
    Ok(driver::start(wire, state))
}

/// Opens a socket to a server, with TLS where it is wanted.
async fn reach(
    process: &Process,
    dial: &dyn Dial,
    address: &Address,
) -> Result<Secured, ConnectFault> {
    let wire = dial.dial(address).await.map_err(|error| {
        let message = format!("cannot connect to PostgreSQL at {address}: {error}");
        ConnectFault::new("io", true, message)
    })?;
    let secured = process.tls.secure(wire, address).await;
    secured.map_err(|fault| {
        let (why, may_pass) = match fault {
            TlsFault::Io(error) => (format!("it closed the connection: {error}"), true),
            TlsFault::Refused(why) => (why, false),
        };
        let message = format!("cannot connect to PostgreSQL at {address}: {why}");
        ConnectFault::new("io", may_pass, message)
    })
}

/// Returns the function that asks a server to stop what it does for one of its connections. A request that does not
/// reach it is given up: the server's own limit remains.
fn canceller(process: &Arc<Process>, dial: &Rc<dyn Dial>, address: &Address) -> Canceller {
    let (process, dial, address) = (Arc::clone(process), Rc::clone(dial), address.clone());
    Box::new(move |number, key| {
        let (process, dial) = (Arc::clone(&process), Rc::clone(&dial));
        let address = address.clone();
        Box::pin(async move {
            let time = Duration::from_millis(process.config.connect_millis_max);
            let asking = async {
                if let Ok(mut secured) = reach(&process, &*dial, &address).await {
                    let _ = cancel(&mut *secured.wire, number, &key).await;
                }
            };
            let _ = tokio::time::timeout(time, asking).await;
        })
    })
}

/// The parameters of a session. Text is UTF-8, and times are in UTC, as apps on SQLite keep them.
fn session(config: &PostgresConfig) -> Vec<(&str, String)> {
    let fixed = [
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, YMD"),
        ("TimeZone", "UTC"),
    ];
    let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
    let mut session = Vec::from(fixed);
    if config.prepare {
        // A pooler passes the parameters on that it knows, and refuses others.
        session.push(("statement_timeout", config.statement_millis_max.to_string()));
    }
    session.extend(
        config
            .session
            .iter()
            .map(|(name, value)| (&**name, value.clone())),
    );
    session
}

fn login_fault(failure: LoginFailure, address: &Address) -> ConnectFault {
    match failure {
        LoginFailure::Io(error) => {
            let why = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
                _ => error.to_string(),
            };
            let message = format!("the login to PostgreSQL at {address} was cut off: {why}");
            ConnectFault::new("io", true, message)
        }
        LoginFailure::Refused(why) => {
            let message = format!("the login to PostgreSQL at {address} failed: {why}");
            ConnectFault::new("denied", false, message)
        }
        LoginFailure::Server(error) => {
            let words = error.words();
            let state = &*error.sqlstate;
            let message = format!("PostgreSQL at {address} refuses the login: {words}");
            match state {
                // Too many connections; it begins, ends, or recovers.
                "53300" => ConnectFault::new("busy", true, message),
                _ if state.starts_with("57P") || state.starts_with("08") => {
                    ConnectFault::new("io", true, message)
                }
                _ => ConnectFault::new("denied", false, message),
            }
        }
    }
}

fn check(
    config: &PostgresConfig,
    server: &ServerFacts,
    address: &Address,
) -> Result<(), ConnectFault> {
    let digits = server.version.split(|c: char| !c.is_ascii_digit()).next();
    // A pooler may not tell.
    if let Some(major) = digits.and_then(|digits| digits.parse::<u32>().ok())
        && major < VERSION_MIN
    {
        let message = format!(
            "PostgreSQL at {address} is version {}: {VERSION_MIN} or later is needed",
            server.version
        );
        return Err(ConnectFault::new("denied", false, message));
    }
    if config.target == Target::ReadWrite && server.is_read_only {
        let message = format!("PostgreSQL at {address} is a standby, and cannot be written");
        return Err(ConnectFault::new("read_only", true, message));
    }
    Ok(())
}
