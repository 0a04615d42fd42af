//! The records of answers in the app's database. The table is made with the first record.

use crate::idempotency::running::KeyDigest;
use crate::limits::{IDEMPOTENCY_CLEAN_COUNT, IDEMPOTENT_ANSWER_BYTES_MAX};
use sampan_host::database::AppTables;
use sampan_host::request::WholeAnswer;
use sampan_host::{Cell, Error, ErrorKind, Value};

const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS _sampan_idempotency(
       id BLOB NOT NULL UNIQUE, request BLOB NOT NULL, status INTEGER NOT NULL, fields BLOB NOT NULL,
       body BLOB NOT NULL, ends INTEGER NOT NULL
     ) STRICT",
    "CREATE INDEX IF NOT EXISTS _sampan_idempotency_ends ON _sampan_idempotency(ends)",
];
const SELECT: &str =
    "SELECT request, status, fields, body FROM _sampan_idempotency WHERE id = ? AND ends > ?";
const INSERT: &str =
    "INSERT OR REPLACE INTO _sampan_idempotency(id, request, status, fields, body, ends)
     VALUES (?, ?, ?, ?, ?, ?)";
const DELETE_ENDED: &str = "DELETE FROM _sampan_idempotency WHERE rowid IN
    (SELECT rowid FROM _sampan_idempotency WHERE ends <= ? ORDER BY ends LIMIT ?)";

/// The status of a record whose answer could not be kept. No answer has it.
const NOT_KEPT: i64 = 0;

/// A record of the first request of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdempotencyRecord {
    /// A digest of the request.
    pub(super) request: KeyDigest,
    /// The answer; `None` for one that was too large, a stream or a file.
    pub(super) answer: Option<WholeAnswer>,
}

/// Returns the record of a key that counts at `now`, in milliseconds since 1970.
///
/// # Errors
/// The database's own.
pub(super) fn load(
    tables: &dyn AppTables,
    digest: &KeyDigest,
    now: i64,
) -> Result<Option<IdempotencyRecord>, Error> {
    let params = Value::List(vec![Value::Bytes(digest.to_vec()), Value::Int(now)]);
    let Some(rows) = tables
        .read(SELECT, &params)?
        .filter(|rows| !rows.is_empty())
    else {
        return Ok(None);
    };
    let broken = || {
        Error::new(
            ErrorKind::Internal,
            "a record of an idempotency key is damaged",
        )
    };
    let Cell::Bytes(request) = rows.cell(0, 0) else {
        return Err(broken());
    };
    let request = request.try_into().map_err(|_| broken())?;
    let answer = match (rows.cell(0, 1), rows.cell(0, 2), rows.cell(0, 3)) {
        (Cell::Int(NOT_KEPT), ..) => None,
        (Cell::Int(status), Cell::Bytes(fields), Cell::Bytes(body)) => Some(WholeAnswer {
            status: u16::try_from(status).map_err(|_| broken())?,
            fields: parse(fields).ok_or_else(broken)?,
            content_type: None,
            body: body.to_vec(),
        }),
        _ => return Err(broken()),
    };
    Ok(Some(IdempotencyRecord { request, answer }))
}

/// Writes a record, in the open group or a new one, and removes some whose time is over.
///
/// # Errors
/// The database's own. Of kind [`ErrorKind::TooLong`] where it has to wait for the write connection.
pub(super) fn store(
    tables: &dyn AppTables,
    digest: &KeyDigest,
    record: &IdempotencyRecord,
    (now, ends): (i64, i64),
) -> Result<(), Error> {
    let (status, fields, body) = match &record.answer {
        Some(answer) => (
            i64::from(answer.status),
            written(answer),
            answer.body.clone(),
        ),
        None => (NOT_KEPT, Vec::new(), Vec::new()),
    };
    let params = Value::List(vec![
        Value::Bytes(digest.to_vec()),
        Value::Bytes(record.request.to_vec()),
        Value::Int(status),
        Value::Bytes(fields),
        Value::Bytes(body),
        Value::Int(ends),
    ]);
    tables.begin()?;
    if tables.write(INSERT, &params)?.is_none() {
        for sql in CREATE {
            tables.write(sql, &Value::Null)?;
        }
        if tables.write(INSERT, &params)?.is_none() {
            let text = "the table of idempotency keys could not be made";
            return Err(Error::new(ErrorKind::Internal, text));
        }
    }
    let params = Value::List(vec![Value::Int(now), Value::Int(IDEMPOTENCY_CLEAN_COUNT)]);
    tables.write(DELETE_ENDED, &params).map(drop)
}

/// Returns an answer as it is recorded: without cookies, which may have been replaced since. `None` where it is too
/// large.
pub(super) fn recorded(mut answer: WholeAnswer) -> Option<WholeAnswer> {
    answer
        .fields
        .retain(|(name, _)| !name.eq_ignore_ascii_case(b"set-cookie"));
    if let Some(content_type) = answer.content_type.take()
        && answer.values("content-type").next().is_none()
    {
        let field = (b"Content-Type".to_vec(), content_type.as_bytes().to_vec());
        answer.fields.push(field);
    }
    (answer.bytes() <= IDEMPOTENT_ANSWER_BYTES_MAX).then_some(answer)
}

/// Writes field lines. Their values have no line ends.
fn written(answer: &WholeAnswer) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in &answer.fields {
        lines.extend_from_slice(name);
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }
    lines
}

fn parse(lines: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let lines = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let field = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let value = line[colon..].strip_prefix(b": ")?;
        Some((line[..colon].to_vec(), value.to_vec()))
    };
    lines.map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(fields: &[(&str, &str)], body: usize) -> WholeAnswer {
        let bytes =
            |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        WholeAnswer {
            status: 201,
            fields: fields.iter().map(bytes).collect(),
            content_type: Some("application/json"),
            body: vec![b'x'; body],
        }
    }

    #[test]
    fn fields_are_read_as_they_were_written() {
        let answer = answer(
            &[("Location", "/a: b"), ("X-Empty", ""), ("X-Twice", "1")],
            0,
        );
        assert_eq!(parse(&written(&answer)), Some(answer.fields));
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b"no colon\n"), None);
    }

    #[test]
    fn cookies_and_large_answers_are_not_recorded() {
        let small = recorded(answer(&[("Set-Cookie", "a=b"), ("X-A", "1")], 3)).expect("small");
        let types: Vec<_> = small.values("content-type").collect();
        assert_eq!(types, [b"application/json"]);
        assert_eq!(small.values("set-cookie").count(), 0);
        assert_eq!(recorded(answer(&[], IDEMPOTENT_ANSWER_BYTES_MAX)), None);
    }
}
