//! The variables of the environment, and texts of the configuration file that have some in them.

use std::collections::{BTreeMap, HashMap};
use toml::Value;

/// The prefix of our variables.
pub(super) const PREFIX: &str = "SAMPAN_";

/// The ending, in small letters, of names of variables whose value is in a file.
pub(super) const FILE_SUFFIX: &str = "_file";

/// The beginning of the fault of a variable that is not there; its name is the rest.
pub(super) const NO_VARIABLE: &str = "the environment has no variable ";

/// Variables beside those of the process.
pub type Variables = HashMap<String, String>;

/// The variables of the environment.
#[derive(Debug, Default)]
pub struct Environment(pub(super) BTreeMap<String, String>);

impl Environment {
    /// The environment of this process. Variables that are no text are as if they were not there.
    pub fn of_process() -> Self {
        let texts = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(texts).collect())
    }

    /// Adds further variables; existing ones win.
    pub fn with(mut self, others: &Variables) -> Self {
        for (name, value) in others {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self
    }

    #[cfg(test)]
    /// Creates an environment of these variables alone.
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter();
        Self(
            pairs
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        )
    }
}

/// A value of the configuration file, with the values of variables.
pub(super) enum Filled {
    /// The value as it stands there: nothing was put in.
    Same(Value),
    /// The text with the values of variables.
    Text(String),
    /// The value depends on an environment that is not known yet.
    Unknown,
}

/// Fills in the environment's variables for each `${NAME}`.
pub(super) fn filled(value: Value, environment: Option<&Environment>) -> Result<Filled, String> {
    let has_place = |value: &Value| value.as_str().is_some_and(|text| text.contains("${"));
    let is_filled = match &value {
        Value::Array(items) => items.iter().any(has_place),
        value => has_place(value),
    };
    if !is_filled {
        return Ok(Filled::Same(value));
    }
    let Some(environment) = environment else {
        return Ok(match value {
            Value::Array(mut items) => {
                items.retain(|item| !has_place(item));
                Filled::Same(Value::Array(items))
            }
            _ => Filled::Unknown,
        });
    };
    let text = |item: Value| match item {
        Value::String(text) => filled_text(&text, environment).map(Value::from),
        other => Ok(other),
    };
    match value {
        Value::String(text) => filled_text(&text, environment).map(Filled::Text),
        Value::Array(items) => {
            let items = items.into_iter().map(text).collect::<Result<_, _>>()?;
            Ok(Filled::Same(Value::Array(items)))
        }
        other => Ok(Filled::Same(other)),
    }
}

/// `${NAME}` is the value of a variable, `${NAME:-text}` the text where there is none, `$${` is `${`.
fn filled_text(text: &str, environment: &Environment) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!(
                "{text:?} has no '}}' after '${{'; write $${{ for the two characters"
            ));
        };
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        match environment.0.get(name).map(String::as_str).or(default) {
            Some(value) => out.push_str(value),
            None => return Err(format!("{NO_VARIABLE}{name}")),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
