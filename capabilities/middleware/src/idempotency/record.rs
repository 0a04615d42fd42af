//! The rows of keys in the app's database: claims of requests that run, and records of their answers. The table is made
//! with the first row.

use crate::idempotency::running::{KeyDigest, ProcessId};
use crate::limits::{IDEMPOTENCY_CLEAN_COUNT, IDEMPOTENT_ANSWER_BYTES_MAX};
use crate::secure_headers::POLICY;
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
/// Takes the place of a row whose time is over, and of a claim of the same process.
const PUT: &str =
    "INSERT INTO _sampan_idempotency AS old(id, request, status, fields, body, ends) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT(id) DO UPDATE SET request = excluded.request, status = excluded.status, fields = excluded.fields,
       body = excluded.body, ends = excluded.ends
     WHERE old.ends <= ? OR old.status = ? AND old.fields = ?";
const DELETE_CLAIM: &str =
    "DELETE FROM _sampan_idempotency WHERE id = ? AND status = ? AND fields = ?";
const DELETE_ENDED: &str = "DELETE FROM _sampan_idempotency WHERE rowid IN
    (SELECT rowid FROM _sampan_idempotency WHERE ends <= ? ORDER BY ends LIMIT ?)";

/// The status of a record whose answer could not be kept. No answer has it.
const NOT_KEPT: i64 = 0;
/// The status of a request that runs. No answer has it. The id of its process stands in the place of the fields.
const RUNNING: i64 = 1;

/// A row of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdempotencyRecord {
    /// A digest of the request.
    pub(super) request: KeyDigest,
    /// The state of the first request with the key.
    pub(super) outcome: KeyOutcome,
}

/// The state of the first request with a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    /// Runs in the process with this id, or has failed there.
    Running(ProcessId),
    /// Ended with this answer.
    Answered(WholeAnswer),
    /// Ended with an answer that was too large, a stream or a file.
    NotKept,
}

/// Returns the row of a key that counts at `now`, in milliseconds since 1970.
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
    let outcome = match (rows.cell(0, 1), rows.cell(0, 2), rows.cell(0, 3)) {
        (Cell::Int(NOT_KEPT), ..) => KeyOutcome::NotKept,
        (Cell::Int(RUNNING), Cell::Bytes(process), _) => {
            KeyOutcome::Running(process.try_into().map_err(|_| broken())?)
        }
        (Cell::Int(status), Cell::Bytes(fields), Cell::Bytes(body)) => {
            KeyOutcome::Answered(WholeAnswer {
                status: u16::try_from(status).map_err(|_| broken())?,
                fields: parse(fields).ok_or_else(broken)?,
                content_type: None,
                body: body.to_vec(),
            })
        }
        _ => return Err(broken()),
    };
    Ok(Some(IdempotencyRecord { request, outcome }))
}

/// Writes the row of a key for `process`, in the open group or a new one, until `ends`. Returns false, and changes
/// nothing, where the key has a record, or a claim of another process, that counts at `now`.
///
/// # Errors
/// The database's own. Of kind [`ErrorKind::TooLong`] where it has to wait for the write connection.
pub(super) fn store(
    tables: &dyn AppTables,
    digest: &KeyDigest,
    record: IdempotencyRecord,
    process: ProcessId,
    (now, ends): (i64, i64),
) -> Result<bool, Error> {
    let (status, fields, body) = match record.outcome {
        KeyOutcome::Running(process) => (RUNNING, process.to_vec(), Vec::new()),
        KeyOutcome::Answered(answer) => (i64::from(answer.status), written(&answer), answer.body),
        KeyOutcome::NotKept => (NOT_KEPT, Vec::new(), Vec::new()),
    };
    let params = Value::List(vec![
        Value::Bytes(digest.to_vec()),
        Value::Bytes(record.request.to_vec()),
        Value::Int(status),
        Value::Bytes(fields),
        Value::Bytes(body),
        Value::Int(ends),
        Value::Int(now),
        Value::Int(RUNNING),
        Value::Bytes(process.to_vec()),
    ]);
    tables.begin()?;
    if let Some(changed) = tables.write(PUT, &params)? {
        return Ok(changed > 0);
    }
    for sql in CREATE {
        tables.write(sql, &Value::Null)?;
    }
    let text = "the table of idempotency keys could not be made";
    let missing = || Error::new(ErrorKind::Internal, text);
    let changed = tables.write(PUT, &params)?.ok_or_else(missing)?;
    Ok(changed > 0)
}

/// Removes the claim of `process` on a key, if it has one.
///
/// # Errors
/// As [`store`].
pub(super) fn give_back(
    tables: &dyn AppTables,
    digest: &KeyDigest,
    process: ProcessId,
) -> Result<(), Error> {
    let params = Value::List(vec![
        Value::Bytes(digest.to_vec()),
        Value::Int(RUNNING),
        Value::Bytes(process.to_vec()),
    ]);
    tables.write(DELETE_CLAIM, &params).map(drop)
}

/// Removes some rows whose time is over at `now`.
///
/// # Errors
/// As [`store`].
pub(super) fn clean(tables: &dyn AppTables, now: i64) -> Result<(), Error> {
    let params = Value::List(vec![Value::Int(now), Value::Int(IDEMPOTENCY_CLEAN_COUNT)]);
    tables.write(DELETE_ENDED, &params).map(drop)
}

/// Returns an answer as it is recorded: without cookies, which may have been replaced since, and with the policy whose
/// nonce its scripts have (`policy`), unless it has one of its own. `None` where it is too large.
pub(super) fn recorded(mut answer: WholeAnswer, policy: Option<String>) -> Option<WholeAnswer> {
    if let Some(policy) = policy
        && answer.values("content-security-policy").next().is_none()
    {
        let field = (POLICY.as_bytes().to_vec(), policy.into_bytes());
        answer.fields.push(field);
    }
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
        let small = answer(&[("Set-Cookie", "a=b"), ("X-A", "1")], 3);
        let small = recorded(small, None).expect("small");
        let types: Vec<_> = small.values("content-type").collect();
        assert_eq!(types, [b"application/json"]);
        assert_eq!(small.values("set-cookie").count(), 0);
        assert_eq!(
            recorded(answer(&[], IDEMPOTENT_ANSWER_BYTES_MAX), None),
            None
        );
    }

    #[test]
    fn the_policy_of_a_nonce_is_recorded_unless_the_answer_has_its_own() {
        let policies = |fields: &[(&str, &str)], policy: Option<&str>| {
            let answer = recorded(answer(fields, 1), policy.map(str::to_owned)).expect("small");
            let values = answer.values(POLICY);
            let values = values.map(|value| String::from_utf8_lossy(value).into_owned());
            values.collect::<Vec<_>>()
        };
        let own = ("content-security-policy", "default-src 'self'");
        assert_eq!(policies(&[], Some("'nonce-a'")), ["'nonce-a'"]);
        assert_eq!(policies(&[own], Some("'nonce-a'")), [own.1]);
        assert!(policies(&[], None).is_empty());
    }
}
