//! Errors as pages: where, the lines around it, the calls, the request, the statements that ran.

use super::super::state::Dev;
use super::browser::{PAGE_STYLE, PREFIX};
use sampan_project::Project;
use sampan_project::files::SHARED;

use sampan_host::{Error, Place, RequestView};
use sampan_serve::Statements;
use std::fmt::Write;

/// The folder of what clients have stored, wherever `[files]` has it.
const STORAGE: &str = "storage";

/// The number of lines that are shown before and after the one that is meant.
const LINES_AROUND: usize = 6;
/// The longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 240;

/// The opening tag of a text that may be wider than the screen. Keys must be able to scroll it.
const SCROLLED: &str = "<pre tabindex=\"0\">";

/// A page that grows.
struct Page<'a> {
    dev: &'a Dev,
    html: String,
}

/// Builds the page for an error of a request.
pub(in crate::dev) fn of_request(
    dev: &Dev,
    project: &Project,
    [first, second]: [Option<&Error>; 2],
    own: Option<&str>,
    request: &dyn RequestView,
    statements: &Statements,
) -> String {
    let message = first.map_or("", Error::message);
    let title = message.lines().next().unwrap_or_default();
    let status = first.map_or(500, |error| error.kind().status());
    let mut page = Page::new(dev, title);
    let (method, path) = (request.method(), request.path());
    page.begin(&format!("{method} {path} answers {status}"), title);
    if let Some(own) = own {
        let _ = write!(
            page.html,
            "<p class=\"own\"><a href=\"{own}\">Show the page that the app answers</a></p>"
        );
    }
    if let Some(error) = first {
        page.error(project, error);
    }
    if let Some(error) = second {
        page.heading("The error handler failed too");
        page.message(error.message().lines().next().unwrap_or_default());
        page.error(project, error);
    }
    if statements.count > 0 {
        page.heading(&format!("SQL ({})", statements.count));
    }
    let shown = statements.first.iter();
    let mut rows: Vec<_> = shown
        .map(|statement| {
            let millis = statement.elapsed.as_secs_f64() * 1000.0;
            (format!("{millis:.2} ms"), statement.with_params())
        })
        .collect();
    if statements.count > rows.len() {
        rows.push((
            "…".to_owned(),
            format!("and {} more", statements.count - rows.len()),
        ));
    }
    page.table(&rows);
    page.heading("Request");
    let mut rows = vec![
        ("method".to_owned(), request.method().to_owned()),
        ("url".to_owned(), request.url()),
        ("id".to_owned(), request.id().into_owned()),
        ("ip".to_owned(), request.ip()),
    ];
    let mut params = 0;
    while let Some((name, value)) = request.param(params) {
        rows.push((format!(":{name}"), value.into_owned()));
        params += 1;
    }
    page.table(&rows);
    let mut rows = Vec::new();
    request.each_header(&mut |name, value| {
        rows.push((name.to_owned(), String::from_utf8_lossy(value).into_owned()));
    });
    let _ = write!(
        page.html,
        "<details><summary>Headers ({})</summary>",
        rows.len()
    );
    page.table(&rows);
    page.html += "</details>";
    page.end()
}

/// Builds the page for a project that does not load; `told` is what the terminal shows.
pub(in crate::dev) fn of_project(dev: &Dev, project: Option<&Project>, told: &str) -> String {
    let mut lines = told.lines();
    let title = lines.next().unwrap_or_default();
    let mut page = Page::new(dev, title);
    page.begin(
        "The project does not load; the version before goes on serving",
        title,
    );
    let place = told.lines().find_map(place_in);
    if let (Some(project), Some(place)) = (project, &place) {
        page.excerpt(project, place);
    }
    page.calls(lines.filter(|line| !line.contains(" | ")));
    page.end()
}

