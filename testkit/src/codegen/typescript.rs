//! The declarations of TypeScript.

use super::{has_table, is_bracket, is_seen, left_out, passed, requests};
use sampan_host::names::camel_case;
use sampan_host::{Class, Function, FunctionKind, Module, Type};
use std::borrow::Cow;
use std::fmt::Write;

const HEAD: &str = include_str!("../declarations/head.d.ts");
/// The globals of the Web, for those who have no library "dom".
const WEB: &str = include_str!("../declarations/web.d.ts");
/// The types of the options that rows read in place.
const OPTIONS: &str = include_str!("../declarations/options.d.ts");

/// Parameters and results of rows that TypeScript knows more exactly than the tables do: the row, and what stands
/// between its name and its end, once for each way to call it.
const SIGNATURES: &[(&str, &[&str])] = &[
    (
        "allow_ips",
        &["(options: AllowIpsOptions): NativeMiddleware"],
    ),
    ("cors", &["(options: CorsOptions): NativeMiddleware"]),
    ("cached", &["(options: CachedOptions): NativeMiddleware"]),
    (
        "idempotency",
        &["(options: IdempotencyOptions): NativeMiddleware"],
    ),
    (
        "rate_limit",
        &["(options: RateLimitOptions): NativeMiddleware"],
    ),
    (
        "basic_auth",
        &["(options: BasicAuthOptions): NativeMiddleware"],
    ),
    (
        "bearer_auth",
        &["(options: BearerAuthOptions): NativeMiddleware"],
    ),
    (
        "secure_headers",
        &["(options?: SecureHeadersOptions): NativeMiddleware"],
    ),
    (
        "validate",
        &["<const S extends Schema>(data: unknown, schema: S & CheckedSchema<S>): Validated<S>"],
    ),
    (
        "job",
        &[
            "(name: string, options: JobOptions, fn: (args: any, job: Job) => unknown): void",
            "(name: string, fn: (args: any, job: Job) => unknown): void",
        ],
    ),
    (
        "cron",
        &[
            "(pattern: string, name: string, options: CronOptions, fn: (run: CronRun, job: Job) => unknown): void",
            "(pattern: string, name: string, fn: (run: CronRun, job: Job) => unknown): void",
        ],
    ),
    (
        "hkdf",
        &[
            "(hash: string, key: string | Uint8Array | ArrayBuffer, options?: HkdfOptions): Uint8Array",
        ],
    ),
    (
        "pbkdf2",
        &[
            "(hash: string, password: string | Uint8Array | ArrayBuffer, options: Pbkdf2Options): Promise<Uint8Array>",
        ],
    ),
    ("totp_uri", &["(names: TotpNames): string"]),
    (
        "totp_verify",
        &["(secret: string, code: string, options?: TotpOptions): number | null"],
    ),
    (
        "jwt_sign",
        &["(claims: any, key: Record<string, any>, options?: JwtSignOptions): string"],
    ),
    (
        "jwt_verify",
        &["(token: string, keys: any, options?: JwtVerifyOptions): any"],
    ),
];

/// The text of the file.
pub(super) fn declarations(modules: &[&Module]) -> String {
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
    let mut out = HEAD
        .replace("@WEB@", WEB)
        .replace("@OPTIONS@", OPTIONS)
        .replace("@PROPERTIES@", &properties)
        .replace("@REQUEST@", &requests::typescript(modules));
    // Builders of answers are exports too.
    let builders = own.iter().flat_map(|module| module.functions);
    for function in builders.filter(|function| function.returns == Type::Answer) {
        let name = camel_case(function.name);
        let _ = writeln!(out, "  export const {name}: App[\"{name}\"];\n");
    }
    for module in others {
        if has_table(module) {
            let doc = respelled(module.doc, modules);
            let name = module.name;
            // A function of a namespace cannot have a name that is a word of the language; a member of an object can.
            let has_reserved = module
                .functions
                .iter()
                .any(|row| matches!(row.name, "delete" | "new"));
            let (opening, keyword, end) = match has_reserved {
                true => ("export const", "    ", "  };\n\n"),
                false => ("export namespace", "    function ", "  }\n\n"),
            };
            let colon = if has_reserved { ":" } else { "" };
            let _ = writeln!(out, "  /** {doc} */\n  {opening} {name}{colon} {{");
            for function in module.functions {
                typescript_of(&mut out, keyword, function, modules);
            }
            out.push_str(end);
        }
    }
    let classes = modules.iter().flat_map(|module| module.classes);
    for class in classes.filter(|class| is_seen(class)) {
        interface(&mut out, class, modules);
    }
    out.truncate(out.trim_end().len());
    out.push_str("\n}\n");
    out
}

/// The declaration of a class.
fn interface(out: &mut String, class: &Class, modules: &[&Module]) {
    let doc = respelled(class.doc, modules);
    let name = class.name;
    let _ = writeln!(out, "  /** {doc} */\n  export interface {name} {{");
    if class.is_keyed {
        out.push_str("    [key: string]: any;\n");
    }
    if class.methods.is_empty() && !class.is_keyed {
        // An interface without members would accept any value.
        let _ = writeln!(out, "    readonly [Symbol.toStringTag]: \"{name}\";");
    }
    for method in class.methods {
        typescript_of(out, "    ", method, modules);
    }
    out.push_str("  }\n\n");
}

