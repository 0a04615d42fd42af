//! The declaration of a metric, as a script writes it.

use crate::limits::{BUCKETS_MAX, HELP_BYTES_MAX, LABELS_MAX, NAME_BYTES_MAX};
use sampan_host::metrics::{MetricKind, MetricShape, TIME_BUCKETS};
use sampan_host::{Error, Value, refusals};

/// The beginnings of the names of the server's own metrics.
const OWN: [&str; 2] = ["sampan_", "process_"];
/// The endings that a histogram adds to its name.
pub(crate) const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Reads a declaration.
///
/// # Errors
/// A name that Prometheus does not take, or an option that is none.
pub(crate) fn read(kind: MetricKind, name: String, options: Value) -> Result<MetricShape, Error> {
    check_name(&name)?;
    let mut shape = MetricShape {
        help: String::new(),
        kind,
        labels: Vec::new(),
        buckets: match kind {
            MetricKind::Histogram => TIME_BUCKETS.to_vec(),
            MetricKind::Counter | MetricKind::Gauge => Vec::new(),
        },
        name,
    };
    let known: &[&str] = match kind {
        MetricKind::Histogram => &["help", "labels", "buckets"],
        MetricKind::Counter | MetricKind::Gauge => &["help", "labels"],
    };
    let Value::Map(options) = options else {
        return Ok(shape);
    };
    for (option, value) in options {
        match (option.as_str(), value) {
            ("help", Value::Text(help)) if help.len() <= HELP_BYTES_MAX => shape.help = help,
            ("help", _) => {
                let text = format!("help must be text of at most {HELP_BYTES_MAX} bytes");
                return Err(Error::script(text));
            }
            ("labels", value) => shape.labels = labels(kind, value)?,
            ("buckets", value) if kind == MetricKind::Histogram => shape.buckets = buckets(value)?,
            (option, _) => return Err(refusals::unknown_option(option, known)),
        }
    }
    Ok(shape)
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    let starts = |byte: &u8| !byte.is_ascii_digit();
    let is_valid = name.bytes().all(is_name) && name.as_bytes().first().is_some_and(starts);
    if !is_valid || name.len() > NAME_BYTES_MAX {
        return Err(Error::script(format!(
            "{name:?} is no name of a metric: it has letters, digits and underscores, such as orders_total, and at \
             most {NAME_BYTES_MAX} of them"
        )));
    }
    if let Some(own) = OWN.into_iter().find(|own| name.starts_with(own)) {
        return Err(Error::script(format!(
            "{name}: names that begin with {own} are the server's own"
        )));
    }
    Ok(())
}

fn labels(kind: MetricKind, value: Value) -> Result<Vec<String>, Error> {
    let wrong = || {
        Error::script(format!(
            "labels must be a list of at most {LABELS_MAX} different names such as \"kind\", with letters, digits and \
             underscores"
        ))
    };
    let items = match value {
        Value::List(items) => items,
        // An empty table of Lua.
        Value::Map(members) if members.is_empty() => Vec::new(),
        _ => return Err(wrong()),
    };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let Value::Text(name) = item else {
            return Err(wrong());
        };
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_name = !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name.bytes().all(is_part)
            && !name.as_bytes()[0].is_ascii_digit()
            && !name.starts_with("__");
        // The bound of a bucket is a label too.
        let is_bound = kind == MetricKind::Histogram && name == "le";
        if !is_name || is_bound || names.contains(&name) || names.len() == LABELS_MAX {
            return Err(wrong());
        }
        names.push(name);
    }
    Ok(names)
}

fn buckets(value: Value) -> Result<Vec<f64>, Error> {
    let wrong = || {
        Error::script(format!(
            "buckets must be a list of 1 to {BUCKETS_MAX} numbers, each above the one before"
        ))
    };
    let Value::List(items) = value else {
        return Err(wrong());
    };
    let numbers = items.into_iter().map(|item| match item {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) if number.is_finite() => Some(number),
        _ => None,
    });
    let numbers: Option<Vec<f64>> = numbers.collect();
    let numbers = numbers.ok_or_else(wrong)?;
    let is_ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    match is_ascending && (1..=BUCKETS_MAX).contains(&numbers.len()) {
        true => Ok(numbers),
        false => Err(wrong()),
    }
}
