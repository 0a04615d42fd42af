//! Texts in the languages of an app, and its numbers and dates as their readers write them.
//!
//! [`Catalogs`] are those of the project, read once for all workers. [`I18n`] is what an isolate keeps: it chooses the
//! locale of a request ([`I18n::locale_of`]) and finds texts in it ([`I18n::translate`]).

mod api;
mod capability;
mod catalog;
mod currency;
mod formats;
mod limits;
mod message;
mod moment;
mod negotiate;
mod options;
mod pages;
mod settings;
mod translate;

pub use api::MODULE;
pub use capability::CAPABILITY;
pub use catalog::{Catalogs, FOLDER};
pub use settings::{I18nSettings, SECTION};
pub use translate::{I18n, LocaleId};
