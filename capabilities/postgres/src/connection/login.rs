//! The beginning of a connection: the parameters of the session, the password, and the server's greeting.

use super::messages::{Body, message, text};
use super::state::ServerFacts;
use super::wire::Wire;
use crate::config::Binding;
use crate::error::ServerError;
use bytes::{BufMut, BytesMut};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The number of the protocol's version 3.0.
const PROTOCOL: u32 = 3 << 16;
/// The error of a login that is not bound to its connection of TLS, and should be.
const UNBOUND: &str = "channel_binding=require needs TLS, and a login by SCRAM-SHA-256-PLUS, which the server does not \
                       offer";
/// The most rounds of SCRAM: PostgreSQL takes 4,096. They take half a second.
const SCRAM_ROUNDS_MAX: u32 = 1_000_000;
/// The longest message of a login.
const LOGIN_BYTES_MAX: usize = 64 * 1024;

/// The facts that the server asks for.
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: Option<&'a str>,
    pub(crate) database: &'a str,
    /// Further parameters of the session.
    pub(crate) session: &'a [(&'a str, String)],
    /// The data that binds the login to the connection of TLS.
    pub(crate) end_point: Option<Vec<u8>>,
    pub(crate) binding: Binding,
}

/// A login that failed.
#[derive(Debug)]
pub(crate) enum LoginFailure {
    /// The server's error.
    Server(Box<ServerError>),
    /// The bytes ended, or the system failed.
    Io(io::Error),
    /// The server asks for something that is not there.
    Refused(String),
}

impl From<io::Error> for LoginFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<String> for LoginFailure {
    fn from(message: String) -> Self {
        Self::Refused(message)
    }
}

/// Logs in. Returns what the server told of itself; nothing is read behind its greeting.
pub(crate) async fn log_in(
    wire: &mut dyn Wire,
    login: &Login<'_>,
) -> Result<ServerFacts, LoginFailure> {
    let mut out = BytesMut::new();
    message(&mut out, 0, |out| {
        out.put_u32(PROTOCOL);
        let fixed = [("user", login.user), ("database", login.database)];
        let session = login.session.iter().map(|(name, value)| (*name, &**value));
        for (name, value) in fixed.into_iter().chain(session) {
            text(out, name);
            text(out, value);
        }
        out.put_u8(0);
    });
    wire.write_all(&out).await?;
    wire.flush().await?;
    let mut server = ServerFacts::default();
    let mut is_bound = false;
    loop {
        let (tag, body) = read(wire).await?;
        let mut body = Body(&body);
        match tag {
            b'R' => match body.u32()? {
                0 if login.binding == Binding::Require && !is_bound => {
                    return Err(LoginFailure::Refused(UNBOUND.to_owned()));
                }
                0 => {}
                10 => is_bound = scram(wire, login, body).await?,
                code => answer(wire, login, code, body).await?,
            },
            b'S' => {
                let (name, value) = (body.text()?, body.text()?);
                server.note(name, value);
            }
            b'K' => {
                server.process = body.u32()?;
                server.key = body.0.to_vec();
            }
            b'Z' => return Ok(server),
            b'E' => return Err(LoginFailure::Server(Box::new(ServerError::read(body.0)))),
            // A notice; a newer protocol that was not asked for.
            b'N' | b'v' => {}
            tag => {
                let message = format!(
                    "an unexpected message {:?}: is it PostgreSQL?",
                    char::from(tag)
                );
                return Err(LoginFailure::Refused(message));
            }
        }
    }
}

/// Answers a request for the password.
async fn answer(
    wire: &mut dyn Wire,
    login: &Login<'_>,
    code: u32,
    mut body: Body<'_>,
) -> Result<(), LoginFailure> {
    let sent = match code {
        3 => password(login)?.to_owned(),
        5 => {
            let mut salt = [0; 4];
            salt.copy_from_slice(body.bytes(4)?);
            md5_hash(login.user.as_bytes(), password(login)?.as_bytes(), salt)
        }
        _ => {
            let message = format!(
                "the server asks for a login of kind {code}: use scram-sha-256 in its pg_hba.conf"
            );
            return Err(LoginFailure::Refused(message));
        }
    };
    let mut out = BytesMut::new();
    message(&mut out, b'p', |out| text(out, &sent));
    send(wire, &out).await
}

fn password<'a>(login: &Login<'a>) -> Result<&'a str, LoginFailure> {
    login.password.ok_or_else(|| {
        LoginFailure::Refused(format!(
            "the server asks for the password of {}, and none is set: put it into the URL, PGPASSWORD or ~/.pgpass",
            login.user
        ))
    })
}

