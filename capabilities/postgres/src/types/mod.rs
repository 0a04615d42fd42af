//! The types of PostgreSQL as scripts see them, which is as the SQLite backend gives them.
//!
//! | type | cell |
//! |---|---|
//! | `int2`, `int4`, `int8`, `oid` | an exact integer |
//! | `bool` | the integers 0 and 1 |
//! | `float4`, `float8` | a floating-point number |
//! | `numeric`, `money` | text, with all its digits |
//! | `bytea` | bytes |
//! | `timestamp`, `timestamptz` | text `YYYY-MM-DD HH:MM:SS[.ffffff]`; with a time zone in UTC |
//! | `date`, `time`, `uuid`, `json`, `jsonb`, enums and all others | text, as the server writes them |
//! | arrays | a list as JSON text |
//!
//! [`read::CellForms`] has other cells for `numeric`, dates and timestamps, which scripts may ask for.

pub(crate) mod array;
pub(crate) mod bind;
pub(crate) mod dates;
pub(crate) mod oids;
pub(crate) mod params;
pub(crate) mod read;
#[cfg(test)]
mod tests;
