//! One request: the request object, the call of its handler, and what becomes its response.

mod accessor;
pub(crate) mod added;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod fields;
pub(crate) mod header_list;
pub(crate) mod lent;
pub(crate) mod made;
pub(crate) mod object;
pub(crate) mod prototypes;
pub(crate) mod response;
pub(crate) mod stream;
