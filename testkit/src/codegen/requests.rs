//! The additions of modules to requests, for the reference page and the declarations.

use super::lua::{lua_of, lua_type};
use super::reference::{reference_of, title, type_word};
use super::typescript::{respelled, ts_type, typescript_of};
use sampan_host::names::camel_case;
use sampan_host::{Function, Module, RowOwner};
use std::fmt::Write;

fn fields<'a>(modules: &'a [&Module]) -> impl Iterator<Item = &'static Function> + 'a {
    modules.iter().flat_map(|module| module.request_fields)
}

fn methods<'a>(modules: &'a [&Module]) -> impl Iterator<Item = &'static Function> + 'a {
    modules.iter().flat_map(|module| module.request_methods)
}

/// The part of the reference about requests.
pub(super) fn reference(out: &mut String, modules: &[&Module]) {
    for field in fields(modules) {
        let (name, js_name) = (field.name, camel_case(field.name));
        let _ = write!(
            out,
            "\n## {}\n\n```lua\nreq.{name}\n```\n```js\nreq.{js_name}\n```\n\n",
            title(name)
        );
        let _ = write!(
            out,
            "{}\n\nIt is {}.\n",
            field.doc,
            type_word(field.returns)
        );
    }
    for method in methods(modules) {
        reference_of(out, RowOwner::REQUEST, method);
    }
}

/// The members for an interface.
pub(super) fn typescript(modules: &[&Module]) -> String {
    let mut out = String::new();
    for field in fields(modules) {
        let (name, ty) = (camel_case(field.name), ts_type(field.returns));
        let doc = respelled(field.doc, modules);
        let mut all = modules.iter();
        let is_assigned = all.any(|module| module.setter(field.name).is_some());
        let readonly = if is_assigned { "" } else { "readonly " };
        let _ = writeln!(out, "    /** {doc} */\n    {readonly}{name}: {ty};");
    }
    for method in methods(modules) {
        typescript_of(&mut out, "    ", method, modules);
    }
    out
}

/// The annotations of the fields.
pub(super) fn lua_fields(modules: &[&Module]) -> String {
    let line = |field: &Function| {
        let (name, ty) = (field.name, lua_type(field.returns));
        format!("---@field {name} {ty} {}\n", field.doc)
    };
    fields(modules).map(line).collect()
}

/// The annotated methods.
pub(super) fn lua_methods(modules: &[&Module]) -> String {
    let mut out = String::new();
    for method in methods(modules) {
        lua_of(&mut out, "request:", method);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{lua, reference, typescript};
    use super::*;
    use sampan_host::{FunctionKind, Type};

    const fn row(name: &'static str, kind: FunctionKind) -> Function {
        Function {
            name,
            params: &[],
            returns: Type::Text,
            doc: "A text.",
            kind,
        }
    }

    #[test]
    fn what_a_module_adds_to_requests_is_declared_in_all_three() {
        static MODULE: Module = Module {
            name: "only_requests",
            request_fields: &[row("own_field", FunctionKind::Sync(|_, _| unreachable!()))],
            request_methods: &[row(
                "own_method",
                FunctionKind::Async(|_, _| unreachable!()),
            )],
            ..Module::EMPTY
        };
        let typed = typescript::declarations(&[&MODULE]);
        assert_eq!(
            typed.matches("readonly ownField: string;").count(),
            2,
            "{typed}"
        );
        assert_eq!(
            typed.matches("ownMethod(): Promise<string>;").count(),
            2,
            "{typed}"
        );
        let annotated = lua::declarations(&[&MODULE]);
        assert!(
            annotated.contains("---@field own_field string A text.\n"),
            "{annotated}"
        );
        assert!(
            annotated.contains("function request:own_method() end\n"),
            "{annotated}"
        );
        let chapters = reference::chapters(&[&MODULE]);
        let page = chapters[0].1.clone();
        assert_eq!(chapters.len(), 1, "the module has nothing else");
        assert!(
            page.contains("## own_field, ownField\n") && page.contains("req:own_method()"),
            "{page}"
        );
        for text in [typed, annotated, page] {
            assert!(
                !text.contains("only_requests") && !text.contains('@') || text.contains("---@"),
                "{text}"
            );
        }
    }
}
