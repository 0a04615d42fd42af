//! The results as JSON and as a table in Markdown. The chart is in `chart`.

use serde_json::{Value, json};

use super::figures::Figure;
use super::measure::{Sample, Series, Skipped};
use super::routes::Headers;
use super::stats::Spread;
use super::targets::Verdict;

/// Everything that a run has found.
pub(super) struct Report {
    /// How and where it was measured, as name and value.
    pub(super) conditions: Vec<(&'static str, String)>,
    /// What was measured, as the peer's title and its version.
    pub(super) versions: Vec<(&'static str, String)>,
    pub(super) series: Vec<Series>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) figures: Vec<Figure>,
    pub(super) skipped: Vec<Skipped>,
}

/// A column of the table: its heading, its figure, and its decimals.
type Column = (&'static str, fn(&Sample) -> f64, usize);

const COLUMNS: &[Column] = &[
    ("CPU µs/request", |sample| sample.cpu_micros, 2),
    ("requests/s", |sample| sample.seen.per_second, 0),
    ("p50 µs", |sample| sample.seen.p50_micros, 0),
    ("p90 µs", |sample| sample.seen.p90_micros, 0),
    ("p99 µs", |sample| sample.seen.p99_micros, 0),
    (
        "RSS MiB",
        |sample| sample.resident_bytes as f64 / f64::from(1 << 20),
        1,
    ),
];

impl Report {
    /// The results for people.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::from("# Results of `cargo xtask bench hello`\n\n");
        text += "CPU µs/request is the user and system time of the server's processes divided by the requests that wrk \
                 completed: lower is better, and the load generator's limits do not bend it. Each cell is the median of \
                 the rounds with the least and the greatest. Absolute values move with the machine and the hour; compare \
                 within a run.\n\n![CPU time per request](hello.svg)\n\n";
        for (name, value) in &self.conditions {
            text += &format!("- {name}: {value}\n");
        }
        text += &self.routes();
        text += &self.must_reach();
        text += &self.also();
        text += "\n## What was measured\n\n";
        for (title, version) in &self.versions {
            text += &format!("- {title}: {version}\n");
        }
        if !self.skipped.is_empty() {
            text += "\n## What was not measured\n\n";
            for skipped in &self.skipped {
                text += &format!("- {}: {}\n", skipped.what, skipped.why);
            }
        }
        text
    }

    /// A table for each route and each set of headers, the cheapest first.
    fn routes(&self) -> String {
        let mut text = String::new();
        for group in self.groups() {
            let first = group[0];
            let headers = if first.headers == Headers::Browser {
                ", with a browser's headers"
            } else {
                ""
            };
            text += &format!("\n## {}{headers}\n\n| server |", first.route.title());
            for (heading, ..) in COLUMNS {
                text += &format!(" {heading} |");
            }
            text += " errors |\n|---|";
            text += &"---:|".repeat(COLUMNS.len());
            text += "---|\n";
            for series in group {
                let name = series.peer.title;
                text += &if series.peer.is_ours() {
                    format!("| **{name}** |")
                } else {
                    format!("| {name} |")
                };
                for (_, figure, decimals) in COLUMNS {
                    text += &format!(" {} |", shown(series.spread(figure), *decimals));
                }
                let errors = series.errors();
                text += &if errors.is_empty() {
                    " none |\n".to_owned()
                } else {
                    format!(" **{errors}** |\n")
                };
            }
        }
        text
    }

    /// The series of each route and set of headers together, by cost.
    pub(super) fn groups(&self) -> Vec<Vec<&Series>> {
        let mut sorted: Vec<&Series> = self.series.iter().collect();
        let cost = |series: &Series| {
            series
                .spread(|sample| sample.cpu_micros)
                .map_or(f64::MAX, |spread| spread.median)
        };
        sorted.sort_by(|a, b| {
            (a.route, a.headers)
                .cmp(&(b.route, b.headers))
                .then(cost(a).total_cmp(&cost(b)))
        });
        sorted
            .chunk_by(|a, b| (a.route, a.headers) == (b.route, b.headers))
            .map(<[&Series]>::to_vec)
            .collect()
    }

    fn must_reach(&self) -> String {
        let mut text = String::from(
            "\n## Must reach\n\nRatios of CPU µs per request, ours divided by theirs, of the medians.\n\n",
        );
        text += "| ours against theirs | ratio | at most | reached |\n|---|---:|---:|---|\n";
        for verdict in &self.verdicts {
            let ratio = verdict
                .ratio
                .map_or_else(|| "not measured".to_owned(), |ratio| format!("{ratio:.2}"));
            let aim = verdict
                .aim
                .map(|aim| format!(" (aim {aim:.2})"))
                .unwrap_or_default();
            let reached = word(verdict.reached());
            text += &format!(
                "| {} | {ratio} | {:.2}{aim} | {reached} |\n",
                verdict.what, verdict.ratio_max
            );
        }
        text
    }

    fn also(&self) -> String {
        if self.figures.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "\n## Also\n\n| figure | measured | wanted | reached |\n|---|---|---|---|\n",
        );
        for Figure {
            what,
            value,
            wanted,
            reached,
        } in &self.figures
        {
            text += &format!(
                "| {what} | {value} | {wanted} | {} |\n",
                word(Some(*reached))
            );
        }
        text
    }

