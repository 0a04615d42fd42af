//! Templates that extend, include or import others, and their blocks.

use super::scope::INCLUDE_COST;
use super::state::{BlockStack, Frame};
use super::{Cursor, Machine};
use crate::compile::survey::Sight;
use crate::fault::{Outcome, TemplateFault};
use crate::objects::TemplateModule;
use crate::program::{Program, Template};
use crate::value::TemplateValue;
use minijinja::UndefinedBehavior;
use minijinja::Value;
use sampan_host::reader::Name;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Machine<'_, '_> {
    /// Renders a template, or one of its blocks.
    pub(crate) fn render(mut self, template: &Template, block: Option<&str>) -> Outcome<Vec<u8>> {
        self.escape = template.escape;
        self.changes_values |= template.names.changes_values;
        self.blocks = blocks_of(template);
        let printed = template.printed_bytes.load(Ordering::Relaxed);
        self.out.reserve(printed + printed / 8);
        let mut frame = Frame::new(0);
        frame.has_data = true;
        self.push_frame(frame)?;
        let Some(block) = block else {
            self.run(&template.main, 0)?;
            template
                .printed_bytes
                .store(self.out.len(), Ordering::Relaxed);
            return Ok(self.out);
        };
        // What stands outside of blocks sets variables and declares macros. What it prints is not wanted, so the data
        // need not have it.
        let undefined = std::mem::replace(&mut self.undefined, UndefinedBehavior::Chainable);
        self.begin_capture(false);
        self.run(&template.main, 0)?;
        self.undefined = undefined;
        self.captures.clear();
        self.out.clear();
        self.escape = template.escape;
        let known = self.blocks.iter().find(|(name, _)| name.text() == block);
        let Some((name, _)) = known else {
            let name = &template.main.source.name;
            return Err(TemplateFault::new(format!(
                "unknown block: {name} has no block {block}"
            )));
        };
        let name = *name;
        self.run_block(name)?;
        Ok(self.out)
    }

    pub(super) fn call_block(&mut self, name: Name, cursor: &Cursor) -> Outcome<()> {
        let line = cursor.program.lines.get(cursor.at).copied().unwrap_or(0);
        let source = &cursor.program.source;
        self.run_block(name).map_err(|fault| {
            fault
                .at(source, line)
                .within("in the block at", source, line)
        })
    }

    fn run_block(&mut self, name: Name) -> Outcome<()> {
        let Some((_, block)) = self.blocks.iter().find(|(known, _)| *known == name) else {
            return Err(TemplateFault::new(format!(
                "unknown block: block '{}' not found",
                name.text()
            )));
        };
        let program = Arc::clone(&block.programs[block.depth]);
        if block.programs.len() == 1 && program.is_required {
            return Err(TemplateFault::new(format!(
                "invalid operation: Required block '{}' not found",
                name.text()
            )));
        }
        let (escape, around) = (self.escape, self.block.replace(name));
        let (frames, captures) = (self.frames.len(), self.captures.len());
        self.push_frame(Frame::new(self.locals.len()))?;
        self.run(&program, 0)?;
        self.settle(frames, captures);
        (self.escape, self.block) = (escape, around);
        Ok(())
    }

    /// Ends what a run has left open.
    fn settle(&mut self, frames: usize, captures: usize) {
        self.pop_frames_to(frames);
        while self.captures.len() > captures {
            self.end_capture();
        }
    }

    /// Renders the block that this one overrides.
    pub(super) fn call_super(&mut self, is_captured: bool, cursor: &Cursor) -> Outcome<Value> {
        let Some(name) = self.block else {
            return Err(TemplateFault::new(
                "invalid operation: cannot super outside of block",
            ));
        };
        let place = self.blocks.iter().position(|(known, _)| *known == name);
        let Some(place) = place.filter(|at| {
            let block = &self.blocks[*at].1;
            block.depth + 1 < block.programs.len()
        }) else {
            return Err(TemplateFault::new(
                "invalid operation: no parent block exists",
            ));
        };
        self.blocks[place].1.depth += 1;
        let block = &self.blocks[place].1;
        let program = Arc::clone(&block.programs[block.depth]);
        let (escape, frames, captures) = (self.escape, self.frames.len(), self.captures.len());
        self.push_frame(Frame::new(self.locals.len()))?;
        if is_captured {
            self.begin_capture(true);
        }
        let line = cursor.program.lines.get(cursor.at).copied().unwrap_or(0);
        self.run(&program, 0)
            .map_err(|fault| fault.within("in super() at", &cursor.program.source, line))?;
        self.settle(frames, captures + usize::from(is_captured));
        self.escape = escape;
        self.blocks[place].1.depth -= 1;
        if is_captured {
            return Ok(self.end_capture());
        }
        Ok(Value::UNDEFINED)
    }

    /// Adds the blocks of the template that is extended, and gives what it runs.
    pub(super) fn load_blocks(&mut self, name: &TemplateValue) -> Outcome<Arc<Program>> {
        let name = self.owned(name)?;
        let name = template_name(&name)?;
        if self.loaded.iter().any(|known| known.name == name) {
            return Err(TemplateFault::new(format!(
                "invalid operation: cycle in template inheritance. {name:?} was referenced more than once"
            )));
        }
        let Some(template) = self.templates.get(name) else {
            return Err(self.templates.not_found(name));
        };
        let template = Arc::clone(template);
        self.loaded.push(Arc::clone(&template.main.source));
        for (name, program) in &template.blocks {
            let program = Arc::clone(program);
            match self.blocks.iter_mut().find(|(known, _)| known == name) {
                Some((_, block)) => block.programs.push(program),
                None => self.blocks.push((
                    *name,
                    BlockStack {
                        programs: vec![program],
                        depth: 0,
                    },
                )),
            }
        }
        Ok(Arc::clone(&template.main))
    }

    pub(super) fn include(
        &mut self,
        name: &TemplateValue,
        ignores_missing: bool,
        sight: Sight,
        cursor: &Cursor,
    ) -> Outcome<()> {
        let name = self.owned(name)?;
        let choices: Vec<Value> = match name.as_object() {
            Some(list) => list.try_iter().into_iter().flatten().collect(),
            None => vec![name],
        };
        for choice in &choices {
            if let Some(template) = self.templates.get(template_name(choice)?) {
                let template = Arc::clone(template);
                return match sight {
                    Sight::Shared => self.run_included(&template, cursor),
                    _ => self.run_isolated(&template, sight, cursor),
                };
            }
        }
        match &choices[..] {
            [] => Ok(()),
            _ if ignores_missing => Ok(()),
            [name] => Err(self.templates.not_found(name.as_str().unwrap_or_default())),
            _ => Err(TemplateFault::new(format!(
                "template not found: tried to include one of multiple templates, none of which existed {}",
                Value::from(choices)
            ))),
        }
    }

    /// Runs a template that sees neither the data nor the variables around it.
    fn run_isolated(&mut self, template: &Template, sight: Sight, cursor: &Cursor) -> Outcome<()> {
        let frames = self.frames.len();
        if sight == Sight::Isolated {
            self.push_frame(Frame::new(self.locals.len()))?;
        }
        let (base, sees_data) = (self.base, self.sees_data);
        let hidden = self.frames.len() - 1 - base;
        self.base += hidden;
        self.outer_depth += hidden;
        self.sees_data = false;
        let ran = self.run_included(template, cursor);
        self.base = base;
        self.outer_depth -= hidden;
        self.sees_data = sees_data;
        if sight == Sight::Isolated {
            self.pop_frames_to(frames);
        }
        ran
    }

    fn run_included(&mut self, template: &Template, cursor: &Cursor) -> Outcome<()> {
        self.outer_depth += INCLUDE_COST;
        self.check_depth()?;
        // Its macros must not change what those of this template see.
        let closure = self
            .frames
            .last_mut()
            .and_then(|frame| frame.closure.take());
        let blocks = std::mem::replace(&mut self.blocks, blocks_of(template));
        let (loaded, escape) = (self.loaded.clone(), self.escape);
        let block = self.block;
        let (frames, captures) = (self.frames.len(), self.captures.len());
        self.escape = template.escape;
        let line = cursor.program.lines.get(cursor.at).copied().unwrap_or(0);
        let ran = self.run(&template.main, 0);
        ran.map_err(|fault| fault.within("included at", &cursor.program.source, line))?;
        self.settle(frames, captures);
        (self.blocks, self.loaded, self.escape, self.block) = (blocks, loaded, escape, block);
        if let Some(frame) = self.frames.last_mut() {
            frame.closure = closure;
        }
        self.outer_depth -= INCLUDE_COST;
        Ok(())
    }

    /// Makes a module of what was captured and the variables of the innermost frame.
    pub(super) fn export(&mut self) -> Outcome<()> {
        let text = self.pop();
        let text = self.owned(&text)?;
        let first = self.frames.last().map_or(0, |frame| frame.locals);
        let locals = self.locals[first..].to_vec();
        let mut values = Vec::with_capacity(locals.len());
        for (name, value) in locals {
            if !name.text().starts_with('_') {
                values.push((Value::from(name.text()), self.owned(&value)?));
            }
        }
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.push_own(Value::from_object(TemplateModule { values, text }));
        Ok(())
    }
}

fn blocks_of(template: &Template) -> Vec<(Name, BlockStack)> {
    let blocks = template.blocks.iter().map(|(name, program)| {
        (
            *name,
            BlockStack {
                programs: vec![Arc::clone(program)],
                depth: 0,
            },
        )
    });
    blocks.collect()
}

fn template_name(name: &Value) -> Outcome<&str> {
    name.as_str()
        .ok_or_else(|| TemplateFault::new("invalid operation: template name was not a string"))
}
