//! Native objects: what a capability keeps for a script between calls, with methods declared like functions.
//!
//! A script holds an [`Object`]: two small numbers. The value behind it stays in the isolate's [`Objects`], and a
//! number that is out of date finds nothing there. So an object may be kept, passed on and used too late, and each use
//! is checked.

use crate::error::Error;
use crate::tables::module::{Function, RowOwner};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A kind of native object.
pub struct Class {
    /// The name of its type, in `PascalCase`: `Transaction`.
    pub name: &'static str,
    /// The name of an object in documentation and errors call an object of it: `tx`.
    pub variable: &'static str,
    /// The purpose, in one sentence.
    pub doc: &'static str,
    /// The methods. [`Args::object`](crate::Args::object) gives them the value that they are called on.
    pub methods: &'static [Function],
    /// The time at which its objects go, unless a method removes them before.
    pub lifetime: Lifetime,
    /// True if its objects have keys of the script's own, as `session.user_id`. A key that is no method is read by the
    /// method `get`, written
    /// by `set` (with [`Value::Null`](crate::Value::Null) to remove it) and listed by `keys`; they are rows of kind
    /// `Sync`.
    pub is_keyed: bool,
}

/// The time at which an object goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// With the request whose run got it: when that has ended or was given up. What runs to end such a request in order
    /// finds it gone.
    Request,
    /// After the script has forgotten it.
    Collector,
}

impl Class {
    /// Returns the owner of its methods.
    pub fn owner(&self) -> RowOwner<'_> {
        RowOwner {
            name: self.variable,
            is_class: true,
        }
    }

    /// Returns the method of this name.
    pub fn method(&self, name: &str) -> Option<&'static Function> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// Refuses a key of the script's that would hide a method.
    ///
    /// # Errors
    /// There is a method of this name.
    pub fn check_key(&self, key: &str) -> Result<(), Error> {
        if self.method(key).is_none() {
            return Ok(());
        }
        let (name, it) = (self.name, self.variable);
        Err(Error::script(format!(
            "{key:?} is a method of a {name}: choose another key for what is kept in the {it}"
        )))
    }

    /// Returns the name with an article: "a Transaction".
    pub fn with_article(&self) -> String {
        let is_vowel = self.name.starts_with(['A', 'E', 'I', 'O', 'U']);
        format!("{} {}", if is_vowel { "an" } else { "a" }, self.name)
    }

    /// Returns the error for an object that is gone.
    #[cold]
    pub fn is_over(&self) -> Error {
        Error::script(format!("this {} is over", self.name))
    }

    /// Returns the error for an object of another request.
    #[cold]
    pub fn is_of_another_request(&self) -> Error {
        Error::script(format!("this {} belongs to another request", self.name))
    }
}

/// Prints the name only: its methods may give objects of the class itself, so it is only named.
impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A class is declared once.
impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Class {}

/// A native object as a script holds it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Object {
    class: &'static Class,
    slot: u32,
    generation: u32,
}

impl Object {
    /// Returns the class.
    pub fn class(self) -> &'static Class {
        self.class
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class.name, self.slot)
    }
}

/// The native objects of one isolate, shared by clones.
#[derive(Clone, Default)]
pub struct Objects(Rc<ObjectSlots>);

#[derive(Default)]
struct ObjectSlots {
    slots: RefCell<Vec<ObjectSlot>>,
    free: RefCell<Vec<u32>>,
    /// The objects that the collector has found, in any place; it is removed later, by [`Objects::sweep`].
    forgotten: RefCell<Vec<Object>>,
}

#[derive(Default)]
struct ObjectSlot {
    /// Counts those who had this slot.
    generation: u32,
    value: Option<Rc<dyn Any>>,
    /// The number of handles in scripts.
    handles: u32,
    has_owner: bool,
}

impl Objects {
    /// Keeps `value` as an object of `class`.
    pub fn add<T: 'static>(&self, class: &'static Class, value: T) -> Object {
        self.add_shared(class, Rc::new(value))
    }

    /// Adds a value that others hold too.
    pub fn add_shared<T: 'static>(&self, class: &'static Class, value: Rc<T>) -> Object {
        self.sweep();
        let free = self.0.free.borrow_mut().pop();
        let mut slots = self.0.slots.borrow_mut();
        let slot = free.unwrap_or_else(|| {
            slots.push(ObjectSlot::default());
            slots.len() as u32 - 1
        });
        let place = &mut slots[slot as usize];
        *place = ObjectSlot {
            // Never 0, and the next one's when the numbers begin anew.
            generation: place.generation.wrapping_add(1).max(1),
            value: Some(value),
            ..ObjectSlot::default()
        };
        let generation = place.generation;
        Object {
            class,
            slot,
            generation,
        }
    }

    /// The value of an object; nothing if it is gone, or of another type.
    pub fn get<T: 'static>(&self, object: Object) -> Option<Rc<T>> {
        let value = self.with(object, |slot| slot.value.clone())??;
        value.downcast().ok()
    }

    /// Takes back a new object that was made outside of any request.
    ///
    /// # Errors
    /// Its class has objects of requests only.
    #[cold]
    pub fn check_outside(&self, object: Object) -> Result<(), Error> {
        if object.class.lifetime == Lifetime::Collector {
            return Ok(());
        }
        self.remove(object);
        Err(Error::script(format!(
            "{} belongs to a request: make it in a handler",
            object.class.with_article()
        )))
    }

    /// Reports whether the object is still there.
    pub fn contains(&self, object: Object) -> bool {
        self.with(object, |_| ()).is_some()
    }

    /// Removes an object, if it is still there. Its value is dropped, unless a call of one of its methods goes on.
    pub fn remove(&self, object: Object) {
        let value = self.with(object, |slot| slot.value.take()).flatten();
        if value.is_some() {
            self.0.free.borrow_mut().push(object.slot);
        }
        // The destructor may run arbitrary code, so no borrow is held here.
        drop(value);
    }

    /// A script holds the object once more.
    pub fn hold(&self, object: Object) {
        self.with(object, |slot| slot.handles += 1);
    }

    /// A script has forgotten an object that it held. To be called by finalizers: nothing is dropped here.
    pub fn forget(&self, object: Object) {
        if let Ok(mut forgotten) = self.0.forgotten.try_borrow_mut() {
            forgotten.push(object);
        }
    }

    /// Removes what scripts have forgotten. Called after each run.
    #[inline]
    pub fn sweep(&self) {
        if !self.0.forgotten.borrow().is_empty() {
            self.remove_forgotten();
        }
    }

    #[cold]
    fn remove_forgotten(&self) {
        let forgotten = std::mem::take(&mut *self.0.forgotten.borrow_mut());
        for object in forgotten {
            let is_last = self.with(object, |slot| {
                slot.handles = slot.handles.saturating_sub(1);
                slot.handles == 0
            });
            if is_last == Some(true) {
                self.remove(object);
            }
        }
    }

    /// Returns the number of objects.
    pub fn count(&self) -> usize {
        let slots = self.0.slots.borrow();
        slots.iter().filter(|slot| slot.value.is_some()).count()
    }

    fn with<R>(&self, object: Object, use_it: impl FnOnce(&mut ObjectSlot) -> R) -> Option<R> {
        let mut slots = self.0.slots.borrow_mut();
        let slot = slots.get_mut(object.slot as usize)?;
        let is_it = slot.generation == object.generation && slot.value.is_some();
        is_it.then(|| use_it(slot))
    }
}

