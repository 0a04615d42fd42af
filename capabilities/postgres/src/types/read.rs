//! Cells of a result, from the bytes that the server sends.

use super::oids::{self, Oid};
use super::{array, dates};
use sampan_host::{Cell, Rows};
use std::fmt::Write;

/// The cells that are not text where they are asked for. Text tells them exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellForms {
    /// True for times in the place of the text of `date`, `timestamp` and `timestamptz`.
    pub has_dates: bool,
    /// True for floating-point numbers in the place of the text of `numeric`.
    pub has_numbers: bool,
}

/// The way in which the cells of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Int2,
    Int4,
    Int8,
    Oid,
    Bool,
    Float4,
    Float8,
    Numeric,
    Bytes,
    Date,
    Timestamp,
    Uuid,
    /// The text that the server writes.
    Text,
    /// An array of such elements, as the server writes it.
    Array(Oid),
}

/// A cell is not what its type says.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Malformed,
    TooLarge,
}

impl From<sampan_host::rows::TooLarge> for Unreadable {
    fn from(_: sampan_host::rows::TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Reading {
    pub(crate) fn of(oid: Oid) -> Self {
        match oid {
            oids::INT2 => Self::Int2,
            oids::INT4 => Self::Int4,
            oids::INT8 => Self::Int8,
            oids::OID => Self::Oid,
            oids::BOOL => Self::Bool,
            oids::FLOAT4 => Self::Float4,
            oids::FLOAT8 => Self::Float8,
            oids::NUMERIC => Self::Numeric,
            oids::BYTEA => Self::Bytes,
            oids::DATE => Self::Date,
            oids::TIMESTAMP | oids::TIMESTAMPTZ => Self::Timestamp,
            oids::UUID => Self::Uuid,
            other => oids::element(other).map_or(Self::Text, Self::Array),
        }
    }

    /// The format in which the server is asked for it: 0 for text, 1 for binary.
    pub(crate) fn format(self) -> u16 {
        u16::from(!matches!(self, Self::Text | Self::Numeric | Self::Array(_)))
    }

    /// Reads an integer of such a column; `None` for others.
    pub(crate) fn integer(self, bytes: &[u8]) -> Option<i64> {
        Some(match self {
            Self::Int2 => i16::from_be_bytes(bytes.try_into().ok()?).into(),
            Self::Int4 => i32::from_be_bytes(bytes.try_into().ok()?).into(),
            Self::Int8 => i64::from_be_bytes(bytes.try_into().ok()?),
            Self::Oid => u32::from_be_bytes(bytes.try_into().ok()?).into(),
            _ => return None,
        })
    }

    /// Adds a cell to a result.
    pub(crate) fn push(
        self,
        bytes: &[u8],
        forms: CellForms,
        rows: &mut Rows,
    ) -> Result<(), Unreadable> {
        let cell = match self {
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Oid => {
                Cell::Int(self.integer(bytes).ok_or(Unreadable::Malformed)?)
            }
            Self::Bool => match bytes {
                [flag] => Cell::Int(i64::from(*flag != 0)),
                _ => return Err(Unreadable::Malformed),
            },
            Self::Float4 => Cell::Float(shortest(f32::from_be_bytes(exactly(bytes)?))),
            Self::Float8 => Cell::Float(plain(f64::from_be_bytes(exactly(bytes)?))),
            Self::Numeric if forms.has_numbers => Cell::Float(number(bytes)?),
            Self::Date if forms.has_dates => dates::date_cell(i32::from_be_bytes(exactly(bytes)?)),
            Self::Timestamp if forms.has_dates => {
                dates::timestamp_cell(i64::from_be_bytes(exactly(bytes)?))
            }
            Self::Bytes => Cell::Bytes(bytes),
            Self::Text | Self::Numeric => return Ok(rows.push_text(bytes)?),
            Self::Date | Self::Timestamp | Self::Uuid | Self::Array(_) => {
                let mut text = String::with_capacity(32);
                self.write(bytes, &mut text)?;
                return Ok(rows.push(Cell::Text(&text))?);
            }
        };
        Ok(rows.push(cell)?)
    }

    fn write(self, bytes: &[u8], text: &mut String) -> Result<(), Unreadable> {
        match self {
            Self::Date => dates::write_date(i32::from_be_bytes(exactly(bytes)?), text),
            Self::Timestamp => dates::write_timestamp(i64::from_be_bytes(exactly(bytes)?), text),
            Self::Uuid => {
                let digits = u128::from_be_bytes(exactly(bytes)?);
                let _ = write!(text, "{digits:032x}");
                for at in [8, 13, 18, 23] {
                    text.insert(at, '-');
                }
            }
            Self::Array(element) => {
                let literal = std::str::from_utf8(bytes).map_err(|_| Unreadable::Malformed)?;
                array::write_json(literal, element, text).ok_or(Unreadable::Malformed)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Unreadable> {
    bytes.try_into().map_err(|_| Unreadable::Malformed)
}

/// Returns the number that is the nearest to the digits of a `numeric`. Beyond those of a script it is infinite.
fn number(digits: &[u8]) -> Result<f64, Unreadable> {
    let digits = std::str::from_utf8(digits).map_err(|_| Unreadable::Malformed)?;
    let number = digits.parse().map_err(|_| Unreadable::Malformed)?;
    Ok(plain(number))
}

/// Returns the number that has the shortest digits of a `real`, which is the one that a person wrote: 0.1, not
/// 0.10000000149011612. A whole number is exact up to 2^53, above which a number has no exact neighbours either.
fn shortest(value: f32) -> f64 {
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        return value.into();
    }
    let mut digits = String::new();
    let _ = write!(digits, "{value}");
    plain(digits.parse().unwrap_or_else(|_| value.into()))
}

/// Returns a number whose NaN is the one that engines know: they keep other things in other bits of it.
fn plain(value: f64) -> f64 {
    match value.is_nan() {
        true => f64::NAN,
        false => value,
    }
}
