//! The statements of `docs/` about the command and its configuration.

use super::command::{run, sampan};
use crate::support::Scratch;
use sampan_testkit::docs::Chapter;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The lines of a block that call the command, as words from its name on.
fn calls(code: &str) -> impl Iterator<Item = Vec<&str>> {
    let code = code
        .lines()
        .map(|line| line.split(" #").next().unwrap_or(line));
    code.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_name = |word: &&str| {
            let word = word
                .trim_start_matches("ExecStart=")
                .trim_start_matches("ExecReload=");
            word == "sampan" || word.ends_with("/bin/sampan")
        };
        let at = words.iter().position(is_name)?;
        // A path that is copied or moved is not a call.
        let is_call = words[..at]
            .iter()
            .all(|word| *word == "$" || word.contains('='));
        is_call.then(|| words[at + 1..].to_vec())
    })
}

#[test]
fn the_chapters_name_commands_and_flags_that_exist() {
    let chapters = Chapter::all(&docs()).expect("the chapters");
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut help_of = |command: &str| {
        let help = || {
            let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
            let (status, text, _) = run(&words);
            if status == 0 { text } else { String::new() }
        };
        helps.entry(command.to_owned()).or_insert_with(help).clone()
    };
    let (mut faults, mut count) = (Vec::new(), 0);
    for chapter in &chapters {
        for block in &chapter.blocks {
            if !["sh", "text", "ini"].contains(&block.language.as_str()) {
                continue;
            }
            for words in calls(&block.code) {
                let Some(first) = words.first().filter(|word| !word.starts_with('-')) else {
                    continue;
                };
                count += 1;
                let place = format!("docs/{}:{}", chapter.path, block.line);
                let whole = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
                // `migrate new` is a command of two words.
                let help = match help_of(&whole) {
                    text if words.len() > 1 && is_word(words[1]) && !text.is_empty() => text,
                    _ => help_of(first),
                };
                if help.is_empty() {
                    faults.push(format!("{place}: there is no command {first}"));
                }
                for word in &words {
                    let flag = word.trim_start_matches('[').trim_end_matches(']');
                    let flag = flag.split('=').next().unwrap_or(flag);
                    if flag.starts_with("--") && !help.contains(flag) {
                        faults.push(format!("{place}: {first} has no {flag}"));
                    }
                }
            }
        }
    }
    assert!(count > 10, "only {count} calls are found");
    assert_eq!(faults, [""; 0]);
}

fn is_word(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_lowercase())
}

/// The rows of the tables of keys: `section.key` and the default, as it is written.
fn rows(page: &str, section: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(docs().join(page)).expect(page);
    let mut section = section.to_owned();
    let mut rows = BTreeMap::new();
    let mut is_table = false;
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix("## `[")
            .and_then(|rest| rest.strip_suffix("]`"))
        {
            section = name.to_owned();
        }
        is_table = line.starts_with("| key | default |") || is_table && line.starts_with('|');
        if let Some(row) = line.strip_prefix("| `").filter(|_| is_table) {
            let (key, rest) = row.split_once("` | ").expect("a row has cells");
            let default = rest.split(" | ").next().expect("a default");
            rows.insert(format!("{section}.{key}"), default.to_owned());
        }
    }
    rows
}

#[test]
fn the_tables_of_the_configuration_list_its_keys_and_defaults() {
    let mut told = rows("configuration.md", "");
    told.extend(rows("limits.md", "limits"));
    let scratch = Scratch::new(&[("app.lua", "")]);
    let folder = scratch.path().display().to_string();
    let output = sampan(&["config", &folder, "--json"]).output();
    let shown = String::from_utf8(output.expect("the command starts").stdout).expect("UTF-8");
    let lines = shown
        .lines()
        .map(|line| serde_json::from_str(line).expect(line));
    let known: Vec<Value> = lines.collect();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let keys: BTreeSet<String> = known.iter().map(|row| text(row, "key")).collect();
    let listed: BTreeSet<String> = told.keys().cloned().collect();
    assert_eq!(listed, keys);
    for row in &known {
        let default = &told[&text(row, "key")];
        let value = text(row, "value");
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        // A sentence tells of a default that depends on something. Secrets are not shown, and times are in
        // milliseconds.
        let is_sentence = !is_number(default) && (!default.ends_with('`') || default.contains(' '));
        let is_other =
            value.is_empty() || value.contains(' ') || is_number(&value) != is_number(default);
        if !is_sentence && !is_other {
            assert_eq!(default.trim_matches('`'), value, "{row}");
        }
    }
}
