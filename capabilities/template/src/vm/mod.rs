//! The machine that runs a compiled template.
//!
//! It is a stack machine, as minijinja's is, and does in each step what minijinja does. What differs: values of the
//! script stay where they are, output goes into one buffer that captures share, and each round of a loop forgets what
//! it has read of the script, unless a macro has enclosed it.

mod blocks;
mod bounds;
mod calls;
mod changes;
mod compare;
mod fused;
mod loops;
mod macros;
mod math;
mod print;
mod rare;
mod scope;
mod state;
mod values;

use crate::environment::Modes;
use crate::fault::{Outcome, TemplateFault};
use crate::globals::Globals;
use crate::program::{Escape, Op, Program, Source};
use crate::script::ScriptFunctions;
use crate::templates::Templates;
use crate::value::TemplateValue;
use minijinja::{State, UndefinedBehavior, Value};
use sampan_host::reader::Name;
use sampan_host::{Handle, Reader, RequestView, ScriptLimits};
use state::{BlockStack, Capture, Closure, Frame, LoopState};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// After how many rounds of loops that ask the reader nothing the time is looked at.
const ROUNDS_PER_CHECK: u32 = 256;

/// One rendering.
pub(crate) struct Machine<'m, 'e> {
    reader: &'m dyn Reader,
    templates: &'m Templates,
    modes: &'m Modes<'e>,
    states: [Option<State<'m, 'e>>; 3],
    limits: &'m ScriptLimits,
    undefined: UndefinedBehavior,
    /// True if the script has a filter of its own in the place of one that has a way of its own here.
    hides_known: bool,
    globals: &'m Globals,
    functions: &'m ScriptFunctions,
    /// The request that it is rendered for.
    request: Option<Rc<dyn RequestView>>,
    /// The values of the request that the templates have asked for: that stays the same while they are rendered.
    computed: Vec<(Name, Value)>,
    /// Tells the macros of this rendering from those of others.
    number: u64,
    /// The variables that the script has given.
    data: TemplateValue,
    out: Vec<u8>,
    captures: Vec<Capture>,
    escape: Escape,
    /// The modes around the current one.
    escapes: Vec<Escape>,
    stack: Vec<TemplateValue>,
    frames: Vec<Frame>,
    /// The first frame that can be seen: a macro does not see those of its caller.
    base: usize,
    /// The depth beyond the frames.
    outer_depth: usize,
    locals: Vec<(Name, TemplateValue)>,
    loops: Vec<LoopState>,
    next_loop: u32,
    closures: Vec<Closure>,
    /// The handles below this number stay: a closure may have them.
    enclosed: usize,
    /// The map of the script that was asked last, until its handle may mean another.
    known_map: Option<Handle>,
    blocks: Vec<(Name, BlockStack)>,
    /// The templates that were extended.
    loaded: Vec<Arc<Source>>,
    block: Option<Name>,
    rounds_until_check: u32,
    /// True if a template changes lists or maps, so that those which templates make can be changed.
    changes_values: bool,
    /// The number of values that were put into namespaces, and into lists and maps that templates change.
    kept_values: usize,
    /// True if templates see the data of the script: not where they were included or imported without context.
    sees_data: bool,
    loop_name: Name,
    super_name: Name,
    caller_name: Name,
    varargs_name: Name,
    kwargs_name: Name,
}

/// The position of a run.
struct Cursor {
    program: Arc<Program>,
    at: usize,
    /// The continuation at the end: the template that this one extends.
    parent: Option<Arc<Program>>,
    /// The position where the next loop continues when it ends, and whether its output is captured.
    recursion: Option<(u32, bool)>,
    /// The modes of escaping when it began.
    initial_escape: Escape,
}

