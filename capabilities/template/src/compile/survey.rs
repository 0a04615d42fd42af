//! A walk over the tree of a template, before its code is generated: what the template names, which the code no longer
//! tells, and constants that would grow while they are folded.

use crate::compile::names::{
    CompileFault, FilterArgs, FilterUse, FunctionUse, NameUse, Names, TextPlace,
};
use minijinja::Value;
use minijinja::machinery::ast::{self, BinOpKind, CallArg, CallType, Expr, Spanned, Stmt};
use minijinja::value::ValueKind;
use std::collections::{BTreeMap, BTreeSet};

/// The most items and bytes that the constants of a template may have that its operators make.
const FOLDED_MAX: usize = 100_000;

/// The way a template that is included or imported sees the variables around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    Shared,
    /// `without context`
    Isolated,
    /// An import `without context`: its variables are exported from the frame that it runs in.
    IsolatedModule,
}

/// The elements of a template's or block's code, in the order of the code.
#[derive(Default)]
pub(crate) struct Shape<'t, 'a> {
    /// The assignments of `with` for each frame that the code opens; none for an import.
    pub(crate) frames: Vec<&'t [(Expr<'a>, Expr<'a>)]>,
    pub(crate) includes: Vec<Sight>,
}

/// The walk.
pub(crate) struct Survey<'t, 'a> {
    pub(crate) names: Names,
    pub(crate) required: BTreeSet<&'a str>,
    /// By the name of the block; none is the template itself.
    pub(crate) shapes: BTreeMap<Option<&'a str>, Shape<'t, 'a>>,
    block: Option<&'a str>,
    /// The tags `include`, `import` and `from` in the order of the text: whether they say `without context`.
    isolated: std::vec::IntoIter<bool>,
    folded: usize,
}

/// The methods that change the list or the map that they are called on.
pub(crate) const CHANGING: [&str; 9] = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "setdefault",
    "update",
];

impl<'t, 'a> Survey<'t, 'a> {
    /// Walks over a tree. `isolated` has an entry for each tag that takes another template.
    ///
    /// # Errors
    /// The constants are too large.
    pub(crate) fn of(tree: &'t Stmt<'a>, isolated: Vec<bool>) -> Result<Self, CompileFault> {
        let mut survey = Self {
            names: Names::default(),
            required: BTreeSet::new(),
            shapes: BTreeMap::new(),
            block: None,
            isolated: isolated.into_iter(),
            folded: 0,
        };
        survey.statement(tree)?;
        Ok(survey)
    }

    fn shape(&mut self) -> &mut Shape<'t, 'a> {
        self.shapes.entry(self.block).or_default()
    }

