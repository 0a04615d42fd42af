//! Apps on a PostgreSQL server. Without PostgreSQL these tests are skipped.

mod migrations;
mod serving;
