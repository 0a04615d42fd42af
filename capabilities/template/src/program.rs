//! Compiled templates.

use crate::compile::names::Names;
use crate::compile::survey::Sight;
use crate::escape::Block;
use minijinja::{AutoEscape, Value};
use sampan_host::reader::Name;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A compiled template.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) main: Arc<Program>,
    /// Few, so they are searched one after the other.
    pub(crate) blocks: Vec<(Name, Arc<Program>)>,
    pub(crate) escape: Escape,
    /// The names it uses, for the check at start.
    pub(crate) names: Names,
    /// The number of bytes that it has printed last: as many will do the next time.
    pub(crate) printed_bytes: AtomicUsize,
}

/// The operations of a template or of one of its blocks.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) source: Arc<Source>,
    pub(crate) ops: Box<[Op]>,
    /// The line of each operation, from 1; 0 if it is not known.
    pub(crate) lines: Box<[u32]>,
    /// True if it is a block that another template must fill.
    pub(crate) is_required: bool,
    /// True if it may extend another template.
    pub(crate) extends: bool,
}

/// The source of a compiled template.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The way printed values are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    None,
    Html,
    Json,
}

impl From<AutoEscape> for Escape {
    fn from(mode: AutoEscape) -> Self {
        match mode {
            AutoEscape::Html => Self::Html,
            AutoEscape::Json => Self::Json,
            _ => Self::None,
        }
    }
}

/// The flags of [`Op::PushLoop`].
pub(crate) const WITH_LOOP_VARIABLE: u8 = 1;
pub(crate) const RECURSIVE: u8 = 2;
/// The flag of [`Op::BuildMacro`]: its body uses `caller`.
pub(crate) const USES_CALLER: u8 = 2;
/// The flags of [`Op::BuildMacro`] that are not minijinja's: its body uses `varargs` or `kwargs`.
pub(crate) const TAKES_VARARGS: u8 = 64;
pub(crate) const TAKES_KWARGS: u8 = 128;

/// One step of the machine. They are minijinja's, see its documentation of `Instruction`; the last ones do the work of
/// several.
#[derive(Debug)]
pub(crate) enum Op {
    Raw(Box<str>),
    Store(Name),
    Lookup(Name),
    Attr(Name, Option<LoopField>),
    SetAttr(Box<str>),
    Item,
    Slice,
    Const(Value),
    BuildMap(usize),
    BuildKwargs(usize),
    MergeKwargs(usize),
    BuildList(Option<usize>),
    BuildTuple(Option<usize>),
    UnpackList(usize),
    UnpackLists(usize),
    Math(Math),
    Neg,
    Compare(Compare),
    CompareAndKeep(Compare),
    Not,
    Concat,
    Filter(Known<KnownFilter>, Option<u16>),
    Test(Known<KnownTest>, Option<u16>),
    Emit,
    PushLoop {
        flags: u8,
        /// The start of the loop that filters its items begins.
        filter: Option<u32>,
    },
    PushWith,
    Iterate(u32),
    PushDidNotIterate,
    PopFrame,
    PopLoopFrame,
    Jump(u32),
    JumpIfFalse(u32),
    JumpIfFalseOrPop(u32),
    JumpIfTrueOrPop(u32),
    PushEscape,
    PopEscape,
    /// Starts a capture; false if its text is discarded.
    BeginCapture(bool),
    EndCapture,
    CallFunction(Name, Option<u16>),
    CallMethod(Name, Option<u16>),
    CallObject(Option<u16>),
    Duplicate,
    Discard,
    Swap,
    Super,
    Recurse,
    CallBlock(Name),
    Extend,
    Include {
        /// True if a template that does not exist is not an error.
        ignores_missing: bool,
        sight: Sight,
    },
    Export,
    BuildMacro {
        name: Box<str>,
        /// The names of its parameters. They are on the stack too.
        params: Arc<[Name]>,
        offset: u32,
        flags: u8,
    },
    Return,
    IsUndefined,
    Enclose(Name),
    GetClosure,
    /// `Filter`, `Emit` with a filter that has no argument
    EmitCased(Known<KnownFilter>, bool),
    /// `Iterate`, `Store`, and perhaps all to the end of the loop
    IterateInto(u32, Name, Option<Box<Rows>>),
    // The others begin with a `Lookup`, which they do alone where they cannot do the rest.
    /// `CallFunction`, `Emit`
    EmitCall(Name, u16),
    /// `Lookup`, `Emit`
    EmitVar(Name),
    /// `Lookup`, `Attr`, `Emit`
    EmitAttr(Name, Name),
    /// `Lookup`, `Attr`, `Filter`, `Emit`
    EmitCasedAttr(Name, Name, bool),
    /// `Lookup`, `JumpIfFalse`
    JumpUnless(Name, u32),
    /// `Lookup`, `Attr`, `JumpIfFalse`
    JumpUnlessAttr(Name, Name, u32),
}

