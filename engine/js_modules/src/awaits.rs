//! Calls of `db` that give a promise on PostgreSQL, and whose promise nothing waits for.
//!
//! A promise that is returned, passed on, put into a list or chained counts as waited for, and one that a variable
//! holds, if one of its uses does. Inside of a batch statements are not awaited, and at the top of a file there is
//! nothing to wait for. A call of a constant such as `const rows = () => db.query(...)` counts as the call in it.

use crate::analysis::{found_in, line_at};
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, IdentifierReference, ModuleExportName,
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan;

/// The functions of `db`, and those of them that `tx` has.
const OF_DB: [&str; 7] = [
    "query",
    "one",
    "exec",
    "batch",
    "transaction",
    "queryAsync",
    "oneAsync",
];
const OF_TX: [&str; 4] = ["query", "one", "exec", "batch"];
/// The methods that promises have themselves.
pub(crate) const OF_PROMISES: [&str; 3] = ["then", "catch", "finally"];

/// A call that is not awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAwait {
    /// The line of the call, counted from 1.
    pub line: u32,
    /// The function, as it is written: `db.query`, or `rows`, which gives the promise of one.
    pub call: String,
}

/// Finds the calls of `db` that are not awaited. A file that cannot be parsed has none.
pub fn missing_awaits(path: &str, source: &str) -> Vec<MissingAwait> {
    if !source.contains("sampan") {
        return Vec::new();
    }
    found_in(path, source, |semantic| calls_in(source, semantic))
}

fn calls_in(source: &str, semantic: &Semantic<'_>) -> Vec<MissingAwait> {
    let finder = Finder { semantic };
    let mut found = Vec::new();
    for node in semantic.nodes().iter() {
        let call = match node.kind() {
            AstKind::CallExpression(call) => finder
                .database_call(call)
                .map(|row| (row.clone(), row))
                .or_else(|| finder.call_of_short_function(&call.callee)),
            AstKind::TaggedTemplateExpression(tagged) => finder
                .member_of_database(&tagged.tag, &["sql"])
                .map(|row| (row.clone(), row)),
            _ => None,
        };
        if let Some((call, row)) = call
            && finder.is_in_function(node.id())
            && !finder.is_recorded(node.id(), &row)
            && !finder.is_waited_for(node.id())
        {
            let line = line_at(source, node.kind().span().start);
            found.push(MissingAwait { line, call });
        }
    }
    found.sort_by_key(|one| one.line);
    found
}

struct Finder<'a, 's> {
    semantic: &'s Semantic<'a>,
}

