//! Settings that name a file, a queue or paths that the project does not have, and parameters that are text.

use super::foreign::{self, ForeignParameter};
use super::routes::{RouteKind, RouteRow};
use crate::app_config::AppConfig;
use sampan_js_modules::destructured_parameters;
use sampan_project::Language;
use sampan_project::inspect::{Finding, unused};
use sampan_serve::routing::pattern::Pattern;
use sampan_serve::routing::segment::words_behind_colons;

/// The queues that jobs are in without a name of the script's.
const OWN_QUEUES: [&str; 3] = ["default", "cron", "mail"];

/// Lists the settings that name what is not there, each with its place. `scripts` are the files that were loaded, with
/// their texts.
pub(super) fn settings(
    config: &AppConfig,
    rows: &[RouteRow],
    scripts: &[(String, String)],
) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |section: &str, fault: String| {
        let settings = config.base.sections.named(section);
        found.extend(settings.map(|settings| settings.tell(&fault)));
    };
    let files = &config.serving.static_files;
    if let Some(fallback) = &files.fallback {
        let (folder, fallback) = (&files.folder, fallback.trim_start_matches('/'));
        let file = config.base.project.root().join(folder).join(fallback);
        if !file.is_file() {
            let text = format!("fallback: there is no {folder}/{fallback}");
            tell("static", text);
        }
    }
    for queue in items(config, "jobs", "queues") {
        // Behind the name stand its limits.
        let name = queue.split_whitespace().next().unwrap_or_default();
        let is_named = |(_, text): &(String, String)| unused::names(text, name);
        if !OWN_QUEUES.contains(&name) && !scripts.iter().any(is_named) {
            let text = format!("queues: no script that is loaded names the queue {name:?}");
            tell("jobs", text);
        }
    }
    // Only the function itself knows its routes.
    let has_own = rows.iter().any(|row| row.kind == RouteKind::Fetch);
    for pattern in items(config, "csrf", "except")
        .into_iter()
        .filter(|_| !has_own)
    {
        let mut routes = rows.iter().filter(|row| row.method.is_some());
        if !routes.any(|row| may_share_a_path(&pattern, &row.pattern)) {
            tell("csrf", format!("except: {pattern:?} covers no route"));
        }
    }
    found
}

/// Lists what is text in a pattern: a parameter as other frameworks write it, and `major` in `/v:major` while a script
/// reads a parameter of this name that no pattern has.
pub(super) fn parameters(rows: &[RouteRow], scripts: &[(String, String)]) -> Vec<Finding> {
    let parsed = rows
        .iter()
        .map(|row| Pattern::parse_with_host(&row.pattern));
    let patterns: Vec<Pattern> = parsed.filter_map(Result::ok).collect();
    let is_param = |word: &str| {
        patterns
            .iter()
            .flat_map(Pattern::params)
            .any(|name| name == word)
    };
    let mut found = Vec::new();
    for row in rows {
        let Some(place) = &row.place else { continue };
        let elsewhere = foreign::parameters(&row.pattern);
        let is_foreign = !elsewhere.is_empty();
        for ForeignParameter { written, meant } in elsewhere {
            let text = format!(
                "{written} is text in the pattern {:?}: a parameter is written {meant}",
                row.pattern
            );
            found.push(Finding::warning(&place.file, Some(place.line), text));
        }
        if is_foreign {
            // The colon of <int:id> is told already.
            continue;
        }
        for word in words_behind_colons(&row.pattern) {
            if !is_param(word) && scripts.iter().any(|script| reads(script, word)) {
                let text = format!(
                    "the pattern {:?} has no parameter {word:?}: write {{:{word}}} for one, as ':' behind a word is \
                     text",
                    row.pattern
                );
                found.push(Finding::warning(&place.file, Some(place.line), text));
            }
        }
    }
    found
}

/// Reports whether a script, a file and its text, reads a parameter.
fn reads((file, text): &(String, String), name: &str) -> bool {
    let read = format!("params.{name}");
    let by_name = text.match_indices(&read).any(|(at, _)| {
        let behind = text[at + read.len()..].chars().next();
        behind.is_none_or(|one| !one.is_alphanumeric() && one != '_')
    });
    let is_taken = || {
        let names = destructured_parameters(file, text);
        names.iter().any(|taken| taken == name)
    };
    by_name || (Language::of(file) == Some(Language::Js) && is_taken())
}

fn items(config: &AppConfig, section: &str, key: &str) -> Vec<String> {
    let settings = config.base.sections.named(section);
    settings.map_or_else(|_| Vec::new(), |settings| settings.list(key))
}

/// Reports whether a path can be among those of both patterns, the second of which may have a host. Parameters may have
/// any value.
fn may_share_a_path(one: &str, other: &str) -> bool {
    let path = other.find('/').map_or(other, |at| &other[at..]);
    let (mut one, mut other) = (one.split('/'), path.split('/'));
    loop {
        let is_open = |part: &str| part.contains([':', '{', '?']);
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(part), _) if part.starts_with('*') => return true,
            (_, Some(part)) if part.starts_with('*') => return true,
            (Some(one), Some(other)) if one == other || is_open(one) || is_open(other) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_read_whole_names() {
        for (file, text, expected) in [
            ("app.lua", "local id = req.params.major", true),
            ("app.lua", "f(params.major, 1)", true),
            ("app.lua", "params.majority", false),
            ("app.lua", "params.major_1", false),
            ("app.lua", "req.query.major", false),
            ("app.js", "const { major } = req.params;", true),
            (
                "app.ts",
                "f(({ params: { major } }: Request) => major);",
                true,
            ),
            ("app.js", "const { minor } = req.params;", false),
            ("app.lua", "const { major } = req.params;", false),
        ] {
            let script = (file.to_owned(), text.to_owned());
            assert_eq!(reads(&script, "major"), expected, "{file}: {text}");
        }
    }

    #[test]
    fn patterns_share_paths_as_far_as_is_known() {
        for (one, other) in [
            ("/hooks/*", "/hooks/stripe"),
            ("/hooks/*", "/hooks/:name"),
            ("/hooks/stripe", "/:any/stripe"),
            ("/hooks/stripe", "/hooks/*rest"),
            ("*", "/a"),
            ("/a", "/a"),
            ("/a", "h.example/a"),
        ] {
            assert!(may_share_a_path(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("/hoks/*", "/hooks/stripe"),
            ("/hooks", "/hooks/stripe"),
            ("/a/b", "/a/c"),
        ] {
            assert!(!may_share_a_path(one, other), "{one} {other}");
        }
    }
}
