//! One attempt to deliver a mail: a connection to the server, and one transaction on it (RFC 5321).
//!
//! The commands are sent one by one here, because what an error means depends on the step: before the end of the data
//! the server has not taken the mail, and behind it the client cannot know.

use crate::delivery::Delivery;
use crate::server::{MailServer, Protection};
use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::{SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use std::io;
use std::time::Duration;

/// An address that the server did not take, and its reason.
pub(crate) type Refusal = (String, String);

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server has taken the mail, but for some addresses.
    Taken {
        /// Those that it will never take.
        refused: Vec<Refusal>,
        /// Those that may be tried again.
        later: Vec<Refusal>,
    },
    /// The server will never take it.
    Refused(String),
    /// Another attempt may succeed.
    Later(String),
    /// The connection was lost after the mail was sent: the server may have taken it.
    Unknown(String),
}

/// Delivers a mail to the addresses that are left, unless `is_wanted` says before the mail is sent that nothing waits
/// for it any more.
pub(crate) fn deliver(
    server: &MailServer,
    timeout: Duration,
    mail: &Delivery,
    is_wanted: &dyn Fn() -> bool,
) -> Outcome {
    let Ok(from) = mail.from.parse::<Address>() else {
        return Outcome::Refused(format!("{:?} is not an address", mail.from));
    };
    let mut connection = match connect(server, timeout, from.domain()) {
        Ok(connection) => connection,
        // A wrong password is mended by the server's owner: the mail waits for that.
        Err(error) => {
            let (host, port) = (&server.host, server.port);
            return Outcome::Later(format!("{host}, port {port}: {}", told(&error, timeout)));
        }
    };
    let told = |error: &SmtpError| told(error, timeout);
    let outcome = transaction(&mut connection, from, mail, is_wanted, &told);
    match outcome {
        Outcome::Taken { .. } => drop(connection.quit()),
        _ => connection.abort(),
    }
    outcome
}

fn connect(
    server: &MailServer,
    timeout: Duration,
    own_name: &str,
) -> Result<SmtpConnection, SmtpError> {
    let own_name = ClientId::Domain(own_name.to_owned());
    let address = (server.host.as_str(), server.port);
    let tls = match server.protection {
        Protection::None => None,
        _ => Some(TlsParameters::new_rustls(server.host.clone())?),
    };
    let at_once = tls
        .as_ref()
        .filter(|_| server.protection == Protection::Tls);
    let mut connection = SmtpConnection::connect(address, Some(timeout), &own_name, at_once, None)?;
    if server.protection == Protection::StartTls
        && let Some(tls) = &tls
    {
        // Fails where the server does not offer it: the login is never sent in the clear.
        connection.starttls(tls, &own_name)?;
    }
    if let Some(credentials) = &server.credentials {
        connection.auth(DEFAULT_MECHANISMS, credentials)?;
    }
    Ok(connection)
}

fn transaction(
    connection: &mut SmtpConnection,
    from: Address,
    mail: &Delivery,
    is_wanted: &dyn Fn() -> bool,
    told: &dyn Fn(&SmtpError) -> String,
) -> Outcome {
    let to = &mail.to;
    let ended = |error: &SmtpError| match error.is_permanent() {
        true => Outcome::Refused(told(error)),
        false => Outcome::Later(told(error)),
    };
    let is_ascii = mail.from.is_ascii() && to.iter().all(|address| address.is_ascii());
    let mut parameters = Vec::new();
    if !is_ascii {
        if !connection
            .server_info()
            .supports_feature(Extension::SmtpUtfEight)
        {
            return Outcome::Refused(
                "the server takes no addresses with letters beyond ASCII".to_owned(),
            );
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if let Err(error) = connection.command(MailFrom::new(Some(from), parameters)) {
        return ended(&error);
    }
    let (mut refused, mut later, mut taken) = (Vec::new(), Vec::new(), 0);
    for address in to {
        let Ok(parsed) = address.parse::<Address>() else {
            refused.push((address.clone(), "it is not an address".to_owned()));
            continue;
        };
        match connection.command(Rcpt::new(parsed, Vec::new())) {
            Ok(_) => taken += 1,
            Err(error) if error.is_permanent() => refused.push((address.clone(), told(&error))),
            Err(error) if error.is_transient() => later.push((address.clone(), told(&error))),
            Err(error) => return Outcome::Later(told(&error)),
        }
    }
    if taken == 0 {
        let reasons = |all: &[Refusal]| {
            let all = all.iter().map(|(address, why)| format!("{address}: {why}"));
            all.collect::<Vec<_>>().join("; ")
        };
        return match later.is_empty() {
            true => Outcome::Refused(reasons(&refused)),
            false => match refused.is_empty() {
                true => Outcome::Later(reasons(&later)),
                // Those that were refused are not tried again.
                false => Outcome::Taken { refused, later },
            },
        };
    }
    if !is_wanted() {
        return Outcome::Later("the attempt was given up".to_owned());
    }
    if let Err(error) = connection.command(Data) {
        return ended(&error);
    }
    match connection.message(mail.source.as_bytes()) {
        Ok(_) => Outcome::Taken { refused, later },
        Err(error) if error.is_permanent() || error.is_transient() => ended(&error),
        Err(error) => Outcome::Unknown(told(&error)),
    }
}

/// Reports whether the server said nothing for too long. A socket that waits calls that `WouldBlock` on Unix.
fn has_timed_out(error: &SmtpError) -> bool {
    let first = std::error::Error::source(error);
    let mut causes = std::iter::successors(first, |error| error.source());
    let error = causes.find_map(|error| error.downcast_ref::<io::Error>());
    error.is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
        )
    })
}

/// Returns an error with its causes, on one line, and what can be done where that is known.
fn told(error: &SmtpError, timeout: Duration) -> String {
    if has_timed_out(error) {
        return format!(
            "no answer within {} ms (timeout_millis)",
            timeout.as_millis()
        );
    }
    let mut text = error.to_string();
    // The library's word for what the server does not offer.
    if let Some(rest) = text.strip_prefix("internal client error: ") {
        text = rest.to_owned();
    }
    if text.contains("STARTTLS is not supported") {
        text.push_str("; for a server on this machine write ?tls=none behind its URL, for one with TLS smtps://");
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
