//! Members of the rows of a list, read together.

use super::state::JsReader;
use crate::values::layout::{Layout, Shape};
use crate::vm::sys::{RawValue, is_object, is_true, tag, whole_number};
use rquickjs::qjs;
use sampan_host::Handle;
use sampan_host::reader::{Name, Plain, ROW_MEMBERS_MAX, SeeRow};
use std::ops::Range;

/// The places of members in the rows of one shape.
struct RowPlaces {
    shape: Shape,
    places: [Option<usize>; ROW_MEMBERS_MAX],
}

impl JsReader<'_> {
    pub(super) fn members_of_items(
        &self,
        list: Handle,
        items: Range<usize>,
        names: &[Name],
        see: &mut SeeRow<'_>,
    ) -> usize {
        let mut members = [None; ROW_MEMBERS_MAX];
        let (Some(layout), Some(members)) = (self.layout, members.get_mut(..names.len())) else {
            return 0;
        };
        let mut known = RowPlaces {
            shape: std::ptr::null_mut(),
            places: [None; ROW_MEMBERS_MAX],
        };
        let (first, mut count) = (self.list.len(), 0);
        self.list.reserve();
        for at in items {
            // The list may be another one after each row: nothing of it is kept.
            let Some(row) = self.object_in(layout, list, at) else {
                break;
            };
            // SAFETY: `object_in` has found an object, which its list keeps alive until script runs.
            let shape = unsafe { layout.shape(row) };
            if known.shape != shape {
                known.shape = shape;
                for (place, name) in known.places.iter_mut().zip(names) {
                    *place = self.core.reader_places.find(shape, *name);
                }
            }
            for (place, member) in known.places.iter().zip(&mut *members) {
                // SAFETY: the value is an object. One of a shape that has a place for a name has a plain value there
                // (`Places::learn`), which it keeps until script runs; the list keeps it from then on.
                *member = place.and_then(|at| unsafe {
                    let value = layout.values(row).add(at).read();
                    let is_kept = self.list.push_borrowed(value);
                    self.short(RawValue::from_js(value)).filter(|_| is_kept)
                });
            }
            let is_seen = self.list.keeping(self.list.len(), || see(members));
            if self.list.owns_beyond(first) {
                // Script may have run: the shape may have gone.
                known.shape = std::ptr::null_mut();
            }
            self.list.release(first);
            if !is_seen {
                break;
            }
            count += 1;
        }
        count
    }

    /// The object without a class of its own that lies in an array.
    #[inline]
    fn object_in(&self, layout: Layout, list: Handle, at: usize) -> Option<RawValue<'_>> {
        let classes = &self.core.classes;
        // SAFETY: no script runs until the row has been read. Values that are objects by their tags have a class, and
        // arrays have items.
        unsafe {
            let list = self.list.get(list);
            if !is_object(list) || layout.class(list) != classes.array {
                return None;
            }
            let row = *layout.items(list).get(at)?;
            (is_object(row) && layout.class(row) == classes.object).then_some(row)
        }
    }

    /// A value, if it is a plain one that can be seen at once. A row may have long texts that it does not print.
    #[inline]
    fn short<'v>(&self, value: RawValue<'v>) -> Option<Plain<'v>> {
        match tag(value) {
            qjs::JS_TAG_BOOL | qjs::JS_TAG_INT => self.plain(value),
            _ => self.text_layout?.short_ascii_of(value).map(Plain::Text),
        }
    }

    /// A value, if it is a plain one that can be seen at once.
    #[inline]
    pub(super) fn plain<'v>(&self, value: RawValue<'v>) -> Option<Plain<'v>> {
        match tag(value) {
            qjs::JS_TAG_BOOL => Some(Plain::Bool(is_true(value))),
            qjs::JS_TAG_INT => whole_number(value).map(Plain::Int),
            _ => self.text_layout?.ascii_of(value).map(Plain::Text),
        }
    }
}