/// The declaration of a function or a method.
pub(super) fn typescript_of(
    out: &mut String,
    keyword: &str,
    function: &Function,
    modules: &[&Module],
) {
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
    if function.returns == Type::Answer {
        params.push("options?: ResponseOptions".to_owned());
    }
    let result = match function.returns {
        // Text is taken for bytes, and not given.
        Type::Bytes => "Uint8Array".into(),
        returns => ts_type(returns),
    };
    // A required parameter cannot stand behind one that may be left out, so each number of them is a declaration.
    let fewer = left_out(function);
    if fewer > 0 {
        for param in params.iter_mut() {
            *param = param.replacen("?: ", ": ", 1);
        }
    }
    let before = params.clone();
    let (params, result) = match function.kind {
        FunctionKind::Sync(_)
        | FunctionKind::Reading(_)
        | FunctionKind::Prompt { .. }
        | FunctionKind::Waiting(_)
        | FunctionKind::ReadingWaiting(_)
        | FunctionKind::ReadingPrompt(_) => (params.join(", "), result.into_owned()),
        FunctionKind::Tag(_) | FunctionKind::WaitingTag(_) => (
            "strings: TemplateStringsArray, ...values: unknown[]".to_owned(),
            result.into_owned(),
        ),
        FunctionKind::Async(_) => (params.join(", "), format!("Promise<{result}>")),
        FunctionKind::Bracket { .. } | FunctionKind::WaitingBracket { .. } => {
            params.push("fn: (value: any) => AtOnce<T>".to_owned());
            (params.join(", "), "T".to_owned())
        }
        FunctionKind::AsyncBracket {
            gives: Type::Nothing,
            ..
        }
        | FunctionKind::Fill { .. } => {
            params.push("fn: () => T | PromiseLike<T>".to_owned());
            (params.join(", "), "Promise<T>".to_owned())
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
    let mut modules_of = modules.iter();
    let result = match modules_of.find(|module| module.waits_elsewhere(function)) {
        Some(module) if module.elsewhere_if.is_some() => format!("OnSharedCache<{result}>"),
        Some(_) => format!("OnDatabase<{result}>"),
        None => result,
    };
    let generic = match function.returns {
        _ if is_bracket(function) => "<T>",
        Type::Rows | Type::RowOrNothing => "<T = Row>",
        _ => "",
    };
    let doc = respelled(function.doc, modules);
    let name = match function.name {
        // Without quotes it would declare a constructor.
        "new" => "\"new\"".to_owned(),
        name => camel_case(name),
    };
    let _ = writeln!(out, "    /** {doc} */");
    if let Some((_, signatures)) = SIGNATURES.iter().find(|(row, _)| *row == function.name) {
        for signature in *signatures {
            let _ = writeln!(out, "{keyword}{name}{signature};");
        }
        return;
    }
    let _ = writeln!(out, "{keyword}{name}{generic}({params}): {result};");
    for fewer in 1..=fewer {
        let without = before[..before.len() - fewer].iter();
        let last = params[before.join(", ").len()..].trim_start_matches(", ");
        let params: String = without.map(|param| format!("{param}, ")).collect();
        let _ = writeln!(out, "{keyword}{name}{generic}({params}{last}): {result};");
    }
}

pub(super) fn ts_type(ty: Type) -> Cow<'static, str> {
    let name = match ty {
        Type::Nothing => "void",
        Type::Bool => "boolean",
        Type::Int | Type::Number => "number",
        Type::Text => "string",
        Type::Bytes => "string | Uint8Array | ArrayBuffer",
        Type::List => "any[]",
        Type::Map => "Record<string, any>",
        Type::Any | Type::Json | Type::Message | Type::Shown | Type::InPlace => "any",
        Type::Function => "(...args: any[]) => any",
        Type::TextOrFunction => "string | ((...args: any[]) => any)",
        Type::MapOrFunction => "Record<string, unknown> | ((...args: any[]) => any)",
        Type::Answer => "Response",
        Type::Rows => "T[]",
        Type::RowOrNothing => "T | null",
        Type::TextOrNothing => "string | null",
        Type::TextOrBytes => "string | Uint8Array",
        Type::BytesOrNothing => "Uint8Array | null",
        Type::Record(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, ty)| format!("{}: {}", camel_case(name), ts_type(*ty)))
                .collect();
            return format!("{{ {} }}", members.join("; ")).into();
        }
        Type::RecordOrNothing(members) => {
            return format!("{} | null", ts_type(Type::Record(members))).into();
        }
        Type::Results(results) => {
            // One of them is there, and which one tells the type of the others.
            let members = |there: usize| {
                let members = results.iter().enumerate().map(|(at, (name, ty))| {
                    let ty = if at == there {
                        ts_type(*ty)
                    } else {
                        "null".into()
                    };
                    format!("{}: {ty}", camel_case(name))
                });
                members.collect::<Vec<_>>().join("; ")
            };
            let all = (0..results.len()).map(|there| format!("{{ {} }}", members(there)));
            return all.collect::<Vec<_>>().join(" | ").into();
        }
        Type::Object(class) => class.name,
    };
    name.into()
}

/// A text with the names of functions as JavaScript spells them.
pub(super) fn respelled(doc: &str, modules: &[&Module]) -> String {
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
