//! The tables and their statements.

use crate::postgres::recording::RecordedStatement;
use sampan_host::Value;
use sampan_host::carrier::{OwnMember, Publication};
use sampan_host::database::OwnTable;
use sampan_host::topics::{MessageKind, Payload};
use std::time::Duration;

/// The name that NOTIFY and LISTEN use.
pub(super) const LISTEN: &str = "LISTEN _sampan_topics";

/// The most rows of one read.
pub(super) const READ_ROWS: usize = 500;
/// The bytes of messages from which a read has no further rows.
pub(super) const READ_BYTES: usize = 4 * 1024 * 1024;
/// The most messages that a process that starts reads, for clients that were away.
const START_ROWS: usize = 10_000;
/// The most rows that one statement removes.
const CLEAN_ROWS: usize = 10_000;

/// Reports whether the tables are there. Making them where they are needs the right to make tables.
pub(super) const ARE_THERE: &str = "SELECT
    to_regclass('_sampan_topics') IS NOT NULL AND to_regclass('_sampan_members') IS NOT NULL";

/// Takes the lock under which messages get their numbers, until the end of the transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8314889174927507817)";

/// Rings for all processes.
const NOTIFY: &str = "SELECT pg_notify('_sampan_topics', '')";

/// Publishes messages. The rows are numbered once the lock is there, because each needs that of `turn`. A process that
/// is cut off before its commit does not keep the lock for long.
const PUBLISH: &str = "WITH turn AS MATERIALIZED (
      SELECT set_config('idle_in_transaction_session_timeout', '10s', true),
        pg_advisory_xact_lock(8314889174927507817)),
    told AS (
      INSERT INTO _sampan_messages (topic, kind, form, body)
      SELECT m.topic, 'message', m.form, m.body
      FROM turn, unnest(:topics::text[], :forms::text[], :bodies::bytea[]) WITH ORDINALITY AS m(topic, form, body, at)
      ORDER BY m.at RETURNING id)
    SELECT pg_notify('_sampan_topics', '') FROM (SELECT count(*) FROM told) AS counted";

/// Adds a member, unless it is there. Under the lock.
const JOIN: &str = "WITH told AS (
      INSERT INTO _sampan_messages (topic, kind, form, body)
      SELECT :topic::text, 'join', 'json', convert_to(:member::text, 'UTF8') WHERE NOT EXISTS (
        SELECT FROM _sampan_members WHERE process = :process::text AND number = :number::bigint)
      RETURNING id)
    INSERT INTO _sampan_members (process, number, topic, member, joined)
    SELECT :process::text, :number::bigint, :topic::text, :member::text, id FROM told";

/// Removes a member. Under the lock.
const LEAVE: &str = "WITH gone AS (
      DELETE FROM _sampan_members WHERE process = :process AND number = :number RETURNING topic, member)
    INSERT INTO _sampan_messages (topic, kind, form, body)
    SELECT topic, 'leave', 'json', convert_to(member, 'UTF8') FROM gone";

/// Takes note that the process lives, by the clock of the server.
const REGISTER: &str = "INSERT INTO _sampan_processes (process, seen) VALUES (:process, now())
    ON CONFLICT (process) DO UPDATE SET seen = now()";

/// Removes the process.
const UNREGISTER: &str = "DELETE FROM _sampan_processes WHERE process = :process";

/// Does the same as [`REGISTER`] where it is registered. No row tells that others held it for dead.
pub(super) const BEAT: &str =
    "UPDATE _sampan_processes SET seen = now() WHERE process = :process RETURNING process";

/// Reports whether there are processes that were not heard of for long, or members of processes that are not there.
pub(super) const ARE_DEAD: &str = "SELECT
    EXISTS (SELECT FROM _sampan_processes WHERE seen < now() - make_interval(secs => :seconds)) OR
    EXISTS (SELECT FROM _sampan_members AS m
      WHERE NOT EXISTS (SELECT FROM _sampan_processes AS p WHERE p.process = m.process))";

