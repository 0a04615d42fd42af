//! The reference: one chapter for the fields and methods of requests, and one for each module.

use super::{all_names, has_table, in_lua, is_seen, is_tag, requests};
use sampan_host::names::camel_case;
use sampan_host::{Function, FunctionKind, Module, Param, RowOwner, Type};
use std::borrow::Cow;
use std::fmt::Write;

/// The folder of the chapters.
const FOLDER: &str = "docs/reference";
/// So long a line of prose may be.
const COLUMNS: usize = 140;

/// The chapters: their paths and their texts.
pub(super) fn chapters(modules: &[&Module]) -> Vec<(String, String)> {
    let path = |name: &str| format!("{FOLDER}/{name}.md");
    let mut requests = "# Requests\n\nWhat capabilities add to a request. [Requests](../guide/requests.md) has its \
     other fields.\n".to_owned();
    requests::reference(&mut requests, modules);
    let mut chapters = vec![(path("requests"), requests)];
    let is_shown =
        |module: &&&Module| has_table(module) || module.classes.iter().any(|class| is_seen(class));
    for module in modules.iter().filter(is_shown) {
        let own = path(module.name);
        // Several capabilities may have functions of `app`.
        let place = chapters.iter().position(|(path, _)| *path == own);
        let place = place.unwrap_or_else(|| {
            let of_name = modules.iter().filter(|other| other.name == module.name);
            let mut docs: Vec<&str> = of_name.map(|module| module.doc).collect();
            docs.dedup();
            chapters.push((own, format!("# {}\n\n{}\n", module.name, docs.join(" "))));
            chapters.len() - 1
        });
        let out = &mut chapters[place].1;
        for function in module.functions {
            reference_of(out, module.owner(), function);
        }
        for class in module.classes.iter().filter(|class| is_seen(class)) {
            let _ = write!(out, "\n## {}\n\n{}\n", class.name, class.doc);
            if class.is_keyed {
                let it = class.variable;
                let _ = write!(
                    out,
                    "\n```lua\n{it}.name = value\nfor key, value in pairs({it}) do ... end\n```\n```js\n{it}.name = \
                     value\ndelete {it}.name\n```\n"
                );
            }
            for method in class.methods {
                reference_of(out, class.owner(), method);
            }
        }
    }
    for (_, text) in &mut chapters {
        *text = wrapped(text);
    }
    chapters
}

/// Returns the text wrapped at [`COLUMNS`]. Code stays as it is, also within a line.
fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with('|') || line.chars().count() <= COLUMNS {
            out.push_str(line);
        } else {
            wrap(&mut out, line);
        }
        out.push('\n');
    }
    out
}

fn wrap(out: &mut String, line: &str) {
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let (mut column, mut has_open_code) = (0, false);
    for (at, word) in line.split(' ').enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > COLUMNS && !has_open_code {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
        has_open_code ^= word.matches('`').count() % 2 == 1;
    }
}

/// The heading of a row: its name in both languages. It stands alone, because search finds words by how they begin.
pub(super) fn title(name: &str) -> String {
    let js_name = camel_case(name);
    if js_name == name {
        name.to_owned()
    } else {
        format!("{name}, {js_name}")
    }
}

/// The reference of a function or, one heading below, of a method.
pub(super) fn reference_of(out: &mut String, owner: RowOwner<'_>, function: &Function) {
    let params = all_names(function, |name| format!("[{name}]"));
    let is_awaited = matches!(
        function.kind,
        FunctionKind::Async(_) | FunctionKind::AsyncBracket { .. } | FunctionKind::Fill { .. }
    );
    let awaited = if is_awaited { "await " } else { "" };
    // The methods of requests have a chapter of their own, those of other classes stand below their class.
    let is_request = owner.name == RowOwner::REQUEST.name;
    let heading = if owner.is_class && !is_request {
        "###"
    } else {
        "##"
    };
    let lua_owner = if owner.is_class {
        format!("{}:", owner.name)
    } else {
        in_lua(owner.name)
    };
    let (owner, name) = (owner.name, function.name);
    let js_name = camel_case(name);
    let _ = write!(out, "\n{heading} {}\n\n", title(name));
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
    if function.returns == Type::Answer {
        out.push_str("- `options` (a table or object, optional): `status` and `headers`, as for `app.html`.\n");
    }
    if let Type::Record(members) | Type::RecordOrNothing(members) = function.returns {
        let names: Vec<String> = members
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let word = type_word(function.returns);
        let _ = write!(out, "\nReturns {word} with {}.\n", listed(&names));
    } else if function.returns == Type::Bytes {
        out.push_str("\nReturns bytes.\n");
    } else if let Type::Results(results) = function.returns {
        let names: Vec<String> = results
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let names = listed(&names);
        let _ = write!(
            out,
            "\nReturns {names}: in Lua several results, in JavaScript an object with these members.\n"
        );
    } else if function.returns != Type::Nothing {
        let _ = write!(out, "\nReturns {}.\n", type_word(function.returns));
    }
}

/// Lists names as a sentence does: `a`, `b` and `c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The parameters that a caller writes; a tag's are the template itself.
fn listed_params(function: &Function) -> &[Param] {
    if is_tag(function) {
        &[]
    } else {
        function.params
    }
}

pub(super) fn type_word(ty: Type) -> Cow<'static, str> {
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
        Type::Any | Type::Json | Type::Message | Type::Shown | Type::InPlace => "any value",
        Type::Function => "a function",
        Type::TextOrFunction => "a string or a function",
        Type::MapOrFunction => "a table/object or a function",
        Type::Answer => "an answer",
        Type::Rows => "a list of rows",
        Type::RowOrNothing => "a row, or nothing",
        Type::TextOrNothing => "a string, or nothing",
        Type::TextOrBytes => "a string; in JavaScript bytes where it is not UTF-8",
        Type::BytesOrNothing => "bytes, or nothing",
        Type::Record(_) => "a table or object",
        Type::RecordOrNothing(_) => "nothing, or a table or object",
        Type::Results(_) => "several values",
    };
    word.into()
}
