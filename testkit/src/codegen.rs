//! What is made of the tables of functions: the reference page and the type declarations of both languages.

mod requests;

use sampan_app::host::{Function, FunctionKind, Module, Param, RowOwner, Type, names::camel_case};
use std::borrow::Cow;
use std::fmt::Write;

const TS_HEAD: &str = include_str!("declarations/head.d.ts");
const LUA_HEAD: &str = include_str!("declarations/head.lua");

/// The generated files: their paths in the repository and their texts.
pub fn files() -> [(&'static str, String); 3] {
    let modules = sampan_app::MODULES;
    [
        ("docs/reference.md", reference(modules)),
        ("types/sampan.d.ts", typescript(modules)),
        ("types/sampan.lua", lua(modules)),
    ]
}

/// Those of [`files`] that differ from what lies below `root`.
pub fn stale(root: &std::path::Path) -> Vec<&'static str> {
    let differs = |(path, text): &(&str, String)| {
        std::fs::read_to_string(root.join(path)).ok().as_deref() != Some(text)
    };
    files()
        .iter()
        .filter(|file| differs(file))
        .map(|(path, _)| *path)
        .collect()
}

fn names(params: &[Param], optional: impl Fn(&str) -> String) -> String {
    let names: Vec<String> = params
        .iter()
        .map(|p| {
            if p.optional {
                optional(p.name)
            } else {
                p.name.to_owned()
            }
        })
        .collect();
    names.join(", ")
}

/// The parameters with the function that a bracket is given last.
fn all_names(function: &Function, optional: impl Fn(&str) -> String) -> String {
    let mut names = names(function.params, optional);
    if is_bracket(function) {
        names.push_str(if names.is_empty() { "fn" } else { ", fn" });
    }
    names
}

/// Whether scripts see the module: one may only add to requests.
fn has_table(module: &Module) -> bool {
    !module.functions.is_empty()
}

fn is_bracket(function: &Function) -> bool {
    matches!(
        function.kind,
        FunctionKind::Bracket { .. } | FunctionKind::AsyncBracket { .. }
    )
}

fn reference(modules: &[&Module]) -> String {
    let mut out = "# Reference\n\nThe functions that scripts can call. Made by `cargo xtask codegen` from the tables in `capabilities/`; do not \
                   edit.\nThe [guide](guide.md) explains routes, requests and answers.\n"
        .to_owned();
    requests::reference(&mut out, modules);
    for module in modules.iter().filter(|module| has_table(module)) {
        let _ = write!(out, "\n## {}\n\n{}\n", module.name, module.doc);
        for function in module.functions {
            reference_of(&mut out, module.owner(), function);
        }
        for class in module.classes {
            let _ = write!(out, "\n### {}\n\n{}\n", class.name, class.doc);
            for method in class.methods {
                reference_of(&mut out, class.owner(), method);
            }
        }
    }
    out
}

/// The reference of a function or, one heading below, of a method.
fn reference_of(out: &mut String, owner: RowOwner<'_>, function: &Function) {
    let params = all_names(function, |name| format!("[{name}]"));
    let is_awaited = matches!(
        function.kind,
        FunctionKind::Async(_) | FunctionKind::AsyncBracket { .. }
    );
    let awaited = if is_awaited { "await " } else { "" };
    let (heading, lua_owner) = if owner.is_class {
        ("####", format!("{}:", owner.name))
    } else {
        ("###", in_lua(owner.name))
    };
    let (owner, name) = (owner.name, function.name);
    let _ = write!(out, "\n{heading} {owner}.{name}\n\n");
    let js_name = camel_case(name);
    if is_tag(function) {
        let _ = write!(out, "```js\n{owner}.{js_name}`... ${{value}} ...`\n```\n\n");
        let _ = writeln!(out, "{} Lua has no such thing.", function.doc);
    } else {
        let _ = write!(out, "```lua\n{lua_owner}{name}({params})\n```\n");
        let _ = write!(out, "```js\n{awaited}{owner}.{js_name}({params})\n```\n\n");
        let _ = writeln!(out, "{}", function.doc);
    }
    if !listed_params(function).is_empty() {
        out.push('\n');
    }
    for param in listed_params(function) {
        let optional = if param.optional { ", optional" } else { "" };
        let word = type_word(param.ty);
        let _ = writeln!(out, "- `{}` ({word}{optional}): {}", param.name, param.doc);
    }
    if let Type::Record(members) = function.returns {
        let names: Vec<String> = members
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let word = type_word(function.returns);
        let _ = write!(out, "\nReturns {word} with {}.\n", names.join(" and "));
    } else if function.returns != Type::Nothing {
        let _ = write!(out, "\nReturns {}.\n", type_word(function.returns));
    }
}

