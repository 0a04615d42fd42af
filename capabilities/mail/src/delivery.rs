//! A mail on its way: the addresses that are left, and what follows an attempt. It is kept as the arguments of a job.

use crate::compose::Mail;
use crate::settings::MailConfig;
use crate::smtp::{Outcome, Refusal, deliver};
use sampan_host::jobs::JobFailure;
use sampan_host::json::{self, Tape};
use sampan_host::{Error, ErrorKind, Value};

/// The depth to which the JSON of a mail nests.
const DEPTH_MAX: usize = 4;

/// A mail on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The addresses that are left.
    pub(crate) to: Vec<String>,
    /// The addresses that the server will not take.
    pub(crate) refused: Vec<String>,
    /// True if the connection was lost after the mail was sent.
    pub(crate) may_be_sent: bool,
    /// The address of the sender.
    pub(crate) from: String,
    /// The mail itself.
    pub(crate) source: String,
}

impl Delivery {
    pub(crate) fn new(mail: Mail) -> Result<Self, Error> {
        let source = String::from_utf8(mail.source);
        Ok(Self {
            to: mail.to,
            refused: Vec::new(),
            may_be_sent: false,
            from: mail.from,
            source: source.map_err(|_| Error::new(ErrorKind::Internal, "the mail is not UTF-8"))?,
        })
    }

    /// Returns the arguments of its job.
    pub(crate) fn to_json(&self) -> Result<String, Error> {
        let list =
            |all: &[String]| Value::List(all.iter().map(|one| one.as_str().into()).collect());
        // People read the addresses first, in `sampan jobs show`.
        let members = [
            ("to", list(&self.to)),
            ("refused", list(&self.refused)),
            ("may_be_sent", Value::Bool(self.may_be_sent)),
            ("from", self.from.as_str().into()),
            ("source", self.source.as_str().into()),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        let mut text = Vec::new();
        json::write_value(&mut text, &Value::Map(members.into()), DEPTH_MAX)?;
        String::from_utf8(text).map_err(|_| Error::new(ErrorKind::Internal, "a mail is not UTF-8"))
    }

    /// Reads the arguments of a job.
    pub(crate) fn read(args: &str) -> Result<Self, Error> {
        let mut tape = Tape::default();
        let wrong = || {
            Error::new(
                ErrorKind::Internal,
                "the arguments of the job are not a mail",
            )
        };
        tape.read(args.as_bytes(), DEPTH_MAX).map_err(|_| wrong())?;
        let Value::Map(members) = tape.value(args.as_bytes()) else {
            return Err(wrong());
        };
        let text = |value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        let list = |value| match value {
            Value::List(all) => all.into_iter().filter_map(text).collect(),
            _ => Vec::new(),
        };
        let mut delivery = Self::default();
        for (name, value) in members {
            match (name.as_str(), value) {
                ("to", value) => delivery.to = list(value),
                ("refused", value) => delivery.refused = list(value),
                ("may_be_sent", value) => delivery.may_be_sent = value == Value::Bool(true),
                ("from", Value::Text(from)) => delivery.from = from,
                ("source", Value::Text(source)) => delivery.source = source,
                _ => {}
            }
        }
        Ok(delivery)
    }

    /// Makes an attempt, unless `is_wanted` says before the mail is sent that nothing waits for it any more. The first
    /// attempt is one of all addresses that do not have the mail: people have asked for it again, or it is new.
    ///
    /// # Errors
    /// Addresses are left. Those stand in the arguments of the failure.
    pub(crate) fn attempt(
        mut self,
        config: &MailConfig,
        number: u32,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), JobFailure> {
        let Some(server) = &config.server else {
            return Err(Error::script("there is no mail server").into());
        };
        let before = self.clone();
        if number == 1 {
            self.to.append(&mut self.refused);
            self.may_be_sent = false;
        }
        let outcome = deliver(server, config.timeout, &self, is_wanted);
        let Err((is_final, error)) = self.follow(outcome) else {
            return Ok(());
        };
        let error = match is_final || number < config.attempts_max {
            true => error,
            false => format!("{error}; this was the last of {number} attempts"),
        };
        Err(JobFailure {
            error: Error::new(ErrorKind::Unavailable, error),
            is_final,
            args: (self != before).then(|| self.to_json()).transpose()?,
        })
    }

    /// Decides what follows an attempt: the end of the mail, or another attempt unless the error is the last one.
    fn follow(&mut self, outcome: Outcome) -> Result<(), (bool, String)> {
        let (is_final, error) = match outcome {
            Outcome::Taken { refused, later } => return self.taken(refused, later),
            Outcome::Refused(why) => (true, format!("was refused: {why}")),
            Outcome::Unknown(why) if self.may_be_sent => (
                true,
                format!(
                    "is not sent a third time, because the connection was lost twice after it was sent: {why}"
                ),
            ),
            Outcome::Unknown(why) => {
                self.may_be_sent = true;
                (
                    false,
                    format!("was sent, and the server has not answered: {why}"),
                )
            }
            Outcome::Later(why) => (false, format!("was not sent: {why}")),
        };
        Err((
            is_final,
            format!("a mail to {} {error}", self.to.join(", ")),
        ))
    }

    /// Follows an attempt in which the server has taken the mail, but for some addresses.
    fn taken(&mut self, refused: Vec<Refusal>, later: Vec<Refusal>) -> Result<(), (bool, String)> {
        let told = |all: &[Refusal], what: &str| {
            let all = all.iter();
            let all = all.map(|(address, why)| format!("a mail to {address} {what}: {why}"));
            all.collect::<Vec<_>>()
        };
        let mut errors = told(&refused, "was refused");
        errors.extend(told(&later, "was not sent"));
        if errors.is_empty() && !self.refused.is_empty() {
            let earlier = self.refused.join(", ");
            errors.push(format!(
                "a mail to {earlier} was refused in an earlier attempt"
            ));
        }
        let addresses = |all: Vec<Refusal>| all.into_iter().map(|(address, _)| address);
        self.refused.extend(addresses(refused));
        self.to = addresses(later).collect();
        match errors.is_empty() {
            true => Ok(()),
            false => Err((self.to.is_empty(), errors.join("; "))),
        }
    }
}

#[cfg(test)]
mod tests;
