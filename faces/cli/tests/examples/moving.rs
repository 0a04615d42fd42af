//! The move of an example from its file of SQLite to a PostgreSQL server: `sampan db copy`, and on with the same pages.

use crate::support::{Process, Scratch};
use crate::visitor::{Visitor, compared};
use crate::{LANGUAGES, petclinic, root, sampan};
use sampan_client::postgres::PostgresServer;
use std::path::Path;
use std::process::Command;

/// Copies the file in `scratch` to a server.
pub(crate) fn copy(project: &Path, scratch: &Scratch, url: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sampan"))
        .args(["db", "copy"])
        .arg(project)
        .args(["--to", url, "--from"])
        .arg(scratch.path().join("data.db"))
        .output()
        .expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn petclinic_moves_with_its_rows() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let project = root().join("examples/petclinic").join(language);
        let url = server.url(&server.database());
        let pages = |server: &Process| {
            let mut visitor = Visitor::new(server.address);
            let paths = ["/owners/11", "/owners/6", "/owners?lastName=", "/vets"];
            paths.map(|path| compared(&visitor.get(path, "text/html")))
        };
        let owner = "firstName=Ada&lastName=Quill&address=x&city=y&telephone=6085550000";
        let on_file = petclinic(language, &scratch);
        let added = Visitor::new(on_file.address).post("/owners/new", owner);
        assert_eq!(added.header("location"), ["/owners/11"]);
        let before = pages(&on_file);
        drop(on_file);
        let told = copy(&project, &scratch, &url);
        assert!(
            told.contains("48 rows in 7 tables, made by 2 migrations"),
            "{told}"
        );
        let mut command = sampan(&project);
        command.args(["--db", &url]);
        let moved = Process::start(&mut command);
        for (before, after) in before.iter().zip(pages(&moved)) {
            assert_eq!(*before, after, "{language}");
        }
        let added = Visitor::new(moved.address).post("/owners/new", owner);
        assert_eq!(added.header("location"), ["/owners/12"]);
        // The file is as it was: the way back.
        drop(moved);
        assert_eq!(pages(&petclinic(language, &scratch)), before);
    }
}
