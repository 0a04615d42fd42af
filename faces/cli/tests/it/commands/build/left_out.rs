//! The files of a project that stay out of a built file.

use super::{alone, ask, build, project, text, write};
use crate::commands::command::{fails, sampan};
use crate::support::Scratch;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

#[test]
fn a_path_stays_out_however_it_is_written() {
    let scratch = project();
    let shop = scratch.path().join("shop");
    let (shown, built) = (scratch.file("shop"), scratch.path().join("one"));
    let absolute = scratch.file("shop/data/list.txt");
    let more = [
        "./notes/",
        "public//app.css",
        "public/docs/../docs",
        &absolute,
    ];
    let more = more.map(|path| ["--exclude", path]).concat();
    let said = build(&shop, &built, &more);
    for left_out in ["notes/", "public/app.css", "public/docs/", "data/list.txt"] {
        assert!(said.contains(&format!("left out: {left_out}\n")), "{said}");
    }
    let outside = scratch.file("one");
    for (path, fault) in [
        ("", "it must be a file or folder in the project's folder"),
        ("./", "it must be a file or folder in the project's folder"),
        ("..", "it is outside of the project's folder"),
        (&outside, "it is outside of the project's folder"),
    ] {
        let out = built.display().to_string();
        fails(
            &["build", &shown, "-o", &out, "--exclude", path],
            1,
            &[fault],
        );
    }
}

#[test]
fn a_module_that_is_needed_is_packed_in_spite_of_exclude() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("shop");
    write(
        &root,
        "app.js",
        "import './lib/m.js';\nimport './one.js';\n",
    );
    write(&root, "lib/m.js", "globalThis.m = 1;\n");
    write(&root, "lib/unused.js", "globalThis.n = 1;\n");
    write(&root, "one.js", "globalThis.o = 1;\n");
    let more = ["--exclude", "lib", "--exclude", "one.js"];
    let said = build(&root, &scratch.path().join("one"), &more);
    for path in ["lib/m.js", "one.js"] {
        let warning = format!("warning: {path} is packed in spite of --exclude");
        assert!(said.contains(&warning), "{said}");
    }
    assert!(
        said.contains("left out: lib/\n") && !said.contains("left out: one.js"),
        "{said}"
    );
}

#[test]
fn private_keys_reports_and_uploads_stay_out() {
    let scratch = project();
    let root = scratch.path().join("shop");
    let toml = "[tls]\ncert = \"certs/a.pem\"\nkey = [\"certs/a.key\"]\n\
                [files]\nstorage = \"${STORE:-uploads}\"\n[db]\npath = \"${WHERE}/data.db\"\n";
    for (path, content) in [
        ("sampan.toml", toml),
        ("certs/a.pem", "a certificate"),
        ("certs/a.key", "a key"),
        ("crashes/1.txt", "a report"),
        ("uploads/a.txt", "of a user"),
        ("kept/b.txt", "of a user"),
    ] {
        write(&root, path, content);
    }
    let (shown, out) = (scratch.file("shop"), scratch.file("one"));
    let mut command = sampan(&["build", &shown, "-o", &out]);
    let output = command.env("SAMPAN_FILES_STORAGE", "kept").output();
    let said = String::from_utf8(output.expect("it ran").stdout).expect("UTF-8");
    for left_out in ["certs/a.key", "crashes/", "uploads/", "kept/"] {
        assert!(said.contains(&format!("left out: {left_out}\n")), "{said}");
    }
    assert!(
        said.contains("warning: sampan.toml: [db] path has variables without a value here"),
        "{said}"
    );
    assert!(!said.contains("left out: certs/a.pem"), "{said}");
}

#[test]
fn modules_of_lua_that_are_needed_are_packed_too() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("shop");
    let app = "local app = require 'sampan'\nlocal m, helper = require 'm', require 'tests.helper'\n\
               app.get('/', function() return m .. helper end)\n";
    write(&root, "app.lua", app);
    write(&root, "lib/m.lua", "return 'm'");
    write(&root, "tests/helper.lua", "return ' helper'");
    let built = scratch.path().join("one");
    let said = build(&root, &built, &["--exclude", "lib", "--exclude", "app.lua"]);
    for path in ["lib/m.lua", "app.lua"] {
        let warning = format!("warning: {path} is packed in spite of --exclude");
        assert!(said.contains(&warning), "{said}");
    }
    let (server, _folder) = alone(&built);
    assert_eq!(text(&server, "/"), "m helper");
}

#[test]
fn a_dynamic_import_of_a_missing_file_is_a_warning() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("shop");
    let app = "const later = () =>\n  import('./later.js');\n";
    write(&root, "app.js", app);
    let said = build(&root, &scratch.path().join("one"), &[]);
    let warning = "warning: app.js:2: cannot import \"./later.js\"";
    assert!(said.contains(warning), "{said}");
}

#[test]
fn files_beside_databases_and_links_stay_out() {
    let scratch = project();
    let root = scratch.path().join("shop");
    let log = b"\x37\x7f\x06\x82 rows of users";
    let journal = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 rows of users";
    write(&root, "old.sqlite-wal", log);
    write(&root, "old.sqlite-shm", "an index");
    write(&root, "data.db.before-reset-1-wal", log);
    write(&root, "renamed.log", log);
    write(&root, "renamed.undo", journal);
    symlink("../data/list.txt", root.join("public/link.txt")).expect("a link");
    symlink("../../elsewhere", root.join("public/out.txt")).expect("a link");
    fs::write(scratch.path().join("elsewhere"), "").expect("written");
    let said = build(&root, &scratch.path().join("one"), &[]);
    for left_out in [
        "old.sqlite-wal (a database)",
        "old.sqlite-shm (a database)",
        "data.db.before-reset-1-wal (a database)",
        "renamed.log (a database)",
        "renamed.undo (a database)",
        "public/link.txt (a link out of public/)",
        "public/out.txt (a link out of the project)",
    ] {
        assert!(said.contains(&format!("left out: {left_out}\n")), "{said}");
    }
}

#[test]
fn forms_that_are_older_than_their_files_are_made_anew() {
    let scratch = project();
    let root = scratch.path().join("shop");
    let app = "local app = require 'sampan'\nlocal from = { from = 'project' }\n\
               app.get('/kept', function() return app.files.read('public_data/r.csv.gz', from) end)\n";
    write(&root, "app.lua", app);
    let old = SystemTime::now() - Duration::from_secs(100_000);
    for (path, content) in [
        ("public_data/r.csv", "new"),
        ("public_data/r.csv.gz", "the old one"),
        ("public/d.bin", "new"),
        ("public/d.bin.gz", "the old one"),
    ] {
        write(&root, path, content);
        if path.ends_with(".gz") {
            let file = fs::File::options().write(true).open(root.join(path));
            file.expect("open").set_modified(old).expect("set");
        }
    }
    let built = scratch.path().join("one");
    build(&root, &built, &[]);
    let (server, _folder) = alone(&built);
    assert_eq!(text(&server, "/kept"), "the old one");
    assert_eq!(ask(&server, "/d.bin.gz", "").status, 200);
    let encoded = ask(&server, "/d.bin", "Accept-Encoding: gzip\r\n").body;
    assert_ne!(encoded, b"the old one");
}