/// What stands in front of a module's functions in Lua. Those of the module `app` are its own.
fn in_lua(module: &str) -> String {
    match module {
        "app" => "app.".to_owned(),
        name => format!("app.{name}."),
    }
}

/// Whether it is a template tag: JavaScript has them, Lua does not.
fn is_tag(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Tag(_))
}

/// The parameters that a caller writes; a tag's are the template itself.
fn listed_params(function: &Function) -> &[Param] {
    if is_tag(function) {
        &[]
    } else {
        function.params
    }
}

fn type_word(ty: Type) -> Cow<'static, str> {
    let word = match ty {
        Type::Object(class) => return class.with_article().into(),
        Type::Nothing => "nothing",
        Type::Bool => "a boolean",
        Type::Int => "an integer",
        Type::Number => "a number",
        Type::Text => "a string",
        Type::Bytes => "a string or bytes",
        Type::List => "a list",
        Type::Map => "a table or object",
        Type::Any | Type::Json | Type::Shown | Type::InPlace => "any value",
        Type::Function => "a function",
        Type::Rows => "a list of rows",
        Type::RowOrNothing => "a row, or nothing",
        Type::TextOrNothing => "a string, or nothing",
        Type::Record(_) => "a table or object",
    };
    word.into()
}

/// A text with the names of functions as JavaScript spells them.
fn respelled(doc: &str, modules: &[&Module]) -> String {
    let functions = modules.iter().flat_map(|module| module.functions);
    let names: Vec<&str> = functions.map(|function| function.name).collect();
    let is_name = |one: char| one.is_alphanumeric() || one == '_';
    let words = doc.split_inclusive(|one| !is_name(one));
    let respell = |word: &str| match word.trim_end_matches(|one| !is_name(one)) {
        name if names.contains(&name) => word.replace(name, &camel_case(name)),
        _ => word.to_owned(),
    };
    words.map(respell).collect()
}

fn typescript(modules: &[&Module]) -> String {
    let (own, others): (Vec<&Module>, Vec<&Module>) =
        modules.iter().partition(|module| module.name == "app");
    let mut properties: String = others
        .iter()
        .filter(|module| module.name != "json" && has_table(module))
        .map(|module| format!("    {0}: typeof {0};\n", module.name))
        .collect();
    for function in own.iter().flat_map(|module| module.functions) {
        typescript_of(&mut properties, "    ", function, modules);
    }
    let mut out = TS_HEAD
        .replace("@PROPERTIES@", &properties)
        .replace("@REQUEST@", &requests::typescript(modules));
    for module in others.into_iter().filter(|module| has_table(module)) {
        let _ = writeln!(
            out,
            "  /** {} */\n  export namespace {} {{",
            respelled(module.doc, modules),
            module.name
        );
        for function in module.functions {
            typescript_of(&mut out, "    function ", function, modules);
        }
        out.push_str("  }\n\n");
        for class in module.classes {
            let doc = respelled(class.doc, modules);
            let _ = writeln!(out, "  /** {doc} */\n  export interface {} {{", class.name);
            for method in class.methods {
                typescript_of(&mut out, "    ", method, modules);
            }
            out.push_str("  }\n\n");
        }
    }
    out.truncate(out.trim_end().len());
    out.push_str("\n}\n");
    out
}

