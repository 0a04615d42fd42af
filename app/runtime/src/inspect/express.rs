//! Handlers of errors as Express has them, `app.use((err, req, res, next) => ...)`, which are middleware here.

use sampan_project::Language;
use sampan_project::inspect::Finding;

/// The call that gives a router of Express its handler of errors.
const CALL: &str = "app.use(";

/// Lists the calls of `app.use` in scripts, files with their texts, whose function takes four parameters.
pub(super) fn error_handlers(scripts: &[(String, String)]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, text) in scripts {
        let is_ours = text.contains("\"sampan\"") || text.contains("'sampan'");
        if !is_ours || Language::of(file) != Some(Language::Js) {
            continue;
        }
        for (line, written) in (1..).zip(text.lines()) {
            let code = written.split("//").next().unwrap_or_default();
            let Some((_, arguments)) = code.split_once(CALL) else {
                continue;
            };
            if let Some(names @ [_, _, _, _]) = parameters(arguments).as_deref() {
                let text = format!(
                    "app.use(({}) => ...): middleware gets req and next, and no errors: write app.onError((req, \
                     error) => ...)",
                    names.join(", ")
                );
                found.push(Finding::warning(file, Some(line), text));
            }
        }
    }
    found
}

/// Returns the names of the parameters of a function that is written out as the first argument or behind a pattern.
fn parameters(arguments: &str) -> Option<Vec<&str>> {
    let mut rest = arguments.trim_start();
    if let Some(quote) = rest
        .chars()
        .next()
        .filter(|one| matches!(one, '"' | '\'' | '`'))
    {
        rest = rest[1..].split_once(quote)?.1.trim_start();
        rest = rest.strip_prefix(',')?.trim_start();
    }
    rest = rest.strip_prefix("async").unwrap_or(rest).trim_start();
    if let Some(named) = rest.strip_prefix("function") {
        rest = &named[named.find('(')?..];
    }
    let (list, _) = rest.strip_prefix('(')?.split_once(')')?;
    list.split(',').map(name_of).collect()
}

/// Returns the name of a parameter, which may have a type. A pattern has none.
fn name_of(parameter: &str) -> Option<&str> {
    let name = parameter.split(':').next()?.trim();
    let is_word = |one: char| one.is_alphanumeric() || matches!(one, '_' | '$');
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &str, code: &str) -> Vec<String> {
        let text = format!("import {{ app }} from \"sampan\";\n{code}\n");
        let found = error_handlers(&[(file.to_owned(), text)]);
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn functions_with_four_parameters_are_told() {
        for code in [
            "app.use((err, req, res, next) => {});",
            "app.use(async (err, req, res, next) => {});",
            "app.use(function (err, req, res, next) {});",
            "app.use(function onError(err, req, res, next) {});",
            "app.use(\"/api\", (err: Error, req: Request, res: any, next) => {});",
        ] {
            let found = told("app.ts", code);
            let expected =
                "app.ts:2: app.use((err, req, res, next) => ...): middleware gets req and next";
            assert!(
                matches!(&found[..], [one] if one.starts_with(expected)),
                "{code}: {found:?}"
            );
        }
        for code in [
            "app.use((req, next) => next(req));",
            "app.use(guard);",
            "app.use(\"/api\", guard);",
            "app.use(\"/api\"",
            "app.use(",
            "app.use((",
            "// app.use((err, req, res, next) => {});",
            "app.use(({ a }, b, c, d) => {});",
            "other.use((err, req, res, next) => {});",
        ] {
            assert_eq!(told("app.js", code), [""; 0], "{code}");
        }
        assert_eq!(told("app.lua", "app.use((a, b, c, d))"), [""; 0]);
    }
}
