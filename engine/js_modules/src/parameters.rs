//! The parameters of routes that a script takes out of `params` by destructuring: `({ params: { id } }) => ...` and
//! `const { id } = req.params`.

use crate::analysis::found_in;
use oxc_ast::AstKind;
use oxc_ast::ast::{BindingPattern, Expression};
use oxc_semantic::Semantic;
use std::borrow::Cow;

/// The property of a request that has its parameters.
const PARAMS: &str = "params";

/// Returns the names that a script takes out of what is called `params`. A file that cannot be parsed has none.
pub fn destructured_parameters(path: &str, source: &str) -> Vec<String> {
    if !source.contains(PARAMS) {
        return Vec::new();
    }
    found_in(path, source, names_in)
}

fn names_in(semantic: &Semantic<'_>) -> Vec<String> {
    let patterns = semantic
        .nodes()
        .iter()
        .filter_map(|node| match node.kind() {
            AstKind::BindingProperty(property) => {
                (property.key.static_name()? == PARAMS).then_some(&property.value)
            }
            AstKind::VariableDeclarator(declarator) => {
                is_params(declarator.init.as_ref()?).then_some(&declarator.id)
            }
            AstKind::FormalParameter(parameter) => Some(&parameter.pattern)
                .filter(|_| parameter.initializer.as_deref().is_some_and(is_params)),
            _ => None,
        });
    patterns.flat_map(names_of).collect()
}

/// Reports whether an expression is `params`, or that of something.
fn is_params(expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::Identifier(name) => name.name == PARAMS,
        Expression::StaticMemberExpression(member) => member.property.name == PARAMS,
        _ => false,
    }
}

/// The names of the properties that a pattern takes.
fn names_of(pattern: &BindingPattern<'_>) -> Vec<String> {
    match pattern {
        BindingPattern::ObjectPattern(object) => {
            let properties = object.properties.iter();
            let names = properties.filter_map(|property| property.key.static_name());
            names.map(Cow::into_owned).collect()
        }
        BindingPattern::AssignmentPattern(assigned) => names_of(&assigned.left),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_out_of_params() {
        for (source, names) in [
            (
                "app.get('/v:major', ({ params: { major } }) => major);",
                &["major"][..],
            ),
            (
                "app.get('/', async function ({ params: { a, b: c } }) {});",
                &["a", "b"],
            ),
            ("f(({ params: { a = 1 } = {} }) => a);", &["a"]),
            ("const { major } = req.params;", &["major"]),
            ("const { major } = c.req.params as Parameters;", &["major"]),
            ("const { params } = req; const { 'a': b } = params;", &["a"]),
            ("const { params: { a, ...rest } } = req;", &["a"]),
            ("const { a } = req.query;", &[]),
            ("const { [params]: a } = req;", &[]),
            ("const a = req.params.a;", &[]),
            ("const { a } = req.params", &["a"]),
            ("const { a = = req.params", &[]),
        ] {
            assert_eq!(destructured_parameters("app.ts", source), names, "{source}");
        }
    }
}