/// Logs in by SCRAM-SHA-256 (RFC 7677). Returns true if the login is bound to the connection of TLS.
async fn scram(
    wire: &mut dyn Wire,
    login: &Login<'_>,
    mut body: Body<'_>,
) -> Result<bool, LoginFailure> {
    let (mut has_plain, mut has_bound) = (false, false);
    while let Ok(mechanism) = body.text() {
        has_plain |= mechanism == SCRAM_SHA_256;
        has_bound |= mechanism == SCRAM_SHA_256_PLUS;
    }
    let wanted = login
        .end_point
        .as_ref()
        .filter(|_| login.binding != Binding::Disable);
    let (mechanism, binding) = match wanted {
        Some(data) if has_bound => {
            let binding = ChannelBinding::tls_server_end_point(data.clone());
            (SCRAM_SHA_256_PLUS, binding)
        }
        _ if login.binding == Binding::Require => {
            return Err(LoginFailure::Refused(UNBOUND.to_owned()));
        }
        _ if !has_plain => {
            let message = "the server offers no SCRAM-SHA-256".to_owned();
            return Err(LoginFailure::Refused(message));
        }
        // The server checks that it has not offered it.
        Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
        None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
    };
    let mut scram = ScramSha256::new(password(login)?.as_bytes(), binding);
    let mut out = BytesMut::new();
    message(&mut out, b'p', |out| {
        text(out, mechanism);
        out.put_u32(scram.message().len() as u32);
        out.put_slice(scram.message());
    });
    send(wire, &out).await?;
    let challenge = sasl(wire, 11).await?;
    check_rounds(&challenge)?;
    scram.update(&challenge)?;
    out.clear();
    message(&mut out, b'p', |out| out.put_slice(scram.message()));
    send(wire, &out).await?;
    let last = sasl(wire, 12).await?;
    scram.finish(&last)?;
    Ok(mechanism == SCRAM_SHA_256_PLUS)
}

/// Refuses a challenge that would keep this thread busy for long: `r=...,s=...,i=4096`.
fn check_rounds(challenge: &[u8]) -> Result<(), LoginFailure> {
    let mut fields = challenge.split(|&byte| byte == b',');
    let rounds = fields.find_map(|field| field.strip_prefix(b"i="));
    let rounds = rounds.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok());
    match rounds {
        Some(rounds) if rounds > SCRAM_ROUNDS_MAX => Err(LoginFailure::Refused(format!(
            "the server wants {rounds} rounds of SCRAM, of which there may be {SCRAM_ROUNDS_MAX}"
        ))),
        _ => Ok(()),
    }
}

/// Reads the server's next part of SCRAM.
async fn sasl(wire: &mut dyn Wire, expected: u32) -> Result<Vec<u8>, LoginFailure> {
    let (tag, body) = read(wire).await?;
    let mut body = Body(&body);
    match tag {
        b'R' if body.u32()? == expected => Ok(body.0.to_vec()),
        b'E' => Err(LoginFailure::Server(Box::new(ServerError::read(body.0)))),
        _ => Err(LoginFailure::Refused(
            "the server breaks the login off".to_owned(),
        )),
    }
}

async fn send(wire: &mut dyn Wire, bytes: &[u8]) -> Result<(), LoginFailure> {
    wire.write_all(bytes).await?;
    wire.flush().await?;
    Ok(())
}

/// Reads one message.
async fn read(wire: &mut dyn Wire) -> Result<(u8, Vec<u8>), LoginFailure> {
    let mut head = [0; 5];
    wire.read_exact(&mut head).await?;
    let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=LOGIN_BYTES_MAX).contains(&len) {
        let message = "the server's answer is not PostgreSQL's protocol".to_owned();
        return Err(LoginFailure::Refused(message));
    }
    let mut body = vec![0; len - 4];
    wire.read_exact(&mut body).await?;
    Ok((head[0], body))
}

/// Asks the server of a connection to stop what it does, over another: the server closes that when it has passed it on.
pub(crate) async fn cancel(wire: &mut dyn Wire, process: u32, key: &[u8]) -> io::Result<()> {
    let mut out = BytesMut::new();
    message(&mut out, 0, |out| {
        out.put_u32(80_877_102);
        out.put_u32(process);
        out.put_slice(key);
    });
    wire.write_all(&out).await?;
    wire.flush().await?;
    let mut rest = [0; 16];
    while wire.read(&mut rest).await? > 0 {}
    Ok(())
}
