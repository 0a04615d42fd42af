//! Loops.

use super::state::{Frame, Items, LoopState, OwnItems};
use super::{Cursor, Machine};
use crate::fault::{Outcome, TemplateFault};
use crate::objects::LoopSnapshot;
use crate::program::{LoopField, RECURSIVE, WITH_LOOP_VARIABLE};
use crate::value::TemplateValue;
use minijinja::Value;
use sampan_host::reader::{Kind, Name};
use std::rc::Rc;
use std::sync::Arc;

impl Machine<'_, '_> {
    pub(super) fn push_loop(
        &mut self,
        flags: u8,
        filter: Option<u32>,
        cursor: &mut Cursor,
    ) -> Outcome<()> {
        let iterable = self.pop();
        let jump = cursor.recursion.take();
        let items = self.items_of(&iterable, cursor);
        let (items, length) = items.map_err(|fault| match jump {
            Some(_) => fault.within("in the loop called at", &cursor.program.source, {
                let called = jump.map_or(0, |(target, _)| target.saturating_sub(1));
                cursor
                    .program
                    .lines
                    .get(called as usize)
                    .copied()
                    .unwrap_or(0)
            }),
            None => fault,
        })?;
        let around = self.current_loop().map(|at| &self.loops[at]);
        let depth = around
            .filter(|around| around.recursion_target.is_some())
            .map_or(0, |around| around.depth + 1);
        let mut frame = Frame::new(self.locals.len());
        frame.loop_at = Some(self.loops.len());
        self.push_frame(frame)?;
        let has_variable = flags & WITH_LOOP_VARIABLE != 0;
        // A loop without a variable filters the items of the next one.
        let (jump, passed_on) = match has_variable {
            true => (jump, None),
            false => (None, jump),
        };
        let is_recursive = flags & RECURSIVE != 0;
        let begin = filter.unwrap_or(cursor.at as u32);
        self.loops.push(LoopState {
            number: self.next_loop,
            has_variable,
            items,
            may_have_rows: true,
            rounds: 0,
            length,
            depth,
            recursion_target: is_recursive
                .then(|| (Arc::clone(&cursor.program), begin, filter.is_some())),
            recursion_jump: jump,
            passed_on,
            changed: None,
            mark: self.reader.mark(),
            captures: self.captures.len(),
            escapes: self.escapes.len(),
        });
        self.next_loop = self.next_loop.wrapping_add(1);
        Ok(())
    }

    fn items_of(
        &mut self,
        iterable: &TemplateValue,
        cursor: &Cursor,
    ) -> Outcome<(Items, Option<usize>)> {
        match iterable {
            TemplateValue::Script(it) => match self.reader.kind(*it) {
                Kind::List => return Ok((Items::List(*it), Some(self.reader.len(*it)?))),
                Kind::Map => {
                    let keys = self.reader.keys(*it)?;
                    return Ok((Items::Keys(keys), Some(keys.len())));
                }
                _ => {}
            },
            TemplateValue::List(items) => {
                return Ok((Items::Mixed(Rc::clone(items)), Some(items.len())));
            }
            _ => {}
        }
        if self.refuses(iterable)? {
            return Err(self.undefined_fault(cursor));
        }
        let rest = self.owned(iterable)?.try_iter()?;
        let length = match rest.size_hint() {
            (least, Some(most)) if least == most => Some(least),
            _ => None,
        };
        let items = OwnItems {
            rest,
            previous: None,
            current: None,
            next: None,
        };
        Ok((Items::Own(Box::new(items)), length))
    }

    /// Pushes the next item, if there is one.
    pub(super) fn next_round(&mut self) -> Outcome<bool> {
        let item = self.advance()?;
        let is_round = item.is_some();
        self.stack.extend(item);
        Ok(is_round)
    }

