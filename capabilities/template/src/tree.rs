//! Walks over the syntax tree of a template, and looks at the constants in it.
//!
//! minijinja computes constant expressions while it compiles, where nothing can stop it: `[1] * 100000000` would take seconds. So what they
//! would come to is estimated before.

use minijinja::machinery::ast::{BinOpKind, Call, CallArg, Expr, Macro, Stmt, UnaryOpKind};
use minijinja::{Error, ErrorKind, Value};

/// The largest value that a constant expression may come to, in bytes; each item of a list counts as one value.
const CONSTANT_BYTES_MAX: u64 = 1024 * 1024;

/// Checks that no constant expression becomes too large.
///
/// # Errors
/// The line of the first one that does.
pub(crate) fn check_constants(tree: &Stmt<'_>) -> Result<(), Error> {
    let mut fault = None;
    each_expression(tree, &mut |expression| {
        let is_operator = matches!(expression, Expr::BinOp(_));
        if fault.is_none()
            && is_operator
            && size(expression).is_some_and(|it| it.bytes > CONSTANT_BYTES_MAX)
        {
            fault = Some(expression.span().start_line);
        }
    });
    match fault {
        None => Ok(()),
        Some(line) => {
            let told = format!(
                "this constant expression comes to more than {CONSTANT_BYTES_MAX} bytes (line {line})"
            );
            Err(Error::new(ErrorKind::SyntaxError, told))
        }
    }
}

/// A bound of what a constant expression comes to.
struct Size {
    bytes: u64,
    number: Option<Value>,
}

/// Returns a bound for a constant expression, `None` for any other. Computes numbers only.
fn size(expression: &Expr<'_>) -> Option<Size> {
    let value_bytes = size_of::<Value>() as u64;
    let sum = |items: &mut dyn Iterator<Item = &Expr<'_>>| {
        let mut bytes = value_bytes;
        for item in items {
            bytes = bytes.saturating_add(size(item)?.bytes);
        }
        let number = None;
        Some(Size { bytes, number })
    };
    match expression {
        Expr::Const(it) => {
            let text = it.value.as_str().map_or(0, str::len) as u64;
            Some(Size {
                bytes: value_bytes + text,
                number: it.value.is_number().then(|| it.value.clone()),
            })
        }
        Expr::List(it) => sum(&mut it.items.iter()),
        Expr::Tuple(it) => sum(&mut it.items.iter()),
        Expr::Map(it) => sum(&mut it.keys.iter().chain(&it.values)),
        Expr::UnaryOp(it) => {
            let of = size(&it.expr)?;
            let is_number = of.number.is_some() && matches!(it.op, UnaryOpKind::Neg);
            let number = is_number.then(|| expression.as_const()).flatten();
            Some(Size { number, ..of })
        }
        Expr::BinOp(it) => {
            let (left, right) = (size(&it.left)?, size(&it.right)?);
            if left.number.is_some() && right.number.is_some() {
                let number = expression.as_const().filter(Value::is_number);
                return Some(Size {
                    bytes: value_bytes,
                    number,
                });
            }
            let count = |number: &Value| {
                let count = f64::try_from(number.clone()).unwrap_or(f64::MAX);
                count.max(1.0) as u64
            };
            let bytes = match (&it.op, &left.number, &right.number) {
                (BinOpKind::Mul, Some(number), None) => right.bytes.saturating_mul(count(number)),
                (BinOpKind::Mul, None, Some(number)) => left.bytes.saturating_mul(count(number)),
                _ => left.bytes.saturating_add(right.bytes),
            };
            Some(Size {
                bytes,
                number: None,
            })
        }
        Expr::Compare(it) => {
            let all = std::iter::once(&it.expr).chain(it.ops.iter().map(|op| &op.expr));
            sum(&mut { all })
        }
        _ => None,
    }
}

