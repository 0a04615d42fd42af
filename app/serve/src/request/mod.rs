//! One request as scripts and handlers see it, and what is known about it beside what was sent.

pub(crate) mod additions;
pub(crate) mod early_hints;
pub(crate) mod id;
pub(crate) mod kept_answer;
pub(crate) mod meters;
pub(crate) mod observers;
pub(crate) mod proxies;
pub(crate) mod record;
pub(crate) mod request_view;
pub(crate) mod route_info;
pub(crate) mod route_meter;
pub(crate) mod times;
pub(crate) mod tls;
pub(crate) mod traced;
