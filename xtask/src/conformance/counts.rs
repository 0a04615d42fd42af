//! The numbers in the reports of programs, and the table of the docs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Counts;
use crate::error::Error;

/// The page with the table, and the lines around it.
const PAGE: &str = "docs/how-it-works.md";
const BEGIN: &str = "<!-- conformance: written by `cargo xtask conformance` -->\n";
const END: &str = "<!-- end of conformance -->\n";

/// The severities of testssl.sh that are faults.
const FAULTS: [&str; 3] = ["MEDIUM", "HIGH", "CRITICAL"];

/// A line of testssl.sh's report.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) severity: String,
    pub(super) finding: String,
}

impl Finding {
    /// Reads a report: a list of objects.
    pub(super) fn all(report: &[u8]) -> Result<Vec<Self>, Error> {
        let lines: Vec<Value> = serde_json::from_slice(report)?;
        let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let finding = |line: &Value| Self {
            id: text(line, "id"),
            severity: text(line, "severity"),
            finding: text(line, "finding"),
        };
        Ok(lines.iter().map(finding).collect())
    }

    pub(super) fn is_fault(&self) -> bool {
        FAULTS.contains(&self.severity.as_str())
    }
}

/// Reads `146 tests, 145 passed, 0 skipped, 1 failed`.
pub(super) fn of_h2spec(text: &str) -> Option<Counts> {
    let line = text.lines().find(|line| line.contains(" tests, "))?;
    let mut numbers = line
        .split(", ")
        .filter_map(|part| part.split(' ').next()?.parse().ok());
    let (all, passed) = (numbers.next()?, numbers.next()?);
    Some(Counts { passed, all })
}

/// Reads `517 cases passed`, or `16 of 517 cases failed:`.
pub(super) fn of_kosoku(text: &str) -> Option<Counts> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [all, "cases", "passed"] => {
                let all = all.parse().ok()?;
                Some(Counts { passed: all, all })
            }
            [failed, "of", all, "cases", "failed:"] => {
                let (failed, all): (usize, usize) = (failed.parse().ok()?, all.parse().ok()?);
                let passed = all.checked_sub(failed)?;
                Some(Counts { passed, all })
            }
            _ => None,
        }
    })
}

/// Counts the parts of the scan without a fault, and the comparison with the configuration, whose faults count each.
pub(super) fn of_sslyze(text: &str) -> Option<Counts> {
    let (scan, compliance) = text.split_once("COMPLIANCE AGAINST")?;
    let parts = scan.lines().filter(|line| line.starts_with(" * ")).count();
    let faults = compliance
        .lines()
        .filter(|line| line.trim_start().starts_with("* "))
        .count();
    match compliance.contains("OK - Compliant.") {
        true => Some(Counts {
            passed: parts,
            all: parts,
        }),
        false => Some(Counts {
            passed: parts.saturating_sub(faults.max(1)),
            all: parts,
        }),
    }
}

/// Counts the findings that are no fault.
pub(super) fn of_testssl(findings: &[Finding]) -> Counts {
    let faults = findings.iter().filter(|one| one.is_fault()).count();
    Counts {
        passed: findings.len() - faults,
        all: findings.len(),
    }
}

/// Reads `test result: FAILED. 20 passed; 1 failed; 0 ignored; ...`.
pub(super) fn of_cargo(text: &str) -> Option<Counts> {
    let results = text
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "));
    let mut all = None;
    for line in results {
        let (_, numbers) = line.split_once(". ")?;
        let mut numbers = numbers
            .split("; ")
            .filter_map(|part| part.split(' ').next()?.parse::<usize>().ok());
        let (passed, failed) = (numbers.next()?, numbers.next()?);
        let sum = all.get_or_insert(Counts { passed: 0, all: 0 });
        sum.passed += passed;
        sum.all += passed + failed;
    }
    all
}

/// Puts the table into the docs.
///
/// # Errors
/// The page has no place for it.
pub(super) fn write(root: &Path, rows: &[(&str, Counts)]) -> Result<(), Error> {
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page)?;
    let text = with_table(&text, rows).ok_or_else(|| format!("{PAGE} lacks {BEGIN}"))?;
    fs::write(page, text)?;
    println!("written: {PAGE}");
    Ok(())
}

fn with_table(text: &str, rows: &[(&str, Counts)]) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let mut table = "| tests | passed |\n|---|---|\n".to_owned();
    for (title, Counts { passed, all }) in rows {
        table += &format!("| {title} | {passed} of {all} |\n");
    }
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_reports() {
        let counts = |passed, all| Some(Counts { passed, all });
        let text = "Finished in 0.2 seconds\n146 tests, 145 passed, 0 skipped, 1 failed\n";
        assert_eq!(of_h2spec(text), counts(145, 146));
        assert_eq!(of_h2spec("connection refused"), None);
        let text =
            "running 3 tests\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured\n";
        assert_eq!(of_cargo(text), counts(2, 3));
        let twice = format!("{text}\n{text}");
        assert_eq!(of_cargo(&twice), counts(4, 6), "several programs");
        assert_eq!(of_cargo("error: could not compile"), None);
        assert_eq!(of_kosoku("216 cases passed\n"), counts(216, 216));
        let text =
            "2 of 5 cases failed:\n  12.2.1: behavior=FAILED\nwrote reports for 5 cases to x\n";
        assert_eq!(of_kosoku(text), counts(3, 5));
        assert_eq!(of_kosoku("no cases"), None);
        let scan =
            " * Deflate Compression:\n * ROBOT Attack:\n COMPLIANCE AGAINST TLS CONFIGURATION\n";
        let right = format!("{scan}    localhost:1: OK - Compliant.\n");
        assert_eq!(of_sslyze(&right), counts(2, 2));
        let wrong =
            format!("{scan}    localhost:1: FAILED - Not compliant.\n        * tls_curves: x\n");
        assert_eq!(of_sslyze(&wrong), counts(1, 2));
        let report = ["OK", "LOW", "MEDIUM", "CRITICAL"]
            .map(|severity| format!(r#"{{"id":"x","severity":"{severity}","finding":"y"}}"#));
        let found = Finding::all(format!("[{}]", report.join(",")).as_bytes());
        let found = found.expect("a report");
        assert_eq!(Some(of_testssl(&found)), counts(2, 4));
    }

    #[test]
    fn the_table_of_the_docs_has_its_place() {
        let page = fs::read_to_string(crate::project::root().join(PAGE)).expect("a page");
        let rows = [("a program", Counts { passed: 1, all: 2 })];
        let text = with_table(&page, &rows).expect("it has a place");
        assert!(
            text.contains("\n| a program | 1 of 2 |\n<!-- end"),
            "{text}"
        );
        assert_eq!(
            with_table(&text, &rows),
            Some(text),
            "it replaces what is there"
        );
    }
}
