//! From the text of a template to a [`Template`]: minijinja parses it and generates its code, which becomes operations
//! of our own.

pub(crate) mod names;
mod rewrite;
mod rows;
mod statements;
pub(crate) mod survey;
mod syntax;
mod with_blocks;

use crate::compile::names::{CompileFault, TextPlace};
use crate::compile::rewrite::rewrite;
use crate::compile::survey::{Shape, Sight, Survey};
use crate::compile::syntax::{explained, panicked};
use crate::compile::with_blocks::assign_together;
use crate::program::{
    Compare, Escape, Known, KnownFilter, KnownTest, LoopField, Math, Op, Program, Source, Template,
};
use crate::program::{TAKES_KWARGS, TAKES_VARARGS};
use minijinja::default_auto_escape_callback;
use minijinja::machinery::{CodeGenerator, Instruction, Instructions, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use sampan_host::reader::Name;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The most operators and brackets in one tag.
const OPERATORS_MAX: usize = 1_000;
/// The most `elif` in one template.
const BRANCHES_MAX: usize = 500;
/// The longest name, in bytes: one that is unknown is compared with all that are known.
const NAME_BYTES_MAX: usize = 1_000;

/// Compiles a template.
///
/// # Errors
/// The text is not a template.
pub(crate) fn compile(name: &str, text: &str) -> Result<Template, CompileFault> {
    // The generator takes some trees for impossible that the parser makes of wrong text.
    catch_unwind(|| compile_tree(name, text)).unwrap_or_else(|_| Err(panicked(text)))
}

fn compile_tree(name: &str, text: &str) -> Result<Template, CompileFault> {
    let rewritten = rewrite(text);
    let moved = |fault: CompileFault| CompileFault {
        place: match fault.place {
            TextPlace::Byte(at) => TextPlace::Byte(rewritten.original(at)),
            line => line,
        },
        ..fault
    };
    let isolated = check_tokens(&rewritten.text).map_err(moved)?;
    let tree = parse(&rewritten.text, name, SyntaxConfig::default())
        .map_err(|error| explained(text, &rewritten, &error))?;
    let mut survey = Survey::of(&tree, isolated).map_err(moved)?;
    survey.names.move_places(|at| rewritten.original(at));
    let mut generator = CodeGenerator::new(name, &rewritten.text);
    generator.compile_stmt(&tree);
    let (main, blocks) = generator.finish();
    let source = Arc::new(Source {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let program = |instructions: &Instructions<'_>, block: Option<&str>| {
        let (ops, mut lines) = translate(instructions, survey.shapes.get(&block));
        if let Some(moved) = block.and_then(|block| rewritten.moved_lines.get(block)) {
            lines
                .iter_mut()
                .for_each(|line| *line = line.saturating_sub(*moved));
        }
        Arc::new(Program {
            source: Arc::clone(&source),
            extends: ops.iter().any(|op| matches!(op, Op::Extend)),
            ops: ops.into(),
            lines: lines.into(),
            is_required: block.is_some_and(|block| survey.required.contains(block)),
        })
    };
    let blocks = blocks.iter();
    let blocks = blocks.map(|(name, code)| (Name::new(name), program(code, Some(name))));
    let blocks = blocks.collect();
    let main = program(&main, None);
    let Survey { names, .. } = survey;
    Ok(Template {
        blocks,
        main,
        escape: escape_of(name),
        names,
        printed_bytes: AtomicUsize::default(),
    })
}

/// The name of what a template prints. As in minijinja, an extension of Jinja2's own does not count.
pub(crate) fn printed_file(name: &str) -> &str {
    let own = [".j2", ".jinja2", ".jinja"];
    let printed = own.iter().find_map(|own| name.strip_suffix(own));
    printed.unwrap_or(name)
}

/// Returns the way values are escaped that a template with this name prints.
fn escape_of(name: &str) -> Escape {
    // Browsers run the scripts of an SVG image that they show as a page.
    match printed_file(name).ends_with(".svg") {
        true => Escape::Html,
        false => default_auto_escape_callback(name).into(),
    }
}

/// Fails if the parser would nest too deeply: it goes a level down for most operators and for each `elif`.
///
/// Returns for each tag that takes another template whether it says `without context`, which the parser skips.
fn check_tokens(text: &str) -> Result<Vec<bool>, CompileFault> {
    let (mut operators, mut branches, mut begins) = (0, 0, false);
    let (mut isolated, mut is_without) = (Vec::new(), false);
    for token in tokenize(text, false, SyntaxConfig::default()) {
        // The parser tells what is wrong with the text.
        let Ok((token, span)) = token else {
            return Ok(isolated);
        };
        if let Token::Ident(name) = token
            && name.len() > NAME_BYTES_MAX
        {
            let bytes = name.len();
            return Err(CompileFault {
                message: format!(
                    "syntax error: a name has {bytes} bytes: at most {NAME_BYTES_MAX} are taken"
                ),
                place: TextPlace::Byte(span.start_offset),
            });
        }
        let is_elif = begins && matches!(token, Token::Ident("elif"));
        if begins && matches!(token, Token::Ident("include" | "import" | "from")) {
            isolated.push(false);
        }
        if is_without && matches!(token, Token::Ident("context")) {
            isolated.pop();
            isolated.push(true);
        }
        is_without = matches!(token, Token::Ident("without"));
        begins = matches!(token, Token::BlockStart);
        match token {
            Token::BlockStart | Token::VariableStart => operators = 0,
            Token::TemplateData(_)
            | Token::Comma
            | Token::Colon
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_) => {}
            Token::Ident(word)
                if !matches!(word, "and" | "or" | "not" | "if" | "else" | "is" | "in") => {}
            _ => operators += 1,
        }
        branches += usize::from(is_elif);
        if operators > OPERATORS_MAX || branches > BRANCHES_MAX {
            let what = match branches > BRANCHES_MAX {
                true => "too many elif in one template",
                false => "the expression is too long: split it with {% set %}",
            };
            return Err(CompileFault {
                message: format!("syntax error: {what} (line {})", span.start_line),
                place: TextPlace::Byte(span.start_offset),
            });
        }
    }
    Ok(isolated)
}

/// Operations and their lines.
fn translate<'a>(
    instructions: &Instructions<'a>,
    shape: Option<&Shape<'_, 'a>>,
) -> (Vec<Op>, Vec<u32>) {
    let all = (0..).map_while(|at| instructions.get(at));
    let mut ops: Vec<Op> = all.map(operation).collect();
    let lines = (0..ops.len() as u32).map(|at| instructions.get_line(at).unwrap_or(0) as u32);
    let mut lines: Vec<u32> = lines.collect();
    if let Some(shape) = shape {
        assign_together(&mut ops, &mut lines, &shape.frames);
        let mut sights = shape.includes.iter();
        for op in &mut ops {
            if let Op::Include { sight, .. } = op {
                *sight = sights.next().copied().unwrap_or(Sight::Shared);
            }
        }
    }
    for at in 1..ops.len() {
        describe_macro(&mut ops, at);
        filter_before_recursion(&mut ops, at);
    }
    fuse(&mut ops);
    rows::find_rows(&mut ops);
    (ops, lines)
}