impl<'a> Page<'a> {
    fn new(dev: &'a Dev, title: &str) -> Self {
        let mut page = Self {
            dev,
            html: String::from("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"),
        };
        page.html += "<meta name=\"viewport\" content=\"width=device-width\"><title>";
        page.text(title);
        let _ = write!(
            page.html,
            "</title><link rel=\"stylesheet\" href=\"{PREFIX}{PAGE_STYLE}\">"
        );
        page.html += "<body><main>";
        page
    }

    fn end(mut self) -> String {
        self.html += "</main></body>";
        self.html
    }

    /// Text, which is never markup.
    fn text(&mut self, text: &str) {
        for one in text.chars() {
            match one {
                '&' => self.html += "&amp;",
                '<' => self.html += "&lt;",
                '>' => self.html += "&gt;",
                '"' => self.html += "&quot;",
                '\'' => self.html += "&#39;",
                one => self.html.push(one),
            }
        }
    }

    /// Writes the heading of what happened, and the message of the error.
    fn begin(&mut self, happened: &str, message: &str) {
        self.html += "<p>";
        self.text(happened);
        self.html += "</p><h1>";
        self.text(message);
        self.html += "</h1>";
    }

    fn heading(&mut self, text: &str) {
        self.html += "<h2>";
        self.text(text);
        self.html += "</h2>";
    }

    fn message(&mut self, text: &str) {
        self.html += "<p class=\"message\">";
        self.text(text);
        self.html += "</p>";
    }

    fn error(&mut self, project: &Project, error: &Error) {
        let mut lines = error.message().lines();
        let first = lines.next().unwrap_or_default();
        let stack = error.stack().unwrap_or_default();
        // The message of a template's error may begin with the place there.
        let in_message = place_in(first).filter(|place| first.starts_with(&place.to_string()));
        let mut places: Vec<Place> = in_message
            .into_iter()
            .chain(error.place().cloned())
            .collect();
        let in_template = |place: &Place| place.file.starts_with("templates/");
        if places.iter().all(in_template) {
            places.extend(stack.lines().find_map(place_in));
        }
        for place in &places {
            self.excerpt(project, place);
        }
        // The lines of a template stand above.
        let further = lines.filter(|line| !line.contains(" | "));
        self.calls(further.chain(stack.lines()));
    }

    /// The lines around a place, with a link that opens it.
    fn excerpt(&mut self, project: &Project, place: &Place) {
        self.html += "<h2>";
        self.link(place, &place.to_string());
        self.html += "</h2>";
        // An error's text may come from a client, and may name any file.
        if !self.may_show(project, &place.file) {
            return;
        }
        let Some(source) = project.modules().source_text(&place.file) else {
            return;
        };
        let source = String::from_utf8_lossy(&source);
        let at = (place.line as usize).saturating_sub(1);
        let first = at.saturating_sub(LINES_AROUND);
        self.html += SCROLLED;
        let lines = source.lines().enumerate().skip(first);
        for (index, line) in lines.take(at - first + LINES_AROUND + 1) {
            let class = if index == at { " class=\"here\"" } else { "" };
            let _ = write!(self.html, "<span{class}><i>{}</i>", index + 1);
            let shown: String = line.chars().take(LINE_CHARS_MAX).collect();
            self.text(&shown);
            self.html += "</span>";
        }
        self.html += "</pre>";
    }

    /// Reports whether a file is a template or a script that the project has loaded, or that such a script was made
    /// from.
    fn may_show(&self, project: &Project, file: &str) -> bool {
        let is_loaded = || self.dev.scripts.contains(file) || project.modules().has_mapped(file);
        is_source(file) && (is_shared(file) || is_loaded())
    }

