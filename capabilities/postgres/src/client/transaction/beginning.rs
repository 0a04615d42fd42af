//! The begin of a transaction on a connection, and the end of one that is given up.

use crate::client::pool::Lease;
use crate::connection::exchange::{Ask, Exchange, Stake};
use crate::error::Failure;
use crate::limits::RERUNS_MAX;
use std::rc::Rc;

/// A connection on which BEGIN was sent. Dropping it rolls back: others must not get it with a transaction open.
struct Begun(Option<Rc<Lease>>);

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            roll_back(lease);
        }
    }
}

/// Sends BEGIN. Its answer is awaited only where something is under way on the connection: if that is asked to stop,
/// the server may stop the BEGIN in its place, and the statement behind it would be committed by itself.
pub(super) async fn begin_on(lease: Lease) -> (Rc<Lease>, Rc<Exchange>) {
    let is_behind_others = lease.connection().load() > 0;
    let lease = Rc::new(lease);
    let mut begin = send_begin(&lease);
    if is_behind_others {
        let mut begun = Begun(Some(Rc::clone(&lease)));
        for _ in 0..RERUNS_MAX {
            match begin.over().await {
                Err(Failure::Hit) => begin = send_begin(&lease),
                // The first statement looks at it.
                ended => {
                    begin.state.borrow_mut().failure = ended.err();
                    break;
                }
            }
        }
        begun.0 = None;
    }
    (lease, begin)
}

fn send_begin(lease: &Lease) -> Rc<Exchange> {
    let begin = Exchange::new(Ask::Control("BEGIN".to_owned()), Stake::Nothing);
    lease.connection().send(&begin);
    begin
}

/// Rolls back without waiting. The connection is given back once that is done.
pub(super) fn roll_back(lease: Rc<Lease>) {
    if lease.connection().has_ended() {
        return;
    }
    let undo = Exchange::new(Ask::Control("ROLLBACK".to_owned()), Stake::Nothing);
    lease.connection().send(&undo);
    drop(tokio::task::spawn_local(async move {
        let _ = undo.over().await;
        drop(lease);
    }));
}