/// Calls a function with each expression of a tree, the outer ones first.
pub(crate) fn each_expression<'t, 's>(tree: &'t Stmt<'s>, found: &mut dyn FnMut(&'t Expr<'s>)) {
    let all = |statements: &'t [Stmt<'s>], found: &mut dyn FnMut(&'t Expr<'s>)| {
        for statement in statements {
            each_expression(statement, found);
        }
    };
    match tree {
        Stmt::Template(it) => all(&it.children, found),
        Stmt::EmitExpr(it) => inside(&it.expr, found),
        Stmt::ForLoop(it) => {
            inside(&it.iter, found);
            it.filter_expr
                .iter()
                .for_each(|filter| inside(filter, found));
            all(&it.body, found);
            all(&it.else_body, found);
        }
        Stmt::IfCond(it) => {
            inside(&it.expr, found);
            all(&it.true_body, found);
            all(&it.false_body, found);
        }
        Stmt::WithBlock(it) => {
            it.assignments
                .iter()
                .for_each(|(_, value)| inside(value, found));
            all(&it.body, found);
        }
        Stmt::Set(it) => inside(&it.expr, found),
        Stmt::SetBlock(it) => {
            it.filter.iter().for_each(|filter| inside(filter, found));
            all(&it.body, found);
        }
        Stmt::AutoEscape(it) => {
            inside(&it.enabled, found);
            all(&it.body, found);
        }
        Stmt::FilterBlock(it) => {
            inside(&it.filter, found);
            all(&it.body, found);
        }
        Stmt::Block(it) => all(&it.body, found),
        Stmt::Extends(it) => inside(&it.name, found),
        Stmt::Include(it) => inside(&it.name, found),
        Stmt::Import(it) => inside(&it.expr, found),
        Stmt::FromImport(it) => inside(&it.expr, found),
        Stmt::Macro(it) => inside_macro(it, found),
        Stmt::CallBlock(it) => {
            inside_call(&it.call, found);
            inside_macro(&it.macro_decl, found);
        }
        Stmt::Do(it) => inside_call(&it.call, found),
        Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
    }
}

fn inside_macro<'t, 's>(it: &'t Macro<'s>, found: &mut dyn FnMut(&'t Expr<'s>)) {
    it.defaults.iter().for_each(|value| inside(value, found));
    for statement in &it.body {
        each_expression(statement, found);
    }
}

fn inside_call<'t, 's>(it: &'t Call<'s>, found: &mut dyn FnMut(&'t Expr<'s>)) {
    inside(&it.expr, found);
    inside_arguments(&it.args, found);
}

fn inside_arguments<'t, 's>(args: &'t [CallArg<'s>], found: &mut dyn FnMut(&'t Expr<'s>)) {
    for arg in args {
        match arg {
            CallArg::Pos(it)
            | CallArg::Kwarg(_, it)
            | CallArg::PosSplat(it)
            | CallArg::KwargSplat(it) => {
                inside(it, found);
            }
        }
    }
}

fn inside<'t, 's>(expression: &'t Expr<'s>, found: &mut dyn FnMut(&'t Expr<'s>)) {
    found(expression);
    let all = |items: &'t [Expr<'s>], found: &mut dyn FnMut(&'t Expr<'s>)| {
        items.iter().for_each(|item| inside(item, found));
    };
    match expression {
        Expr::Var(_) | Expr::Const(_) => {}
        Expr::Slice(it) => {
            inside(&it.expr, found);
            let ends = it.start.iter().chain(&it.stop).chain(&it.step);
            ends.for_each(|end| inside(end, found));
        }
        Expr::UnaryOp(it) => inside(&it.expr, found),
        Expr::BinOp(it) => {
            inside(&it.left, found);
            inside(&it.right, found);
        }
        Expr::Compare(it) => {
            inside(&it.expr, found);
            it.ops.iter().for_each(|op| inside(&op.expr, found));
        }
        Expr::IfExpr(it) => {
            inside(&it.test_expr, found);
            inside(&it.true_expr, found);
            it.false_expr.iter().for_each(|other| inside(other, found));
        }
        Expr::Filter(it) => {
            it.expr.iter().for_each(|of| inside(of, found));
            inside_arguments(&it.args, found);
        }
        Expr::Test(it) => {
            inside(&it.expr, found);
            inside_arguments(&it.args, found);
        }
        Expr::GetAttr(it) => inside(&it.expr, found),
        Expr::GetItem(it) => {
            inside(&it.expr, found);
            inside(&it.subscript_expr, found);
        }
        Expr::Call(it) => inside_call(it, found),
        Expr::List(it) => all(&it.items, found),
        Expr::Tuple(it) => all(&it.items, found),
        Expr::Map(it) => {
            all(&it.keys, found);
            all(&it.values, found);
        }
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
            "{% if x %}{% set y = f(-([(1, 2)] * 10000000)) %}{% endif %}",
            "{{ ('a' * 1000000) ~ ('b' * 1000000) }}",
            "{{ x|default([0] * 9999999999999999) }}",
            "{% macro m(a=[1] * 9000000) %}{% endmacro %}",
            "{{ [1] * 1e300 }}",
        ] {
            let tree = parse(text, "x", SyntaxConfig::default()).expect(text);
            let fault = check_constants(&tree).expect_err(text);
            assert!(fault.to_string().contains("(line 1)"), "{text}: {fault}");
        }
        for text in [
            "{{ [1] * 100 }}",
            "{{ price * 100000000 }}",
            "{{ [1] * n }}",
            "{{ 1000000 * 1000000 }}",
            "{{ '-' * 80 }}",
            "{{ [1, 2][0] * 100000000 }}",
        ] {
            let tree = parse(text, "x", SyntaxConfig::default()).expect(text);
            assert!(check_constants(&tree).is_ok(), "{text}");
        }
    }
}
