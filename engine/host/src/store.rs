//! One value for each type.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps one value for each type. An empty one has allocated nothing.
#[derive(Default)]
pub struct Store {
    /// The values by their types. There are few, and a look at all is quicker than a hash.
    entries: RefCell<Vec<(TypeId, Rc<dyn Any>)>>,
}

impl Store {
    /// Keeps `value`, replacing an earlier one of the same type.
    pub fn put<T: 'static>(&self, value: T) -> Rc<T> {
        let value = Rc::new(value);
        let mut entries = self.entries.borrow_mut();
        entries.retain(|(id, _)| *id != TypeId::of::<T>());
        entries.push((TypeId::of::<T>(), Rc::clone(&value) as Rc<dyn Any>));
        value
    }

    /// The value of type `T`, if there is one.
    pub fn get<T: 'static>(&self) -> Option<Rc<T>> {
        self.entries
            .borrow()
            .iter()
            .find(|(id, _)| *id == TypeId::of::<T>())
            .and_then(|(_, entry)| entry.clone().downcast().ok())
    }

    /// Reports whether there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.entries.borrow().len();
        f.debug_struct("Store").field("values", &count).finish()
    }
}