impl<'a> Finder<'a, '_> {
    /// The name of the function, if a call is one of a row that waits.
    fn database_call(&self, call: &CallExpression<'a>) -> Option<String> {
        self.member_of_database(&call.callee, &OF_DB)
            .or_else(|| self.member_of_transaction(&call.callee))
    }

    /// The name of a constant whose function only gives the promise of a row, `() => db.query(...)`, and the row.
    fn call_of_short_function(&self, callee: &Expression<'a>) -> Option<(String, String)> {
        let Expression::Identifier(name) = callee else {
            return None;
        };
        let (symbol, scoping) = (self.symbol(name)?, self.semantic.scoping());
        let declared = self
            .semantic
            .nodes()
            .kind(scoping.symbol_declaration(symbol));
        let AstKind::VariableDeclarator(declarator) = declared else {
            return None;
        };
        if scoping.symbol_is_mutated(symbol) {
            return None;
        }
        let Some(Expression::ArrowFunctionExpression(function)) = &declarator.init else {
            return None;
        };
        let row = match function.get_expression()? {
            Expression::CallExpression(call) => self.member_of_database(&call.callee, &OF_DB),
            Expression::TaggedTemplateExpression(tagged) => {
                self.member_of_database(&tagged.tag, &["sql"])
            }
            _ => None,
        };
        Some((name.name.to_string(), row?))
    }

    /// `db.query` or `app.db.query`, where `db` and `app` are imported from `sampan`.
    fn member_of_database(&self, callee: &Expression<'a>, known: &[&str]) -> Option<String> {
        let Expression::StaticMemberExpression(member) = callee else {
            return None;
        };
        let name = member.property.name.as_str();
        if !known.contains(&name) {
            return None;
        }
        let is_database = match &member.object {
            Expression::Identifier(object) => self.is_imported(object, "db"),
            Expression::StaticMemberExpression(inner) if inner.property.name == "db" => {
                matches!(&inner.object, Expression::Identifier(app) if self.is_imported(app, "app"))
            }
            _ => false,
        };
        is_database.then(|| format!("db.{name}"))
    }

    /// `tx.query`, where `tx` is the parameter of the function of a `db.transaction`.
    fn member_of_transaction(&self, callee: &Expression<'a>) -> Option<String> {
        let Expression::StaticMemberExpression(member) = callee else {
            return None;
        };
        let Expression::Identifier(object) = &member.object else {
            return None;
        };
        let name = member.property.name.as_str();
        if !OF_TX.contains(&name) {
            return None;
        }
        let symbol = self.symbol(object)?;
        let nodes = self.semantic.nodes();
        let declared = self.semantic.scoping().symbol_declaration(symbol);
        let function = nodes.ancestor_kinds(declared).find_map(|kind| match kind {
            AstKind::ArrowFunctionExpression(function) => Some((function.span, &function.params)),
            AstKind::Function(function) => Some((function.span, &function.params)),
            _ => None,
        });
        let (span, params) = function?;
        let first = params.items.first()?;
        let is_first = matches!(&first.pattern, BindingPattern::BindingIdentifier(one)
            if one.symbol_id.get() == Some(symbol));
        let is_transaction = nodes.ancestor_kinds(declared).any(|kind| match kind {
            AstKind::CallExpression(call) => {
                self.member_of_database(&call.callee, &["transaction"])
                    .is_some()
                    && call
                        .arguments
                        .last()
                        .is_some_and(|last| last.span() == span)
            }
            _ => false,
        });
        (is_first && is_transaction).then(|| format!("{}.{name}", object.name))
    }

    fn symbol(&self, reference: &IdentifierReference<'a>) -> Option<SymbolId> {
        symbol_of(self.semantic, reference)
    }

    /// Reports whether a name is an import of that name from `sampan`.
    fn is_imported(&self, reference: &IdentifierReference<'a>, wanted: &str) -> bool {
        imported_name(self.semantic, reference) == Some(wanted)
    }

    fn is_in_function(&self, node: NodeId) -> bool {
        let mut kinds = self.semantic.nodes().ancestor_kinds(node);
        kinds.any(|kind| {
            matches!(
                kind,
                AstKind::ArrowFunctionExpression(_) | AstKind::Function(_)
            )
        })
    }

    /// Reports whether a statement or a batch stands directly in the function of a batch.
    fn is_recorded(&self, node: NodeId, call: &str) -> bool {
        if !call.ends_with(".exec") && !call.ends_with(".batch") {
            return false;
        }
        let nodes = self.semantic.nodes();
        let mut function = None;
        for kind in nodes.ancestor_kinds(node) {
            match (kind, function) {
                (AstKind::ArrowFunctionExpression(one), None) => function = Some(one.span),
                (AstKind::Function(one), None) => function = Some(one.span),
                (AstKind::CallExpression(around), Some(span)) => {
                    let is_argument = |one: &Argument<'a>| one.span() == span;
                    if around.arguments.iter().any(is_argument) {
                        let around = self.database_call(around);
                        // A loop in the batch, as by `forEach`, is a part of it.
                        match around {
                            Some(name) if name.ends_with(".batch") => return true,
                            Some(_) => return false,
                            None => function = None,
                        }
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Reports whether something waits for the promise that a node gives.
    fn is_waited_for(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(node).span();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::StaticMemberExpression(member) => {
                OF_PROMISES.contains(&member.property.name.as_str())
            }
            AstKind::ComputedMemberExpression(member) => member.object.span() != span,
            AstKind::ParenthesizedExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::TSSatisfiesExpression(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::ChainExpression(_) => self.is_waited_for(parent),
            AstKind::ConditionalExpression(choice) => {
                choice.test.span() != span && self.is_waited_for(parent)
            }
            AstKind::LogicalExpression(logical) => {
                logical.left.span() != span && self.is_waited_for(parent)
            }
            AstKind::VariableDeclarator(declarator) => match &declarator.id {
                BindingPattern::BindingIdentifier(name) => name
                    .symbol_id
                    .get()
                    .is_some_and(|symbol| self.is_used_as_promise(symbol)),
                _ => false,
            },
            AstKind::ExpressionStatement(_)
            | AstKind::TemplateLiteral(_)
            | AstKind::BinaryExpression(_)
            | AstKind::SpreadElement(_)
            | AstKind::ForOfStatement(_)
            | AstKind::IfStatement(_)
            | AstKind::WhileStatement(_)
            | AstKind::ObjectProperty(_) => false,
            AstKind::UnaryExpression(unary) => unary.operator.as_str() == "void",
            _ => true,
        }
    }

    fn is_used_as_promise(&self, symbol: SymbolId) -> bool {
        let mut uses = self.semantic.scoping().get_resolved_references(symbol);
        uses.any(|one| {
            let parent = self.semantic.nodes().parent_kind(one.node_id());
            match parent {
                AstKind::AwaitExpression(_)
                | AstKind::ReturnStatement(_)
                | AstKind::ArrayExpression(_)
                | AstKind::CallExpression(_) => true,
                AstKind::StaticMemberExpression(member) => {
                    OF_PROMISES.contains(&member.property.name.as_str())
                }
                _ => false,
            }
        })
    }
}

/// Returns the symbol that a name refers to. A global has none.
pub(crate) fn symbol_of(
    semantic: &Semantic<'_>,
    reference: &IdentifierReference<'_>,
) -> Option<SymbolId> {
    let id = reference.reference_id.get()?;
    semantic.scoping().get_reference(id).symbol_id()
}

/// Returns the name that a reference imports from `sampan`. The default export is `app`.
pub(crate) fn imported_name<'a>(
    semantic: &Semantic<'a>,
    reference: &IdentifierReference<'a>,
) -> Option<&'a str> {
    let symbol = symbol_of(semantic, reference)?;
    let nodes = semantic.nodes();
    let declared = semantic.scoping().symbol_declaration(symbol);
    let name = match nodes.kind(declared) {
        AstKind::ImportSpecifier(specifier) => match &specifier.imported {
            ModuleExportName::IdentifierName(name) => name.name.as_str(),
            ModuleExportName::IdentifierReference(name) => name.name.as_str(),
            ModuleExportName::StringLiteral(name) => name.value.as_str(),
        },
        AstKind::ImportDefaultSpecifier(_) => "default",
        _ => return None,
    };
    let is_own = nodes.ancestor_kinds(declared).any(|kind| match kind {
        AstKind::ImportDeclaration(import) => import.source.value == "sampan",
        _ => false,
    });
    is_own.then_some(if name == "default" { "app" } else { name })
}

#[cfg(test)]
mod tests;
