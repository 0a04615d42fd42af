//! Rows of a list, printed without a look at the machine between their parts.

use super::{Machine, is_true, print_cased, print_plain};
use crate::escape::push_block;
use crate::program::{Escape, RowStep, Rows};
use crate::vm::state::Items;
use sampan_host::reader::Plain;

/// The way rows are printed.
struct RowPrinter<'a> {
    rows: &'a Rows,
    escape: Escape,
    bytes_max: usize,
}

impl Machine<'_, '_> {
    /// Does the next rounds of the innermost loop, up to the first that takes more than to print plain members: that
    /// one is begun as any other.
    pub(in crate::vm) fn run_rows(&mut self, rows: &Rows) {
        if self.escape == Escape::Json || rows.is_cased && self.hides_known || !self.is_settled() {
            return;
        }
        if let Some(frame) = self.frames.last()
            && frame.closure.is_none()
            && let Some(state) = frame.loop_at.and_then(|at| self.loops.get_mut(at))
            && let (Items::List(list), Some(length), true) =
                (&state.items, state.length, state.may_have_rows)
        {
            let most = self.rounds_until_check as usize - 1;
            let end = length.min(state.rounds + most);
            let printer = RowPrinter {
                rows,
                escape: self.escape,
                bytes_max: self.limits.memory_bytes_max,
            };
            let out = &mut self.out;
            let mut print = |members: &[Option<Plain<'_>>]| {
                let start = out.len();
                let is_done = printer.print(out, members).is_some();
                if !is_done {
                    out.truncate(start);
                }
                is_done
            };
            let items = state.rounds..end;
            if items.is_empty() {
                return;
            }
            let count = self
                .reader
                .show_rows(*list, items, &rows.members, &mut print);
            state.rounds += count;
            state.may_have_rows = count > 0;
            self.rounds_until_check -= count as u32;
        }
    }
}

impl RowPrinter<'_> {
    /// Prints a row. None, with a part of it printed, if that takes more, and where the output is too large.
    #[inline]
    fn print(&self, out: &mut Vec<u8>, members: &[Option<Plain<'_>>]) -> Option<()> {
        let steps = &*self.rows.steps;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match step {
                RowStep::Short(text, length) => push_block(out, *text, *length),
                RowStep::Raw(text) => out.extend_from_slice(text.as_bytes()),
                RowStep::Print(member) => {
                    print_plain(out, self.escape, members.get(*member)?.as_ref()?);
                    self.has_room(out)?;
                }
                RowStep::PrintCased(member, is_upper) => match *members.get(*member)?.as_ref()? {
                    Plain::Text(text) if print_cased(out, self.escape, text, *is_upper) => {
                        self.has_room(out)?;
                    }
                    _ => return None,
                },
                RowStep::JumpUnless(member, target) => {
                    if !is_true(members.get(*member)?.as_ref()?) {
                        at = *target;
                    }
                }
                RowStep::Jump(target) => at = *target,
            }
        }
        self.has_room(out)
    }

    #[inline]
    fn has_room(&self, out: &[u8]) -> Option<()> {
        (out.len() <= self.bytes_max).then_some(())
    }
}
