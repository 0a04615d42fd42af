//! The parts of a project: migrations, SQL for PostgreSQL, archives, source maps.

pub(crate) mod archive;
pub(crate) mod migrations;
pub(crate) mod postgres_sql;
pub(crate) mod source_maps;