/// Notes what a macro takes: its parameters, and whether it uses `varargs` and `kwargs`, which its code encloses like
/// variables.
fn describe_macro(ops: &mut [Op], at: usize) {
    let (before, [Op::BuildMacro { params, flags, .. }, ..]) = ops.split_at_mut(at) else {
        return;
    };
    let [rest @ .., _, Op::Const(names)] = before else {
        return;
    };
    let names = names.try_iter().into_iter().flatten();
    *params = names
        .map(|name| Name::new(name.as_str().unwrap_or_default()))
        .collect();
    for op in rest.iter().rev() {
        match op {
            Op::Enclose(name) if name.text() == "varargs" => *flags |= TAKES_VARARGS,
            Op::Enclose(name) if name.text() == "kwargs" => *flags |= TAKES_KWARGS,
            Op::Enclose(_) => {}
            _ => break,
        }
    }
}

/// Has a recursive loop with a filter begin at its filter when it is called.
fn filter_before_recursion(ops: &mut [Op], at: usize) {
    let (before, [Op::PushLoop { filter, .. }, ..]) = ops.split_at_mut(at) else {
        return;
    };
    let [rest @ .., Op::PopLoopFrame, Op::BuildList(None)] = &*before else {
        return;
    };
    let mut depth = 0;
    for (at, op) in rest.iter().enumerate().rev() {
        match op {
            Op::PopLoopFrame => depth += 1,
            Op::PushLoop { .. } if depth > 0 => depth -= 1,
            Op::PushLoop { .. } => {
                *filter = Some(at as u32);
                return;
            }
            _ => {}
        }
    }
}

