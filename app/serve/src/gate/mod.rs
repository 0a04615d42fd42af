//! Between a request and the database of its worker: when its script may run, and when its answer may leave.

pub(crate) mod answer_hooks;
mod begun_stream;
pub(crate) mod chain_end;
pub(crate) mod commit_gate;
pub(crate) mod control;
mod dropped_answer;
pub(crate) mod given_up;
mod release;
pub(crate) mod response_sink;
pub(crate) mod run_use;
pub(crate) mod script_stream;
