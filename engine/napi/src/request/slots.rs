//! The requests whose scripts may ask, by numbers. A number is used once: a request object that a script keeps too long
//! finds nothing, even where its place is another request's by then.

use crate::promises::tasks::Tasks;
use sampan_host::RequestView;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The number of bits for the place; the others count those who had it. JavaScript's numbers are exact up to 53 bits.
const PLACE_BITS: u32 = 22;

/// The number of serials before they begin anew.
const SERIALS: u64 = 1 << (53 - PLACE_BITS);

/// A request whose script may ask.
pub(crate) struct RequestSlot {
    pub(crate) view: Rc<dyn RequestView>,
    pub(crate) tasks: Rc<Tasks>,
    /// True if the body has been handed out.
    pub(crate) is_taken: Cell<bool>,
    /// True if the prelude wants to hear of its end.
    pub(crate) is_watched: Cell<bool>,
}

/// The number of a request, as JavaScript has it.
pub(crate) type RequestKey = f64;

/// The requests of an isolate.
#[derive(Default)]
pub(crate) struct Requests {
    slots: RefCell<Slab<(u64, Rc<RequestSlot>)>>,
    serial: Cell<u64>,
}

fn place(key: RequestKey) -> usize {
    (key as u64 & ((1 << PLACE_BITS) - 1)) as usize
}

impl Requests {
    /// A number for a request.
    pub(crate) fn add(&self, slot: Rc<RequestSlot>) -> RequestKey {
        let serial = (self.serial.get() + 1) % SERIALS;
        self.serial.set(serial);
        let mut slots = self.slots.borrow_mut();
        let entry = slots.vacant_entry();
        let key = (serial << PLACE_BITS) | (entry.key() as u64 & ((1 << PLACE_BITS) - 1));
        entry.insert((key, slot));
        key as RequestKey
    }

    /// The request with this number, if it has not ended.
    pub(crate) fn get(&self, key: RequestKey) -> Option<Rc<RequestSlot>> {
        let slots = self.slots.borrow();
        let (known, slot) = slots.get(place(key))?;
        (*known as RequestKey == key).then(|| Rc::clone(slot))
    }

    /// The request has ended.
    pub(crate) fn remove(&self, key: RequestKey) -> Option<Rc<RequestSlot>> {
        self.get(key)?;
        let removed = self.slots.borrow_mut().try_remove(place(key));
        removed.map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::{Error, Store, request};
    use std::borrow::Cow;

    struct Nobody(Store);

    impl RequestView for Nobody {
        fn method(&self) -> &str {
            "GET"
        }
        fn path(&self) -> &str {
            "/"
        }
        fn query(&self) -> Option<&str> {
            None
        }
        fn url(&self) -> String {
            String::new()
        }
        fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
            None
        }
        fn header(&self, _: &str) -> Option<&[u8]> {
            None
        }
        fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
        fn ip(&self) -> String {
            String::new()
        }
        fn id(&self) -> Cow<'_, str> {
            Cow::Borrowed("")
        }
        fn body(&self) -> &[u8] {
            &[]
        }
        fn store(&self) -> &Store {
            &self.0
        }
        fn add_header(&self, _: &str, _: &[u8]) -> Result<(), Error> {
            Err(request::is_answered())
        }
        fn is_over(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_number_is_used_once() {
        let requests = Requests::default();
        let slot = || {
            Rc::new(RequestSlot {
                view: Rc::new(Nobody(Store::default())),
                tasks: Rc::default(),
                is_taken: Cell::new(false),
                is_watched: Cell::new(false),
            })
        };
        let first = requests.add(slot());
        assert!(requests.get(first).is_some() && requests.remove(first).is_some());
        let second = requests.add(slot());
        assert_eq!(place(first), place(second));
        assert!(requests.get(first).is_none() && requests.remove(first).is_none());
        assert!(requests.get(second).is_some() && requests.get(-1.5).is_none());
    }
}