/// The declaration of a function or a method.
fn typescript_of(out: &mut String, keyword: &str, function: &Function, modules: &[&Module]) {
    let mut params: Vec<String> = function
        .params
        .iter()
        .map(|p| {
            format!(
                "{}{}: {}",
                camel_case(p.name),
                if p.optional { "?" } else { "" },
                ts_type(p.ty)
            )
        })
        .collect();
    let result = ts_type(function.returns);
    let (params, result) = match function.kind {
        FunctionKind::Sync(_) | FunctionKind::Reading(_) | FunctionKind::Prompt { .. } => {
            (params.join(", "), result.into_owned())
        }
        FunctionKind::Tag(_) => (
            "strings: TemplateStringsArray, ...values: unknown[]".to_owned(),
            result.into_owned(),
        ),
        FunctionKind::Async(_) => (params.join(", "), format!("Promise<{result}>")),
        FunctionKind::Bracket { .. } => {
            params.push("fn: (value: any) => AtOnce<T>".to_owned());
            (params.join(", "), "T".to_owned())
        }
        FunctionKind::AsyncBracket { gives, .. } => {
            let (name, given) = passed(gives);
            params.push(format!(
                "fn: ({name}: {}) => T | PromiseLike<T>",
                ts_type(given)
            ));
            (params.join(", "), "Promise<T>".to_owned())
        }
    };
    let generic = match function.returns {
        _ if is_bracket(function) => "<T>",
        Type::Rows | Type::RowOrNothing => "<T = Row>",
        _ => "",
    };
    let doc = respelled(function.doc, modules);
    let name = camel_case(function.name);
    let _ = writeln!(out, "    /** {doc} */");
    let _ = writeln!(out, "{keyword}{name}{generic}({params}): {result};");
}

/// What the function of a bracket is given: a name and its type.
fn passed(gives: Type) -> (&'static str, Type) {
    match gives {
        Type::Object(class) => (class.variable, gives),
        _ => ("value", gives),
    }
}

fn ts_type(ty: Type) -> Cow<'static, str> {
    let name = match ty {
        Type::Nothing => "void",
        Type::Bool => "boolean",
        Type::Int | Type::Number => "number",
        Type::Text => "string",
        Type::Bytes => "string | Uint8Array | ArrayBuffer",
        Type::List => "any[]",
        Type::Map => "Record<string, any>",
        Type::Any | Type::Json | Type::Shown | Type::InPlace => "any",
        Type::Function => "(...args: any[]) => any",
        Type::Rows => "T[]",
        Type::RowOrNothing => "T | null",
        Type::TextOrNothing => "string | null",
        Type::Record(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, ty)| format!("{}: {}", camel_case(name), ts_type(*ty)))
                .collect();
            return format!("{{ {} }}", members.join("; ")).into();
        }
        Type::Object(class) => class.name,
    };
    name.into()
}

fn lua(modules: &[&Module]) -> String {
    let mut out = LUA_HEAD
        .replace("@REQUEST_FIELDS@", &requests::lua_fields(modules))
        .replace("@REQUEST_METHODS@\n", &requests::lua_methods(modules));
    for module in modules.iter().filter(|module| has_table(module)) {
        let is_own = module.name == "app";
        if !is_own {
            let _ = writeln!(out, "--- {}", module.doc);
        }
        if module.name == "json" {
            out.push_str("--- Called, it makes a JSON answer.\n");
            out.push_str("---@class sampan.Json\n---@overload fun(body: any, options?: sampan.Options): sampan.Response\n");
            out.push_str("---@field array fun(list?: table): table marks a table as a list, so that it is `[]` if it is empty\n");
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
            lua_of(&mut out, &prefix, function);
        }
        for class in module.classes {
            let name = class.name;
            let _ = writeln!(out, "--- {}\n---@class sampan.{name}", class.doc);
            let _ = writeln!(out, "local {name} = {{}}\n");
            for method in class.methods {
                lua_of(&mut out, &format!("{name}:"), method);
            }
        }
    }
    out.push_str("return app\n");
    out
}

/// The annotated declaration of a function or a method.
fn lua_of(out: &mut String, prefix: &str, function: &Function) {
    let _ = writeln!(out, "--- {}", function.doc);
    for param in function.params {
        let mark = if param.optional { "?" } else { "" };
        let (name, ty) = (param.name, lua_type(param.ty));
        let _ = writeln!(out, "---@param {name}{mark} {ty} {}", param.doc);
    }
    if let FunctionKind::AsyncBracket { gives, .. } = function.kind {
        let (name, given) = passed(gives);
        let _ = writeln!(out, "---@param fn fun({name}: {}): any", lua_type(given));
    }
    if function.returns != Type::Nothing {
        let _ = writeln!(out, "---@return {}", lua_type(function.returns));
    }
    let params = all_names(function, str::to_owned);
    let _ = writeln!(out, "function {prefix}{}({params}) end\n", function.name);
}

