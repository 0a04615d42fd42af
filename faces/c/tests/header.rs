//! `include/sampan.h` says what the library has. It is made by cbindgen; where that is not installed, only the
//! functions are compared.

use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_header_is_current() {
    let made = Command::new("cbindgen")
        .args(["--quiet", "--config", "cbindgen.toml", "."])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let Ok(made) = made else {
        println!("SKIPPED: cbindgen is not installed, so sampan.h is not made anew");
        return;
    };
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let is_current = String::from_utf8_lossy(&made.stdout) == read("include/sampan.h");
    assert!(
        is_current,
        "include/sampan.h is stale: run `cargo xtask codegen`"
    );
}

#[test]
fn the_header_has_every_function() {
    let header = read("include/sampan.h");
    let mut count = 0;
    for file in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a folder")
    {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        for part in text.split("extern \"C\" fn sampan_").skip(1) {
            let name = part.split('(').next().expect("a name");
            assert!(
                header.contains(&format!(" sampan_{name}("))
                    || header.contains(&format!("*sampan_{name}(")),
                "{name}"
            );
            count += 1;
        }
    }
    assert!(count >= 20, "{count} functions");
}