    fn statements(&mut self, statements: &'t [Stmt<'a>]) -> Result<(), CompileFault> {
        statements.iter().try_for_each(|it| self.statement(it))
    }

    fn sight(&mut self, isolated: Sight) -> Sight {
        match self.isolated.next() {
            Some(true) => isolated,
            _ => Sight::Shared,
        }
    }

    fn assigns(&mut self, target: &'t Expr<'a>) {
        match target {
            Expr::Var(it) => {
                self.names.assigned.insert(it.id.into());
            }
            Expr::List(it) => it.items.iter().for_each(|item| self.assigns(item)),
            Expr::Tuple(it) => it.items.iter().for_each(|item| self.assigns(item)),
            _ => {}
        }
    }

    fn statement(&mut self, statement: &'t Stmt<'a>) -> Result<(), CompileFault> {
        match statement {
            Stmt::Template(it) => return self.statements(&it.children),
            Stmt::EmitExpr(it) => self.expression(&it.expr)?,
            Stmt::ForLoop(it) => {
                self.assigns(&it.target);
                self.expression(&it.iter)?;
                self.optional(&it.filter_expr)?;
                self.statements(&it.body)?;
                self.statements(&it.else_body)?;
            }
            Stmt::IfCond(it) => {
                self.expression(&it.expr)?;
                self.statements(&it.true_body)?;
                self.statements(&it.false_body)?;
            }
            Stmt::WithBlock(it) => {
                let with: &'t ast::WithBlock<'a> = it;
                self.shape().frames.push(&with.assignments);
                for (target, value) in &it.assignments {
                    self.assigns(target);
                    self.expression(value)?;
                }
                self.statements(&it.body)?;
            }
            Stmt::Set(it) => {
                self.assigns(&it.target);
                self.expression(&it.expr)?;
            }
            Stmt::SetBlock(it) => {
                self.assigns(&it.target);
                self.statements(&it.body)?;
                self.optional(&it.filter)?;
            }
            Stmt::AutoEscape(it) => {
                self.expression(&it.enabled)?;
                self.statements(&it.body)?;
            }
            Stmt::FilterBlock(it) => {
                self.statements(&it.body)?;
                self.expression(&it.filter)?;
            }
            Stmt::Block(it) => {
                let block: &'t ast::Block<'a> = it;
                if block.required {
                    self.required.insert(block.name);
                }
                let around = self.block.replace(block.name);
                self.statements(&block.body)?;
                self.block = around;
            }
            Stmt::Import(it) => {
                if !is_target(&it.name) {
                    return Err(CompileFault {
                        message: "syntax error: expected a name behind `as`".to_owned(),
                        place: TextPlace::Byte(it.name.span().start_offset),
                    });
                }
                self.assigns(&it.name);
                self.template(&it.expr)?;
                let sight = self.sight(Sight::IsolatedModule);
                self.shape().frames.push(&[]);
                self.shape().includes.push(sight);
            }
            Stmt::FromImport(it) => {
                let from: &'t ast::FromImport<'a> = it;
                for (name, alias) in &from.names {
                    self.assigns(alias.as_ref().unwrap_or(name));
                }
                self.template(&it.expr)?;
                let sight = self.sight(Sight::IsolatedModule);
                self.shape().frames.push(&[]);
                self.shape().includes.push(sight);
            }
            Stmt::Extends(it) => self.template(&it.name)?,
            Stmt::Include(it) => {
                match it.ignore_missing {
                    true => self.expression(&it.name)?,
                    false => self.template(&it.name)?,
                }
                let sight = self.sight(Sight::Isolated);
                self.shape().includes.push(sight);
            }
            Stmt::Macro(it) => {
                self.names.assigned.insert(it.name.into());
                self.macro_parts(it)?;
            }
            Stmt::CallBlock(it) => {
                self.call(&it.call)?;
                self.macro_parts(&it.macro_decl)?;
            }
            Stmt::Do(it) => self.call(&it.call)?,
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
        }
        Ok(())
    }

    fn macro_parts(&mut self, it: &'t Spanned<ast::Macro<'a>>) -> Result<(), CompileFault> {
        it.args.iter().for_each(|arg| self.assigns(arg));
        self.expressions(&it.defaults)?;
        self.statements(&it.body)
    }

    /// The name of a template that must exist.
    fn template(&mut self, expression: &'t Expr<'a>) -> Result<(), CompileFault> {
        self.expression(expression)?;
        if let Some(name) = expression.as_const()
            && let Some(name) = name.as_str()
        {
            let (name, at) = (name.into(), expression.span().start_offset);
            self.names.templates.push(NameUse { name, at });
        }
        Ok(())
    }

    fn optional(&mut self, expression: &'t Option<Expr<'a>>) -> Result<(), CompileFault> {
        match expression {
            Some(expression) => self.expression(expression),
            None => Ok(()),
        }
    }

    fn expressions(&mut self, expressions: &'t [Expr<'a>]) -> Result<(), CompileFault> {
        expressions.iter().try_for_each(|it| self.expression(it))
    }

    fn call(&mut self, it: &'t Spanned<ast::Call<'a>>) -> Result<(), CompileFault> {
        match it.identify_call() {
            CallType::Function(name) => {
                let text = match it.args.first() {
                    Some(CallArg::Pos(Expr::Const(text))) => text.value.as_str().map(Box::from),
                    _ => None,
                };
                self.names.functions.push(FunctionUse {
                    name: name.into(),
                    text,
                    at: it.span().start_offset,
                });
            }
            CallType::Method(_, name) => {
                self.names.changes_values |= CHANGING.contains(&name);
                self.expression(&it.expr)?;
            }
            CallType::Block(_) => {}
            CallType::Object(_) => self.expression(&it.expr)?,
        }
        self.arguments(&it.args)
    }

    fn arguments(&mut self, args: &'t [CallArg<'a>]) -> Result<(), CompileFault> {
        args.iter().try_for_each(|arg| match arg {
            CallArg::Pos(it)
            | CallArg::Kwarg(_, it)
            | CallArg::PosSplat(it)
            | CallArg::KwargSplat(it) => self.expression(it),
        })
    }

    fn filter(&mut self, it: &'t Spanned<ast::Filter<'a>>) {
        self.names.filters.push(FilterUse {
            name: it.name.split_ascii_whitespace().collect(),
            args: filter_args(&it.args),
            at: it.span().start_offset,
        });
    }

    fn expression(&mut self, expression: &'t Expr<'a>) -> Result<(), CompileFault> {
        match expression {
            Expr::Var(_) | Expr::Const(_) => Ok(()),
            Expr::Slice(it) => {
                self.expression(&it.expr)?;
                self.optional(&it.start)?;
                self.optional(&it.stop)?;
                self.optional(&it.step)
            }
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) => {
                self.expression(&it.left)?;
                self.expression(&it.right)?;
                self.fold(it)
            }
            Expr::Compare(it) => {
                self.expression(&it.expr)?;
                it.ops.iter().try_for_each(|op| self.expression(&op.expr))
            }
            Expr::IfExpr(it) => {
                self.expression(&it.test_expr)?;
                self.expression(&it.true_expr)?;
                self.optional(&it.false_expr)
            }
            Expr::Filter(it) => {
                self.optional(&it.expr)?;
                self.filter(it);
                self.arguments(&it.args)
            }
            Expr::Test(it) => {
                self.expression(&it.expr)?;
                self.names.tests.push(NameUse {
                    name: it.name.split_ascii_whitespace().collect(),
                    at: it.span().start_offset,
                });
                self.arguments(&it.args)
            }
            Expr::GetAttr(it) => self.expression(&it.expr),
            Expr::GetItem(it) => {
                self.expression(&it.expr)?;
                self.expression(&it.subscript_expr)
            }
            Expr::Call(it) => self.call(it),
            Expr::List(it) => self.expressions(&it.items),
            Expr::Tuple(it) => self.expressions(&it.items),
            Expr::Map(it) => {
                self.expressions(&it.keys)?;
                self.expressions(&it.values)
            }
        }
    }

    /// Fails if minijinja would fold an operator into a constant that is too large. Its operands have passed, so they
    /// are small.
    fn fold(&mut self, it: &'t Spanned<ast::BinOp<'a>>) -> Result<(), CompileFault> {
        let grows = matches!(it.op, BinOpKind::Mul | BinOpKind::Add | BinOpKind::Concat);
        if !grows {
            return Ok(());
        }
        let (Some(left), Some(right)) = (it.left.as_const(), it.right.as_const()) else {
            return Ok(());
        };
        let times = |value: &Value| value.as_usize().filter(|_| value.is_integer());
        let size = match it.op {
            BinOpKind::Mul => match (times(&left), times(&right)) {
                (None, Some(times)) => size_of(&left).saturating_mul(times),
                (Some(times), None) => size_of(&right).saturating_mul(times),
                _ => 0,
            },
            _ => size_of(&left).saturating_add(size_of(&right)),
        };
        self.folded = self.folded.saturating_add(size);
        if self.folded > FOLDED_MAX {
            return Err(CompileFault {
                message: format!(
                    "syntax error: the constants of this template are too large: its operators may make {FOLDED_MAX} \
                     items and bytes; use a loop"
                ),
                place: TextPlace::Byte(it.span().start_offset),
            });
        }
        Ok(())
    }
}

