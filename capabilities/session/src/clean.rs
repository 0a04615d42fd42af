//! Removes what has ended, by time and not by requests.

use crate::config::SessionConfig;
use crate::limits::{CLEAN_BATCH, CLEAN_MILLIS, CLEAN_PAUSE};
use crate::session::now;
use crate::store::WorkerStore;
use sampan_host::Error;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Looks for sessions that have ended, for as long as it is polled, from the moment on that the first one has `begun`.
/// `report` is told what failed.
pub(crate) async fn clean(
    config: SessionConfig,
    store: WorkerStore,
    begun: Rc<Notify>,
    report: impl Fn(Error),
) {
    let pause = (config.idle_millis / 2).clamp(CLEAN_MILLIS.0, CLEAN_MILLIS.1);
    begun.notified().await;
    loop {
        sleep(Duration::from_millis(pause)).await;
        loop {
            match store.remove_ended(now(), CLEAN_BATCH).await {
                Ok(count) if count < CLEAN_BATCH => break,
                Ok(_) => sleep(CLEAN_PAUSE).await,
                Err(error) => {
                    report(error);
                    break;
                }
            }
        }
    }
}
