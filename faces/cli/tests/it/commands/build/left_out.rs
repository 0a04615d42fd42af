//! The files of a project that stay out of a built file.

use super::{build, project, write};
use crate::commands::command::{fails, sampan};
use crate::support::Scratch;

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
