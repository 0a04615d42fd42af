//! The state of a rendering, piece by piece: frames of variables, loops, blocks, and output that is kept back.

use crate::program::Program;
use crate::value::TemplateValue;
use minijinja::Value;
use minijinja::value::ValueIter;
use sampan_host::Handle;
use sampan_host::reader::{Keys, Mark, Name};
use std::rc::Rc;
use std::sync::Arc;

/// Variables that come and go together.
pub(super) struct Frame {
    /// The start of its variables. They reach to those of the next frame.
    pub(super) locals: usize,
    /// The loop, by its place among the loops.
    pub(super) loop_at: Option<usize>,
    /// The closure that receives a copy of each variable that is set in it: macros that were declared in it see that.
    pub(super) closure: Option<usize>,
    /// The closure of the macro whose body runs in it.
    pub(super) closure_context: Option<usize>,
    /// True if the data of the script is seen through it.
    pub(super) has_data: bool,
}

/// Variables that macros have enclosed.
pub(super) type Closure = Vec<(Name, TemplateValue)>;

impl Frame {
    pub(super) fn new(locals: usize) -> Self {
        Self {
            locals,
            loop_at: None,
            closure: None,
            closure_context: None,
            has_data: false,
        }
    }
}

/// A loop that goes on.
pub(super) struct LoopState {
    /// Tells it from all others of the rendering.
    pub(super) number: u32,
    /// True if there is a variable `loop`.
    pub(super) has_variable: bool,
    pub(super) items: Items,
    /// False once an item was found that is not printed as a row.
    pub(super) may_have_rows: bool,
    /// The number of rounds that have begun.
    pub(super) rounds: usize,
    pub(super) length: Option<usize>,
    pub(super) depth: usize,
    /// The start of the loop, if it can be called, and whether a loop that filters its items stands there.
    pub(super) recursion_target: Option<(Arc<Program>, u32, bool)>,
    /// The position where the run continues after it, if it was called, and whether its output was captured.
    pub(super) recursion_jump: Option<(u32, bool)>,
    /// The value for the loop that begins when this one, which filters its items, has ended.
    pub(super) passed_on: Option<(u32, bool)>,
    pub(super) changed: Option<Vec<Value>>,
    /// The script values that were read when it began.
    pub(super) mark: Mark,
    /// The numbers of captures and modes of escaping there were then.
    pub(super) captures: usize,
    pub(super) escapes: usize,
}

/// The items of a loop.
pub(super) enum Items {
    List(Handle),
    Keys(Keys),
    Mixed(Rc<[TemplateValue]>),
    Own(Box<OwnItems>),
}

/// Values that come one after the other.
pub(super) struct OwnItems {
    pub(super) rest: ValueIter,
    pub(super) previous: Option<Value>,
    pub(super) current: Option<Value>,
    pub(super) next: Option<Value>,
}

impl OwnItems {
    pub(super) fn advance(&mut self) -> Option<Value> {
        self.previous = self.current.take();
        self.current = self.next.take().or_else(|| self.rest.next());
        self.current.clone()
    }

    pub(super) fn next(&mut self) -> Option<Value> {
        if self.next.is_none() {
            self.next = self.rest.next();
        }
        self.next.clone()
    }
}

/// A block and those that it overrides.
#[derive(Clone, Default)]
pub(super) struct BlockStack {
    pub(super) programs: Vec<Arc<Program>>,
    /// The index of the one that runs: `super()` goes to the next.
    pub(super) depth: usize,
}

/// Output that is kept back. It lies in the same buffer as all output.
pub(super) struct Capture {
    pub(super) start: usize,
    pub(super) is_wanted: bool,
}