/// Has the first of a row of operations do the work of all, where no jump leads to the others.
///
/// The others stay where they are, so that jumps keep their targets.
fn fuse(ops: &mut [Op]) {
    let mut is_target = vec![false; ops.len() + 1];
    for op in ops.iter() {
        if let Some(target) = op.target()
            && let Some(is_target) = is_target.get_mut(target as usize)
        {
            *is_target = true;
        }
        if let Op::BuildMacro { offset, .. } = op {
            is_target[*offset as usize] = true;
        }
    }
    for at in 0..ops.len() {
        if let Some((fused, count)) = fused(&ops[at..])
            && !is_target[at + 1..at + count].contains(&true)
        {
            ops[at] = fused;
        }
    }
}

/// The operation that does the work of the first ones, and how many those are.
fn fused(ops: &[Op]) -> Option<(Op, usize)> {
    let is_upper = |filter: &Known<KnownFilter>| match filter.known {
        Some(KnownFilter::Upper) => Some(true),
        Some(KnownFilter::Lower) => Some(false),
        _ => None,
    };
    Some(match ops {
        [Op::Iterate(target), Op::Store(name), ..] => (Op::IterateInto(*target, *name, None), 2),
        [Op::Filter(filter, Some(1)), Op::Emit, ..] => {
            let same = Known::new(&filter.name, filter.known);
            (Op::EmitCased(same, is_upper(filter)?), 2)
        }
        [Op::CallFunction(name, Some(count)), Op::Emit, ..] => (Op::EmitCall(*name, *count), 2),
        [Op::Lookup(name), Op::Emit, ..] => (Op::EmitVar(*name), 2),
        [Op::Lookup(name), Op::JumpIfFalse(target), ..] => (Op::JumpUnless(*name, *target), 2),
        [Op::Lookup(name), Op::Attr(attr, _), Op::Emit, ..] => (Op::EmitAttr(*name, *attr), 3),
        [
            Op::Lookup(name),
            Op::Attr(attr, _),
            Op::JumpIfFalse(target),
            ..,
        ] => (Op::JumpUnlessAttr(*name, *attr, *target), 3),
        [
            Op::Lookup(name),
            Op::Attr(attr, _),
            Op::Filter(filter, Some(1)),
            Op::Emit,
            ..,
        ] => (Op::EmitCasedAttr(*name, *attr, is_upper(filter)?), 4),
        _ => return None,
    })
}

