//! The results as JSON and as a table in Markdown, and how they are written. The chart is in `chart`.

pub(crate) mod chart;
pub(crate) mod load;
pub(crate) mod stats;
pub(crate) mod targets;

use std::fs;

use serde_json::{Value, json};

use crate::error::Error;
use crate::measure::figures::Figure;
use crate::measure::setup::{self, Setup};
use crate::measure::{DatabaseFigures, Sample, Series, Skipped, machine};
use crate::peers::storage::Durability;
use crate::report::stats::{Spread, mib};
use crate::routes::Headers;

/// Everything that a run has found.
pub(crate) struct BenchReport {
    /// Of what kind it was.
    pub(crate) suite: &'static Suite,
    /// The conditions of the measurement, as name and value.
    pub(crate) conditions: Vec<(&'static str, String)>,
    /// The measured peers, as the peer's title and its version.
    pub(crate) versions: Vec<(&'static str, String)>,
    pub(crate) series: Vec<Series>,
    /// Ours against the peers.
    pub(crate) ratios: Vec<Figure>,
    /// Those that have no peer.
    pub(crate) figures: Vec<Figure>,
    pub(crate) skipped: Vec<Skipped>,
}

/// A column of the table: its heading, its figure, and its decimals.
type Column = (&'static str, fn(&Sample) -> f64, usize);

/// A kind of benchmark, as reports show it.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The name on the command line, and of its files.
    pub(crate) name: &'static str,
    /// The remarks of reports about the figures.
    pub(crate) about: &'static str,
    /// The meaning of the cells.
    cells: &'static str,
    /// The figure of the bars: its heading, and how it is taken.
    pub(crate) bars: (&'static str, fn(&Sample) -> f64),
    /// The reference of the ratios.
    pub(crate) ratios: &'static str,
    columns: &'static [&'static [Column]],
    /// True if each group of bars has an axis of its own, as its figures are far from those of the others.
    pub(crate) axis_per_group: bool,
}

/// The common fields of most suites.
const SUITE: Suite = Suite {
    name: "",
    about: "",
    cells: "CPU µs/request is the user and system time of the server's processes divided by the requests that were \
     answered: lower is better, and the load generator's limits do not bend it.",
    bars: ("CPU µs per request", |sample| sample.cpu_micros),
    ratios: "Ratios of CPU µs per request, ours divided by theirs in the same round; the median of the rounds.",
    columns: &[COLUMNS],
    axis_per_group: false,
};

/// `bench hello`.
pub(crate) static HELLO: Suite = Suite {
    name: "hello",
    axis_per_group: true,
    ..SUITE
};

/// `bench db`.
pub(crate) static DB: Suite = Suite {
    name: "db",
    about: " Every run has a server and a database of its own, with 1,000 rows; after each run the rows are counted: \
     all that was acknowledged must be there. Rows/s counts rows written and rows read; the sizes are those at the end \
     of a run.",
    ratios: "Ratios, ours divided by theirs in the same round, the median of the rounds; of CPU µs per request unless \
     another figure is named.",
    columns: &[COLUMNS, DATABASE_COLUMNS],
    axis_per_group: true,
    ..SUITE
};

/// `bench stream`.
pub(crate) static STREAM: Suite = Suite {
    name: "stream",
    about: " A request moves 100 MB: an upload that the handler counts as it comes, or an answer in chunks of 64 kB. \
     One follows the other on one connection.",
    ..SUITE
};

/// `bench template`.
pub(crate) static TEMPLATE: Suite = Suite {
    name: "template",
    about: " The rows of a page are made once, at the start of a server; every server sends the same bytes.",
    ..SUITE
};

/// `bench limit`.
pub(crate) static LIMIT: Suite = Suite {
    name: "limit",
    about: " The loop reads whatever arrives and writes the same bytes each time.",
    ..SUITE
};

/// `bench petclinic`.
pub(crate) static PETCLINIC: Suite = Suite {
    name: "petclinic",
    about: " All answers are compressed with gzip. Server and load share the processors, so the rates are those of \
     both together. `cached` keeps what it has compressed (`[compression] cache_bytes_max`), the others compress every \
     answer.",
    ratios: "Ratios of requests per second, ours divided by theirs in the same round; the median of the rounds.",
    axis_per_group: true,
    ..SUITE
};

/// `bench static`.
pub(crate) static STATIC: Suite = Suite {
    name: "static",
    about: " All servers send the same files of one folder, which lie in the memory of the system.",
    axis_per_group: true,
    ..SUITE
};

/// `bench gust`.
pub(crate) static GUST: Suite = Suite {
    name: "gust",
    about: " All servers have one thread. What is not ranked sends a malformed answer, which is shown all the same.",
    axis_per_group: true,
    ..SUITE
};

/// `bench golua`.
pub(crate) static GOLUA: Suite = Suite {
    name: "golua",
    about: " Every answer is a text of 15 bytes. The peers make a Lua state for each request, from the script's file \
     or from its text in memory. Ours reads the file again only when it has changed, and isolates requests on that \
     route.",
    ..SUITE
};

/// `bench tls`.
pub(crate) static TLS: Suite = Suite {
    name: "tls",
    about: " All servers speak TLS 1.3 with the same certificate of ECDSA P-256. Handshakes exchange keys by X25519; \
     each is followed by one request.",
    axis_per_group: true,
    ..SUITE
};

/// `bench h2`.
pub(crate) static H2: Suite = Suite {
    name: "h2",
    about: " All servers speak HTTP/2 over TLS 1.3 with the same certificate.",
    columns: &[COUNT_COLUMNS],
    axis_per_group: true,
    ..SUITE
};

/// `bench ws`.
pub(crate) static WS: Suite = Suite {
    name: "ws",
    about: " A request is one message: one that is echoed, or one that 10,000 sockets get. Sockets are opened before \
     anything is measured. No server compresses.",
    axis_per_group: true,
    ..SUITE
};

/// `bench fetch`.
pub(crate) static FETCH: Suite = Suite {
    name: "fetch",
    about: " Each request makes the server ask another one, nginx, which runs on the processors of the load and \
     answers with 108 bytes of JSON. All keep their connections to it.",
    axis_per_group: true,
    ..SUITE
};

/// `bench jobs`.
pub(crate) static JOBS: Suite = Suite {
    name: "jobs",
    about: " For empty jobs a request is one job: all are added before the system starts that does them, and counted \
     in its database when they have ended. Their CPU time is that of the system and of its database.",
    ratios: "Ratios, ours divided by theirs in the same round, the median of the rounds; figures without a peer; and \
     the routes that add jobs.",
    axis_per_group: true,
    ..SUITE
};

/// `bench postgres`.
pub(crate) static POSTGRES: Suite = Suite {
    name: "postgres",
    about: " Every run has a server and a database of its own; after each run that writes the rows are counted. The CPU \
     time is that of the server, without PostgreSQL. PostgreSQL runs on all processors, so the rates are those of \
     server, load and database together.",
    ratios: "Ratios, ours divided by theirs in the same round, the median of the rounds; of CPU µs per request unless \
     another figure is named.",
    axis_per_group: true,
    ..SUITE
};

/// `bench backup`.
pub(crate) static BACKUP: Suite = Suite {
    name: "backup",
    about: " All servers are ours, with a database of their own for each run. Those that are copied write their commits \
     to a folder each second; the time of that is theirs too. After each run the rows are counted.",
    ratios: "Ratios of CPU µs per request, with the copy divided by without in the same round, the median of the rounds; \
     and the figures of the copy itself.",
    axis_per_group: true,
    ..SUITE
};

/// `bench load`.
pub(crate) static LOAD: Suite = Suite {
    name: "load",
    cells: "Times count from the moment at which a request was due; requests that got no answer count as long as they \
     have waited. Under overload the times are those of requests that were accepted, and requests/s are those completed.",
    bars: ("p99 µs", |sample| sample.seen.p99_micros),
    about: " Server and load share the processors where there are not enough for both. Each round has a server of its \
     own, and finds the most that it does first: all rates are parts of that.",
    ratios: "Ratios of one server's figures in two states, in the same round; the median of the rounds.",
    columns: &[LOAD_COLUMNS],
    axis_per_group: true,
};

/// Those of a load whose costs are not told.
const LOAD_COLUMNS: &[Column] = &[COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4]];

/// Those of a load that tells no latencies.
const COUNT_COLUMNS: &[Column] = &[COLUMNS[0], COLUMNS[1], COLUMNS[5]];

const DATABASE_COLUMNS: &[Column] = &[
    (
        "rows/s",
        |sample| of_database(sample, |database| database.rows_per_second),
        0,
    ),
    (
        "database MiB",
        |sample| of_database(sample, |database| mib(database.file_bytes)),
        1,
    ),
    (
        "WAL MiB",
        |sample| of_database(sample, |database| mib(database.wal_bytes)),
        1,
    ),
];

/// Not a number where there is no database.
fn of_database(sample: &Sample, figure: fn(&DatabaseFigures) -> f64) -> f64 {
    sample.database.as_ref().map_or(f64::NAN, figure)
}

const COLUMNS: &[Column] = &[
    ("CPU µs/request", |sample| sample.cpu_micros, 2),
    ("requests/s", |sample| sample.seen.per_second, 0),
    ("p50 µs", |sample| sample.seen.p50_micros, 0),
    ("p90 µs", |sample| sample.seen.p90_micros, 0),
    ("p99 µs", |sample| sample.seen.p99_micros, 0),
    ("RSS MiB", |sample| mib(sample.resident_bytes), 1),
];

impl BenchReport {
    /// The results for people.
    pub(crate) fn markdown(&self) -> String {
        let Suite {
            name,
            about,
            cells,
            bars,
            ..
        } = self.suite;
        let mut text = format!("# Results of `cargo xtask bench {name}`\n\n");
        text += &format!(
            "{cells} Each cell is the median of the rounds with the least and the greatest. Absolute values move with \
             the machine and the hour; compare within a run.{about}\n\n![{}]({name}.svg)\n\n",
            bars.0
        );
        for (name, value) in &self.conditions {
            text += &format!("- {name}: {value}\n");
        }
        text += &self.routes();
        text += &format!("\n## Must reach\n\n{}\n", self.suite.ratios);
        text += &table("ours against theirs", &self.ratios);
        if !self.figures.is_empty() {
            text += "\n## Also\n";
            text += &table("figure", &self.figures);
        }
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

    /// A table for each case, the cheapest first.
    fn routes(&self) -> String {
        let mut text = String::new();
        for group in self.groups() {
            text += &format!("\n## {}\n\n| server |", group[0].case.title());
            for (heading, ..) in self.columns() {
                text += &format!(" {heading} |");
            }
            text += " errors |\n|---|";
            text += &"---:|".repeat(self.columns().count());
            text += "---|\n";
            for series in group {
                let name = series.peer.title;
                text += &if series.peer.is_ours() {
                    format!("| **{name}** |")
                } else if series.fault.is_some() {
                    format!("| *{name}: not ranked* |")
                } else {
                    format!("| {name} |")
                };
                for (_, figure, decimals) in self.columns() {
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

    fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.suite.columns.iter().copied().flatten()
    }

    /// The series of each case together, by cost; behind them those whose answers are wrong.
    pub(crate) fn groups(&self) -> Vec<Vec<&Series>> {
        let mut sorted: Vec<&Series> = self.series.iter().collect();
        let cost = |series: &Series| {
            series
                .spread(self.suite.bars.1)
                .map_or(f64::MAX, |spread| spread.median)
        };
        let rank = |series: &Series| (series.case, series.fault.is_some());
        sorted.sort_by(|a, b| rank(a).cmp(&rank(b)).then(cost(a).total_cmp(&cost(b))));
        sorted
            .chunk_by(|a, b| a.case == b.case)
            .map(<[&Series]>::to_vec)
            .collect()
    }

    /// The results for programs: every sample of every round.
    pub(crate) fn json(&self) -> Value {
        let pairs = |names: [&str; 2], pairs: &[(&str, String)]| -> Vec<Value> {
            let object = |(one, two): &(&str, String)| json!({ names[0]: one, names[1]: two });
            pairs.iter().map(object).collect()
        };
        json!({
            "conditions": pairs(["name", "value"], &self.conditions),
            "versions": pairs(["peer", "version"], &self.versions),
            "series": self.series.iter().map(series_json).collect::<Vec<_>>(),
            "must_reach": figures_json(&self.ratios),
            "also": figures_json(&self.figures),
            "skipped": self.skipped.iter().map(|one| json!({ "what": one.what, "why": one.why })).collect::<Vec<_>>(),
        })
    }
}

/// A table of figures with what was wanted of each.
fn table(heading: &str, figures: &[Figure]) -> String {
    let mut text = format!("\n| {heading} | measured | wanted | reached |\n|---|---|---|---|\n");
    for figure in figures {
        let reached = match figure.reached {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "-",
        };
        let Figure {
            what,
            value,
            wanted,
            ..
        } = figure;
        text += &format!("| {what} | {value} | {wanted} | {reached} |\n");
    }
    text
}

fn figures_json(figures: &[Figure]) -> Vec<Value> {
    let object = |figure: &Figure| {
        json!({
            "what": figure.what, "value": figure.value, "wanted": figure.wanted, "reached": figure.reached,
        })
    };
    figures.iter().map(object).collect()
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
            "database": sample.database.map(|database| json!({
                "rows_per_second": database.rows_per_second,
                "file_bytes": database.file_bytes,
                "wal_bytes": database.wal_bytes,
            })),
            "errors": sample.seen.errors.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        })
    });
    json!({
        "peer": series.peer.id,
        "route": series.case.route.title(),
        "threads": series.case.threads,
        "connections": series.case.connections,
        "durability": series.case.durability.map(Durability::word),
        "not_ranked": series.fault,
        "browser_headers": series.case.headers == Headers::Browser,
        "cpu_micros_per_request_median": series.spread(|sample| sample.cpu_micros).map(|spread| spread.median),
        "samples": samples.collect::<Vec<_>>(),
    })
}

fn shown(spread: Option<Spread>, decimals: usize) -> String {
    // What has no latencies has no numbers there.
    let spread = spread.filter(|spread| spread.median.is_finite());
    spread.map_or_else(|| "-".to_owned(), |spread| spread.show(decimals))
}

/// Writes the report of a suite as Markdown, JSON and a chart, named after it. `false` if nothing was measured.
///
/// # Errors
///
/// When a file cannot be written.
pub(crate) fn finish(
    suite: &'static Suite,
    setup: Setup,
    conditions: [(&'static str, String); 2],
    series: Vec<Series>,
    ratios: Vec<Figure>,
    figures: Vec<Figure>,
) -> Result<bool, Error> {
    let report = BenchReport {
        suite,
        conditions: [machine::conditions(setup.busy), conditions.into()].concat(),
        versions: setup::versions(&setup.installed),
        series,
        ratios,
        figures,
        skipped: setup.skipped,
    };
    fs::create_dir_all(&setup.out)?;
    let (name, markdown) = (suite.name, report.markdown());
    let json = serde_json::to_string_pretty(&report.json())?;
    for (ending, text) in [
        ("json", json + "\n"),
        ("md", markdown.clone()),
        ("svg", chart::svg(&report)),
    ] {
        let file = setup.out.join(format!("{name}.{ending}"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    println!("\n{markdown}");
    println!(
        "written: {name}.json, {name}.md and {name}.svg in {}",
        setup.out.display()
    );
    Ok(!report.series.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::case::LoadCase;
    use crate::measure::tests::series;
    use crate::routes::Route;

    /// A report of two peers on one route.
    pub(crate) fn report() -> BenchReport {
        let greet = LoadCase::plain(Route::Greet, Headers::Plain, 1);
        let series = vec![
            series("express", greet, &[130.0, 120.0, 140.0]),
            series("sampan-lua", greet, &[6.0, 7.0, 8.0]),
            series("bun", greet, &[8.0, 10.0, 12.0]),
        ];
        BenchReport {
            suite: &HELLO,
            conditions: vec![("rounds", "3".to_owned())],
            versions: vec![("Bun.serve", "Bun 1.0".to_owned())],
            ratios: targets::judge(targets::HELLO, &series, 1),
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
                "| Sampan, Lua: GET /greet/:name, against Bun.serve | 0.70 | at most 0.90 (aim 0.84) | yes |"
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
