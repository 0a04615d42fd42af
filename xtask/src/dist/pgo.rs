//! Profile-guided optimisation: the executable is built once to count what runs, put under load, and built again with
//! the counts.
//!
//! See <https://doc.rust-lang.org/rustc/profile-guided-optimization.html>.

use crate::error::Error;
use crate::project;
use crate::project::{PROFILE, RunningServer};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The time that each route is under load.
const LOAD_TIME: &str = "2s";
const JSON: &str = r#"{"id":123,"name":"Ada Lovelace","tags":["math","engine"],"active":true}"#;
/// The header fields that a browser sends beside the rest.
const BROWSER: [&str; 3] = [
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept-Language: en-US,en;q=0.9",
    "Accept-Encoding: gzip, deflate, br, zstd",
];

/// The projects below `examples/`, each in both languages, and the routes that are asked for. One that begins with
/// `POST ` gets JSON.
const LOADS: [(&str, &[&str]); 6] = [
    (
        "hello/app.",
        &["/health", "/greet/Ada", "POST /echo", "/version", "/visits"],
    ),
    (
        "bench_db/app.",
        &["POST /write", "POST /write-batch", "/read", "/mixed"],
    ),
    (
        "petclinic/",
        &["/", "/owners?lastName=", "/vets.html", "/owners/1"],
    ),
    (
        "bench_bodies/app.",
        &["/headers", "POST /length", "/text/10k", "/text/100k"],
    ),
    ("bench_fetch/app.", &["/passed", "/read"]),
    ("bench_jobs/app.", &["POST /insert-enqueue"]),
];

/// The executable, optimised for what the examples do.
///
/// # Errors
/// It does not build, an example does not answer, or there is no `llvm-profdata` that reads what this compiler writes.
pub(super) fn build(root: &Path, triple: &str) -> Result<PathBuf, Error> {
    let merger = merger()?;
    let folder = root.join("target/pgo");
    let raw = folder.join("raw");
    // Counts of another build would be refused, or worse.
    if raw.exists() {
        fs::remove_dir_all(&raw)?;
    }
    fs::create_dir_all(&raw)?;
    let flag = |name: &str, path: &Path| {
        let mut flag = OsString::from(format!("-C{name}="));
        flag.push(path);
        flag
    };
    let counting = compile(root, triple, &flag("profile-generate", &raw))?;
    for (project, routes) in LOADS {
        for language in ["lua", "js"] {
            let path = root.join("examples").join(format!("{project}{language}"));
            println!("load: {}", path.display());
            load(&counting, &path, routes, &folder)?;
        }
    }
    let merged = folder.join("merged.profdata");
    let counts = fs::read_dir(&raw)?.map(|entry| entry.map(|entry| entry.path()));
    let counts: Vec<PathBuf> = counts.collect::<Result<_, _>>()?;
    for file in &counts {
        // The rest would say that the hottest code runs never.
        if fs::metadata(file)?.len() == 0 {
            return Err(format!("a server has written no counts: {}", file.display()).into());
        }
    }
    let mut merge = Command::new(&merger);
    merge.arg("merge").arg("-o").arg(&merged).args(counts);
    if !merge.status()?.success() {
        return Err(format!("{} cannot read the counts", merger.display()).into());
    }
    compile(root, triple, &flag("profile-use", &merged))
}

/// Builds with a flag of its own. The target is named so that build scripts and macros do without the flag.
fn compile(root: &Path, triple: &str, flag: &OsString) -> Result<PathBuf, Error> {
    let folder = root.join("target/pgo");
    let mut cargo = project::cargo(root);
    cargo.env("RUSTFLAGS", flag);
    let built = project::build_cli(&mut cargo, &folder, PROFILE, Some(triple));
    built.map_err(|error| format!("{error} with {}", flag.display()).into())
}

/// Serves an example and asks for its routes, first as a program would, then as a browser.
fn load(counting: &Path, project: &Path, routes: &[&str], folder: &Path) -> Result<(), Error> {
    let scratch = folder.join("scratch");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch)?;
    let server = RunningServer::start(counting, project, |command, address| {
        command.arg("--db").arg(scratch.join("data.db"));
        // A confined process may not write its counts.
        command.args(["--set", "sandbox.enabled=false"]);
        command.stdout(Stdio::null());
        command.env("LLVM_PROFILE_FILE", folder.join("raw/%p.profraw"));
        // The server that examples/bench_fetch asks.
        command.env("ORIGIN", format!("http://{address}"));
    })?;
    let address = server.address();
    for route in routes {
        let (is_post, path) = match route.strip_prefix("POST ") {
            Some(path) => (true, path),
            None => (false, *route),
        };
        for headers in [&[][..], &BROWSER] {
            let mut command = Command::new(counting);
            command.args(["bench", &format!("http://{address}{path}")]);
            command.args(["--duration", LOAD_TIME, "--connections", "32"]);
            if is_post {
                let json = "Content-Type: application/json";
                command.args(["--body", JSON, "--header", json]);
            }
            for header in headers {
                command.args(["--header", header]);
            }
            // What the client does is not what is to be made fast.
            command.env("LLVM_PROFILE_FILE", scratch.join("client.profraw"));
            let output = command.output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{} {route}: {said}", project.display()).into());
            }
        }
    }
    // That is when it writes its counts.
    server.end()
}

/// The `llvm-profdata` of this compiler's LLVM: of its component `llvm-tools`, or of the system.
pub(super) fn merger() -> Result<PathBuf, Error> {
    let version = super::printed_by_rustc(&["-vV"])?;
    let major = llvm_major(&version).ok_or("rustc does not tell its version of LLVM")?;
    let sysroot = super::printed_by_rustc(&["--print", "target-libdir"])?;
    let component = Path::new(sysroot.trim()).with_file_name("bin/llvm-profdata");
    let of_system = PathBuf::from(format!("llvm-profdata-{major}"));
    for merger in [component, of_system] {
        let mut asked = Command::new(&merger);
        asked.arg("--version").stdout(Stdio::null());
        if asked.status().is_ok_and(|status| status.success()) {
            return Ok(merger);
        }
    }
    Err(format!(
        "there is no llvm-profdata: `rustup component add llvm-tools`, install the package llvm-{major}, or leave the \
         optimisation out \
         with --no-pgo"
    )
    .into())
}

/// The first number of LLVM's version.
fn llvm_major(text: &str) -> Option<&str> {
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))?;
    version.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_llvm_is_read() {
        let text = "rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        assert_eq!(llvm_major(text), Some("22"));
        assert_eq!(llvm_major("rustc"), None);
    }

    #[test]
    fn the_projects_of_the_load_are_there() {
        for (project, _) in LOADS {
            for language in ["lua", "js"] {
                let path = project::root()
                    .join("examples")
                    .join(format!("{project}{language}"));
                assert!(path.exists(), "{}", path.display());
            }
        }
    }
}
