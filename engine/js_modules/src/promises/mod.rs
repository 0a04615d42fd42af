//! Promises that a script uses as if they were their values: `if (!password.verify(...))`, whose condition never holds,
//! and `req.json().name`, which is always undefined.
//!
//! Only calls that give a promise for certain count: those of the functions that the caller names, of the request of a
//! handler, and of the global `fetch`. A promise that is awaited, returned, passed on or chained is in order.

mod calls;

use crate::analysis::{found_in, line_at};
use crate::awaits::{OF_PROMISES, imported_name};
use calls::{PromiseCalls, bound};
use oxc_ast::AstKind;
use oxc_ast::ast::{AssignmentOperator, BinaryOperator, BindingPattern, Expression};
use oxc_semantic::{NodeId, Semantic, SymbolFlags};
use oxc_span::GetSpan;

/// The members that all objects have.
const OF_OBJECTS: [&str; 5] = [
    "constructor",
    "hasOwnProperty",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// A promise that is used as if it were its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromiseUse {
    /// The line of the call that gives the promise, counted from 1.
    pub line: u32,
    /// The fault, and the correction.
    pub text: String,
}

/// Finds the calls whose promise is used as if it were its value. `waiting` has the functions that always give a
/// promise, as JavaScript spells them: the module, or `req` for a method of requests, and the function. A file that
/// cannot be parsed has no such calls.
pub fn promise_uses(path: &str, source: &str, waiting: &[(String, String)]) -> Vec<PromiseUse> {
    if !source.contains("sampan") && !source.contains("fetch") {
        return Vec::new();
    }
    found_in(path, source, |semantic| uses_in(source, semantic, waiting))
}

fn uses_in(source: &str, semantic: &Semantic<'_>, waiting: &[(String, String)]) -> Vec<PromiseUse> {
    let (calls, finder) = (
        PromiseCalls { semantic, waiting },
        MisuseFinder { semantic },
    );
    let line_of = |node| line_at(source, semantic.nodes().kind(node).span().start);
    let mut found = Vec::new();
    for node in semantic.nodes().iter() {
        if let AstKind::CallExpression(call) = node.kind()
            && let Some(name) = calls.name_of_promise(call)
            && let Some((misuse, at)) = finder.misuse(node.id())
        {
            let arguments = match call.arguments.is_empty() {
                true => "",
                false => "...",
            };
            let (line, used) = (line_of(node.id()), line_of(at));
            let text = misuse.told(
                &format!("{name}({arguments})"),
                (used != line).then_some(used),
            );
            found.push(PromiseUse { line, text });
        }
    }
    found.sort_by_key(|one| one.line);
    found
}

/// A use of a promise that is meant for its value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Misuse {
    /// In a condition.
    Condition,
    /// Beside an operator that compares.
    Comparison,
    /// Within a text, as a part of it.
    Text,
    /// Spread into an object.
    Copy,
    /// A member is taken out of it, or of the variable that holds it.
    Taken(String),
    /// A member of the call is read.
    Member(String),
    /// The data of `app.validate`.
    Data,
}

impl Misuse {
    /// Tells of the fault. `used` is the line of the use, if it is not that of the call.
    fn told(&self, call: &str, used: Option<u32>) -> String {
        let fault = match self {
            Self::Condition => "is always true".to_owned(),
            Self::Comparison => "cannot be compared with a value".to_owned(),
            Self::Text => "as text is [object Promise]".to_owned(),
            Self::Copy => "has no members to copy".to_owned(),
            Self::Data => "has no fields to check".to_owned(),
            Self::Taken(name) | Self::Member(name) => format!("has no {name}"),
        };
        let place = used.map_or_else(String::new, |line| format!(" (used in line {line})"));
        let write = match self {
            Self::Member(name) => format!("(await {call}).{name}"),
            _ => format!("await {call}"),
        };
        format!("{call} gives a promise, which {fault}{place}: write {write}")
    }

    /// Reports whether it is no fault of a promise to which a script has added members.
    fn is_of_members(&self) -> bool {
        matches!(self, Self::Copy | Self::Taken(_) | Self::Member(_))
    }
}

/// Finds the misuses of promises in a script.
struct MisuseFinder<'a, 's> {
    semantic: &'s Semantic<'a>,
}

