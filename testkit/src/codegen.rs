//! The files generated from the tables of functions: the chapters of the reference and the type declarations of both
//! languages.

mod lua;
mod reference;
mod requests;
mod typescript;

use sampan_host::{Class, Function, FunctionKind, Module, Param, Type};

/// The generated files: their paths in the repository and their texts.
pub fn files() -> Vec<(String, String)> {
    let modules = modules();
    let modules = modules.as_slice();
    let mut files = reference::chapters(modules);
    files.push(("types/sampan.d.ts".to_owned(), typescript_declarations()));
    files.push(("types/sampan.lua".to_owned(), lua_declarations()));
    files
}

/// The text of `types/sampan.d.ts`.
pub fn typescript_declarations() -> String {
    typescript::declarations(&modules())
}

/// The text of `types/sampan.lua`.
pub fn lua_declarations() -> String {
    lua::declarations(&modules())
}

/// Returns the modules of scripts and those of tests.
fn modules() -> Vec<&'static Module> {
    let all = sampan_runtime::modules().iter().copied();
    let seen = all.filter(|module| module.is_seen());
    seen.chain([&crate::project::MODULE]).collect()
}

/// Those of [`files`] that differ from what lies below `root`.
pub fn stale(root: &std::path::Path) -> Vec<String> {
    let differs = |(path, text): &(String, String)| {
        std::fs::read_to_string(root.join(path)).ok().as_deref() != Some(text)
    };
    let files = files().into_iter().filter(differs);
    files.map(|(path, _)| path).collect()
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

/// The parameters with the function that a bracket is given last, or the options of an answer.
fn all_names(function: &Function, optional: impl Fn(&str) -> String) -> String {
    let mut names = names(function.params, &optional);
    if function.returns == Type::Answer {
        names = format!("{names}, {}", optional("options"));
    }
    if is_bracket(function) {
        names.push_str(if names.is_empty() { "fn" } else { ", fn" });
    }
    names
}

/// Reports whether scripts see the module: one may only add to requests.
fn has_table(module: &Module) -> bool {
    !module.functions.is_empty()
}

fn is_bracket(function: &Function) -> bool {
    function.kind.is_around_function()
}

/// Returns the prefix of a module's functions in Lua. Those of the module `app` are its own.
fn in_lua(module: &str) -> String {
    match module {
        "app" => "app.".to_owned(),
        name => format!("app.{name}."),
    }
}

/// Reports whether scripts see the class: one without a text is only passed from `enter` to `leave`.
fn is_seen(class: &Class) -> bool {
    !class.doc.is_empty()
}

/// Returns the parameters that may be left out in front of the function of a bracket.
fn left_out(function: &Function) -> usize {
    let params = function.params.iter().rev();
    match is_bracket(function) {
        true => params.take_while(|param| param.optional).count(),
        false => 0,
    }
}

/// Reports whether it is a template tag: JavaScript has them, Lua does not.
fn is_tag(function: &Function) -> bool {
    matches!(
        function.kind,
        FunctionKind::Tag(_) | FunctionKind::WaitingTag(_)
    )
}

/// Returns the argument of a bracket's function: a name and its type.
fn passed(gives: Type) -> (&'static str, Type) {
    match gives {
        Type::Object(class) => (class.variable, gives),
        _ => ("value", gives),
    }
}

#[cfg(test)]
mod tests {
    use super::lua::declarations as lua;
    use super::typescript::{declarations as typescript, respelled};
    use super::*;
    use sampan_host::{param, row};

    fn reference(modules: &[&Module]) -> String {
        let chapters = super::reference::chapters(modules).into_iter();
        chapters.map(|(_, text)| text).collect()
    }

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
        let modules = sampan_runtime::modules();
        let text = "See `query_async`, query_async(…) or my_query_async, `now_ms`.";
        let told = "See `queryAsync`, queryAsync(…) or my_query_async, `nowMs`.";
        assert_eq!(respelled(text, modules), told);
        assert!(!typescript(modules).contains("query_async"));
        assert!(lua(modules).contains("query_async"));
        assert!(lua(modules).contains("---@class sampan.modules.db\napp.db = {}"));
    }

    #[test]
    fn a_tag_is_declared_for_javascript_only() {
        const PARAM: Param = param!("strings": Type::List, "Around.");
        static MODULE: Module = Module {
            name: "db",
            doc: "A module.",
            functions: &[
                row!("sql"(PARAM, PARAM) -> Type::Rows, FunctionKind::Tag(|_, _| unreachable!()),
                    "A tag."),
            ],
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
        let declaring = [
            "docs/reference/time.md",
            "types/sampan.d.ts",
            "types/sampan.lua",
        ];
        let files = files();
        for wanted in declaring {
            let (path, text) = files.iter().find(|(path, _)| path == wanted).expect(wanted);
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
