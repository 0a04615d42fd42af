//! The pages of `sampan dev`: errors, the project's own answers to them, the mails that were caught and
//! their previews, and the script by
//! which a page reloads itself.

pub(super) mod browser;
pub(super) mod errors;
pub(super) mod mails;
pub(super) mod own_pages;
pub(super) mod page;
pub(super) mod policy;
pub(super) mod previews;
