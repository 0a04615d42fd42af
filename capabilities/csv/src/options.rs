//! The options that scripts give.

use sampan_host::{Error, Value, refusals};

/// The way text is read or written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CsvOptions {
    /// The columns to write, in this order.
    pub(crate) columns: Option<Vec<String>>,
    /// True if the first record that is read names the columns.
    pub(crate) has_header: bool,
    /// The separator between two fields.
    pub(crate) separator: u8,
    /// True if a spreadsheet opens what is written.
    pub(crate) is_spreadsheet: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            columns: None,
            has_header: true,
            separator: b',',
            is_spreadsheet: false,
        }
    }
}

/// The options of what reads.
pub(crate) const READING: &[&str] = &["header", "separator"];
/// The options of what writes.
pub(crate) const WRITING: &[&str] = &["columns", "separator", "spreadsheet"];

impl CsvOptions {
    /// Reads the options that a script gave, of which these are `known`.
    pub(crate) fn read(given: Value, known: &[&str]) -> Result<Self, Error> {
        let mut options = Self::default();
        let Value::Map(given) = given else {
            return Ok(options);
        };
        for (name, value) in given {
            match (name.as_str(), value) {
                (name, _) if !known.contains(&name) => {
                    return Err(refusals::unknown_option(name, known));
                }
                ("columns", Value::List(names)) => options.columns = Some(columns(names)?),
                ("header", Value::Bool(has_header)) => options.has_header = has_header,
                ("separator", Value::Text(text)) => options.separator = separator(&text)?,
                ("spreadsheet", Value::Bool(is)) => options.is_spreadsheet = is,
                ("columns", _) => return Err(no_columns()),
                ("separator", _) => return Err(no_separator()),
                (name, _) => return Err(Error::script(format!("{name} must be true or false"))),
            }
        }
        Ok(options)
    }
}

fn columns(names: Vec<Value>) -> Result<Vec<String>, Error> {
    let name = |name| match name {
        Value::Text(name) => Ok(name),
        _ => Err(no_columns()),
    };
    let columns = names.into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        return Err(no_columns());
    }
    Ok(columns)
}

fn separator(text: &str) -> Result<u8, Error> {
    match text.as_bytes() {
        [byte] if !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err(no_separator()),
    }
}

fn no_columns() -> Error {
    Error::script("columns must be a list of names, with one at least")
}

fn no_separator() -> Error {
    Error::script("separator must be one ASCII character such as ',' ';' or a tab")
}