    /// The calls that led there, innermost first, each with a link if it is in a file of the project.
    fn calls<'b>(&mut self, calls: impl Iterator<Item = &'b str>) {
        let calls: Vec<&str> = calls
            .map(str::trim)
            .filter(|call| !call.is_empty())
            .collect();
        if calls.is_empty() {
            return;
        }
        self.heading("Calls");
        self.html += SCROLLED;
        for call in calls {
            self.html += "<span>";
            match place_in(call) {
                Some(place) => self.link(&place, call),
                None => self.text(call),
            }
            self.html += "</span>";
        }
        self.html += "</pre>";
    }

    fn link(&mut self, place: &Place, text: &str) {
        let path = self.dev.root.join(&place.file);
        if !path.is_file() {
            return self.text(text);
        }
        let path = path.to_string_lossy();
        let path = percent_encoding::utf8_percent_encode(&path, PATH).to_string();
        let url = &self.dev.settings.editor;
        let url = url
            .replace("{path}", &path)
            .replace("{line}", &place.line.to_string());
        self.html += "<a target=\"_top\" href=\"";
        self.text(&url);
        self.html += "\">";
        self.text(text);
        self.html += "</a>";
    }

    fn table(&mut self, rows: &[(String, String)]) {
        if rows.is_empty() {
            return;
        }
        self.html += "<table>";
        for (name, value) in rows {
            self.html += "<tr><td>";
            self.text(name);
            self.html += "</td><td>";
            self.text(value);
            self.html += "</td></tr>";
        }
        self.html += "</table>";
    }
}

/// The characters of a path that a URL percent-encodes.
const PATH: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_')
    .remove(b'~');

/// Reports whether a file is a script or a template, which the page may show. `sampan.toml`, the database and what
/// clients have stored are not.
fn is_source(file: &str) -> bool {
    const SCRIPTS: [&str; 9] = ["lua", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"];
    let is_hidden = |part: &str| part.starts_with('.') && part != "." && part != "..";
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_stored = folder.split('/').next() == Some(STORAGE);
    let is_script = SCRIPTS.contains(&extension);
    !file.split('/').any(is_hidden) && !is_stored && (is_script || is_shared(file))
}

/// Reports whether a file lies in a folder of templates or texts, which are loaded with the project.
fn is_shared(file: &str) -> bool {
    file.split_once('/')
        .is_some_and(|(top, _)| SHARED.contains(&top))
}

/// The first `file:line` in a text.
fn place_in(text: &str) -> Option<Place> {
    let is_end = |one: char| one.is_whitespace() || matches!(one, '(' | ')' | '"' | '\'' | ',');
    text.split(is_end).find_map(|word| {
        let mut parts = word.split(':');
        let (file, line) = (parts.next()?, parts.next()?);
        let line = line.parse().ok()?;
        let file = file.strip_prefix("./").unwrap_or(file);
        // Hidden files are for secrets.
        let is_shown = file.contains('.') && !file.starts_with('.');
        is_shown.then(|| Place {
            file: file.to_owned(),
            line,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_and_templates_are_shown() {
        for (file, expected) in [
            ("app.lua", true),
            ("lib/users.ts", true),
            ("../shared/a.js", true),
            ("templates/page.html", true),
            ("locales/de.toml", true),
            ("sampan.toml", false),
            ("data.db", false),
            (".env", false),
            (".git/hooks/a.js", false),
            ("storage/upload.js", false),
            ("secrets.json", false),
            ("public/a.html", false),
        ] {
            assert_eq!(is_source(file), expected, "{file}");
        }
    }

    #[test]
    fn places_are_found_in_calls() {
        for (text, expected) in [
            ("app.lua:3: no such thing", Some("app.lua:3")),
            (
                "    at handler (lib/users.js:17:5)",
                Some("lib/users.js:17"),
            ),
            ("in function 'f' (./lib/a.lua:9)", Some("lib/a.lua:9")),
            (
                "templates/page.html:2: unexpected",
                Some("templates/page.html:2"),
            ),
            ("at 12:30 somewhere", None),
            (".env:2: write NAME=value", None),
            ("[C]: in function 'error'", None),
        ] {
            let found = place_in(text).map(|place| place.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
