//! Blocks that programs other than Sampan read, checked by them. Where such a program is not installed, the test says
//! so.

use std::path::Path;
use std::process::{Command, Stdio};

type Check = Result<(), String>;

/// Checks a block. `theirs`: code of another framework, whose syntax alone is checked.
pub(crate) fn check(language: &str, code: &str, theirs: bool) -> Check {
    match language {
        "sh" => with_file("block.sh", code, |path| run("sh", &["-n", path])),
        "nginx" => nginx(code),
        "caddyfile" => with_file("Caddyfile", code, |path| {
            let args = ["validate", "--adapter", "caddyfile", "--config", path];
            run("caddy", &args)
        }),
        "ini" => systemd(code),
        "dockerfile" => dockerfile(code),
        "toml" => configuration(code),
        "json" => serde_json::from_str::<serde_json::Value>(code)
            .map(|_| ())
            .map_err(|error| error.to_string()),
        "js" | "mjs" if theirs => {
            with_file("block.mjs", code, |path| run("node", &["--check", path]))
        }
        "python" if theirs => with_file("block.py", code, |path| {
            run("python3", &["-m", "py_compile", path])
        }),
        "ruby" if theirs => with_file("block.rb", code, |path| run("ruby", &["-c", path])),
        "lua" if theirs => with_file("block.lua", code, |path| run("luajit", &["-bl", path])),
        "go" => with_file("block.go", code, |path| run("gofmt", &["-l", "-e", path])),
        "c" => with_file("block.c", code, |path| {
            let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../faces/c/include");
            let args = [
                "-fsyntax-only",
                "-std=gnu11",
                "-Wall",
                "-Wextra",
                "-Werror",
                include,
                path,
            ];
            run("cc", &args)
        }),
        // The form alone; the documentation of the crate has the same examples as tests.
        "rust" => with_file("block.rs", code, |path| {
            run("rustfmt", &["--edition", "2024", "--check", path])
        }),
        // What a program prints; the text beside it is tried.
        "text" => Ok(()),
        "sql" => {
            Err("a block of SQL is a file: begin it with `-- migrations/0001_name.sql`".to_owned())
        }
        other => Err(format!(
            "nothing checks blocks of {other:?}; see testkit/tests/docs/tools.rs"
        )),
    }
}

fn with_file(name: &str, code: &str, check: impl FnOnce(&str) -> Check) -> Check {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = scratch.path().join(name);
    std::fs::write(&path, code).map_err(|error| error.to_string())?;
    check(&path.display().to_string())
}

/// Runs a program; what it prints is the fault where it fails.
fn run(program: &str, arguments: &[&str]) -> Check {
    match told(Command::new(program).args(arguments))? {
        Some((false, text)) => Err(format!("{program}: {text}")),
        _ => Ok(()),
    }
}

/// Reports whether a program succeeds, and all that it prints; nothing where it is not installed.
fn told(command: &mut Command) -> Result<Option<(bool, String)>, String> {
    let program = command.get_program().display().to_string();
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let bytes = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Some((output.status.success(), text)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!(
                "SKIPPED: {program} is not installed, so what it reads in docs/ is not checked"
            );
            Ok(None)
        }
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// A `server` of nginx, as it stands in a file of `conf.d`.
fn nginx(code: &str) -> Check {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let place = scratch.path().display().to_string();
    if code.contains("ssl_certificate") {
        certificate(scratch.path())?;
    }
    let code = code.replace("/etc/ssl/shop", &place);
    let whole = format!(
        "error_log stderr;\npid {place}/nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{code}\n}}\n"
    );
    let path = scratch.path().join("nginx.conf");
    std::fs::write(&path, whole).map_err(|error| error.to_string())?;
    // Debian keeps it where only root looks.
    let program = if Path::new("/usr/sbin/nginx").exists() {
        "/usr/sbin/nginx"
    } else {
        "nginx"
    };
    run(
        program,
        &["-t", "-q", "-p", &place, "-c", &path.display().to_string()],
    )
}

/// A certificate that nobody trusts: nginx wants to read one.
fn certificate(folder: &Path) -> Check {
    let (key, pem) = (folder.join("key.pem"), folder.join("cert.pem"));
    let (key, pem) = (key.display().to_string(), pem.display().to_string());
    let kind = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
    ];
    let names = ["-subj", "/CN=shop.example", "-keyout", &key, "-out", &pem];
    run("openssl", &[&kind[..], &names[..]].concat())
}

/// A unit whose name stands in its first line. It names programs that are not here.
fn systemd(code: &str) -> Check {
    let name = code.lines().next().and_then(|line| line.rsplit('/').next());
    let name = name
        .filter(|name| name.contains('.'))
        .ok_or("a block of ini is a unit: begin it with `# /etc/systemd/system/name.service`")?;
    let here = |line: &str| match line.split_once('=') {
        Some((key @ ("ExecStart" | "ExecStartPre" | "ExecReload"), command)) => {
            let arguments = command.split_once(' ').map_or("", |(_, rest)| rest);
            format!("{key}=/bin/true {arguments}\n")
        }
        _ => format!("{line}\n"),
    };
    let code: String = code.lines().map(here).collect();
    with_file(name, &code, |path| {
        if let Some(unit) = path.strip_suffix(".socket") {
            // A socket starts the service of its name, which another block of the chapter has.
            let service = "[Service]\nExecStart=/bin/true\n";
            let written = std::fs::write(format!("{unit}.service"), service);
            written.map_err(|error| error.to_string())?;
        }
        run("systemd-analyze", &["verify", path])
    })
}

/// A section of `sampan.toml`: keys that do not exist and values that are not taken are errors.
fn configuration(code: &str) -> Check {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let app = scratch.path().join("app.lua");
    std::fs::write(&app, "").map_err(|error| error.to_string())?;
    sampan_runtime::AppConfig::from_text(&app, code).map(|_| ())
}

/// Rules that keep a Dockerfile from being a bad example.
fn dockerfile(code: &str) -> Check {
    const KNOWN: [&str; 13] = [
        "FROM",
        "COPY",
        "ADD",
        "RUN",
        "WORKDIR",
        "USER",
        "EXPOSE",
        "ENV",
        "VOLUME",
        "ENTRYPOINT",
        "CMD",
        "ARG",
        "HEALTHCHECK",
    ];
    let lines = code.replace("\\\n", " ");
    let lines = lines
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let lines: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    let mut faults = Vec::new();
    if lines.first().map(|(word, _)| *word) != Some("FROM") {
        faults.push("it does not begin with FROM".to_owned());
    }
    for (word, rest) in &lines {
        if !KNOWN.contains(word) {
            faults.push(format!("{word} is no instruction"));
        }
        let has_tag = *rest == "scratch" || rest.contains(':') && !rest.contains(":latest");
        if *word == "FROM" && !has_tag {
            faults.push(format!("FROM {rest} names no version"));
        }
        if matches!(*word, "ENTRYPOINT" | "CMD")
            && serde_json::from_str::<Vec<String>>(rest).is_err()
        {
            faults.push(format!(
                "{word} {rest} is no list of words, so a shell would eat SIGTERM"
            ));
        }
    }
    let user = lines.iter().rfind(|(word, _)| *word == "USER");
    if !user.is_some_and(|(_, name)| *name != "root" && !name.starts_with('0')) {
        faults.push("it runs as root: USER is missing".to_owned());
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("; "))
    }
}
