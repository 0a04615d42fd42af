//! The annotations of Lua.

use super::{all_names, has_table, in_lua, is_seen, is_tag, left_out, passed, requests};
use sampan_host::{Function, FunctionKind, Module, Type};
use std::borrow::Cow;
use std::fmt::Write;

const HEAD: &str = include_str!("../declarations/head.lua");

/// The text of the file.
pub(super) fn declarations(modules: &[&Module]) -> String {
    let mut out = HEAD
        .replace("@REQUEST_FIELDS@", &requests::lua_fields(modules))
        .replace("@REQUEST_METHODS@\n", &requests::lua_methods(modules));
    for module in modules {
        if has_table(module) {
            lua_table(&mut out, module);
        }
        for class in module.classes.iter().filter(|class| is_seen(class)) {
            let name = class.name;
            let _ = writeln!(out, "--- {}\n---@class sampan.{name}", class.doc);
            if class.is_keyed {
                out.push_str("---@field [string] any\n");
            }
            let _ = writeln!(out, "local {name} = {{}}\n");
            for method in class.methods {
                lua_of(&mut out, &format!("{name}:"), method);
            }
        }
    }
    out.push_str("return app\n");
    out
}

/// The table of a module with its functions.
fn lua_table(out: &mut String, module: &Module) {
    let is_own = module.name == "app";
    if !is_own {
        let _ = writeln!(out, "--- {}", module.doc);
    }
    if module.name == "json" {
        out.push_str("--- Called, it makes a JSON answer.\n");
        out.push_str("---@class sampan.Json\n---@overload fun(body: any, options?: sampan.Options): sampan.Response\n");
        out.push_str("---@field array fun(list?: table): table marks a table as a list, so that it is `[]` if it is \
         empty\n");
        out.push_str("---@field object fun(map?: table): table marks a table as an object\n");
    } else if !is_own {
        // Without a class of its own, an editor takes any field of the table as there.
        let _ = writeln!(out, "---@class sampan.modules.{}", module.name);
    }
    let prefix = in_lua(module.name);
    if !is_own {
        let _ = writeln!(out, "app.{} = {{}}\n", module.name);
    }
    for function in module.functions.iter().filter(|row| !is_tag(row)) {
        lua_of(out, &prefix, function);
    }
}

/// The annotated declaration of a function or a method.
pub(super) fn lua_of(out: &mut String, prefix: &str, function: &Function) {
    let _ = writeln!(out, "--- {}", function.doc);
    for param in function.params {
        let mark = if param.optional { "?" } else { "" };
        let (name, ty) = (param.name, lua_type(param.ty));
        let _ = writeln!(out, "---@param {name}{mark} {ty} {}", param.doc);
    }
    if function.returns == Type::Answer {
        out.push_str("---@param options? sampan.Options\n");
    }
    let around = match function.kind {
        FunctionKind::AsyncBracket {
            gives: Type::Nothing,
            ..
        }
        | FunctionKind::Fill { .. } => Some("fun(): any".to_owned()),
        FunctionKind::AsyncBracket { gives, .. } => {
            let (name, given) = passed(gives);
            Some(format!("fun({name}: {}): any", lua_type(given)))
        }
        _ => None,
    };
    if let Some(around) = &around {
        let _ = writeln!(out, "---@param fn {around}");
        let params = function.params;
        for fewer in 1..=left_out(function) {
            let params = params[..params.len() - fewer].iter();
            let params: String = params
                .map(|param| format!("{}: {}, ", param.name, lua_type(param.ty)))
                .collect();
            let _ = writeln!(out, "---@overload fun({params}fn: {around}): any");
        }
    }
    match function.returns {
        Type::Nothing => {}
        Type::Results(results) => {
            for (name, ty) in results {
                let _ = writeln!(out, "---@return {}? {name}", lua_type(*ty));
            }
        }
        one => {
            let _ = writeln!(out, "---@return {}", lua_type(one));
        }
    }
    let params = all_names(function, str::to_owned);
    let _ = writeln!(out, "function {prefix}{}({params}) end\n", function.name);
}

pub(super) fn lua_type(ty: Type) -> Cow<'static, str> {
    let name = match ty {
        Type::Nothing => "nil",
        Type::Bool => "boolean",
        Type::Int => "integer",
        Type::Number => "number",
        Type::Text | Type::Bytes | Type::TextOrBytes => "string",
        Type::List | Type::Map => "table",
        Type::Any | Type::Json | Type::Message | Type::Shown | Type::InPlace => "any",
        Type::Function => "function",
        Type::TextOrFunction => "string | function",
        Type::MapOrFunction => "table | function",
        Type::Answer => "sampan.Response",
        Type::Rows => "sampan.Row[]",
        Type::RowOrNothing => "sampan.Row?",
        Type::TextOrNothing | Type::BytesOrNothing => "string?",
        Type::Record(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, ty)| format!("{name}: {}", lua_type(*ty)))
                .collect();
            return format!("{{ {} }}", members.join(", ")).into();
        }
        Type::RecordOrNothing(members) => {
            return format!("({})?", lua_type(Type::Record(members))).into();
        }
        Type::Results(results) => {
            let results: Vec<String> = results
                .iter()
                .map(|(_, ty)| format!("{}?", lua_type(*ty)))
                .collect();
            return results.join(", ").into();
        }
        Type::Object(class) => return format!("sampan.{}", class.name).into(),
    };
    name.into()
}
