//! The operations that are not as frequent as others.

use super::changes::made_list;
use super::state::Frame;
use super::{Cursor, Machine};
use crate::fault::Outcome;
use crate::program::Op;
use crate::value::{TemplateValue, named};
use minijinja::Value;
use minijinja::value::Tuple;
use std::rc::Rc;

impl Machine<'_, '_> {
    /// The operations that are not as frequent.
    #[inline(never)]
    pub(super) fn other(&mut self, op: &Op, cursor: &mut Cursor) -> Outcome<()> {
        match op {
            Op::SetAttr(name) => {
                let (target, value) = (self.pop(), self.pop());
                self.set_attr(&target, name, &value)?;
            }
            Op::Item => {
                let (key, value) = (self.pop(), self.pop());
                let found = self.item(&value, &key, cursor)?;
                self.push(found);
            }
            Op::Slice => {
                let parts = self.pop_count(4);
                let result = self.slice(&parts)?;
                self.push_own(result);
            }
            Op::BuildMap(count) => {
                let pairs = self.pop_pairs(*count)?;
                let map = self.made_map(pairs);
                self.push_own(map);
            }
            Op::BuildKwargs(count) => self.build_kwargs(*count)?,
            Op::MergeKwargs(count) => {
                let sources = self.pop_count(*count);
                let merged = self.merge_kwargs(&sources)?;
                self.push_own(merged);
            }
            Op::BuildList(count) => {
                let (count, is_literal) = match count {
                    Some(count) => (*count, true),
                    None => (self.argument_count(None)?, false),
                };
                let items = self.pop_count(count);
                match is_literal && self.changes_values {
                    true => {
                        let items = self.all_owned(&items)?;
                        self.push_own(made_list(items));
                    }
                    false => self.push_list(items),
                }
            }
            Op::BuildTuple(count) => {
                let count = match count {
                    Some(count) => *count,
                    None => self.argument_count(None)?,
                };
                let items = self.pop_count(count);
                let items = self.all_owned(&items)?;
                self.push_own(Tuple::from(items));
            }
            Op::UnpackList(count) => self.unpack(*count)?,
            Op::UnpackLists(count) => {
                let lists = self.pop_count(*count);
                let before = self.stack.len();
                for list in &lists {
                    self.unpack_into_stack(list)?;
                }
                let count = self.stack.len() - before;
                self.push_own(count);
            }
            Op::Math(math) => {
                let (b, a) = (self.pop(), self.pop());
                let result = self.calculate(*math, &a, &b)?;
                self.push_own(result);
            }
            Op::Neg => {
                let value = self.pop();
                let result = self.negate(&value)?;
                self.push_own(result);
            }
            Op::Concat => {
                let (b, a) = (self.pop(), self.pop());
                let result = self.concat(&a, &b)?;
                self.push_own(result);
            }
            Op::PushWith => self.push_frame(Frame::new(self.locals.len()))?,
            Op::PopFrame => self.pop_frame(),
            Op::PushDidNotIterate => {
                let did_not = self.did_not_iterate();
                self.push(did_not.into());
            }
            Op::PopEscape => {
                if let Some(mode) = self.escapes.pop() {
                    self.escape = mode;
                }
                self.pop_frame();
            }
            Op::BeginCapture(is_wanted) => self.begin_capture(*is_wanted),
            Op::EndCapture => {
                let captured = self.end_capture();
                self.push_own(captured);
            }
            Op::CallMethod(name, count) => self.call_method(*name, *count)?,
            Op::CallObject(count) => self.call_object(*count)?,
            Op::Duplicate => {
                let top = self.stack.last().cloned();
                self.push(top.unwrap_or(TemplateValue::UNDEFINED));
            }
            Op::Discard => drop(self.pop()),
            Op::Swap => {
                let (b, a) = (self.pop(), self.pop());
                self.push(b);
                self.push(a);
            }
            Op::Super => drop(self.call_super(false, cursor)?),
            Op::Include {
                ignores_missing,
                sight,
            } => {
                let name = self.pop();
                self.include(&name, *ignores_missing, *sight, cursor)?;
            }
            Op::Export => self.export()?,
            Op::BuildMacro {
                name,
                params,
                offset,
                flags,
            } => self.build_macro(name, params, *offset, *flags, cursor)?,
            Op::IsUndefined => {
                let value = self.pop();
                let is_undefined = self.is_undefined(&value);
                self.push(is_undefined.into());
            }
            Op::Enclose(name) => self.enclose(*name)?,
            Op::GetClosure => {
                let closure = self.frames.last().and_then(|frame| frame.closure);
                self.push_own(closure.map_or(Value::UNDEFINED, Value::from));
            }
            _ => debug_assert!(false, "{op:?} is done elsewhere"),
        }
        Ok(())
    }

    fn pop_pairs(&mut self, count: usize) -> Outcome<Vec<(Value, Value)>> {
        let items = self.pop_count(2 * count);
        let items = self.all_owned(&items)?;
        let mut items = items.into_iter();
        let mut pairs = Vec::with_capacity(count);
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            pairs.push((key, value));
        }
        Ok(pairs)
    }

    fn build_kwargs(&mut self, count: usize) -> Outcome<()> {
        let items = self.pop_count(2 * count);
        let mut pairs: Vec<(Value, TemplateValue)> = Vec::with_capacity(count);
        for pair in items.chunks_exact(2) {
            let name = self.owned(&pair[0])?;
            // Of two arguments with one name the last counts.
            match pairs.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = pair[1].clone(),
                None => pairs.push((name, pair[1].clone())),
            }
        }
        let is_own = |value: &TemplateValue| matches!(value, TemplateValue::Own(_));
        if pairs.iter().all(|(_, value)| is_own(value)) {
            let pairs = pairs.into_iter().filter_map(|(name, value)| match value {
                TemplateValue::Own(value) => Some((name, value)),
                _ => None,
            });
            self.push_own(named(pairs));
        } else {
            self.push(TemplateValue::Named(pairs.into()));
        }
        Ok(())
    }

    fn push_list(&mut self, items: Vec<TemplateValue>) {
        if items
            .iter()
            .all(|item| matches!(item, TemplateValue::Own(_)))
        {
            let items = items.into_iter().filter_map(|item| match item {
                TemplateValue::Own(item) => Some(item),
                _ => None,
            });
            self.push_own(items.collect::<Vec<Value>>());
        } else {
            self.push(TemplateValue::List(Rc::from(items)));
        }
    }
}
