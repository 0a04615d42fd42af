//! Macros.

use super::calls::is_named;
use super::scope::MACRO_COST;
use super::state::Frame;
use super::{Cursor, Machine};
use crate::fault::{Outcome, TemplateFault};
use crate::objects::Macro;
use crate::program::{TAKES_KWARGS, TAKES_VARARGS, USES_CALLER};
use crate::value::TemplateValue;
use minijinja::Value;
use sampan_host::reader::Name;
use std::sync::Arc;

/// The arguments of a call in the order of the parameters, and those that the macro has other names for.
struct Bound {
    args: Vec<TemplateValue>,
    caller: Option<TemplateValue>,
    varargs: Option<TemplateValue>,
    kwargs: Option<TemplateValue>,
}

impl Machine<'_, '_> {
    /// Makes a macro of the names of its parameters and its closure, which are on the stack.
    pub(super) fn build_macro(
        &mut self,
        name: &str,
        params: &Arc<[Name]>,
        offset: u32,
        flags: u8,
        cursor: &Cursor,
    ) -> Outcome<()> {
        let (_, closure) = (self.pop(), self.pop());
        let built = Macro {
            name: Value::from(name),
            params: Arc::clone(params),
            program: Arc::clone(&cursor.program),
            offset,
            render: self.number,
            closure: self.owned(&closure)?.as_usize(),
            uses_caller: flags & USES_CALLER != 0,
            takes_varargs: flags & TAKES_VARARGS != 0,
            takes_kwargs: flags & TAKES_KWARGS != 0,
            sees_data: self.sees_data,
        };
        self.push_own(Value::from_object(built));
        Ok(())
    }

    /// Calls a macro and gives what it has printed.
    pub(super) fn call_macro(
        &mut self,
        called: &Macro,
        args: Vec<TemplateValue>,
    ) -> Outcome<Value> {
        self.begin_capture(true);
        let captures = self.captures.len();
        let result = self.run_macro(called, args);
        if result.is_err() {
            self.captures.truncate(captures);
        }
        let printed = self.end_capture();
        result.map(|()| printed)
    }

    /// Calls a macro, which prints.
    pub(super) fn run_macro(&mut self, called: &Macro, args: Vec<TemplateValue>) -> Outcome<()> {
        if called.render != self.number {
            return Err(TemplateFault::new(
                "invalid operation: cannot call this macro. The template that it belongs to has ended.",
            ));
        }
        let bound = self.bind(called, args)?;
        let (base, outer_depth) = (self.base, self.outer_depth);
        let (escape, block) = (self.escape, self.block.take());
        let sees_data = std::mem::replace(&mut self.sees_data, called.sees_data);
        // Only a macro that extends a template changes what the blocks are.
        let blocks = called
            .program
            .extends
            .then(|| (self.blocks.clone(), self.loaded.clone()));
        let depth = self.depth();
        let frames = self.frames.len();
        self.base = frames;
        let mut data = Frame::new(self.locals.len());
        data.has_data = called.sees_data;
        self.frames.push(data);
        let mut inner = Frame::new(self.locals.len());
        inner.closure_context = called.closure;
        self.frames.push(inner);
        self.outer_depth = depth + MACRO_COST;
        let (captures, stack) = (self.captures.len(), self.stack.len());
        let result = self.check_depth().and_then(|()| {
            let rest = [
                (self.caller_name, bound.caller),
                (self.varargs_name, bound.varargs),
                (self.kwargs_name, bound.kwargs),
            ];
            for (name, value) in rest {
                if let Some(value) = value {
                    self.store(name, value);
                }
            }
            self.stack.extend(bound.args);
            self.run(&called.program, called.offset)
        });
        self.stack.truncate(stack);
        self.pop_frames_to(frames);
        (self.base, self.outer_depth) = (base, outer_depth);
        (self.escape, self.block, self.sees_data) = (escape, block, sees_data);
        if let Some((blocks, loaded)) = blocks {
            (self.blocks, self.loaded) = (blocks, loaded);
        }
        result?;
        while self.captures.len() > captures {
            self.end_capture();
        }
        Ok(())
    }

    /// The arguments in the order of the parameters, and what is called by `caller()`.
    fn bind(&mut self, called: &Macro, mut args: Vec<TemplateValue>) -> Outcome<Bound> {
        let named = match args.last() {
            Some(last) if is_named(last) => {
                let last = args.pop().unwrap_or(TemplateValue::UNDEFINED);
                self.named_pairs(&last)?
            }
            _ => Vec::new(),
        };
        let surplus = match called.takes_varargs {
            true => args.split_off(args.len().min(called.params.len())),
            false => Vec::new(),
        };
        if args.len() > called.params.len() {
            return Err(TemplateFault::new(format!(
                "too many arguments: the macro {} takes {}",
                called.name,
                called.params.len()
            )));
        }
        let mut used = vec![false; named.len()];
        let mut take = |name: &str| {
            let mut names = named.iter().map(|(known, _)| known.as_str());
            let at = names.position(|known| known == Some(name))?;
            used[at] = true;
            Some(named[at].1.clone())
        };
        let given = args.len();
        for (at, name) in called.params.iter().enumerate() {
            match take(name.text()) {
                Some(_) if at < given => {
                    return Err(TemplateFault::new(format!(
                        "too many arguments: duplicate argument `{}`",
                        name.text()
                    )));
                }
                Some(value) => args.push(value),
                None if at < given => {}
                None => args.push(TemplateValue::UNDEFINED),
            }
        }
        let caller = called
            .uses_caller
            .then(|| take("caller").unwrap_or(TemplateValue::UNDEFINED));
        let kwargs = match called.takes_kwargs {
            true => {
                let rest = named.iter().zip(&used).filter(|(_, is_used)| !**is_used);
                let mut pairs = Vec::new();
                for ((name, value), _) in rest {
                    pairs.push((name.clone(), self.owned(value)?));
                }
                Some(TemplateValue::Own(Value::from_pairs(pairs)))
            }
            false => None,
        };
        let unknown = named.iter().zip(&used).find(|(_, is_used)| !**is_used);
        if let Some(((name, _), _)) = unknown.filter(|_| !called.takes_kwargs) {
            return Err(TemplateFault::new(format!(
                "too many arguments: unknown keyword argument `{name}`"
            )));
        }
        let varargs = match called.takes_varargs {
            true => Some(TemplateValue::Own(Value::from(self.all_owned(&surplus)?))),
            false => None,
        };
        Ok(Bound {
            args,
            caller,
            varargs,
            kwargs,
        })
    }

    fn named_pairs(&mut self, args: &TemplateValue) -> Outcome<Vec<(Value, TemplateValue)>> {
        if let TemplateValue::Named(pairs) = args {
            return Ok(pairs.to_vec());
        }
        let args = self.owned(args)?;
        let mut pairs = Vec::new();
        for name in args.try_iter()? {
            let value = args.get_item(&name)?;
            pairs.push((name, TemplateValue::Own(value)));
        }
        Ok(pairs)
    }
}
