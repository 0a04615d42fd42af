//! Members of the rows of a list, read together.

use super::slots::LuaReader;
use crate::values::layout::{SlotValue, StackSlot, Table};
use crate::values::value;
use sampan_host::reader::{Mark, Name, Plain, ROW_MEMBERS_MAX, SeeRow};
use sampan_host::{Handle, Reader};
use std::ops::Range;

impl LuaReader<'_> {
    pub(super) fn members_of_items(
        &self,
        list: Handle,
        items: Range<usize>,
        names: &[Name],
        see: &mut SeeRow<'_>,
    ) -> usize {
        let (mut keys, mut members) = ([StackSlot::NIL; ROW_MEMBERS_MAX], [None; ROW_MEMBERS_MAX]);
        let (Some(keys), Some(members)) =
            (keys.get_mut(..names.len()), members.get_mut(..names.len()))
        else {
            return 0;
        };
        for (key, name) in keys.iter_mut().zip(names) {
            match self.name(*name) {
                Ok(known) => *key = known,
                Err(_) => return 0,
            }
        }
        // The texts of a row get handles while they are shown, which keep them if `see` runs a script.
        let (first, shown) = (self.slots.len(), self.shown.get());
        self.slots.extend(keys);
        self.shown.set(first + names.len());
        let mut count = 0;
        for at in items {
            // The list may be another one after each row: nothing of it is kept.
            let Some(row) = self.map_in(list, at) else {
                break;
            };
            self.anchored.set(self.anchored.get().min(first));
            for (at, (key, member)) in keys.iter().zip(&mut *members).enumerate() {
                let slot = row.find(*key);
                *member = plain(self.see(slot));
                if let Some(Plain::Text(_)) = member {
                    self.slots.set(first + at, slot);
                }
            }
            if !see(members) {
                break;
            }
            count += 1;
        }
        self.shown.set(shown);
        self.release(Mark::new(first as u32));
        count
    }

    /// The map in the array part of a list.
    #[inline]
    fn map_in(&self, list: Handle, at: usize) -> Option<&Table> {
        let SlotValue::Table(list) = self.see(self.slot(list)) else {
            return None;
        };
        let slot = *list.array().get(at.checked_add(1)?)?;
        match self.see(slot) {
            SlotValue::Table(table) if !self.is_list(slot, table) => Some(table),
            _ => None,
        }
    }
}

/// A value, if it is a plain one.
#[inline]
pub(super) fn plain(value: SlotValue<'_>) -> Option<Plain<'_>> {
    match value {
        SlotValue::Text(bytes) => Some(Plain::Text(bytes)),
        SlotValue::Number(number) => value::whole(number).map(Plain::Int),
        SlotValue::Bool(value) => Some(Plain::Bool(value)),
        _ => None,
    }
}
