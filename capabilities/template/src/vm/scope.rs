//! Variables: the frames in which they are, and what macros enclose.

use super::Machine;
use super::state::{Closure, Frame};
use crate::fault::{Outcome, TemplateFault};
use crate::script::Variable;
use crate::value::TemplateValue;
use sampan_host::reader::{Kind, Name};

/// The share of the depth that a template may have.
pub(super) const MACRO_COST: usize = 4;
pub(super) const INCLUDE_COST: usize = 10;
/// The greatest depth to which frames, macros and includes may nest: minijinja's limit.
const DEPTH_MAX: usize = 500;

impl Machine<'_, '_> {
    /// The variable with this name.
    #[inline]
    pub(super) fn lookup(&mut self, name: Name) -> Outcome<Option<TemplateValue>> {
        let mut end = self.locals.len();
        for at in (self.base..self.frames.len()).rev() {
            let frame = &self.frames[at];
            let locals = &self.locals[frame.locals..end];
            if let Some((_, value)) = locals.iter().rev().find(|(known, _)| *known == name) {
                return Ok(Some(value.clone()));
            }
            end = frame.locals;
            if let Some(at) = frame.loop_at
                && name == self.loop_name
                && self.loops[at].has_variable
            {
                return Ok(Some(TemplateValue::Loop(self.loops[at].number)));
            }
            if let Some(closure) = frame.closure_context
                && let Some((_, value)) = self.closures[closure]
                    .iter()
                    .find(|(known, _)| *known == name)
            {
                return Ok(Some(value.clone()));
            }
            if frame.has_data
                && let Some(value) = self.given(name)?
            {
                return Ok(Some(value));
            }
        }
        let globals = self.globals;
        let Some(global) = globals.get(name) else {
            return Ok(None);
        };
        if let Some(variable) = &global.variable {
            if let Some((_, value)) = self.computed.iter().find(|(known, _)| *known == name) {
                return Ok(Some(TemplateValue::Own(value.clone())));
            }
            if let Some(value) = variable.value(self.request.as_ref())? {
                self.computed.push((name, value.clone()));
                return Ok(Some(TemplateValue::Own(value)));
            }
        }
        Ok(global.value.clone().map(TemplateValue::Own))
    }

    /// Returns the advice about a variable of requests that is not there because the template is rendered for none, and
    /// nothing about any other.
    #[cold]
    pub(super) fn advice_without_request(&mut self, variable: &str) -> &'static str {
        let name = Name::new(variable);
        let globals = self.globals;
        let known = globals.get(name).and_then(|known| known.variable.as_ref());
        let is_of_request = matches!(known, Some(Variable::OfRequest(_)));
        // The script, or the template, may have another value under this name.
        match self.request.is_none() && is_of_request && matches!(self.lookup(name), Ok(None)) {
            true => "; it belongs to a request: call render on the request",
            false => "",
        }
    }

    /// Returns the value that the script has given under a name.
    fn given(&self, name: Name) -> Outcome<Option<TemplateValue>> {
        match &self.data {
            TemplateValue::Script(data) => {
                let member = self.reader.member(*data, name)?;
                let is_there = self.reader.kind(member) != Kind::Nothing;
                Ok(is_there.then_some(TemplateValue::Script(member)))
            }
            _ => Ok(None),
        }
    }

    /// Sets a variable of the innermost frame.
    #[inline]
    pub(super) fn store(&mut self, name: Name, value: TemplateValue) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if let Some(closure) = frame.closure {
            self.put_into_closure(closure, name, value.clone());
        }
        let Some(frame) = self.frames.last() else {
            return;
        };
        let mut locals = self.locals[frame.locals..].iter_mut();
        match locals.find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.locals.push((name, value)),
        }
    }

    #[cold]
    fn put_into_closure(&mut self, closure: usize, name: Name, value: TemplateValue) {
        // It may live longer than the round of the loop in which it was read.
        if !matches!(value, TemplateValue::Own(_)) {
            self.enclosed = self.reader.mark().count();
        }
        let values = &mut self.closures[closure];
        match values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => values.push((name, value)),
        }
    }

    /// Has the macros of this frame see a variable as it is now, if they do not see it yet.
    pub(super) fn enclose(&mut self, name: Name) -> Outcome<()> {
        let next = self.closures.len();
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        let closure = *frame.closure.get_or_insert(next);
        if closure == next {
            self.closures.push(Closure::new());
        }
        if !self.closures[closure]
            .iter()
            .any(|(known, _)| *known == name)
        {
            let value = self.lookup(name)?.unwrap_or(TemplateValue::UNDEFINED);
            self.put_into_closure(closure, name, value);
        }
        Ok(())
    }

    pub(super) fn push_frame(&mut self, frame: Frame) -> Outcome<()> {
        self.frames.push(frame);
        self.check_depth()
    }

    pub(super) fn pop_frame(&mut self) {
        self.pop_frames_to(self.frames.len().saturating_sub(1));
    }

    /// Ends the frames from this number on, their loops and variables with them.
    pub(super) fn pop_frames_to(&mut self, count: usize) {
        let Some(first) = self.frames.get(count) else {
            return;
        };
        self.locals.truncate(first.locals);
        let looping = self.frames[count..].iter().find_map(|frame| frame.loop_at);
        if let Some(at) = looping {
            self.loops.truncate(at);
        }
        self.frames.truncate(count);
    }

    pub(super) fn depth(&self) -> usize {
        self.outer_depth + self.frames.len() - self.base
    }

    /// Fails if it is too deep.
    pub(super) fn check_depth(&self) -> Outcome<()> {
        if self.depth() > DEPTH_MAX {
            return Err(TemplateFault::new(
                "the templates nest too deeply: does a template include itself, or a macro call itself, without end?",
            ));
        }
        Ok(())
    }
}