/// Removes them, and tells of the members. Under the lock.
const EXPIRE: &str = "WITH dead AS (
      DELETE FROM _sampan_processes WHERE seen < now() - make_interval(secs => :seconds) RETURNING process),
    gone AS (
      DELETE FROM _sampan_members AS m WHERE m.process IN (SELECT process FROM dead)
        OR NOT EXISTS (SELECT FROM _sampan_processes AS p WHERE p.process = m.process)
      RETURNING m.topic, m.member, m.joined)
    INSERT INTO _sampan_messages (topic, kind, form, body)
    SELECT topic, 'leave', 'json', convert_to(member, 'UTF8') FROM gone ORDER BY joined";

/// The numbers of the members of a process.
pub(super) const OWN_MEMBERS: &str =
    "SELECT number FROM _sampan_members WHERE process = :process ORDER BY number";

/// The state of the order, with a row for each member. One statement, so that the members are those at the last
/// message.
pub(super) fn state() -> String {
    format!(
        "SELECT t.epoch, t.forgotten, coalesce((SELECT max(id) FROM _sampan_messages), t.forgotten) AS last,
           (SELECT id FROM _sampan_messages ORDER BY id DESC OFFSET {START_ROWS} LIMIT 1) AS first,
           m.process, m.number, m.topic, m.member, m.joined
         FROM _sampan_topics AS t LEFT JOIN _sampan_members AS m ON true ORDER BY m.joined"
    )
}

/// The messages behind a number. The state is there too: messages that were removed before they were read are noticed.
pub(super) fn read() -> String {
    format!(
        "SELECT t.epoch, t.forgotten, m.id, m.topic, m.kind, m.form, m.body
         FROM _sampan_topics AS t LEFT JOIN LATERAL (
           SELECT *, sum(octet_length(body)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS bytes
           FROM _sampan_messages WHERE id > :last ORDER BY id LIMIT {READ_ROWS}
         ) AS m ON m.bytes - octet_length(m.body) < {READ_BYTES} ORDER BY m.id"
    )
}

/// Removes messages that are older than they are kept, and takes note of the last of them.
pub(super) fn clean() -> String {
    format!(
        "WITH old AS (
           SELECT max(id) AS id FROM (SELECT id, at FROM _sampan_messages ORDER BY id LIMIT {CLEAN_ROWS}) AS first
           WHERE at < clock_timestamp() - make_interval(secs => :seconds)),
         gone AS (DELETE FROM _sampan_messages WHERE id <= (SELECT id FROM old) RETURNING id)
         UPDATE _sampan_topics SET forgotten = greatest(forgotten, (SELECT max(id) FROM gone))
         WHERE EXISTS (SELECT FROM gone)"
    )
}

/// The table that is made last, and the statements of one transaction that make all. The order of messages gets a name
/// by which it differs from that of tables that were there before.
pub(crate) const SERVER_TABLES: OwnTable = OwnTable {
    name: "_sampan_members",
    column: None,
    statements: &[
        LOCK,
        "CREATE TABLE IF NOT EXISTS _sampan_topics (epoch text NOT NULL, forgotten bigint NOT NULL)",
        "INSERT INTO _sampan_topics (epoch, forgotten)
           SELECT substr(replace(gen_random_uuid()::text, '-', ''), 1, 14), 0
           WHERE NOT EXISTS (SELECT FROM _sampan_topics)",
        "CREATE TABLE IF NOT EXISTS _sampan_messages (
           id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic text NOT NULL, kind text NOT NULL,
           form text NOT NULL, body bytea NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        "CREATE TABLE IF NOT EXISTS _sampan_processes (process text PRIMARY KEY, seen timestamptz NOT NULL)",
        "CREATE TABLE IF NOT EXISTS _sampan_members (
           process text NOT NULL, number bigint NOT NULL, topic text NOT NULL, member text NOT NULL,
           joined bigint NOT NULL, PRIMARY KEY (process, number))",
    ],
};

