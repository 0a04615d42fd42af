//! The report that servers of continuous integration read: JUnit XML.

use super::{TestOutcome, TestSummary};
use std::fmt::Write;

/// The report of all outcomes, a suite for each file.
pub fn junit(outcomes: &[TestOutcome], summary: &TestSummary) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let total = summary.passed + summary.failed;
    let seconds = summary.elapsed.as_secs_f64();
    let _ = writeln!(
        out,
        "<testsuites name=\"sampan\" tests=\"{total}\" failures=\"{}\" time=\"{seconds:.3}\">",
        summary.failed
    );
    let mut files: Vec<&str> = outcomes.iter().map(|one| one.file.as_str()).collect();
    files.dedup();
    for file in files {
        let own: Vec<&TestOutcome> = outcomes.iter().filter(|one| one.file == file).collect();
        let failures = own.iter().filter(|one| one.failure.is_some()).count();
        let seconds: f64 = own.iter().map(|one| one.elapsed.as_secs_f64()).sum();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" time=\"{seconds:.3}\">",
            escaped_xml(file),
            own.len()
        );
        for outcome in own {
            write_case(&mut out, outcome);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn write_case(out: &mut String, outcome: &TestOutcome) {
    let name = match outcome.name.as_str() {
        "" => "(loading)",
        name => name,
    };
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped_xml(&outcome.file),
        escaped_xml(name),
        outcome.elapsed.as_secs_f64()
    );
    let Some(failure) = &outcome.failure else {
        out.push_str("/>\n");
        return;
    };
    let first = failure.text.lines().next().unwrap_or_default();
    let _ = write!(
        out,
        ">\n      <failure message=\"{}\">{}</failure>\n",
        escaped_xml(first),
        escaped_xml(&failure.text)
    );
    if !failure.log.is_empty() {
        let _ = writeln!(
            out,
            "      <system-err>{}</system-err>",
            escaped_xml(&failure.log)
        );
    }
    out.push_str("    </testcase>\n");
}

/// Text as XML has it. Control characters have no place in XML 1.0.
pub fn escaped_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(one),
            one if one.is_control() || matches!(one, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            one => out.push(one),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::TestFailure;
    use std::time::Duration;

    #[test]
    fn what_xml_cannot_have_is_escaped() {
        let failure = TestFailure {
            text: "a < b & \"c\"\u{1b}[0m\nmore".into(),
            log: String::new(),
        };
        let outcome = |name: &str, failure| TestOutcome {
            file: "tests/a.test.lua".into(),
            name: name.into(),
            elapsed: Duration::from_millis(2),
            failure,
            snapshots: Vec::new(),
        };
        let outcomes = [outcome("good", None), outcome("<bad>", Some(failure))];
        let summary = TestSummary {
            passed: 1,
            failed: 1,
            ..TestSummary::default()
        };
        let xml = junit(&outcomes, &summary);
        assert!(
            xml.contains("<testsuite name=\"tests/a.test.lua\" tests=\"2\" failures=\"1\""),
            "{xml}"
        );
        assert!(
            xml.contains("name=\"&lt;bad&gt;\" time=\"0.002\">"),
            "{xml}"
        );
        assert!(
            xml.contains(">a &lt; b &amp; &quot;c&quot;\u{fffd}[0m\nmore</failure>"),
            "{xml}"
        );
    }
}
