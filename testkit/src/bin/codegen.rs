//! Writes the files that are made of the tables of functions. Run by `cargo xtask codegen`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in sampan_testkit::codegen::files() {
        if let Err(error) = std::fs::write(root.join(&path), text) {
            eprintln!("error: cannot write {path}: {error}");
            return ExitCode::FAILURE;
        }
        println!("{path}");
    }
    ExitCode::SUCCESS
}
