//! The places of members in objects of one shape.
//!
//! A look-up by name costs some forty instructions. Most objects that a reader sees have the shape of those before
//! them, and so their members at the same places.

use crate::values::layout::{Layout, Shape};
use crate::values::property_names::PropertyNames;
use crate::values::shapes::NAMES_MAX;
use crate::vm::sys::{Cx, Thrown, Val};
use rquickjs::qjs;
use sampan_host::reader::Name;
use std::cell::{Cell, RefCell};

/// The number of places that are known; a power of two.
const PLACES: usize = 256;

/// The places that an isolate knows: one with the same slot replaces the one that is there.
pub(crate) struct Places {
    known: Box<[Cell<Place>; PLACES]>,
    /// One of each shape in `known`, by the same slots, so that its address is no other's.
    objects: RefCell<Vec<Option<Val>>>,
    misses: RefCell<Vec<Misses>>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            known: Box::new([const { Cell::new(Place::NONE) }; PLACES]),
            objects: RefCell::default(),
            misses: RefCell::default(),
        }
    }
}

/// The place of a member in the objects of a shape have the member of a name.
#[derive(Clone, Copy)]
struct Place {
    shape: Shape,
    name: u32,
    at: u32,
}

impl Place {
    const NONE: Self = Self {
        shape: std::ptr::null_mut(),
        name: 0,
        at: 0,
    };
}

/// The number of failed searches. A shape that has gone may leave its address to another one: that is a worse guess.
#[derive(Clone, Copy, Default)]
struct Misses {
    shape: usize,
    name: usize,
    count: u32,
}

impl Places {
    /// At which place objects of this shape have a member, if that is known: then it is there, and a plain value.
    #[inline]
    pub(super) fn find(&self, shape: Shape, name: Name) -> Option<usize> {
        let place = self.known[Self::slot(shape, name)].get();
        (place.shape == shape && place.name as usize == name.number()).then_some(place.at as usize)
    }

    #[inline]
    fn slot(shape: Shape, name: Name) -> usize {
        let address = shape as usize;
        ((address >> 4) ^ (address >> 12) ^ name.number()) & (PLACES - 1)
    }

    /// Counts a look-up of the member `atom` in an object that is plain by class, and learns its place if there are
    /// many.
    pub(super) fn missed(
        &self,
        cx: Cx<'_>,
        layout: Layout,
        object: &Val,
        name: Name,
        atom: qjs::JSAtom,
    ) -> Result<(), Thrown> {
        let Some(shape) = layout.shape_of(object) else {
            return Ok(());
        };
        let (slot, number) = (Self::slot(shape, name), name.number());
        let mut misses = self.misses.borrow_mut();
        misses.resize(PLACES, Misses::default());
        let missed = &mut misses[slot];
        if (missed.shape, missed.name) != (shape as usize, number) {
            *missed = Misses {
                shape: shape as usize,
                name: number,
                count: 0,
            };
        }
        missed.count = missed.count.saturating_add(1);
        // Not every shape can be learned: the more often it was tried, the rarer it is tried again.
        let is_worth_it = missed.count > 1 && missed.count.is_power_of_two();
        drop(misses);
        if !is_worth_it {
            return Ok(());
        }
        let Some((at, like)) = Self::learn(cx, layout, object, atom)? else {
            return Ok(());
        };
        // First the object, then the place: no shape is known that may go.
        let mut objects = self.objects.borrow_mut();
        objects.resize_with(PLACES, || None);
        let old = objects[slot].replace(like);
        drop(objects);
        self.known[slot].set(Place {
            shape,
            name: number as u32,
            at: at as u32,
        });
        drop(old);
        Ok(())
    }

    /// The place of a member in an object that is plain by class, and another object of its shape. That one is made
    /// name by name, with nothing but plain values: if it gets the same shape, then the values of both lie in the order
    /// of the names.
    #[cold]
    fn learn(
        cx: Cx<'_>,
        layout: Layout,
        object: &Val,
        atom: qjs::JSAtom,
    ) -> Result<Option<(usize, Val)>, Thrown> {
        let names = PropertyNames::of(cx, object.raw())?;
        if names.iter().len() > NAMES_MAX {
            return Ok(None);
        }
        let Some(at) = names.iter().position(|name| name == atom) else {
            return Ok(None);
        };
        let like = cx.object_of(&cx.prototype(object)?)?;
        for name in names.iter() {
            cx.define_atom(like.raw(), name, cx.undefined())?;
        }
        let is_alike = layout.shape_of(&like) == layout.shape_of(object);
        Ok(is_alike.then_some((at, like)))
    }

    /// Lets all go; to be called before the context goes.
    pub(crate) fn clear(&self) {
        for place in &*self.known {
            place.set(Place::NONE);
        }
        drop(self.objects.take());
    }
}