/// The work of one round of a loop over a list, if that is to print text and plain members of the item.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The members that it needs.
    pub(crate) members: Vec<Name>,
    pub(crate) steps: Vec<RowStep>,
    /// True if there is a [`RowStep::PrintCased`].
    pub(crate) is_cased: bool,
}

/// A step of a row. Members are numbers in [`Rows::members`], jump targets in [`Rows::steps`].
#[derive(Debug)]
pub(crate) enum RowStep {
    Raw(Box<str>),
    /// So many bytes of a text.
    Short(Block, usize),
    Print(usize),
    PrintCased(usize, bool),
    JumpUnless(usize, usize),
    Jump(usize),
}

impl Op {
    /// Returns the jump target, before operations are fused.
    pub(crate) fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Iterate(target)
            | Self::Jump(target)
            | Self::JumpIfFalse(target)
            | Self::JumpIfFalseOrPop(target)
            | Self::JumpIfTrueOrPop(target) => Some(target),
            _ => None,
        }
    }

    /// Returns the jump target.
    pub(crate) fn target(&self) -> Option<u32> {
        match self {
            Self::Iterate(target)
            | Self::Jump(target)
            | Self::JumpIfFalse(target)
            | Self::JumpIfFalseOrPop(target)
            | Self::JumpIfTrueOrPop(target)
            | Self::IterateInto(target, ..)
            | Self::JumpUnless(_, target)
            | Self::JumpUnlessAttr(_, _, target) => Some(*target),
            _ => None,
        }
    }
}

/// An operator of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Math {
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Rem,
    Pow,
}

/// An operator that compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    In,
    NotIn,
}

/// The name of a filter or test, and which of those it is that have a way of their own.
#[derive(Debug)]
pub(crate) struct Known<T> {
    pub(crate) name: Box<str>,
    pub(crate) known: Option<T>,
}

impl<T> Known<T> {
    pub(crate) fn new(name: &str, known: Option<T>) -> Self {
        Self {
            name: name.into(),
            known,
        }
    }
}

/// Filters that work on values of the script where they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KnownFilter {
    Upper,
    Lower,
    Length,
    Default,
    Escape,
    Safe,
}

impl KnownFilter {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "upper" => Self::Upper,
            "lower" => Self::Lower,
            "length" | "count" => Self::Length,
            "default" | "d" => Self::Default,
            "escape" | "e" => Self::Escape,
            "safe" => Self::Safe,
            _ => return None,
        })
    }
}

/// The tests with a fast path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KnownTest {
    Defined,
    Undefined,
    None,
    Odd,
    Even,
}

impl KnownTest {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "defined" => Self::Defined,
            "undefined" => Self::Undefined,
            "none" => Self::None,
            "odd" => Self::Odd,
            "even" => Self::Even,
            _ => return None,
        })
    }
}

/// The fields of `loop`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoopField {
    Index,
    Index0,
    Length,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Depth,
    Depth0,
    Previous,
    Next,
}

impl LoopField {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "index" => Self::Index,
            "index0" => Self::Index0,
            "length" => Self::Length,
            "revindex" => Self::RevIndex,
            "revindex0" => Self::RevIndex0,
            "first" => Self::First,
            "last" => Self::Last,
            "depth" => Self::Depth,
            "depth0" => Self::Depth0,
            "previtem" => Self::Previous,
            "nextitem" => Self::Next,
            _ => return None,
        })
    }
}