    /// Begins the next round with a variable instead of the stack.
    #[inline]
    pub(super) fn next_round_into(&mut self, name: Name) -> Outcome<bool> {
        if self.is_settled()
            && let Some(frame) = self.frames.last()
            && frame.closure.is_none()
            && let Some(state) = frame.loop_at.and_then(|at| self.loops.get_mut(at))
            && let Items::List(list) = state.items
        {
            let (round, first) = (state.rounds, frame.locals);
            state.rounds += 1;
            if state.has_variable && state.mark.count() >= self.enclosed {
                self.reader.release(state.mark);
            }
            self.known_map = None;
            if state.length <= Some(round) {
                return Ok(false);
            }
            self.count_round()?;
            let item = TemplateValue::Script(self.reader.item(list, round)?);
            match &mut self.locals[first..] {
                [(known, value)] if *known == name => *value = item,
                _ => {
                    self.locals.truncate(first);
                    self.locals.push((name, item));
                }
            }
            return Ok(true);
        }
        match self.advance()? {
            Some(item) => {
                self.store(name, item);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn advance(&mut self) -> Outcome<Option<TemplateValue>> {
        self.count_round()?;
        if !self.is_settled() {
            self.settle_loop();
        }
        let Some(at) = self.frames.last().and_then(|frame| frame.loop_at) else {
            return Ok(None);
        };
        let state = &mut self.loops[at];
        let round = state.rounds;
        state.rounds += 1;
        // Without a variable it is the part of a loop that chooses: its items stay on the stack.
        if state.has_variable && state.mark.count() >= self.enclosed {
            self.reader.release(state.mark);
        }
        self.known_map = None;
        let item = match &mut state.items {
            Items::List(list) => (state.length > Some(round))
                .then(|| self.reader.item(*list, round))
                .transpose()?
                .map(TemplateValue::Script),
            Items::Keys(keys) => keys.iter().nth(round).map(TemplateValue::Script),
            Items::Mixed(items) => items.get(round).cloned(),
            Items::Own(items) => match items.advance() {
                Some(item) => Some(TemplateValue::Own(checked(item)?)),
                None => None,
            },
        };
        if item.is_some()
            && let Some(frame) = self.frames.last()
        {
            self.locals.truncate(frame.locals);
        }
        Ok(item)
    }

    /// Reports whether the innermost loop has nothing to end.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        let at = self.frames.last().and_then(|frame| frame.loop_at);
        at.and_then(|at| self.loops.get(at)).is_some_and(|state| {
            state.captures == self.captures.len() && state.escapes == self.escapes.len()
        })
    }

    /// Ends what `continue` and `break` have jumped out of.
    fn settle_loop(&mut self) {
        if self
            .frames
            .last()
            .is_some_and(|frame| frame.loop_at.is_none())
        {
            let frames = &self.frames[self.base..];
            if let Some(at) = frames.iter().rposition(|frame| frame.loop_at.is_some()) {
                self.pop_frames_to(self.base + at + 1);
            }
        }
        let Some(state) = self
            .frames
            .last()
            .and_then(|frame| self.loops.get(frame.loop_at?))
        else {
            return;
        };
        let (captures, escapes) = (state.captures, state.escapes);
        while self.captures.len() > captures {
            self.end_capture();
        }
        if let Some(mode) = self.escapes.get(escapes) {
            self.escape = *mode;
            self.escapes.truncate(escapes);
        }
    }

    /// Ends the innermost loop. If it was called, gives where the run continues.
    pub(super) fn pop_loop(&mut self, cursor: &mut Cursor) -> Option<u32> {
        // A loop that was called has captured since.
        let called = self.current_loop().and_then(|at| {
            let state = &mut self.loops[at];
            if state.passed_on.is_some() {
                cursor.recursion = state.passed_on.take();
            }
            state.recursion_jump.take()
        });
        self.settle_loop();
        self.pop_frame();
        let (target, is_captured) = called?;
        if is_captured {
            let captured = self.end_capture();
            self.push_own(captured);
        }
        Some(target)
    }

    pub(super) fn did_not_iterate(&mut self) -> bool {
        self.settle_loop();
        self.current_loop()
            .is_some_and(|at| self.loops[at].rounds == 1)
    }

    /// The innermost loop that can be seen.
    pub(super) fn current_loop(&self) -> Option<usize> {
        self.frames[self.base..]
            .iter()
            .rev()
            .find_map(|frame| frame.loop_at)
    }

    /// The loop with this number, if it goes on.
    fn loop_at(&self, number: u32) -> Option<usize> {
        self.loops.iter().rposition(|state| state.number == number)
    }

    /// Has the run go to the beginning of a loop, with the values on the stack.
    pub(super) fn recurse(
        &mut self,
        number: u32,
        captures: bool,
        cursor: &mut Cursor,
    ) -> Outcome<()> {
        let target = self
            .loop_at(number)
            .and_then(|at| self.loops[at].recursion_target.as_ref());
        let target = target.filter(|(program, ..)| Arc::ptr_eq(program, &cursor.program));
        let Some((_, target, is_filtered)) = target else {
            return Err(TemplateFault::new(
                "cannot recurse outside of a recursive loop",
            ));
        };
        let (target, is_filtered) = (*target as usize, *is_filtered);
        cursor.recursion = Some((cursor.at as u32 + 1, captures));
        cursor.at = target;
        if is_filtered {
            // How many items have passed the filter, below the items.
            let items = self.pop();
            self.push_own(0);
            self.push(items);
        }
        if captures {
            self.begin_capture(true);
        }
        Ok(())
    }

    /// `loop.index` and so on.
    pub(super) fn loop_field(&mut self, number: u32, field: LoopField) -> Outcome<TemplateValue> {
        let Some(at) = self.loop_at(number) else {
            return Ok(TemplateValue::UNDEFINED);
        };
        if self.loops[at].rounds == 0 {
            return Ok(TemplateValue::UNDEFINED);
        }
        match field {
            LoopField::Previous => self.previous_item(at),
            LoopField::Next => self.next_item(at),
            field => Ok(TemplateValue::Own(
                self.snapshot_without_neighbours(at).field(field),
            )),
        }
    }

    fn snapshot_without_neighbours(&self, at: usize) -> LoopSnapshot {
        let state = &self.loops[at];
        LoopSnapshot {
            index: state.rounds.checked_sub(1),
            length: state.length,
            depth: state.depth,
            previous: Value::UNDEFINED,
            next: Value::UNDEFINED,
        }
    }

    /// The variable `loop` for what is not this machine.
    pub(super) fn loop_snapshot(&mut self, number: u32) -> Outcome<Value> {
        let Some(at) = self.loop_at(number) else {
            return Ok(Value::UNDEFINED);
        };
        let mut snapshot = self.snapshot_without_neighbours(at);
        let (previous, next) = (self.previous_item(at)?, self.next_item(at)?);
        snapshot.previous = self.owned(&previous)?;
        snapshot.next = self.owned(&next)?;
        Ok(Value::from_object(snapshot))
    }

    fn previous_item(&mut self, at: usize) -> Outcome<TemplateValue> {
        let Some(before) = self.loops[at].rounds.checked_sub(2) else {
            return Ok(TemplateValue::UNDEFINED);
        };
        if let Items::Own(items) = &self.loops[at].items {
            return Ok(TemplateValue::Own(
                items.previous.clone().unwrap_or_default(),
            ));
        }
        self.item_at(at, before)
    }

    fn next_item(&mut self, at: usize) -> Outcome<TemplateValue> {
        let after = self.loops[at].rounds;
        if let Items::Own(items) = &mut self.loops[at].items {
            return Ok(TemplateValue::Own(items.next().unwrap_or_default()));
        }
        self.item_at(at, after)
    }

    /// An item by its place. It is read anew.
    fn item_at(&self, at: usize, place: usize) -> Outcome<TemplateValue> {
        let state = &self.loops[at];
        if state.length <= Some(place) {
            return Ok(TemplateValue::UNDEFINED);
        }
        Ok(match &state.items {
            Items::List(list) => TemplateValue::Script(self.reader.item(*list, place)?),
            Items::Keys(keys) => keys
                .iter()
                .nth(place)
                .map_or(TemplateValue::UNDEFINED, TemplateValue::Script),
            Items::Mixed(items) => items
                .get(place)
                .cloned()
                .unwrap_or(TemplateValue::UNDEFINED),
            Items::Own(_) => TemplateValue::UNDEFINED,
        })
    }

    /// `loop.changed()` and `loop.cycle()`.
    pub(super) fn loop_method(
        &mut self,
        number: u32,
        name: &str,
        args: &[TemplateValue],
    ) -> Outcome<TemplateValue> {
        let Some(at) = self.loop_at(number) else {
            return Err(TemplateFault::new("unknown method: this loop has ended"));
        };
        match name {
            "changed" => {
                let values = self.all_owned(args)?;
                let changed = self.loops[at].changed.as_ref() != Some(&values);
                if changed {
                    self.loops[at].changed = Some(values);
                }
                Ok(changed.into())
            }
            "cycle" if args.is_empty() => Err(TemplateFault::new(
                "missing argument: loop.cycle needs at least one value",
            )),
            "cycle" => {
                let index = self.loops[at].rounds.saturating_sub(1);
                Ok(args[index % args.len()].clone())
            }
            _ => Err(TemplateFault::new(format!(
                "unknown method: loop has no method named {name}"
            ))),
        }
    }
}

/// Fails if an iterator gave an error instead of a value.
pub(super) fn checked(value: Value) -> Outcome<Value> {
    if value.kind() == minijinja::value::ValueKind::Invalid {
        return Err(TemplateFault::new(value.to_string()));
    }
    Ok(value)
}
