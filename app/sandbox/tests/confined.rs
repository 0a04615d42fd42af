//! Native code in a confined process tries what an attacker would try who has taken over a script engine.
//!
//! Each test starts this program again as a child, which confines itself and prints what it could do.

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, getppid, test_kill_process};
use sampan_sandbox::{Access, Connections, Grants, Kernel, confine};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode};

/// The variable that makes this program the child: the version of Landlock, `seccomp` or `-`, the folder, and the
/// ports that may and may not be reached.
const CHILD: &str = "CONFINED_CHILD";

fn main() -> ExitCode {
    if let Ok(told) = std::env::var(CHILD) {
        be_the_child(&told);
        return ExitCode::SUCCESS;
    }
    let mut trials: Vec<Trial> = Vec::new();
    let mut add = |name: String, test: fn(u32) -> Result<(), Failed>, version: u32| {
        trials.push(Trial::test(name, move || test(version)));
    };
    for version in 0..=Kernel::newest().landlock {
        add(
            format!("landlock_{version}_confines_what_it_can"),
            confines,
            version,
        );
    }
    add(
        "without_seccomp_files_are_confined".into(),
        without_seccomp,
        7,
    );
    add("links_lead_to_granted_files_only".into(), links, 7);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Prints a line for each thing that is tried: its name, and `done` or `refused`.
fn be_the_child(told: &str) {
    let words: Vec<&str> = told.split(' ').collect();
    let [version, seccomp, folder, reached, other] = words[..] else {
        panic!("{told:?}");
    };
    let folder = Path::new(folder);
    let kernel = Kernel {
        landlock: version.parse().expect("a version"),
        seccomp: seccomp == "seccomp",
    };
    let mut grants = Grants {
        connections: Connections::Ports(vec![reached.parse().expect("a port")]),
        ..Grants::default()
    };
    grants.path(folder.join("project"), Access::Read, "the project");
    grants.path(folder.join("data"), Access::Write, "the database");
    grants.path(folder.join("temp"), Access::Temporary, "temporary files");
    grants.path("/proc", Access::Read, "the process itself");
    grants.path(folder.join("absent"), Access::Write, "nothing");
    let confined = confine(&grants, &kernel);
    println!("confined {} {}", confined.landlock, confined.refuses_calls);
    println!("missing {:?}", confined.missing());
    // A thread that starts later is as confined as this one.
    let tried = std::thread::scope(|scope| scope.spawn(|| try_all(folder, reached, other)).join());
    for (name, outcome) in tried.expect("the thread ends") {
        let word = match outcome {
            Ok(()) => "done".to_owned(),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => "refused".to_owned(),
            Err(error) => format!("failed: {error}"),
        };
        println!("{name} {word}");
    }
}

fn try_all(folder: &Path, reached: &str, other: &str) -> Vec<(&'static str, io::Result<()>)> {
    let (project, data, temp) = (
        folder.join("project"),
        folder.join("data"),
        folder.join("temp"),
    );
    let port = |port: &str| port.parse::<u16>().expect("a port");
    let parent = getppid().map_or(0, Pid::as_raw_pid);
    let read = |path: &Path| fs::read(path).map(drop);
    let start = |program: &Path| {
        let output = Command::new(program).arg("-c").arg(":").output();
        output.map(drop)
    };
    let program = data.join("program");
    vec![
        ("read-project", read(&project.join("app.lua"))),
        ("list-project", fs::read_dir(&project).map(drop)),
        (
            "write-project",
            fs::write(project.join("app.lua"), "taken over"),
        ),
        (
            "make-in-project",
            fs::write(project.join("new.lua"), "taken over"),
        ),
        ("remove-project", fs::remove_file(project.join("other.lua"))),
        ("read-inner-link", read(&project.join("inner.lua"))),
        ("read-outer-link", read(&project.join("outer.lua"))),
        ("read-passwd", read(Path::new("/etc/passwd"))),
        (
            "read-passwd-by-proc",
            read(Path::new("/proc/self/root/etc/passwd")),
        ),
        (
            "read-parents-memory",
            read(Path::new(&format!("/proc/{parent}/mem"))),
        ),
        ("list-root", fs::read_dir("/").map(drop)),
        ("read-secret", read(&folder.join("secret"))),
        ("write-data", fs::write(data.join("data.db"), "rows")),
        ("make-data-folder", fs::create_dir(data.join("inner"))),
        (
            "move-data",
            fs::rename(data.join("data.db"), data.join("inner/data.db")),
        ),
        ("remove-data", fs::remove_file(data.join("removed.db"))),
        (
            "link-from-data",
            std::os::unix::fs::symlink("/etc/passwd", data.join("link")),
        ),
        ("write-temp", fs::write(temp.join("part"), "rows")),
        ("list-temp", fs::read_dir(&temp).map(drop)),
        ("start-shell", start(Path::new("/bin/sh"))),
        (
            "start-program",
            fs::copy("/proc/self/exe", &program).and_then(|_| start(&program)),
        ),
        ("listen", TcpListener::bind("127.0.0.1:0").map(drop)),
        (
            "connect",
            TcpStream::connect(("127.0.0.1", port(reached))).map(drop),
        ),
        (
            "connect-elsewhere",
            TcpStream::connect(("127.0.0.1", port(other))).map(drop),
        ),
        (
            "signal-parent",
            getppid().map_or(Ok(()), |parent| Ok(test_kill_process(parent)?)),
        ),
    ]
}

/// A folder with a project, data and a secret, and what a child could do there.
struct Attempt {
    version: u32,
    refuses_calls: bool,
    missing: String,
    tried: BTreeMap<String, String>,
}

impl Attempt {
    /// Has a child try everything, under at most this version of Landlock.
    fn new(version: u32, seccomp: bool) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let folder = folder.path().canonicalize()?;
        for name in ["project", "data", "temp"] {
            fs::create_dir(folder.join(name))?;
        }
        for file in [
            "project/app.lua",
            "project/other.lua",
            "data/removed.db",
            "secret",
        ] {
            fs::write(folder.join(file), "text")?;
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.join(name));
        link("app.lua", "project/inner.lua")?;
        link("../secret", "project/outer.lua")?;
        let (reached, other) = (
            TcpListener::bind("127.0.0.1:0")?,
            TcpListener::bind("127.0.0.1:0")?,
        );
        let ports = (reached.local_addr()?.port(), other.local_addr()?.port());
        let seccomp = if seccomp { "seccomp" } else { "-" };
        let shown = folder.display();
        let told = format!("{version} {seccomp} {shown} {} {}", ports.0, ports.1);
        let output = Command::new(std::env::current_exe()?)
            .env(CHILD, told)
            .output()?;
        fs::remove_dir_all(&folder)?;
        let lines = String::from_utf8(output.stdout)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {lines}{said}", output.status).into());
        }
        let mut tried = BTreeMap::new();
        for line in lines.lines() {
            let (name, outcome) = line.split_once(' ').ok_or("no outcome")?;
            tried.insert(name.to_owned(), outcome.to_owned());
        }
        let confined = tried.remove("confined").ok_or("no version")?;
        let (version, refuses_calls) = confined.split_once(' ').ok_or("no version")?;
        Ok(Self {
            version: version.parse()?,
            refuses_calls: refuses_calls.parse()?,
            missing: tried.remove("missing").ok_or("no fault")?,
            tried,
        })
    }

    fn expect(&self, outcome: &str, names: &[&str]) -> Result<(), Failed> {
        let differs = |name: &&&str| self.tried.get(**name).map(String::as_str) != Some(outcome);
        match names.iter().find(differs) {
            None => Ok(()),
            Some(name) => {
                let tried = &self.tried;
                Err(format!(
                    "{name} should be {outcome}: {tried:#?}, missing: {}",
                    self.missing
                )
                .into())
            }
        }
    }
}