impl<'a> MisuseFinder<'a, '_> {
    /// Returns how the promise of a call is misused first, and where: there, or through the variable that holds it.
    fn misuse(&self, call: NodeId) -> Option<(Misuse, NodeId)> {
        let (nodes, scoping) = (self.semantic.nodes(), self.semantic.scoping());
        let AstKind::VariableDeclarator(declarator) = nodes.parent_kind(self.outermost(call))
        else {
            return Some((self.misuse_at(call, true)?, call));
        };
        let Some(symbol) = bound(&declarator.id) else {
            return Some((self.misuse_at(call, true)?, call));
        };
        let is_block_scoped = scoping
            .symbol_flags(symbol)
            .contains(SymbolFlags::BlockScopedVariable);
        if !is_block_scoped || scoping.symbol_is_mutated(symbol) {
            return None;
        }
        let uses = || {
            scoping
                .get_resolved_references(symbol)
                .map(|one| one.node_id())
        };
        let is_extended = uses().any(|at| self.may_extend(at));
        uses().find_map(|at| {
            let misuse = match self.misuse_at(at, false)? {
                Misuse::Member(name) => Misuse::Taken(name),
                misuse => misuse,
            };
            (!is_extended || !misuse.is_of_members()).then_some((misuse, at))
        })
    }

    /// The outermost of the parentheses and assertions around an expression.
    fn outermost(&self, mut node: NodeId) -> NodeId {
        let nodes = self.semantic.nodes();
        while let AstKind::ParenthesizedExpression(_)
        | AstKind::ChainExpression(_)
        | AstKind::TSAsExpression(_)
        | AstKind::TSNonNullExpression(_)
        | AstKind::TSSatisfiesExpression(_)
        | AstKind::TSTypeAssertion(_) = nodes.parent_kind(node)
        {
            node = nodes.parent_id(node);
        }
        node
    }

    /// Reports whether a use of a promise may give it members: by an assignment, or in a function that gets
    /// it, such as `Object.assign`.
    fn may_extend(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        let node = self.outermost(node);
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::StaticMemberExpression(_) | AstKind::ComputedMemberExpression(_) => {
                let span = nodes.kind(parent).span();
                matches!(nodes.parent_kind(parent), AstKind::AssignmentExpression(one)
                    if one.left.span() == span)
            }
            AstKind::CallExpression(call) => {
                let span = nodes.kind(node).span();
                call.arguments.iter().any(|one| one.span() == span)
            }
            _ => false,
        }
    }

    /// Reports whether a function is `app.validate`.
    fn is_validation(&self, callee: &Expression<'a>) -> bool {
        let Expression::StaticMemberExpression(member) = callee else {
            return false;
        };
        let Expression::Identifier(app) = &member.object else {
            return false;
        };
        member.property.name == "validate" && imported_name(self.semantic, app) == Some("app")
    }

    /// Returns how a node that is a promise is misused. A fresh one equals no other value.
    fn misuse_at(&self, node: NodeId, is_fresh: bool) -> Option<Misuse> {
        let nodes = self.semantic.nodes();
        let node = self.outermost(node);
        let span = nodes.kind(node).span();
        let is_it = |expression: &Expression<'a>| expression.span() == span;
        let is_condition = |test: &Expression<'a>| is_it(test).then_some(Misuse::Condition);
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::IfStatement(one) => is_condition(&one.test),
            AstKind::WhileStatement(one) => is_condition(&one.test),
            AstKind::DoWhileStatement(one) => is_condition(&one.test),
            AstKind::ForStatement(one) => one.test.as_ref().and_then(is_condition),
            AstKind::ConditionalExpression(one) => is_condition(&one.test),
            AstKind::UnaryExpression(one) => one.operator.is_not().then_some(Misuse::Condition),
            AstKind::LogicalExpression(one) if one.operator.is_coalesce() => None,
            AstKind::LogicalExpression(one) if is_it(&one.left) => Some(Misuse::Condition),
            // Its last operand is a value, which a condition may ask for.
            AstKind::LogicalExpression(_) => self
                .misuse_at(parent, is_fresh)
                .filter(|misuse| *misuse == Misuse::Condition),
            AstKind::BinaryExpression(one) if one.operator.is_equality() => {
                let other = if is_it(&one.left) {
                    &one.right
                } else {
                    &one.left
                };
                (is_fresh || is_value(other)).then_some(Misuse::Comparison)
            }
            AstKind::BinaryExpression(one) if one.operator.is_compare() => Some(Misuse::Comparison),
            AstKind::BinaryExpression(one) => {
                (one.operator == BinaryOperator::Addition).then_some(Misuse::Text)
            }
            AstKind::SwitchStatement(one) => is_it(&one.discriminant).then_some(Misuse::Comparison),
            AstKind::TemplateLiteral(_) => {
                let tagged = nodes.parent_kind(parent);
                (!matches!(tagged, AstKind::TaggedTemplateExpression(_))).then_some(Misuse::Text)
            }
            AstKind::AssignmentExpression(one) => {
                (one.operator == AssignmentOperator::Addition).then_some(Misuse::Text)
            }
            AstKind::StaticMemberExpression(one) => {
                missing(one.property.name.as_str()).map(Misuse::Member)
            }
            AstKind::ComputedMemberExpression(one) if is_it(&one.object) => {
                missing(one.static_property_name()?.as_str()).map(Misuse::Taken)
            }
            AstKind::VariableDeclarator(one) => match &one.id {
                BindingPattern::ObjectPattern(object) => {
                    let mut keys = object.properties.iter().map(|one| one.key.static_name());
                    keys.find_map(|key| missing(&key?)).map(Misuse::Taken)
                }
                _ => None,
            },
            AstKind::CallExpression(one) => {
                let is_first = one.arguments.first().is_some_and(|one| one.span() == span);
                (is_first && self.is_validation(&one.callee)).then_some(Misuse::Data)
            }
            AstKind::SpreadElement(_) => {
                let around = nodes.parent_kind(parent);
                matches!(around, AstKind::ObjectExpression(_)).then_some(Misuse::Copy)
            }
            _ => None,
        }
    }
}

/// Returns the name of a member that promises do not have.
fn missing(name: &str) -> Option<String> {
    (!OF_PROMISES.contains(&name) && !OF_OBJECTS.contains(&name)).then(|| name.to_owned())
}

/// Reports whether an expression is a value that is written out, which no promise is.
fn is_value(expression: &Expression<'_>) -> bool {
    matches!(
        expression.get_inner_expression(),
        Expression::StringLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::TemplateLiteral(_)
    )
}