fn operation(instruction: &Instruction<'_>) -> Op {
    let compare = |op: &dyn std::fmt::Debug| match format!("{op:?}").as_str() {
        "Eq" => Compare::Eq,
        "Ne" => Compare::Ne,
        "Lt" => Compare::Lt,
        "Lte" => Compare::Lte,
        "Gt" => Compare::Gt,
        "Gte" => Compare::Gte,
        "In" => Compare::In,
        _ => Compare::NotIn,
    };
    match instruction {
        Instruction::EmitRaw(text) => Op::Raw((*text).into()),
        Instruction::StoreLocal(name) => Op::Store(Name::new(name)),
        Instruction::Lookup(name) => Op::Lookup(Name::new(name)),
        Instruction::GetAttr(name) => Op::Attr(Name::new(name), LoopField::of(name)),
        Instruction::SetAttr(name) => Op::SetAttr((*name).into()),
        Instruction::GetItem => Op::Item,
        Instruction::Slice => Op::Slice,
        Instruction::LoadConst(value) => Op::Const(value.clone()),
        Instruction::BuildMap(count) => Op::BuildMap(*count),
        Instruction::BuildKwargs(count) => Op::BuildKwargs(*count),
        Instruction::MergeKwargs(count) => Op::MergeKwargs(*count),
        Instruction::BuildList(count) => Op::BuildList(*count),
        Instruction::BuildTuple(count) => Op::BuildTuple(*count),
        Instruction::UnpackList(count) => Op::UnpackList(*count),
        Instruction::UnpackLists(count) => Op::UnpackLists(*count),
        Instruction::Add => Op::Math(Math::Add),
        Instruction::Sub => Op::Math(Math::Sub),
        Instruction::Mul => Op::Math(Math::Mul),
        Instruction::Div => Op::Math(Math::Div),
        Instruction::IntDiv => Op::Math(Math::IntDiv),
        Instruction::Rem => Op::Math(Math::Rem),
        Instruction::Pow => Op::Math(Math::Pow),
        Instruction::Neg => Op::Neg,
        Instruction::Eq => Op::Compare(Compare::Eq),
        Instruction::Ne => Op::Compare(Compare::Ne),
        Instruction::Gt => Op::Compare(Compare::Gt),
        Instruction::Gte => Op::Compare(Compare::Gte),
        Instruction::Lt => Op::Compare(Compare::Lt),
        Instruction::Lte => Op::Compare(Compare::Lte),
        Instruction::In => Op::Compare(Compare::In),
        Instruction::CompareAndPreserve(op) => Op::CompareAndKeep(compare(op)),
        Instruction::Not => Op::Not,
        Instruction::StringConcat => Op::Concat,
        Instruction::ApplyFilter(name, count, _) => {
            let name: String = name.split_ascii_whitespace().collect();
            Op::Filter(Known::new(&name, KnownFilter::of(&name)), *count)
        }
        Instruction::PerformTest(name, count, _) => {
            let name: String = name.split_ascii_whitespace().collect();
            Op::Test(Known::new(&name, KnownTest::of(&name)), *count)
        }
        Instruction::Emit => Op::Emit,
        Instruction::PushLoop(flags) => Op::PushLoop {
            flags: *flags,
            filter: None,
        },
        Instruction::PushWith => Op::PushWith,
        Instruction::Iterate(target) => Op::Iterate(*target),
        Instruction::PushDidNotIterate => Op::PushDidNotIterate,
        Instruction::PopFrame => Op::PopFrame,
        Instruction::PopLoopFrame => Op::PopLoopFrame,
        Instruction::Jump(target) => Op::Jump(*target),
        Instruction::JumpIfFalse(target) => Op::JumpIfFalse(*target),
        Instruction::JumpIfFalseOrPop(target) => Op::JumpIfFalseOrPop(*target),
        Instruction::JumpIfTrueOrPop(target) => Op::JumpIfTrueOrPop(*target),
        Instruction::PushAutoEscape => Op::PushEscape,
        Instruction::PopAutoEscape => Op::PopEscape,
        Instruction::BeginCapture(mode) => Op::BeginCapture(format!("{mode:?}") == "Capture"),
        Instruction::EndCapture => Op::EndCapture,
        Instruction::CallFunction(name, count) => Op::CallFunction(Name::new(name), *count),
        Instruction::CallMethod(name, count) => Op::CallMethod(Name::new(name), *count),
        Instruction::CallObject(count) => Op::CallObject(*count),
        Instruction::DupTop => Op::Duplicate,
        Instruction::DiscardTop => Op::Discard,
        Instruction::FastSuper => Op::Super,
        Instruction::FastRecurse => Op::Recurse,
        Instruction::Swap => Op::Swap,
        Instruction::CallBlock(name) => Op::CallBlock(Name::new(name)),
        Instruction::LoadBlocks => Op::Extend,
        Instruction::Include(ignores_missing) => Op::Include {
            ignores_missing: *ignores_missing,
            sight: Sight::Shared,
        },
        Instruction::ExportLocals => Op::Export,
        Instruction::BuildMacro(name, offset, flags) => Op::BuildMacro {
            name: (*name).into(),
            params: Arc::default(),
            offset: *offset,
            flags: *flags,
        },
        Instruction::Return => Op::Return,
        Instruction::IsUndefined => Op::IsUndefined,
        Instruction::Enclose(name) => Op::Enclose(Name::new(name)),
        Instruction::GetClosure => Op::GetClosure,
    }
}