/// The objects of one request. They go with it: with this.
#[derive(Default)]
pub struct RequestObjects {
    objects: Option<Objects>,
    owned: Vec<Object>,
}

impl RequestObjects {
    /// From so many on, those that are gone are looked for now and then.
    const TIDY_MIN: usize = 16;

    /// Takes a new object, if its class has objects that end with their request, and it has no owner yet.
    pub fn own(&mut self, objects: &Objects, object: Object) {
        let is_new = object.class.lifetime == Lifetime::Request
            && objects.with(object, |slot| !std::mem::replace(&mut slot.has_owner, true))
                == Some(true);
        if !is_new {
            return;
        }
        let count = self.owned.len();
        if count >= Self::TIDY_MIN && count.is_power_of_two() {
            self.owned.retain(|other| objects.contains(*other));
        }
        self.owned.push(object);
        self.objects.get_or_insert_with(|| objects.clone());
    }

    /// Reports whether the object is one of these.
    pub fn owns(&self, object: Object) -> bool {
        self.owned.contains(&object)
    }
}

impl Drop for RequestObjects {
    fn drop(&mut self) {
        for object in std::mem::take(&mut self.owned) {
            if let Some(objects) = &self.objects {
                objects.remove(object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    static REQUESTS: Class = class("Transaction", Lifetime::Request);
    static COLLECTORS: Class = class("Image", Lifetime::Collector);

    const fn class(name: &'static str, lifetime: Lifetime) -> Class {
        Class {
            name,
            variable: "it",
            doc: "",
            methods: &[],
            lifetime,
            is_keyed: false,
        }
    }

    /// Counts how many of its kind were dropped.
    struct Counted(Rc<Cell<u32>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn a_slot_that_is_used_again_is_another_object() {
        let objects = Objects::default();
        let first = objects.add(&REQUESTS, 1_i32);
        assert_eq!(objects.get::<i32>(first).as_deref(), Some(&1));
        assert!(objects.get::<u32>(first).is_none());
        objects.remove(first);
        objects.remove(first);
        let second = objects.add(&REQUESTS, 2_i32);
        assert_eq!((first.slot, first == second), (second.slot, false));
        assert!(objects.get::<i32>(first).is_none());
        objects.remove(first);
        assert_eq!(objects.get::<i32>(second).as_deref(), Some(&2));
    }

    #[test]
    fn a_request_takes_its_objects_with_it() {
        let (objects, dropped) = (Objects::default(), Rc::new(Cell::new(0)));
        let (mut mine, mut other) = (RequestObjects::default(), RequestObjects::default());
        let object = objects.add(&REQUESTS, Counted(dropped.clone()));
        mine.own(&objects, object);
        other.own(&objects, object);
        assert!(mine.owns(object) && !other.owns(object));
        let kept = objects.add(&COLLECTORS, Counted(dropped.clone()));
        mine.own(&objects, kept);
        drop(other);
        assert_eq!(dropped.get(), 0);
        drop(mine);
        assert!(!objects.contains(object) && objects.contains(kept));
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn a_request_forgets_what_it_has_closed() {
        let (objects, mut mine) = (Objects::default(), RequestObjects::default());
        for _ in 0..10_000 {
            let object = objects.add(&REQUESTS, ());
            mine.own(&objects, object);
            objects.remove(object);
        }
        assert!(mine.owned.len() <= RequestObjects::TIDY_MIN);
        assert_eq!(objects.0.slots.borrow().len(), 1);
    }

    #[test]
    fn the_last_handle_takes_the_object_with_it() {
        let (objects, dropped) = (Objects::default(), Rc::new(Cell::new(0)));
        let object = objects.add(&COLLECTORS, Counted(dropped.clone()));
        objects.hold(object);
        objects.hold(object);
        objects.forget(object);
        objects.sweep();
        assert!(objects.contains(object));
        objects.forget(object);
        assert_eq!(dropped.get(), 0);
        objects.sweep();
        assert_eq!((dropped.get(), objects.count()), (1, 0));
    }
}
