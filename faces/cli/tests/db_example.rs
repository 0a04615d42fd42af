//! examples/bench_db answers as `cargo xtask bench db` expects, in both languages.

mod faults;

use faults::{APPS, Project, ask};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

#[test]
fn the_example_that_is_measured() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bench_db");
    for app in APPS {
        let project = Project::new(&format!("example-{app}"), "full", "");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command
            .arg("run")
            .arg(example.join(app))
            .args(["--listen", "127.0.0.1:0", "--workers", "1", "--db"])
            .arg(project.data().join("test.db"));
        let server = project.serve(&mut command, "server.log");
        let mut client = server.client();
        let mut answer = |method: &str, path: &str| -> Value {
            let answer = ask(&mut client, method, path).expect("an answer");
            assert_eq!(answer.status, 200, "{app} {path}: {}", answer.text());
            serde_json::from_slice(&answer.body).expect("JSON")
        };
        let rows = answer("GET", "/read");
        assert_eq!(rows.as_array().map(Vec::len), Some(20), "{app}: {rows}");
        assert_eq!(rows[0]["id"], 1_000, "{app}: the newest of the seeded rows");
        assert_eq!(answer("POST", "/write"), json!({ "id": 1_001 }));
        assert_eq!(answer("POST", "/write-batch"), json!({ "inserted": 10 }));
        let rows = answer("GET", "/mixed");
        assert_eq!(rows.as_array().map(Vec::len), Some(20), "{app}: {rows}");
        assert_eq!(rows[0]["id"], 1_012, "{app}: it sees its own write");
        assert_eq!(answer("GET", "/count"), json!({ "count": 1_012 }));
    }
}
