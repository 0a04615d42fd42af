//! The beginning of a connection: the parameters of the session, the password, and the server's greeting.

use super::messages::{Body, message, text};
use super::state::ServerFacts;
use super::wire::Wire;
use crate::error::ServerError;
use bytes::{BufMut, BytesMut};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The number of the protocol's version 3.0.
const PROTOCOL: u32 = 3 << 16;
/// The longest message of a login.
const LOGIN_BYTES_MAX: usize = 64 * 1024;

/// The facts that the server asks for.
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: Option<&'a str>,
    pub(crate) database: &'a str,
    /// Further parameters of the session.
    pub(crate) session: &'a [(&'a str, String)],
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
    loop {
        let (tag, body) = read(wire).await?;
        let mut body = Body(&body);
        match tag {
            b'R' => match body.u32()? {
                0 => {}
                10 => scram(wire, login, body).await?,
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

/// Logs in by SCRAM-SHA-256 (RFC 7677).
async fn scram(
    wire: &mut dyn Wire,
    login: &Login<'_>,
    mut body: Body<'_>,
) -> Result<(), LoginFailure> {
    let mut is_offered = false;
    while let Ok(mechanism) = body.text() {
        is_offered |= mechanism == SCRAM_SHA_256;
    }
    if !is_offered {
        let message = "the server offers no SCRAM-SHA-256".to_owned();
        return Err(LoginFailure::Refused(message));
    }
    let mut scram = ScramSha256::new(password(login)?.as_bytes(), ChannelBinding::unsupported());
    let mut out = BytesMut::new();
    message(&mut out, b'p', |out| {
        text(out, SCRAM_SHA_256);
        out.put_u32(scram.message().len() as u32);
        out.put_slice(scram.message());
    });
    send(wire, &out).await?;
    let challenge = sasl(wire, 11).await?;
    scram.update(&challenge)?;
    out.clear();
    message(&mut out, b'p', |out| out.put_slice(scram.message()));
    send(wire, &out).await?;
    let last = sasl(wire, 12).await?;
    scram.finish(&last)?;
    Ok(())
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
