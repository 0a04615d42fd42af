//! Names of files, texts and routes in the calls of scripts and templates: `render("page.html")`, `asset("app.css")`,
//! `req:t("title")` and `url_for("product")`. Only literal names are seen.

use crate::files::{Project, TEMPLATES};

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A template.
    Template,
    /// A file of the public folder.
    Asset,
    /// A text of the catalogues.
    Text,
    /// A route with a name.
    Route,
}

/// A call that names a file, a text or a route.
#[derive(Debug, PartialEq, Eq)]
pub struct NamingCall {
    /// The kind of the name.
    pub kind: CallKind,
    /// The file with the call.
    pub file: String,
    /// The line of the call.
    pub line: u32,
    /// The call, for its reader.
    pub shown: String,
    /// The name, without a `/` in front.
    pub name: String,
}

/// The calls that name templates which are not there, and those that name assets, texts and routes.
pub fn of(
    scripts: &[(String, String)],
    project: &Project,
    templates: &[String],
) -> Vec<NamingCall> {
    let mut found = Vec::new();
    for (file, text) in scripts {
        found.extend(renderings(file, text, templates));
        found.extend(mails(file, text, templates));
        found.extend(in_text(file, text, "asset", CallKind::Asset));
        for function in ["req:t", "req.t"] {
            found.extend(in_text(file, text, function, CallKind::Text));
        }
        found.extend(texts_of_locales(file, text));
        // Without `app.` it may be a function of another router.
        for function in ["app.url_for", "app.urlFor"] {
            found.extend(in_text(file, text, function, CallKind::Route));
        }
    }
    for name in templates {
        let file = format!("{TEMPLATES}/{name}");
        let text = project.sources().read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        found.extend(in_text(&file, &text, "asset", CallKind::Asset));
        found.extend(in_text(&file, &text, "url_for", CallKind::Route));
    }
    found
}

/// The calls of `render` with a template that is not there. A project without templates may render with something else,
/// so there only calls that are Sampan's count.
fn renderings(file: &str, text: &str, templates: &[String]) -> Vec<NamingCall> {
    let functions = match templates.is_empty() && !imports_render(text) {
        true => &["app.render", "req:render", "req.render"][..],
        false => &["render"],
    };
    let mut found = Vec::new();
    for function in functions {
        for mut call in in_text(file, text, function, CallKind::Template) {
            // Behind the file stands a block of it.
            let end = call.name.find('#').unwrap_or(call.name.len());
            call.name.truncate(end);
            if !templates.contains(&call.name) {
                found.push(call);
            }
        }
    }
    found.sort_by_key(|call| call.line);
    found
}

/// Reports whether a script in JavaScript imports `render` from Sampan.
fn imports_render(text: &str) -> bool {
    text.split("import").any(|part| {
        let Some((names, module)) = part.split_once("from") else {
            return false;
        };
        let mut names = names.split(|one: char| !one.is_alphanumeric() && one != '_');
        let module = module.trim_start();
        names.any(|name| name == "render")
            && ["'sampan'", "\"sampan\""]
                .iter()
                .any(|own| module.starts_with(own))
    })
}

/// The mails of a script whose template has neither HTML nor text.
fn mails(file: &str, text: &str, templates: &[String]) -> Vec<NamingCall> {
    if !text.contains("mail.send") {
        return Vec::new();
    }
    let parts = |name: &str| [format!("{name}.html"), format!("{name}.txt")];
    let mut found: Vec<NamingCall> = ["template =", "template:"]
        .into_iter()
        .flat_map(|option| in_text(file, text, option, CallKind::Template))
        .filter(|call| {
            !parts(&call.name)
                .iter()
                .any(|part| templates.contains(part))
        })
        .collect();
    for call in &mut found {
        call.shown = format!("template {:?}", call.name);
        call.name.push_str(".html");
    }
    found
}

/// The calls of `i18n.t`, whose second argument is the key.
fn texts_of_locales(file: &str, text: &str) -> Vec<NamingCall> {
    let rests = calls_of(text, "i18n.t");
    let keys = rests.filter_map(|(line, rest)| {
        let name = literal(behind_first(rest.strip_prefix('(')?)?)?;
        Some(NamingCall {
            kind: CallKind::Text,
            file: file.to_owned(),
            line,
            shown: format!("i18n.t({name:?})"),
            name: name.to_owned(),
        })
    });
    keys.collect()
}

