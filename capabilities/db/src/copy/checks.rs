//! The comparison of both sides: rows, values that are not NULL, sums of integers, and sums of hashes of all else that
//! both can write the same: texts, blobs, numbers, dates, times and JSON.

use super::canonical;
use super::canonical_json::jsonb;
use super::names::quoted;
use super::profile::TargetType;
use super::rows::Plan;
use super::source::fault;
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresTransaction, RowLimits};
use sha2::{Digest, Sha256};

/// The sums of a table on the side of SQLite.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) rows: u64,
    columns: Vec<ColumnCheck>,
}

/// The sums of a column.
#[derive(Debug)]
struct ColumnCheck {
    kind: TargetType,
    scale: Option<usize>,
    values: u64,
    /// The largest integer.
    largest: Option<i64>,
    /// The sum that the server tells too; `None` where it depends on how the server writes a value.
    sum: Option<i128>,
}

impl Checks {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let columns = plan.columns.iter().map(|column| ColumnCheck {
            kind: column.kind,
            scale: column.scale,
            values: 0,
            largest: None,
            sum: server_sum(column.kind, "").map(|_| 0),
        });
        Self {
            rows: 0,
            columns: columns.collect(),
        }
    }

    /// Returns the largest integer of a column.
    pub(super) fn largest(&self, at: usize) -> Option<i64> {
        self.columns[at].largest
    }

    pub(super) fn add_bytes(&mut self, at: usize, bytes: &[u8]) {
        self.columns[at].add(Some(hash(bytes)));
    }

    pub(super) fn add_text(&mut self, at: usize, text: &str) {
        let column = &mut self.columns[at];
        let canonical = match column.kind {
            TargetType::Text => Some(text.into()),
            TargetType::Numeric => canonical::number(text, column.scale),
            TargetType::Date => canonical::date(text),
            TargetType::Timestamp => canonical::timestamp(text),
            TargetType::Timestamptz => canonical::moment(text),
            TargetType::Json => Some(text.into()),
            TargetType::Jsonb => jsonb(text).map(Into::into),
            _ => None,
        };
        column.add(canonical.map(|text| hash(text.as_bytes())));
    }

    pub(super) fn add_integer(&mut self, at: usize, number: i64) {
        let column = &mut self.columns[at];
        column.largest = column.largest.max(Some(number));
        let part = match column.kind {
            TargetType::Bigint | TargetType::Boolean => Some(number.into()),
            TargetType::Double => Some(hash(&(number as f64).to_be_bytes())),
            TargetType::Text | TargetType::Numeric | TargetType::Json | TargetType::Jsonb => {
                Some(hash(number.to_string().as_bytes()))
            }
            _ => None,
        };
        column.add(part);
    }

    /// Adds a number that was sent as `text`.
    pub(super) fn add_real(&mut self, at: usize, number: f64, text: &str) {
        let column = &mut self.columns[at];
        let part = match column.kind {
            TargetType::Double => Some(hash(&number.to_be_bytes())),
            TargetType::Text | TargetType::Json => Some(hash(text.as_bytes())),
            TargetType::Jsonb => jsonb(text).map(|text| hash(text.as_bytes())),
            TargetType::Numeric => {
                canonical::number(text, column.scale).map(|text| hash(text.as_bytes()))
            }
            TargetType::Bigint => text.parse().ok(),
            _ => None,
        };
        column.add(part);
    }

    /// Compares the sums with those of the server.
    ///
    /// # Errors
    /// They differ: the table, the column, and both figures.
    pub(super) async fn compare(
        &self,
        transaction: &PostgresTransaction,
        plan: &Plan<'_>,
    ) -> Result<(), Error> {
        let mut asked = vec!["count(*)::text".to_owned()];
        for (column, check) in plan.columns.iter().zip(&self.columns) {
            let name = quoted(&column.target);
            asked.push(format!("count({name})::text"));
            let sum = server_sum(check.kind, &name);
            asked.push(sum.map_or_else(
                || "''".to_owned(),
                |sum| format!("coalesce({sum}, 0)::text"),
            ));
        }
        let sql = format!(
            "SELECT {} FROM {}",
            asked.join(", "),
            quoted(&plan.table.target)
        );
        let rows = transaction
            .query(&sql, &Value::Null, RowLimits::default())
            .await?;
        let told = |at| match rows.cell(0, at) {
            Cell::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        let table = &plan.table.name;
        let differ = |what: &str, ours: String, theirs: String| {
            fault(format!(
                "the copy differs: {what} {ours} in SQLite and {theirs} on the server; a trigger or a rule of the \
                 table there may have changed it"
            ))
        };
        if told(0) != self.rows.to_string() {
            return Err(differ(
                &format!("rows of {table}:"),
                self.rows.to_string(),
                told(0),
            ));
        }
        for (at, (column, check)) in plan.columns.iter().zip(&self.columns).enumerate() {
            let name = format!("{table}.{}", plan.table.columns[column.at].name);
            let (values, sum) = (told(1 + 2 * at), told(2 + 2 * at));
            if values != check.values.to_string() {
                let what = format!("values of {name}:");
                return Err(differ(&what, check.values.to_string(), values));
            }
            if let Some(own) = check.sum
                && own.to_string() != sum
            {
                return Err(differ(
                    &format!("the sum over {name} is"),
                    own.to_string(),
                    sum,
                ));
            }
        }
        Ok(())
    }
}

impl ColumnCheck {
    fn add(&mut self, part: Option<i128>) {
        self.values += 1;
        self.sum = self.sum.and_then(|sum| Some(sum + part?));
    }
}

/// Returns the sum that the server makes of a column.
fn server_sum(kind: TargetType, name: &str) -> Option<String> {
    let bytes_of = |text: &str| format!("convert_to({text}, 'UTF8')");
    let clock = |time: &str| format!("to_char({time}, 'YYYY-MM-DD HH24:MI:SS.US')");
    let of_hashes = |bytes: String| {
        let hash = format!("encode(substr(sha256({bytes}), 1, 4), 'hex')");
        Some(format!("sum(('x' || {hash})::bit(32)::bigint)"))
    };
    match kind {
        TargetType::Bigint => Some(format!("sum({name})")),
        TargetType::Boolean => Some(format!("sum({name}::int)")),
        TargetType::Double => of_hashes(format!("float8send({name})")),
        TargetType::Text => of_hashes(bytes_of(name)),
        TargetType::Bytea => of_hashes(name.to_owned()),
        TargetType::Numeric => of_hashes(bytes_of(&format!("trim_scale({name})::text"))),
        TargetType::Date => of_hashes(bytes_of(&format!("to_char({name}, 'YYYY-MM-DD')"))),
        TargetType::Timestamp => of_hashes(bytes_of(&clock(name))),
        TargetType::Timestamptz => {
            let utc = format!("({name} AT TIME ZONE 'UTC')");
            of_hashes(bytes_of(&clock(&utc)))
        }
        TargetType::Json | TargetType::Jsonb => of_hashes(bytes_of(&format!("{name}::text"))),
        TargetType::Other => None,
    }
}

/// Returns the first 32 bits of the SHA-256.
fn hash(bytes: &[u8]) -> i128 {
    let digest = Sha256::digest(bytes);
    digest[..4]
        .iter()
        .fold(0, |sum, byte| (sum << 8) | i128::from(*byte))
}
