//! The end of connections that are kept for too long.

use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::{Http1, Http2, PoolState};

/// Closes connections that were kept for long, or that their servers have closed, until none is kept.
pub(super) async fn sweep(pool: Weak<PoolState>, kept_time: Duration) {
    let pause = (kept_time / 4).clamp(Duration::from_millis(10), Duration::from_secs(5));
    loop {
        tokio::time::sleep(pause).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let (mut closed, mut unshared) = (Vec::new(), Vec::new());
        {
            let mut inner = pool.inner.borrow_mut();
            let mut kept = 0;
            for host in inner.hosts.values_mut() {
                let is_over = |(since, connection): &mut (Instant, Http1)| {
                    since.elapsed() >= kept_time || !connection.is_alive()
                };
                closed.extend(host.kept.extract_if(.., is_over));
                kept += host.kept.len();
                let is_unused = |shared: &mut Rc<Http2>| {
                    let is_old = shared.used.get().elapsed() >= kept_time;
                    !shared.is_alive() || (shared.is_idle() && is_old)
                };
                unshared.extend(host.http2.extract_if(.., is_unused));
                kept += host.http2.len();
            }
            inner.is_swept = kept > 0;
        }
        // Their places are given back, and those who wait are served.
        drop(closed);
        drop(unshared);
        if !pool.inner.borrow().is_swept {
            return;
        }
    }
}