impl<'m, 'e> Machine<'m, 'e> {
    pub(crate) fn new(
        reader: &'m dyn Reader,
        templates: &'m Templates,
        modes: &'m Modes<'e>,
        functions: &'m ScriptFunctions,
        globals: &'m Globals,
        limits: &'m ScriptLimits,
        data: TemplateValue,
    ) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            reader,
            templates,
            modes,
            states: [None, None, None],
            limits,
            undefined: templates.undefined(),
            hides_known: functions.hides_known(),
            globals,
            functions,
            request: None,
            computed: Vec::new(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            data,
            out: Vec::new(),
            captures: Vec::new(),
            escape: Escape::None,
            escapes: Vec::new(),
            stack: Vec::with_capacity(16),
            frames: Vec::with_capacity(8),
            base: 0,
            outer_depth: 0,
            locals: Vec::with_capacity(16),
            loops: Vec::new(),
            next_loop: 0,
            closures: Vec::new(),
            enclosed: 0,
            known_map: None,
            blocks: Vec::new(),
            loaded: Vec::new(),
            block: None,
            rounds_until_check: ROUNDS_PER_CHECK,
            changes_values: templates.changes_values(),
            kept_values: 0,
            sees_data: true,
            loop_name: modes.loop_name(),
            super_name: modes.super_name(),
            caller_name: modes.caller_name(),
            varargs_name: modes.varargs_name(),
            kwargs_name: modes.kwargs_name(),
        }
    }

    /// Has templates see the variables of a request.
    #[must_use]
    pub(crate) fn seeing(mut self, request: Option<Rc<dyn RequestView>>) -> Self {
        self.request = request;
        self
    }

    /// Runs operations to their end.
    fn run(&mut self, program: &Arc<Program>, at: u32) -> Outcome<()> {
        let mut cursor = Cursor {
            program: Arc::clone(program),
            at: at as usize,
            parent: None,
            recursion: None,
            initial_escape: self.escape,
        };
        let (escapes, stack) = (self.escapes.len(), self.stack.len());
        loop {
            if let Err(fault) = self.execute(&mut cursor) {
                let line = cursor.program.lines.get(cursor.at).copied().unwrap_or(0);
                return Err(fault.at(&cursor.program.source, line));
            }
            match cursor.parent.take() {
                Some(parent) => cursor.program = parent,
                None => break,
            }
            self.end_capture();
            cursor.at = 0;
        }
        self.escapes.truncate(escapes);
        self.stack.truncate(stack);
        Ok(())
    }

    #[inline]
    fn push(&mut self, value: TemplateValue) {
        self.stack.push(value);
    }

    #[inline]
    fn push_own(&mut self, value: impl Into<Value>) {
        self.stack.push(TemplateValue::Own(value.into()));
    }

    #[inline]
    fn pop(&mut self) -> TemplateValue {
        self.stack.pop().unwrap_or(TemplateValue::UNDEFINED)
    }

    fn push_variable(&mut self, name: Name) -> Outcome<()> {
        let found = self.lookup(name)?;
        self.push(found.unwrap_or(TemplateValue::UNDEFINED));
        Ok(())
    }

    fn pop_count(&mut self, count: usize) -> Vec<TemplateValue> {
        let first = self.stack.len().saturating_sub(count);
        self.stack.split_off(first)
    }

    /// Returns the number of arguments that a call has. Where that is not known beforehand, it is on the stack.
    fn argument_count(&mut self, count: Option<u16>) -> Outcome<usize> {
        match count {
            Some(count) => Ok(usize::from(count)),
            None => {
                let count = self.pop();
                Ok(self.owned(&count)?.as_usize().unwrap_or_default())
            }
        }
    }

    fn execute(&mut self, cursor: &mut Cursor) -> Outcome<()> {
        let program = Arc::clone(&cursor.program);
        while let Some(op) = program.ops.get(cursor.at) {
            match op {
                Op::Raw(text) => {
                    self.out.extend_from_slice(text.as_bytes());
                    self.check_size()?;
                }
                Op::EmitVar(name) => {
                    if self.emit_variable(*name)? {
                        cursor.at += 2;
                        continue;
                    }
                    self.push_variable(*name)?;
                }
                Op::EmitAttr(name, attr) => {
                    if self.emit_member(*name, *attr)? {
                        cursor.at += 3;
                        continue;
                    }
                    self.push_variable(*name)?;
                }
                Op::EmitCasedAttr(name, attr, is_upper) => {
                    if self.emit_cased_member(*name, *attr, *is_upper)? {
                        cursor.at += 4;
                        continue;
                    }
                    self.push_variable(*name)?;
                }
                Op::JumpUnless(name, target) => {
                    if let Some(is_true) = self.truth_of_variable(*name)? {
                        cursor.at = match is_true {
                            true => cursor.at + 2,
                            false => *target as usize,
                        };
                        continue;
                    }
                    self.push_variable(*name)?;
                }
                Op::JumpUnlessAttr(name, attr, target) => {
                    if let Some(is_true) = self.truth_of_member(*name, *attr)? {
                        cursor.at = match is_true {
                            true => cursor.at + 3,
                            false => *target as usize,
                        };
                        continue;
                    }
                    self.push_variable(*name)?;
                }
                Op::IterateInto(target, name, rows) => {
                    if let Some(rows) = rows {
                        self.run_rows(rows);
                    }
                    if !self.next_round_into(*name)? {
                        cursor.at = *target as usize;
                        continue;
                    }
                    cursor.at += 2;
                    continue;
                }
                Op::EmitCall(name, count) => {
                    if self.emit_call(*name, *count)? {
                        cursor.at += 2;
                        continue;
                    }
                    if self.call_function(*name, Some(*count), cursor)? {
                        continue;
                    }
                }
                Op::EmitCased(filter, is_upper) => {
                    if let Some(TemplateValue::Script(it)) = self.stack.last()
                        && self.emit_cased(*it, *is_upper)?
                    {
                        self.stack.pop();
                        cursor.at += 2;
                        continue;
                    }
                    self.apply_filter(filter, Some(1))?;
                }
                Op::Emit => {
                    let value = self.pop();
                    self.emit(&value, cursor)?;
                }
                Op::Lookup(name) => self.push_variable(*name)?,
                Op::Attr(name, field) => {
                    let value = self.pop();
                    let found = self.attr(&value, *name, *field, cursor)?;
                    self.push(found);
                }
                Op::Const(value) => {
                    let value = self.made_constant(value);
                    self.push_own(value);
                }
                Op::Store(name) => {
                    let value = self.pop();
                    self.store(*name, value);
                }
                Op::Iterate(target) => {
                    if !self.next_round()? {
                        cursor.at = *target as usize;
                        continue;
                    }
                }
                Op::Jump(target) => {
                    cursor.at = *target as usize;
                    continue;
                }
                Op::JumpIfFalse(target) => {
                    let value = self.pop();
                    if !self.is_true(&value)? {
                        cursor.at = *target as usize;
                        continue;
                    }
                }
                Op::JumpIfFalseOrPop(target) => {
                    let value = self.pop();
                    if !self.is_true(&value)? {
                        self.push(value);
                        cursor.at = *target as usize;
                        continue;
                    }
                }
                Op::JumpIfTrueOrPop(target) => {
                    let value = self.pop();
                    if self.is_true(&value)? {
                        self.push(value);
                        cursor.at = *target as usize;
                        continue;
                    }
                }
                Op::Compare(compare) => {
                    let (b, a) = (self.pop(), self.pop());
                    let result = self.compare(*compare, &a, &b)?;
                    self.push(result.into());
                }
                Op::CompareAndKeep(compare) => {
                    let (b, a) = (self.pop(), self.pop());
                    let result = self.compare(*compare, &a, &b)?;
                    self.push(b);
                    self.push(result.into());
                }
                Op::Not => {
                    let value = self.pop();
                    let is_true = self.is_true(&value)?;
                    self.push((!is_true).into());
                }
                Op::Filter(filter, count) => self.apply_filter(filter, *count)?,
                Op::Test(test, count) => self.perform_test(test, *count)?,
                Op::PushLoop { flags, filter } => self.push_loop(*flags, *filter, cursor)?,
                Op::PopLoopFrame => {
                    if let Some(target) = self.pop_loop(cursor) {
                        cursor.at = target as usize;
                        continue;
                    }
                }
                Op::CallFunction(name, count) => {
                    if self.call_function(*name, *count, cursor)? {
                        continue;
                    }
                }
                Op::Recurse => {
                    let number = self.current_loop().map(|at| self.loops[at].number);
                    let number = number
                        .ok_or_else(|| TemplateFault::new("unknown function: loop is unknown"))?;
                    self.recurse(number, false, cursor)?;
                    continue;
                }
                Op::Extend => {
                    let name = self.pop();
                    if cursor.parent.is_some() {
                        return Err(TemplateFault::new(
                            "tried to extend a second time in a template",
                        ));
                    }
                    cursor.parent = Some(self.load_blocks(&name)?);
                    self.begin_capture(false);
                }
                Op::CallBlock(name) => {
                    if cursor.parent.is_none() && !self.is_discarding() {
                        self.call_block(*name, cursor)?;
                    }
                }
                Op::PushEscape => {
                    let value = self.pop();
                    self.push_escape(&value, cursor.initial_escape)?;
                    self.push_frame(Frame::new(self.locals.len()))?;
                }
                Op::Return => return Ok(()),
                op => self.other(op, cursor)?,
            }
            cursor.at += 1;
        }
        Ok(())
    }

    /// Looks at the time now and then, where nothing else does.
    #[inline]
    fn count_round(&mut self) -> Outcome<()> {
        self.rounds_until_check -= 1;
        if self.rounds_until_check == 0 {
            self.rounds_until_check = ROUNDS_PER_CHECK;
            self.reader.check()?;
        }
        Ok(())
    }
}
