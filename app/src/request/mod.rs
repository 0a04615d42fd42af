//! One request on its way through a project: dispatch, what scripts see of it, and when its answer may leave.

pub(crate) mod additions;
mod answer_hooks;
pub(crate) mod commit_gate;
pub(crate) mod csrf;
pub(crate) mod dispatch;
pub(crate) mod errors;
pub(crate) mod fallback;
mod file_answer;
pub(crate) mod given_up;
pub(crate) mod id;
pub(crate) mod proxies;
pub(crate) mod record;
pub(crate) mod request_view;
pub(crate) mod response_sink;
