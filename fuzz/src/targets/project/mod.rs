//! The parts of a project: migrations, archives, source maps.

pub(crate) mod archive;
pub(crate) mod migrations;
pub(crate) mod source_maps;
