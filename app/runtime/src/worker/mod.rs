//! Workers, for all that run them: a server, a pool of scripts, or `sampan test`.
//!
//! A [`WorkerPlan`] says what it is made from. [`WorkerPlan::load`] has the project loaded on this thread, and gives
//! what answers its requests. The `loader` loads it again later; the `watchdog` stops scripts that run too long, and
//! tells of `long_runs`. The `queue` is for workers that share one. The `timers` run functions of the project again and
//! again.

pub(crate) mod free_memory;
pub(crate) mod loader;
pub(crate) mod long_runs;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod start;
mod thread_time;
pub(crate) mod timers;
pub(crate) mod watchdog;
