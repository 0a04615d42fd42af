//! Connections that a worker gives up because another one waits for a seat.

use super::{Pool, Slot};
use crate::connection::exchange::{Ask, Exchange, Stake};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks for a connection that another worker can have.
const LOOK_AFTER: Duration = Duration::from_millis(10);

impl Pool {
    /// Starts the task that gives connections up for other workers.
    pub(super) fn keep(self: &Rc<Self>) {
        if self.has_keeper.replace(true) {
            return;
        }
        let (pool, wanted) = (Rc::downgrade(self), Arc::clone(&self.wanted));
        drop(tokio::task::spawn_local(async move {
            loop {
                wanted.notified().await;
                let mut looks = 0;
                loop {
                    let Some(pool) = Weak::upgrade(&pool) else {
                        return;
                    };
                    if !pool.process.is_seat_wanted() {
                        break;
                    }
                    // One that is idle costs least. Under load there is none, so one is emptied after a while.
                    if !pool.give_up_idle() && looks > 1 {
                        pool.give_up_busy();
                        looks = 0;
                    }
                    drop(pool);
                    looks += 1;
                    tokio::time::sleep(LOOK_AFTER).await;
                }
            }
        }));
    }

    /// Closes a connection that is idle, while another worker waits for one.
    pub(crate) fn give_up_idle(&self) -> bool {
        if !self.process.is_seat_wanted() || self.waiting.get() > 0 {
            return false;
        }
        let mut slots = self.slots.borrow_mut();
        let is_idle = |slot: &Rc<Slot>| !slot.is_taken.get() && slot.connection.load() == 0;
        let Some(at) = slots.iter().position(is_idle) else {
            return false;
        };
        slots.swap_remove(at).connection.close();
        true
    }

    /// Empties a connection and closes it, if this worker has more than its share.
    fn give_up_busy(&self) {
        let mut slots = self.slots.borrow_mut();
        if slots.len() <= self.process.share() {
            return;
        }
        let Some(at) = slots.iter().position(|slot| !slot.is_taken.get()) else {
            return;
        };
        let slot = slots.swap_remove(at);
        drop(slots);
        let last = Exchange::new(Ask::Describe(Vec::new()), Stake::Nothing);
        slot.connection.send(&last);
        drop(tokio::task::spawn_local(async move {
            let _ = last.over().await;
            slot.connection.close();
        }));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The keeper looks, and ends.
        self.wanted.notify_one();
    }
}