/// Returns named parameters.
pub(super) fn named<const N: usize>(params: [(&str, Value); N]) -> Value {
    let params = params.map(|(name, value)| (name.to_owned(), value));
    Value::Map(params.into())
}

/// Returns a time in seconds as a parameter.
pub(super) fn seconds(time: Duration) -> Value {
    named([("seconds", Value::Float(time.as_secs_f64()))])
}

/// Returns the name of a process as a parameter.
pub(super) fn process(process: &str) -> Value {
    named([("process", process.into())])
}

fn form(payload: &Payload) -> &'static str {
    match payload {
        Payload::Text(_) => "text",
        Payload::Bytes(_) => "bytes",
        Payload::Json(_) => "json",
    }
}

/// Returns the content of a row.
pub(super) fn payload(form: &str, body: &[u8]) -> Payload {
    let text = || String::from_utf8_lossy(body).into_owned();
    match form {
        "text" => Payload::Text(text()),
        "json" => Payload::Json(text()),
        _ => Payload::Bytes(body.to_owned()),
    }
}

/// Returns the kind of a row; `None` for one of a later version.
pub(super) fn kind(name: &str) -> Option<MessageKind> {
    let all = [
        MessageKind::Published,
        MessageKind::Joined,
        MessageKind::Left,
    ];
    all.into_iter().find(|kind| kind.name() == name)
}

/// Returns the statement that publishes messages, in their order; `None` where there is none. It is the last one of its
/// transaction, which holds the lock from then on.
pub(in crate::postgres) fn publishing(messages: &[Publication]) -> Option<RecordedStatement> {
    if messages.is_empty() {
        return None;
    }
    let list =
        |value: &dyn Fn(&Publication) -> Value| Value::List(messages.iter().map(value).collect());
    let params = named([
        ("topics", list(&|one| (*one.topic).into())),
        ("forms", list(&|one| form(&one.payload).into())),
        (
            "bodies",
            list(&|one| Value::Bytes(one.payload.bytes().to_vec())),
        ),
    ]);
    Some((PUBLISH.to_owned(), params))
}

/// A change of the members, or what a process says of itself.
pub(super) enum Change<'a> {
    Register,
    Join(&'a OwnMember),
    Leave(u64),
    Expire(Duration),
    Unregister,
}

impl Change<'_> {
    fn statement(&self, process: &str) -> RecordedStatement {
        let number = |number: &u64| ("number", Value::Int(*number as i64));
        let process = ("process", Value::Text(process.to_owned()));
        let (sql, params) = match self {
            Self::Register => (REGISTER, named([process])),
            Self::Unregister => (UNREGISTER, named([process])),
            Self::Expire(time) => (EXPIRE, seconds(*time)),
            Self::Leave(member) => (LEAVE, named([process, number(member)])),
            Self::Join(member) => {
                let topic = ("topic", Value::Text((*member.topic).to_owned()));
                let json = ("member", Value::Text(member.json.clone()));
                (JOIN, named([process, number(&member.number), topic, json]))
            }
        };
        (sql.to_owned(), params)
    }
}

/// A statement of a transaction that changes members.
pub(super) enum Part<'a> {
    Change(Change<'a>),
    Publish(RecordedStatement),
}

/// Returns the statements of one transaction with these parts, in their order.
pub(super) fn transaction(process: &str, parts: Vec<Part<'_>>) -> Vec<RecordedStatement> {
    let bare = |sql: &str| (sql.to_owned(), Value::Null);
    if let [Part::Publish(_)] = &*parts {
        // It takes the lock itself.
        let publish = |part| match part {
            Part::Publish(statement) => Some(statement),
            Part::Change(_) => None,
        };
        return parts.into_iter().filter_map(publish).collect();
    }
    // First of all: two processes that remove the same rows must not wait for each other.
    let mut statements = vec![bare(LOCK)];
    statements.extend(parts.into_iter().map(|part| match part {
        Part::Publish(statement) => statement,
        Part::Change(change) => change.statement(process),
    }));
    statements.push(bare(NOTIFY));
    statements
}
