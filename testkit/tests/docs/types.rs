//! The examples in JavaScript and TypeScript, as an editor checks them: `tsc --strict` with `types/sampan.d.ts`.

use crate::examples::{self, TypedExample};
use libtest_mimic::{Failed, Trial};
use sampan_testkit::docs::Chapter;
use sampan_testkit::npm;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The compiler, and packages that examples import.
const PACKAGES: [&str; 2] = ["typescript@5.9.3", "hono@4.12.9"];

/// The options for JavaScript: strict, but for what it gives no types: parameters of an example's own functions, and
/// what `catch` catches.
const OPTIONS: &str = r#"{
  "compilerOptions": {
    "strict": true, "noImplicitAny": false, "useUnknownInCatchVariables": false, "noEmit": true, "skipLibCheck": true, "allowJs": true, "checkJs": true, "types": [],
    "target": "es2023", "lib": ["es2023"], "module": "esnext", "moduleResolution": "bundler",
    "resolveJsonModule": true, "jsx": "react-jsx", "jsxImportSource": "hono/jsx"
  },
  "include": ["sampan.d.ts", "examples"]
}"#;

/// The options for TypeScript: all that `--strict` wants.
const STRICT_OPTIONS: &str = r#"{
  "extends": "./tsconfig.json",
  "compilerOptions": { "noImplicitAny": true, "useUnknownInCatchVariables": true, "checkJs": false }
}"#;

pub(crate) fn trial(chapters: &[Chapter]) -> Trial {
    let written = chapters
        .iter()
        .filter(|chapter| !crate::is_generated(chapter));
    let examples: Vec<TypedExample> = written
        .flat_map(|chapter| examples::typed(chapter, chapters))
        .collect();
    Trial::test("examples::types", move || check(&examples))
}

fn check(examples: &[TypedExample]) -> Result<(), Failed> {
    let Some(folder) = npm::packages("docs-types", &PACKAGES, "node_modules/typescript/bin/tsc")
    else {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: npm is not available, so there is no TypeScript to check the examples with"
        );
        return Ok(());
    };
    let _ = fs::remove_dir_all(folder.join("examples"));
    for example in examples {
        for (name, code) in &example.files {
            let path = folder.join("examples").join(&example.place).join(name);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(path, code)?;
        }
    }
    let types = Path::new(env!("CARGO_MANIFEST_DIR")).join("../types/sampan.d.ts");
    fs::copy(types, folder.join("sampan.d.ts"))?;
    for (name, options) in [
        ("tsconfig.json", OPTIONS),
        ("tsconfig.strict.json", STRICT_OPTIONS),
    ] {
        fs::write(folder.join(name), options)?;
        let output = Command::new("node")
            .args(["node_modules/typescript/bin/tsc", "--project", name])
            .current_dir(&folder)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            return Err(Failed::from(format!("{name}:\n{said}")));
        }
    }
    Ok(())
}