/// The calls of `function` in a text whose first argument is a literal.
fn in_text(file: &str, text: &str, function: &str, kind: CallKind) -> Vec<NamingCall> {
    let names = calls_of(text, function).filter_map(|(line, rest)| {
        let name = literal(rest.strip_prefix('(').unwrap_or(rest))?;
        Some(NamingCall {
            kind,
            file: file.to_owned(),
            line,
            shown: format!("{function}({name:?})"),
            name: name.trim_start_matches('/').to_owned(),
        })
    });
    names.collect()
}

/// The lines on which a text names `function`, each with what follows the name.
fn calls_of<'a>(text: &'a str, function: &'a str) -> impl Iterator<Item = (u32, &'a str)> {
    let rows = (1..).zip(text.lines());
    rows.flat_map(move |(line, row)| {
        let places = row.match_indices(function).filter(move |(at, _)| {
            let before = row[..*at].chars().next_back();
            !before.is_some_and(|one| one.is_alphanumeric() || one == '_')
        });
        places.map(move |(at, _)| (line, row[at + function.len()..].trim_start()))
    })
}

/// The literal text with which an argument begins, if that is all of it: what is put together is not known.
fn literal(argument: &str) -> Option<&str> {
    let argument = argument.trim_start();
    let quote = argument
        .chars()
        .next()
        .filter(|one| matches!(one, '"' | '\''))?;
    let (name, behind) = argument[1..].split_once(quote)?;
    let behind = behind.trim_start();
    let is_whole = behind.is_empty() || behind.starts_with([',', ')', '}', '|', ';']);
    (is_whole && !name.is_empty()).then_some(name)
}

/// The text behind the first of several arguments.
fn behind_first(arguments: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0, None);
    for (at, one) in arguments.char_indices() {
        match (quote, one) {
            (Some(open), _) if open == one => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(one),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => return Some(&arguments[at + 1..]),
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_literal_names_are_seen() {
        let names = |text: &str| -> Vec<(u32, String)> {
            let calls = in_text("app.lua", text, "render", CallKind::Template).into_iter();
            calls.map(|call| (call.line, call.name)).collect()
        };
        let one = |line, name: &str| vec![(line, name.to_owned())];
        assert_eq!(names("\napp.render(\"a.html\", {})"), one(2, "a.html"));
        assert_eq!(names("req:render 'a.html'"), one(1, "a.html"));
        assert_eq!(names("return render( 'a.html' )"), one(1, "a.html"));
        assert_eq!(names("app.render('pages/' .. name)"), []);
        assert_eq!(names("render('a' + b)"), []);
        assert_eq!(names("app.render(name)"), []);
        assert_eq!(
            names("prerender('a') render_string('b') rendered = 'c'"),
            []
        );
    }

    #[test]
    fn calls_of_render_that_are_ours_are_known_without_templates() {
        let names = |text: &str, templates: &[&str]| -> Vec<String> {
            let templates: Vec<String> = templates.iter().map(|&name| name.to_owned()).collect();
            let calls = renderings("app.js", text, &templates).into_iter();
            calls.map(|call| call.name).collect()
        };
        let one = ["a.html".to_owned()];
        for ours in [
            "app.render('a.html')",
            "req:render('a.html#block')",
            "import { app, render } from \"sampan\"; render('a.html')",
            "import {\n  render,\n} from 'sampan';\nimport x from 'y';\nrender('a.html')",
        ] {
            assert_eq!(names(ours, &[]), one, "{ours}");
            assert_eq!(names(ours, &["b.html"]), one, "{ours}");
            assert_eq!(names(ours, &["a.html"]), [""; 0], "{ours}");
        }
        for other in [
            "import { app } from 'sampan'; import { render } from 'preact'; render('a.html')",
            "c.render('a.html')",
            "rendered('a.html')",
        ] {
            assert_eq!(names(other, &[]), [""; 0], "{other}");
        }
    }

    #[test]
    fn the_key_of_a_locale_is_the_second_argument() {
        let names = |text: &str| -> Vec<String> {
            let calls = texts_of_locales("app.lua", text).into_iter();
            calls.map(|call| call.name).collect()
        };
        assert_eq!(names("app.i18n.t('de', 'a.b', { n = 1 })"), ["a.b"]);
        assert_eq!(names("i18n.t(of(user, 'x')[1], \"title\")"), ["title"]);
        for none in [
            "i18n.t('de', 'a' .. b)",
            "i18n.t(locale, key)",
            "i18n.t('de')",
            "i18n.to('de', 'a')",
        ] {
            assert_eq!(names(none), [""; 0], "{none}");
        }
    }
}
