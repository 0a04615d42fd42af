//! A server that uses everything serves each metric, and the documents name them all.

use crate::support::{Measured, PATH, Values, start_in};
use sampan_client::Client;
use sampan_client::certificates::{Identity, connect, trusting};
use sampan_client::wait;
use sampan_host::metrics::{MetricKind, known};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LUA: &str = r#"
local app = require "sampan"
app.db.exec("CREATE TABLE IF NOT EXISTS t (a)")
app.job("add", { attempts = 1 }, function(args)
  if args.fails then error("no") end
  app.db.exec("INSERT INTO t VALUES (1)")
end)
app.get("/add", function()
  app.enqueue("add", {})
  app.enqueue("add", { fails = true })
  app.db.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT max(i) FROM n")
  return "added"
end)
app.get("/fails", function() error("broken") end)
"#;

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy");
    fs::read_to_string(root.join(name)).expect("a file of the repository")
}

/// Returns the words of a text that begin as names of metrics do.
fn names_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    let is_name = |word: &&str| word.starts_with("sampan_") || word.starts_with("process_");
    words.filter(is_name).collect()
}

#[test]
fn each_metric_is_served_once_it_has_a_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let copy: PathBuf = folder.path().join("copy");
    fs::create_dir(&copy).expect("a folder");
    let url = format!("file://{}", copy.display());
    let toml = format!(
        "[tls]\ncert = {certificate:?}\nkey = {key:?}\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [backup]\nurl = {url:?}\n[log]\nlevel = \"error\"\n"
    );
    let server = start_in(folder.path(), ("app.lua", LUA), &toml);
    let measured = Measured { folder, server };
    let trusted = Arc::new(trusting(&[&identity.certificate]));
    for target in ["/add", "/fails", "/nowhere"] {
        let mut stream = connect(measured.server.address(), &trusted, "localhost");
        let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.read_to_end(&mut Vec::new()).expect("an answer");
    }
    let mut stream = connect(measured.server.address(), &trusted, "localhost");
    stream.write_all(b"GET / HTTP/9.9\r\n\r\n").expect("sent");
    stream.read_to_end(&mut Vec::new()).expect("an answer");
    let address = measured.server.metrics_address().expect("an address");
    let text = || {
        let mut client = Client::connect(address).expect("it listens");
        client.ask("GET", PATH, &[], "").expect("an answer").text()
    };
    let outcome =
        |outcome| format!("sampan_job_attempts_total{{queue=\"default\",outcome=\"{outcome}\"}}");
    wait::until("the jobs have run and been counted", || {
        let values = Values::of(&text());
        let dead = "sampan_jobs{queue=\"default\",state=\"dead\"}";
        let uploaded = values.get("sampan_backup_last_upload_timestamp_seconds");
        values.get(&outcome("done")) == Some(1.0)
            && values.get(&outcome("dead")) == Some(1.0)
            && values.get(dead) == Some(1.0)
            && uploaded.is_some_and(|time| time > 1e9)
            && values.requests() == 4.0
    });
    wait::until("all commits are copied", || {
        Values::of(&text()).get("sampan_backup_lag_seconds") == Some(0.0)
    });
    let text = text();
    let values = Values::of(&text);
    for metric in known::ALL {
        let sample = match metric.kind {
            MetricKind::Histogram => format!("{}_count", metric.name),
            MetricKind::Counter | MetricKind::Gauge => metric.name.to_owned(),
        };
        let is_sample =
            |key: &&String| key.as_str() == sample || key.starts_with(&format!("{sample}{{"));
        assert!(
            values.0.keys().any(|key| is_sample(&key)),
            "{sample} is not served:\n{text}"
        );
        let kind = format!("{:?}", metric.kind).to_lowercase();
        let head = format!(
            "# HELP {0} {1}\n# TYPE {0} {kind}\n",
            metric.name, metric.help
        );
        assert!(text.contains(&head), "{head}");
    }
    // And nothing else.
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let served: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let all: BTreeSet<&str> = known::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(served, all);
    assert!(
        values.get("sampan_db_commit_writes_sum") >= Some(2.0),
        "{text}"
    );
    assert!(measured.server.shutdown());
}

#[test]
fn the_table_of_the_documents_has_each_metric() {
    let text = document("metrics.md");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let first = rows.filter_map(|line| line.split('|').nth(1));
    let listed: BTreeSet<&str> = first.flat_map(names_in).collect();
    let all: BTreeSet<&str> = known::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(listed, all);
    for metric in known::ALL {
        let cell = format!("`{}`", metric.name);
        let row = text
            .lines()
            .find(|line| line.starts_with("| `") && line.contains(&cell));
        let labels = row
            .and_then(|row| row.split('|').nth(2))
            .expect("a row with labels");
        let labels: Vec<&str> = labels.split('`').skip(1).step_by(2).collect();
        assert_eq!(labels, metric.labels, "{}", metric.name);
    }
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_exist() {
    let text = document("grafana.json");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array())
        .flatten();
    let mut asked = BTreeSet::new();
    for expression in targets.filter_map(|target| target["expr"].as_str()) {
        let names = names_in(expression);
        assert!(!names.is_empty(), "{expression}");
        for name in names {
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            let known = known::ALL.iter().find(|metric| match metric.kind {
                MetricKind::Histogram => base == Some(metric.name),
                _ => name == metric.name,
            });
            let known = known.unwrap_or_else(|| panic!("{name} does not exist: {expression}"));
            asked.insert(known.name);
            let by = expression
                .split("by (")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            for label in by.flat_map(|list| list.split(", ")) {
                let is_there = metric_has(known.labels, label) || label == "le" && base.is_some();
                assert!(is_there, "{name} has no label {label}: {expression}");
            }
        }
    }
    // The version is among its variables.
    let left_out: Vec<&str> = known::ALL
        .iter()
        .map(|metric| metric.name)
        .filter(|name| !asked.contains(name))
        .collect();
    assert_eq!(
        left_out,
        [
            "sampan_build_info",
            "process_max_fds",
            "process_start_time_seconds"
        ]
    );
    assert!(text.contains("label_values(sampan_build_info, job)"));
    let mut ids: Vec<u64> = panels
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), panels.len());
}

/// Reports whether series have a label: of the metric, or as Prometheus adds them.
fn metric_has(labels: &[&str], label: &str) -> bool {
    labels.contains(&label) || ["instance", "job"].contains(&label)
}
