//! Sessions: what an app remembers of a browser from request to request, and messages for its next page.
//!
//! The browser has a cookie with a random id. What belongs to it lies in a table of the app's database, under the id's
//! hash. It is loaded when a request first asks for it and written once, at the end of the handler, in the group of the
//! request's other writes. Two requests that change different keys at once both win: what was changed is merged into
//! what is stored then.

mod capability;
mod clean;
mod config;
mod cookie;
mod entries;
mod flash;
mod kept;
mod limits;
mod rows;
mod sealed;
mod session;
mod store;
mod trace;

pub use capability::CAPABILITY;
use clean::clean;
pub use config::{SECTION, SessionConfig, SessionPlace};
pub use session::{Session, Sessions, of};
pub use store::table::DbSessions;
pub use store::{
    Change, ListedSession, Merge, SessionChoice, SessionKey, SessionStore, StoredSession,
};

pub use rows::MODULE;
