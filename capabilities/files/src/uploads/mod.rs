//! Forms with files: `multipart/form-data`.

mod file;
mod form;
mod spool;

pub(crate) use file::UPLOADED_FILE;
pub(crate) use form::read_multipart;
