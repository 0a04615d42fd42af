//! The build requirements of programs outside of this workspace need for their build.

use std::fs;
use std::path::Path;

#[test]
fn the_guide_has_the_flags_that_the_workspace_builds_sqlite_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let (config, guide) = (read(".cargo/config.toml"), read("docs/programs/rust.md"));
    let flags = config
        .lines()
        .find(|line| line.starts_with("LIBSQLITE3_FLAGS"));
    let flags = flags.expect("the flags of SQLite");
    assert!(guide.contains(&format!("[env]\n{flags}\n")), "{flags}");
    assert_eq!(
        config.matches(" = \"-").count(),
        1,
        "nothing else is needed"
    );
}

#[test]
fn names_in_double_quotes_are_never_texts() {
    let project = crate::support::project(&[(
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function() return app.db.query('SELECT \"no such\" AS x') end)\n",
    )]);
    let server = sampan::App::new().project(project.path()).log(|_, _| {});
    let server = server
        .listen("127.0.0.1:0")
        .workers(1)
        .start()
        .expect("started");
    assert_eq!(crate::support::get(server.address(), "/").status, 500);
    server.stop();
}