/// Says what this machine cannot show. Returns true if it can show nothing of a version of Landlock.
fn skips(version: u32, attempt: &Attempt) -> bool {
    if attempt.version < version {
        println!(
            "SKIPPED: the kernel has Landlock {} and not {version}",
            attempt.version
        );
    }
    if !attempt.refuses_calls {
        println!("SKIPPED: the kernel takes no filter of system calls");
    }
    attempt.version < version
}

fn confines(version: u32) -> Result<(), Failed> {
    let attempt = Attempt::new(version, true)?;
    if skips(version, &attempt) {
        return Ok(());
    }
    attempt.expect(
        "done",
        &[
            "read-project",
            "list-project",
            "read-inner-link",
            "write-data",
            "make-data-folder",
            "remove-data",
        ],
    )?;
    attempt.expect("done", &["write-temp", "connect"])?;
    if attempt.refuses_calls {
        attempt.expect("refused", &["start-shell", "start-program"])?;
    }
    let (files, passwd) = (
        &["write-project", "make-in-project", "remove-project"],
        "read-passwd",
    );
    if version == 0 {
        attempt.expect(
            "done",
            &[passwd, "listen", "connect-elsewhere", "signal-parent"],
        )?;
        return match attempt.missing.contains("no Landlock") {
            true => Ok(()),
            false => Err(attempt.missing.clone().into()),
        };
    }
    attempt.expect("refused", files)?;
    attempt.expect(
        "refused",
        &[passwd, "read-passwd-by-proc", "read-secret", "list-root"],
    )?;
    attempt.expect(
        "refused",
        &["read-parents-memory", "list-temp", "link-from-data"],
    )?;
    let by_version = |since: u32| if version >= since { "refused" } else { "done" };
    if version >= 2 {
        attempt.expect("done", &["move-data"])?;
    }
    attempt.expect(by_version(4), &["listen", "connect-elsewhere"])?;
    attempt.expect(by_version(6), &["signal-parent"])?;
    let is_whole = version >= 6 && attempt.refuses_calls;
    match (attempt.missing == "None") == is_whole {
        true => Ok(()),
        false => Err(attempt.missing.clone().into()),
    }
}

fn without_seccomp(version: u32) -> Result<(), Failed> {
    let attempt = Attempt::new(version, false)?;
    if !attempt.missing.contains("no seccomp") {
        return Err(attempt.missing.clone().into());
    }
    if attempt.version == 0 {
        println!("SKIPPED: the kernel has no Landlock");
        return Ok(());
    }
    // Programs cannot be read, so they cannot be started either.
    attempt.expect("refused", &["read-passwd", "start-shell", "start-program"])?;
    attempt.expect("done", &["read-project", "write-data"])
}

fn links(version: u32) -> Result<(), Failed> {
    let attempt = Attempt::new(version, true)?;
    if skips(1, &attempt) {
        return Ok(());
    }
    attempt.expect("done", &["read-inner-link"])?;
    attempt.expect("refused", &["read-outer-link"])
}
