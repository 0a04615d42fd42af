//! `sampan check --types`: runs the compiler of TypeScript, where it is installed.

use sampan_project::Project;
use sampan_project::inspect::Finding;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// The files that say what to check.
const CONFIGS: [&str; 2] = ["tsconfig.json", "jsconfig.json"];

/// Returns the findings of the compiler.
///
/// # Errors
/// It cannot be run: one line that says what to do.
pub(super) fn check(path: &Path) -> Result<Vec<Finding>, String> {
    let project = match Project::find(path) {
        Ok(project) => project,
        // The check of the configuration has told it.
        Err(_) => return Ok(Vec::new()),
    };
    let root = project.root();
    let config = CONFIGS.into_iter().find(|name| root.join(name).is_file());
    let Some(config) = config else {
        let text = "--types needs a tsconfig.json, which says what to check: see the guide, or one of sampan new \
         --lang ts";
        return Err(text.to_owned());
    };
    let compiler = compiler(root);
    let mut command = Command::new(&compiler);
    command.args(["--noEmit", "--pretty", "false", "--project", config]);
    let output = command.current_dir(root).output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let advice = match lists_typescript(root) {
                true => "npm install",
                false => "npm install --save-dev typescript",
            };
            format!("--types needs TypeScript: {advice}")
        }
        _ => format!("cannot run {}: {error}", compiler.display()),
    })?;
    let out = String::from_utf8_lossy(&output.stdout);
    let findings = findings(&out);
    if findings.is_empty() && !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = format!("{out}{errors}");
        return Err(format!("{} failed: {}", compiler.display(), said.trim()));
    }
    Ok(findings)
}

/// Reports whether the nearest package.json names TypeScript, which is not installed then.
fn lists_typescript(root: &Path) -> bool {
    let mut texts = root
        .ancestors()
        .filter_map(|folder| fs::read(folder.join("package.json")).ok());
    let package = texts.next().unwrap_or_default();
    let package: serde_json::Value = serde_json::from_slice(&package).unwrap_or_default();
    ["devDependencies", "dependencies"]
        .iter()
        .any(|kind| package[kind]["typescript"].is_string())
}

/// The project's own compiler, or that of its workspace; else the one on PATH.
fn compiler(root: &Path) -> PathBuf {
    let own = root
        .ancestors()
        .map(|folder| folder.join("node_modules/.bin/tsc"));
    let mut own = own.filter(|path| path.is_file());
    own.next().unwrap_or_else(|| PathBuf::from("tsc"))
}

/// Lines such as `app.ts(3,7): error TS2322: Type ...`. Those that are indented belong to the one before.
fn findings(out: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for line in out.lines() {
        if line.starts_with(' ') {
            if let Some(last) = found.last_mut() {
                last.text += &format!("\n{line}");
            }
        } else if let Some((place, text)) = line.split_once(": error ") {
            let place = place.rsplit_once('(').and_then(|(file, at)| {
                let (line, _) = at.split_once(',')?;
                Some(format!("{file}:{line}: "))
            });
            found.push(Finding::error(&(place.unwrap_or_default() + text)));
        } else if let Some(text) = line.strip_prefix("error ") {
            found.push(Finding::error(text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_compiler_says_becomes_findings() {
        let out =
            "app.ts(3,7): error TS2322: Type 'a'.\n  More of it.\nerror TS18003: No inputs.\n";
        let found = findings(out);
        assert_eq!(found[0].file.as_deref(), Some("app.ts"));
        assert_eq!(found[0].line, Some(3));
        assert_eq!(found[0].text, "TS2322: Type 'a'.\n  More of it.");
        assert_eq!(found[1].to_string(), "TS18003: No inputs.");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_package_that_lists_the_compiler_is_only_to_be_installed() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("app");
        fs::create_dir(&inside).expect("a folder");
        let package = folder.path().join("package.json");
        fs::write(&package, r#"{"dependencies": {"hono": "4"}}"#).expect("written");
        assert!(!lists_typescript(&inside));
        fs::write(&package, r#"{"devDependencies": {"typescript": "^5"}}"#).expect("written");
        assert!(lists_typescript(&inside));
    }
}
