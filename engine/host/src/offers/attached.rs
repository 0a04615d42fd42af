//! Values that stay with a client's connection: subscriptions to topics and the like.

use std::any::Any;
use std::cell::RefCell;

/// Values of any types that are dropped when a connection ends.
#[derive(Default)]
pub struct Attached(RefCell<Vec<Box<dyn Any>>>);

impl Attached {
    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Drops all.
    pub fn clear(&self) {
        // What is dropped may look at the connection.
        drop(self.0.take());
    }
}

/// A client with a connection that lasts: a socket, or a stream of events.
pub trait ConnectedClient: 'static {
    /// Returns the values that stay with the connection.
    fn values(&self) -> &Attached;

    /// Reports whether the connection has ended.
    fn is_over(&self) -> bool;

    /// Takes note that values were dropped.
    fn values_dropped(&self) {}

    /// Keeps a value until the connection ends; drops it at once if that has ended.
    fn attach<T: 'static>(&self, value: T) {
        if !self.is_over() {
            self.values().0.borrow_mut().push(Box::new(value));
        }
    }

    /// Returns the number of attached values of a type.
    fn attached<T: 'static>(&self) -> usize {
        let values = self.values().0.borrow();
        values.iter().filter(|one| one.is::<T>()).count()
    }

    /// Shows the attached values of a type until `see` returns something.
    fn find_attached<T: 'static, R>(&self, see: impl Fn(&T) -> Option<R>) -> Option<R> {
        let values = self.values().0.borrow();
        let mut of_type = values.iter().filter_map(|one| one.downcast_ref::<T>());
        of_type.find_map(see)
    }

    /// Drops the attached values of a type that `it` finds. True if there were any.
    fn detach<T: 'static>(&self, it: impl Fn(&T) -> bool) -> bool {
        let found = |one: &mut Box<dyn Any>| one.downcast_ref::<T>().is_some_and(&it);
        let removed: Vec<Box<dyn Any>> = {
            let mut values = self.values().0.borrow_mut();
            values.extract_if(.., found).collect()
        };
        if removed.is_empty() {
            return false;
        }
        // What is dropped may look at the client.
        drop(removed);
        self.values_dropped();
        true
    }
}