fn lua_type(ty: Type) -> Cow<'static, str> {
    let name = match ty {
        Type::Nothing => "nil",
        Type::Bool => "boolean",
        Type::Int => "integer",
        Type::Number => "number",
        Type::Text | Type::Bytes => "string",
        Type::List | Type::Map => "table",
        Type::Any | Type::Json | Type::Shown | Type::InPlace => "any",
        Type::Function => "function",
        Type::Rows => "sampan.Row[]",
        Type::RowOrNothing => "sampan.Row?",
        Type::TextOrNothing => "string?",
        Type::Record(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, ty)| format!("{name}: {}", lua_type(*ty)))
                .collect();
            return format!("{{ {} }}", members.join(", ")).into();
        }
        Type::Object(class) => return format!("sampan.{}", class.name).into(),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_files_are_fresh() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let stale = stale(&root);
        assert!(
            stale.is_empty(),
            "{stale:?} do not say what the tables say; run `cargo xtask codegen`"
        );
    }

    #[test]
    fn texts_name_functions_as_their_language_spells_them() {
        let modules = sampan_app::MODULES;
        let text = "See `query_async`, query_async(…) or my_query_async, `now_ms`.";
        let told = "See `queryAsync`, queryAsync(…) or my_query_async, `nowMs`.";
        assert_eq!(respelled(text, modules), told);
        assert!(!typescript(modules).contains("query_async"));
        assert!(lua(modules).contains("query_async"));
        assert!(lua(modules).contains("---@class sampan.modules.db\napp.db = {}"));
    }

    #[test]
    fn a_tag_is_declared_for_javascript_only() {
        const PARAM: Param = Param {
            name: "strings",
            ty: Type::List,
            optional: false,
            doc: "Around.",
        };
        static MODULE: Module = Module {
            name: "db",
            doc: "A module.",
            functions: &[Function {
                name: "sql",
                params: &[PARAM, PARAM],
                returns: Type::Rows,
                doc: "A tag.",
                kind: FunctionKind::Tag(|_, _| unreachable!()),
            }],
            ..Module::EMPTY
        };
        let line =
            "function sql<T = Row>(strings: TemplateStringsArray, ...values: unknown[]): T[];";
        assert!(typescript(&[&MODULE]).contains(line));
        assert!(reference(&[&MODULE]).contains("db.sql`"));
        assert!(!reference(&[&MODULE]).contains("- `strings`"));
        assert!(!lua(&[&MODULE]).contains("sql"));
    }

    /// An editor knows what `req` is only where the parameter itself has the type, not behind a union with `any`.
    #[test]
    fn every_route_of_lua_gives_its_handler_a_typed_request() {
        let text = lua(&[]);
        let typed = |name: &str, param: &str| {
            let end = text.find(&format!("function {name}(")).expect(name);
            let start = text[..end].rfind(") end\n").map_or(0, |at| at + 6);
            assert!(
                text[start..end].contains(param),
                "{name}: {}",
                &text[start..end]
            );
        };
        for verb in ["get", "post", "put", "patch", "delete", "options", "all"] {
            let name = format!("group.{verb}");
            typed(&name, "---@param handler fun(req: sampan.Request): any\n");
            typed(&name, "handler: fun(req: sampan.Request): any)\n");
        }
        let middleware = "fun(req: sampan.Request, next: sampan.Next): any";
        typed("group.use", &format!("---@param middleware {middleware}\n"));
        typed(
            "group.use",
            &format!("---@overload fun(middleware: {middleware})\n"),
        );
        typed(
            "group.group",
            "---@param declare fun(group: sampan.Group)\n",
        );
        typed(
            "app.not_found",
            "---@param handler fun(req: sampan.Request): any\n",
        );
        typed(
            "app.on_error",
            "---@param handler fun(req: sampan.Request, err: sampan.RaisedError): any\n",
        );
        assert!(!text.contains("|any"), "a union with any is any");
    }

    #[test]
    fn a_row_is_declared_in_all_three() {
        for (path, text) in files() {
            assert!(text.contains("sleep(seconds"), "{path}");
            assert!(
                text.contains(if path.ends_with(".d.ts") {
                    "nowMs("
                } else {
                    "now_ms("
                }),
                "{path}"
            );
        }
    }
}