    /// The results for programs: every sample of every round.
    pub(super) fn json(&self) -> Value {
        let conditions: Vec<Value> = self
            .conditions
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(peer, version)| json!({ "peer": peer, "version": version }))
            .collect();
        let skipped: Vec<Value> = self
            .skipped
            .iter()
            .map(|skipped| json!({ "what": skipped.what, "why": skipped.why }))
            .collect();
        json!({
            "conditions": conditions,
            "versions": versions,
            "series": self.series.iter().map(series_json).collect::<Vec<_>>(),
            "must_reach": self.verdicts.iter().map(|verdict| json!({
                "what": verdict.what,
                "ratio": verdict.ratio,
                "ratio_max": verdict.ratio_max,
                "aim": verdict.aim,
                "reached": verdict.reached(),
            })).collect::<Vec<_>>(),
            "also": self.figures.iter().map(|figure| json!({
                "what": figure.what,
                "value": figure.value,
                "wanted": figure.wanted,
                "reached": figure.reached,
            })).collect::<Vec<_>>(),
            "skipped": skipped,
        })
    }
}

fn series_json(series: &Series) -> Value {
    let samples = series.samples.iter().map(|sample| {
        json!({
            "cpu_micros_per_request": sample.cpu_micros,
            "requests": sample.seen.requests,
            "requests_per_second": sample.seen.per_second,
            "p50_micros": sample.seen.p50_micros,
            "p90_micros": sample.seen.p90_micros,
            "p99_micros": sample.seen.p99_micros,
            "resident_bytes": sample.resident_bytes,
            "errors": sample.seen.errors.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        })
    });
    json!({
        "peer": series.peer.id,
        "route": series.route.title(),
        "browser_headers": series.headers == Headers::Browser,
        "cpu_micros_per_request_median": series.spread(|sample| sample.cpu_micros).map(|spread| spread.median),
        "samples": samples.collect::<Vec<_>>(),
    })
}

fn shown(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| spread.show(decimals))
}

fn word(reached: Option<bool>) -> &'static str {
    match reached {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "-",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::measure::tests::series;
    use super::super::routes::Route;
    use super::super::targets::verdicts;
    use super::*;

    /// A report of two peers on one route.
    pub(in crate::bench) fn report() -> Report {
        let series = vec![
            series(
                "express",
                Route::Greet,
                Headers::Plain,
                &[130.0, 120.0, 140.0],
            ),
            series("sampan-lua", Route::Greet, Headers::Plain, &[6.0, 7.0, 8.0]),
            series("bun", Route::Greet, Headers::Plain, &[10.0]),
        ];
        Report {
            conditions: vec![("rounds", "3".to_owned())],
            versions: vec![("Bun.serve", "Bun 1.0".to_owned())],
            verdicts: verdicts(&series),
            series,
            figures: Vec::new(),
            skipped: vec![Skipped {
                what: "Go".to_owned(),
                why: "not installed".to_owned(),
            }],
        }
    }

    #[test]
    fn the_table_has_the_cheapest_first_with_its_spread_and_its_errors() {
        let text = report().markdown();
        let row = text
            .lines()
            .find(|line| line.starts_with("| **Sampan, Lua** |"))
            .expect("a row for ours");
        assert!(
            row.contains("| 7.00 (6.00 to 8.00) |") && row.contains("**3 timeout**"),
            "{row}"
        );
        let place = |title: &str| {
            text.find(&format!("{title}** |"))
                .or_else(|| text.find(&format!("| {title} |")))
        };
        assert!(place("Sampan, Lua") < place("Express on Node"));
        assert!(
            text.contains(
                "| Lua GET /greet/:name against Bun.serve | 0.70 | 0.90 (aim 0.84) | yes |"
            ),
            "{text}"
        );
        assert!(text.contains("- Go: not installed"));
    }

    #[test]
    fn the_json_has_every_sample() {
        let json = report().json();
        assert_eq!(
            json["series"][0]["samples"].as_array().map(Vec::len),
            Some(3)
        );
        assert_eq!(json["series"][1]["cpu_micros_per_request_median"], 7.0);
        assert_eq!(json["must_reach"][3]["reached"], true);
    }
}
