//! The calls that give a promise for certain.

use crate::awaits::{imported_name, symbol_of};
use oxc_ast::AstKind;
use oxc_ast::ast::{
    BindingPattern, CallExpression, Expression, FormalParameters, IdentifierReference,
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan;
use sampan_host::module::RowOwner;

/// The methods of every request that give promises.
const OF_REQUESTS: [&str; 7] = [
    "arrayBuffer",
    "blob",
    "bytes",
    "form",
    "formData",
    "json",
    "text",
];
/// The methods of a router whose functions get a request first.
const OF_HANDLERS: [&str; 9] = [
    "get", "post", "put", "patch", "delete", "options", "all", "use", "notFound",
];
/// The methods of a router whose functions get another router.
const OF_GROUPS: [&str; 2] = ["group", "host"];

/// Knows the calls of a script that give a promise.
pub(super) struct PromiseCalls<'a, 's> {
    pub(super) semantic: &'s Semantic<'a>,
    /// The functions that always do: the module, or `req` for a method of requests, and the function.
    pub(super) waiting: &'s [(String, String)],
}

impl<'a> PromiseCalls<'a, '_> {
    /// The function as it is written, if a call gives a promise: `password.verify`.
    pub(super) fn name_of_promise(&self, call: &CallExpression<'a>) -> Option<String> {
        match call.callee.get_inner_expression() {
            Expression::Identifier(name) => {
                let is_global = symbol_of(self.semantic, name).is_none();
                (name.name == "fetch" && is_global).then(|| name.name.to_string())
            }
            Expression::StaticMemberExpression(member) => {
                let function = member.property.name.as_str();
                let mut waiting = self.waiting.iter();
                // Before what looks for the owner, as most calls are of other functions.
                if !OF_REQUESTS.contains(&function) && !waiting.any(|(_, one)| one == function) {
                    return None;
                }
                let (owner, written) = self.owner(&member.object)?;
                let is_of_requests =
                    owner == RowOwner::REQUEST.name && OF_REQUESTS.contains(&function);
                let mut waiting = self.waiting.iter();
                let is_known = is_of_requests
                    || waiting.any(|(module, one)| *module == owner && one == function);
                is_known.then(|| format!("{written}.{function}"))
            }
            _ => None,
        }
    }

    /// The module that an expression is, or `req` for a request, and the expression as it is written.
    fn owner(&self, expression: &Expression<'a>) -> Option<(String, String)> {
        match expression.get_inner_expression() {
            Expression::Identifier(name) => {
                let written = name.name.to_string();
                match imported_name(self.semantic, name) {
                    Some(module) => Some((module.to_owned(), written)),
                    None if self.is_request(name) => {
                        Some((RowOwner::REQUEST.name.to_owned(), written))
                    }
                    None => None,
                }
            }
            Expression::StaticMemberExpression(member) => {
                let Expression::Identifier(app) = member.object.get_inner_expression() else {
                    return None;
                };
                let module = member.property.name.to_string();
                let is_module = imported_name(self.semantic, app) == Some("app");
                let written = format!("{}.{module}", app.name);
                is_module.then_some((module, written))
            }
            _ => None,
        }
    }

    /// Reports whether a name is the request of a handler.
    fn is_request(&self, name: &IdentifierReference<'a>) -> bool {
        let function = self.function_with_first(name);
        function.is_some_and(|function| self.is_handler(function))
    }

    /// Returns the function whose first parameter a name is, if nothing else is assigned to it.
    fn function_with_first(&self, name: &IdentifierReference<'a>) -> Option<NodeId> {
        let (nodes, scoping) = (self.semantic.nodes(), self.semantic.scoping());
        let symbol = symbol_of(self.semantic, name)?;
        let mut around = nodes.ancestor_ids(scoping.symbol_declaration(symbol));
        let (function, params): (_, &FormalParameters<'a>) =
            around.find_map(|id| match nodes.kind(id) {
                AstKind::ArrowFunctionExpression(one) => Some((id, &*one.params)),
                AstKind::Function(one) => Some((id, &*one.params)),
                _ => None,
            })?;
        let is_first = bound(&params.items.first()?.pattern) == Some(symbol);
        (is_first && !scoping.symbol_is_mutated(symbol)).then_some(function)
    }

    /// Reports whether a function is a handler or middleware: there, or by its name, which is used for nothing else.
    fn is_handler(&self, function: NodeId) -> bool {
        if self.is_argument(function, &OF_HANDLERS) {
            return true;
        }
        let nodes = self.semantic.nodes();
        let symbol = match (nodes.kind(function), nodes.parent_kind(function)) {
            (_, AstKind::VariableDeclarator(declarator)) => bound(&declarator.id),
            (AstKind::Function(one), _) if one.is_declaration() => {
                one.id.as_ref().and_then(|id| id.symbol_id.get())
            }
            _ => None,
        };
        symbol.is_some_and(|symbol| {
            let mut uses = self.semantic.scoping().get_resolved_references(symbol);
            let is_used = !self.semantic.scoping().symbol_is_unused(symbol);
            is_used && uses.all(|one| self.is_argument(one.node_id(), &OF_HANDLERS))
        })
    }

    /// Reports whether a node is an argument of one of these methods of a router.
    fn is_argument(&self, node: NodeId, methods: &[&str]) -> bool {
        let span = self.semantic.nodes().kind(node).span();
        match self.semantic.nodes().parent_kind(node) {
            AstKind::CallExpression(call) => {
                call.arguments.iter().any(|one| one.span() == span) && self.is_of(call, methods)
            }
            _ => false,
        }
    }

    /// Reports whether a call is one of these methods of a router.
    fn is_of(&self, call: &CallExpression<'a>, methods: &[&str]) -> bool {
        match &call.callee {
            Expression::StaticMemberExpression(member) => {
                methods.contains(&member.property.name.as_str()) && self.is_router(&member.object)
            }
            _ => false,
        }
    }

    /// Reports whether an expression is `app`, the parameter of a group, or what a method of both has returned.
    fn is_router(&self, expression: &Expression<'a>) -> bool {
        match expression {
            Expression::Identifier(name) => {
                let in_group = || {
                    let function = self.function_with_first(name);
                    function.is_some_and(|function| self.is_argument(function, &OF_GROUPS))
                };
                imported_name(self.semantic, name) == Some("app") || in_group()
            }
            Expression::CallExpression(call) => {
                self.is_of(call, &OF_HANDLERS) || self.is_of(call, &OF_GROUPS)
            }
            _ => false,
        }
    }
}

/// The symbol of a pattern that is a name.
pub(super) fn bound(pattern: &BindingPattern<'_>) -> Option<SymbolId> {
    match pattern {
        BindingPattern::BindingIdentifier(name) => name.symbol_id.get(),
        _ => None,
    }
}
