//! Notifications between the processes of an app: jobs were added that another process may do sooner.
//!
//! PostgreSQL lets transactions that notify commit one after the other, so no transaction that adds jobs does. A
//! process tells the others afterwards, and only of jobs that it does not take itself. What is missed is found within
//! [`LOOK`](crate::limits::LOOK).

use crate::desk::Desk;
use crate::limits::{AWAY_PAUSE_MAX, ERROR_PAUSE};
use sampan_host::Value;
use sampan_host::database::WaitingTables;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::{spawn_local, yield_now};
use tokio::time::sleep;

const CHANNEL: &str = "_sampan_jobs";

/// The statement that tells the other processes.
pub(super) const RING: &str = "SELECT pg_notify('_sampan_jobs', '')";

/// Tells the desk whenever another process has added jobs that it does not take. Ends where notifications do not come.
pub(super) async fn listen(desk: Arc<Desk>, tables: Rc<dyn WaitingTables>) {
    let mut pause = ERROR_PAUSE;
    loop {
        let heard = {
            let desk = Arc::clone(&desk);
            Box::new(move || desk.hear())
        };
        if tables.listen(CHANNEL, heard).await.is_ok() {
            return;
        }
        // The keeper says that the server is away.
        sleep(pause).await;
        pause = (pause * 2).min(AWAY_PAUSE_MAX);
    }
}

/// Tells the other processes soon, once for all jobs that were added until then.
pub(super) fn ring(desk: &Arc<Desk>, tables: &Rc<dyn WaitingTables>) {
    if !desk.begin_ringing() {
        return;
    }
    let (desk, tables) = (Arc::clone(desk), Rc::clone(tables));
    drop(spawn_local(async move {
        yield_now().await;
        desk.end_ringing();
        // Else the others find them when they look.
        let _ = tables.run(RING, &Value::Null).await;
    }));
}
