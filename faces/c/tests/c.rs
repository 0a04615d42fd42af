//! Programs in C against the library: the examples, and those of `tests/c`. They are compiled by `cc`, with all
//! warnings as errors, and run alone and under valgrind. Where one of these programs is missing, its tests are skipped
//! with a note.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The libraries that a program must link beside the library.
const LIBRARIES: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder in which cargo puts the static library for these tests.
fn library() -> PathBuf {
    let myself = std::env::current_exe().expect("this program");
    let folder = myself.parent().expect("its folder");
    let library = folder.join("libsampan_c.a");
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

/// Reports whether a program is installed. Told once if it is not.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED: {program} is not installed, so the C library is not tried with it");
    }
    found
}

/// Returns the folder for compiled programs: the same in each run, since together they have a gigabyte, and a static that
/// holds a folder for one run would leave it behind.
fn scratch() -> &'static Path {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).expect("a folder");
    folder
}

/// Compiles a program of this crate. `None` where there is no compiler.
fn compiled(source: &str) -> Option<PathBuf> {
    if !has("cc") {
        return None;
    }
    static COMPILED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let program = scratch().join(source.replace(['/', '.'], "_"));
    // Two tests may want the same one at the same time.
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.contains(&program) {
        return Some(program);
    }
    let output = Command::new("cc")
        .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(crate_folder().join("include"))
        .arg("-o")
        .arg(&program)
        .arg(crate_folder().join(source))
        .arg(library())
        .args(LIBRARIES)
        .output()
        .expect("cc runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{source} does not compile:\n{text}"
    );
    compiled.push(program.clone());
    Some(program)
}

/// Runs a program to its end, which must be a good one.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {:?}\n{text}{told}",
        output.status
    );
    text
}

/// Runs a program under valgrind, where there is one: no invalid memory, nothing lost.
fn run_checked(program: &Path, arguments: &[&str]) {
    if !has("valgrind") {
        return;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args([
            "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite",
        ])
        .arg("--fair-sched=yes")
        .arg(program)
        .args(arguments);
    run(&mut valgrind);
}

#[test]
fn servers_do_what_the_header_says() {
    let Some(program) = compiled("tests/c/server.c") else {
        return;
    };
    assert_eq!(run(Command::new(&program).arg("10")), "ok\n");
    run_checked(&program, &["3"]);
}

#[test]
fn nothing_is_left_after_a_thousand_starts_and_ten_thousand_clients_that_leave() {
    let Some(program) = compiled("tests/c/server.c") else {
        return;
    };
    assert_eq!(run(Command::new(&program).arg("1000")), "ok\n");
}

#[test]
fn batches_do_what_the_header_says() {
    let Some(program) = compiled("tests/c/batches.c") else {
        return;
    };
    assert_eq!(run(Command::new(&program).arg("200")), "ok\n");
    run_checked(&program, &["3"]);
}

#[test]
fn streams_do_what_the_header_says() {
    let Some(program) = compiled("tests/c/streams.c") else {
        return;
    };
    assert_eq!(run(&mut Command::new(&program)), "ok\n");
    run_checked(&program, &[]);
}

#[test]
fn scripts_do_what_the_header_says() {
    let Some(program) = compiled("tests/c/scripts.c") else {
        return;
    };
    assert_eq!(run(&mut Command::new(&program)), "ok\n");
    run_checked(&program, &[]);
}

/// An example that serves: it prints its address, and ends with its standard input.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let mut address = String::new();
        let output = child.stdout.take().expect("an output");
        BufReader::new(output)
            .read_line(&mut address)
            .expect("an address");
        Self {
            child,
            address: address.trim().to_owned(),
        }
    }

    fn ask(&self, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let len = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status:?}");
    }
}

#[test]
fn the_example_of_routes_serves_beside_a_project() {
    let Some(program) = compiled("examples/routes.c") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let lua = "local app = require 'sampan'\napp.get('/script', function() return 'from Lua' end)";
    std::fs::write(folder.path().join("app.lua"), lua).expect("written");
    let serving = Serving::start(&program, &[folder.path().to_str().expect("a path")]);
    assert!(serving.ask("GET /hello/Ada", "").ends_with("Hello, Ada"));
    assert!(serving.ask("POST /shout", "quiet").ends_with("QUIET"));
    assert!(serving.ask("GET /script", "").ends_with("from Lua"));
    serving.end();
}

#[test]
fn the_example_of_batches_answers() {
    let Some(program) = compiled("examples/batches.c") else {
        return;
    };
    let serving = Serving::start(&program, &["3"]);
    for body in ["", "one", "a longer body"] {
        let answer = serving.ask("POST /any/where", body);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(&format!("\r\n\r\n{body}")));
    }
    serving.end();
}

#[test]
fn the_example_of_scripts_calls_and_asks() {
    let Some(program) = compiled("examples/scripts.c") else {
        return;
    };
    let lua = "local app = require 'sampan'\nfunction add(a, b) return a + b end\n\
               app.get('/hi/:name', function(req) return 'Hi ' .. req.params.name end)";
    let js = "import { app } from 'sampan';\nexport const add = (a, b) => a + b;\n\
              app.get('/hi/:name', (req) => `Hi ${req.params.name}`);";
    for (name, text) in [("app.lua", lua), ("app.js", js)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("written");
        let text = run(Command::new(&program).arg(&file));
        assert_eq!(text, "add: 42\nGET /hi/Ada: 200 Hi Ada\n", "{name}");
    }
}