/// Reports whether an expression is one that a value can be assigned to. The generator takes no other.
fn is_target(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::Var(_) | Expr::GetAttr(_) => true,
        Expr::List(it) => it.items.iter().all(is_target),
        _ => false,
    }
}

/// Returns the arguments of a filter, if nothing is spread among them.
fn filter_args(args: &[CallArg<'_>]) -> Option<FilterArgs> {
    let (mut positional, mut named) = (Vec::new(), Vec::new());
    for arg in args {
        match arg {
            CallArg::Kwarg(name, value) => named.push((Box::from(*name), constant(value))),
            CallArg::Pos(value) => positional.push(constant(value)),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => return None,
        }
    }
    Some(FilterArgs { positional, named })
}

/// Returns the value of a constant, or of one with a sign before it.
fn constant(expression: &Expr<'_>) -> Option<Value> {
    let is_constant = match expression {
        Expr::Const(_) => true,
        Expr::UnaryOp(it) => matches!(it.expr, Expr::Const(_)),
        _ => false,
    };
    expression.as_const().filter(|_| is_constant)
}

/// Returns how many bytes a text has, or how many items a list, with those of the lists in it.
fn size_of(value: &Value) -> usize {
    match value.kind() {
        ValueKind::String | ValueKind::Bytes => value.as_bytes().map_or(0, <[u8]>::len),
        ValueKind::Seq | ValueKind::Iterable => value.len().unwrap_or(FOLDED_MAX),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::machinery::parse;
    use minijinja::syntax::SyntaxConfig;

    #[test]
    fn constants_that_become_large_are_refused() {
        for text in [
            "{{ [1] * 100000000 }}",
            "{{ 100000000 * [1] }}",
            "{{ 'a' * (1000 * 1000 * 1000) }}",
            "{{ ('a' * 2000) * 2000 }}",
            "{% if x %}{% set y = f(-([1, 2] * 10000000)) %}{% endif %}",
            "{{ ('a' * 1000000) ~ ('b' * 1000000) }}",
            "{{ x|default([0] * 9999999999999999) }}",
            "{% macro m(a=[1] * 9000000) %}{% endmacro %}",
        ] {
            let tree = parse(text, "x", SyntaxConfig::default()).expect(text);
            let fault = Survey::of(&tree, Vec::new()).err();
            let place = fault.map(|fault| fault.place);
            assert!(matches!(place, Some(TextPlace::Byte(_))), "{text}");
        }
        for text in [
            "{{ [1] * 100 }}",
            "{{ price * 100000000 }}",
            "{{ [1] * n }}",
            // Not folded: minijinja folds no list with anything but constants in it, so the limit of rendering holds.
            "{{ [(1, 2)] * 100000000 }}",
            "{{ 1000000 * 1000000 }}",
            "{{ '-' * 80 }}",
            "{{ [1, 2][0] * 100000000 }}",
            "{{ [1] * 1e300 }}",
        ] {
            let tree = parse(text, "x", SyntaxConfig::default()).expect(text);
            assert!(Survey::of(&tree, Vec::new()).is_ok(), "{text}");
        }
    }
}
