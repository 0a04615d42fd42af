//! The options of a route.

use crate::config;
use sampan_host::names::snake_case;
use sampan_host::settings::units;
use sampan_host::sockets::SocketSettings;
use sampan_host::{Error, Value, refusals};

/// The names of all options.
pub(crate) const KNOWN: [&str; 8] = [
    "origins",
    "protocols",
    "message_bytes_max",
    "backpressure_bytes_max",
    "on_backpressure",
    "idle_millis_max",
    "ping_millis",
    "compress",
];

/// The options of a route.
pub(crate) struct RouteOptions {
    pub(crate) settings: SocketSettings,
    /// Other sites that may connect, in lower case; `*` for all.
    pub(crate) origins: Vec<String>,
    /// Subprotocols, the preferred first.
    pub(crate) protocols: Vec<String>,
}

impl RouteOptions {
    /// Reads the options that differ from `[sockets]`.
    ///
    /// # Errors
    /// An option is unknown or has a wrong value.
    pub(crate) fn read(options: Value, settings: SocketSettings) -> Result<Self, Error> {
        let mut read = Self {
            settings,
            origins: Vec::new(),
            protocols: Vec::new(),
        };
        let Value::Map(options) = options else {
            return Ok(read);
        };
        for (name, value) in options {
            let wrong = |wanted: &str| Error::script(format!("ws: {name} must be {wanted}"));
            let settings = &mut read.settings;
            match &*snake_case(&name) {
                "origins" => read.origins = texts(value).ok_or_else(|| wrong("a list of texts"))?,
                "protocols" => {
                    read.protocols = texts(value).ok_or_else(|| wrong("a list of texts"))?;
                }
                "message_bytes_max" => {
                    settings.message_bytes_max =
                        bytes(&value).ok_or_else(|| wrong(units::A_SIZE))?;
                }
                "backpressure_bytes_max" => {
                    settings.backpressure_bytes_max =
                        bytes(&value).ok_or_else(|| wrong(units::A_SIZE))?;
                }
                "on_backpressure" => {
                    settings.drops_above = match value {
                        Value::Text(word) if word == "drop" => true,
                        Value::Text(word) if word == "close" => false,
                        _ => return Err(wrong("\"close\" or \"drop\"")),
                    };
                }
                "idle_millis_max" => {
                    settings.idle_millis_max =
                        millis(&value).ok_or_else(|| wrong("a number of milliseconds"))?;
                }
                "ping_millis" => {
                    settings.ping_millis =
                        millis(&value).ok_or_else(|| wrong("a number of milliseconds"))?;
                }
                "compress" => match value {
                    Value::Bool(compress) => settings.compress = compress,
                    _ => return Err(wrong("true or false")),
                },
                _ => return Err(refusals::unknown_option(&name, &KNOWN)),
            }
        }
        for origin in &mut read.origins {
            origin.make_ascii_lowercase();
            let is_origin = origin == "*"
                || origin.split_once("://").is_some_and(|(scheme, rest)| {
                    matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.contains('/')
                });
            if !is_origin {
                return Err(Error::script(format!(
                    "ws: {origin:?} is no origin: write it as browsers do, such as \"https://example.org\""
                )));
            }
        }
        config::check(&read.settings).map_err(|fault| Error::script(format!("ws: {fault}")))?;
        Ok(read)
    }
}

fn texts(value: Value) -> Option<Vec<String>> {
    match value {
        Value::Text(text) => Some(vec![text]),
        Value::List(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Text(text) => Some(text),
                _ => None,
            })
            .collect(),
        Value::Map(members) if members.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

fn bytes(value: &Value) -> Option<usize> {
    match value {
        Value::Int(count) => usize::try_from(*count).ok(),
        Value::Text(text) => units::bytes(text).and_then(|bytes| usize::try_from(bytes).ok()),
        _ => None,
    }
}

fn millis(value: &Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(*count).ok(),
        Value::Float(count) if *count >= 0.0 && count.is_finite() => Some(*count as u64),
        _ => None,
    }
}
