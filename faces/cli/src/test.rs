//! `sampan test`: runs the tests of a project and shows what became of them.

use crate::bench;
use crate::dev::watch;
use crate::dev::watch::changes::{Changes, Watched};
use crate::terminal::print::{counted, say};
use crate::terminal::signals;
use crate::terminal::{escaped, paint};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_testkit::project::{self, TestOptions, TestOutcome, TestSummary};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf, absolute};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The longest time that one test may take unless told otherwise.
const TEST_TIME_MAX: &str = "10s";

/// From this time on it is shown how long a test took.
const SLOW: Duration = Duration::from_millis(100);

/// Folders in which nothing matters to tests, beside hidden ones. The app and the tests write in the last two.
const NOT_TESTED: &[&str] = &["node_modules", "target", "snapshots", "storage"];

/// The arguments of `sampan test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// The project's folder, the file in it that is run, or one file of its tests.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// Run only the tests whose file and name contain this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write one JSON object per line: one for each test, and one at the end.
    #[arg(long)]
    json: bool,
    /// Write a report as JUnit XML, too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Let snapshots become what the tests give now.
    #[arg(long)]
    update: bool,
    /// Run them again whenever a file of the project changes.
    #[arg(long)]
    watch: bool,
    /// The PostgreSQL server whose databases the tests get [default: the url of [db], else files of SQLite].
    #[arg(long, value_name = "URL")]
    db: Option<PathBuf>,
    /// The longest time that one test may take.
    #[arg(long, value_name = "TIME", default_value = TEST_TIME_MAX, value_parser = bench::time)]
    timeout: Duration,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: TestArgs) -> Result<i32, String> {
    if let Some(db) = args.db.as_deref().filter(|db| !is_url(db)) {
        return Err(format!(
            "--db {}: name a PostgreSQL server, as postgres://user@host/database; without it each file of tests gets \
             a file of SQLite",
            db.display()
        ));
    }
    let (path, only) = project::locate(&args.path)?;
    let scratch = signals::scratch("sampan-test-")?;
    let options = TestOptions {
        path,
        only,
        config: args.config,
        db: args.db,
        filter: args.filter,
        update: args.update,
        test_time_max: args.timeout,
        scratch: scratch.path().to_owned(),
    };
    let style = Style {
        is_json: args.json,
        is_coloured: paint::is_coloured(io::stdout().is_terminal()),
    };
    let junit = args.junit.as_deref();
    if !args.watch {
        return once(&options, &style, junit);
    }
    let changes = changes_of(&options.path, options.config.as_deref())?;
    loop {
        if let Err(message) = once(&options, &style, junit) {
            // The next change may mend it.
            let _ = writeln!(io::stderr(), "sampan: {message}");
        }
        if !style.is_json {
            say("\nwaiting for changes; Ctrl-C ends")?;
        }
        changes
            .recv()
            .map_err(|_| "the files are not watched any more")?;
        // Files that changed while the tests ran are told one by one.
        while changes.try_recv().is_ok() {}
        if style.is_coloured {
            // An empty screen, so that nothing of the run before is taken for this one's.
            say("\u{1b}[2J\u{1b}[H")?;
        }
    }
}

/// Watches the project at `path`, which is its folder or a file in it. The files are looked at again and again, which
/// works on every file system.
fn changes_of(path: &Path, config: Option<&Path>) -> Result<Receiver<Changes>, String> {
    let folder = match path.is_dir() {
        true => path,
        false => path.parent().unwrap_or(path),
    };
    // A file that is named alone, such as `app.lua`, lies in the current folder.
    let root = absolute(folder).or_else(|_| std::env::current_dir());
    let root = root.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    let watched = Watched {
        storage: root.join("storage"),
        root,
        public: "public".to_owned(),
        ignored: NOT_TESTED,
        config: config.and_then(|config| absolute(config).ok()),
        is_polled: true,
    };
    watch::start(watched, &Logger::captured(Level::Warn))
}

fn is_url(db: &Path) -> bool {
    db.to_str().is_some_and(|text| text.contains("://"))
}

/// Runs the tests, and gives the exit status.
fn once(options: &TestOptions, style: &Style, junit: Option<&Path>) -> Result<i32, String> {
    let (mut outcomes, mut shown) = (Vec::new(), Ok(()));
    let mut tell = |outcome: &TestOutcome| {
        let one = style.show(outcome);
        shown = std::mem::replace(&mut shown, Ok(())).and(one);
        outcomes.push(outcome.clone());
    };
    let summary = project::run(options, &mut tell)?;
    shown?;
    style.end(&summary)?;
    if let Some(path) = junit {
        let report = project::junit(&outcomes, &summary);
        let written = std::fs::write(path, report);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    if summary.passed + summary.failed == 0 {
        let filter = options.filter.as_deref().unwrap_or_default();
        return Err(match summary.filtered {
            0 => "the files of tests declare no test: write t.test(name, fn)".to_owned(),
            _ => format!("no test is called {filter:?}"),
        });
    }
    Ok(i32::from(summary.failed > 0))
}

/// The way outcomes are shown.
struct Style {
    is_json: bool,
    is_coloured: bool,
}

impl Style {
    fn show(&self, outcome: &TestOutcome) -> Result<(), String> {
        if self.is_json {
            return say(project::json_line(outcome));
        }
        let name = match outcome.name.as_str() {
            "" => "(does not load)".to_owned(),
            name => escaped::line(name),
        };
        let (mark, colour) = match outcome.failure {
            None => ("ok  ", "32"),
            Some(_) => ("FAIL", "31"),
        };
        let file = escaped::line(&outcome.file);
        let mut line = format!("{} {file}: {name}", self.coloured(mark, colour));
        if outcome.elapsed >= SLOW {
            line += &format!(" ({} ms)", outcome.elapsed.as_millis());
        }
        say(line)?;
        for name in &outcome.snapshots {
            let name = if name.is_empty() { "" } else { ": " }.to_owned() + name;
            say(format_args!(
                "     snapshot written{}",
                escaped::line(&name)
            ))?;
        }
        let Some(failure) = &outcome.failure else {
            return Ok(());
        };
        for line in failure.text.lines() {
            let colour = match line.trim_start().chars().next() {
                Some('-') => "31",
                Some('+') => "32",
                _ => "0",
            };
            let line = escaped::lines(line);
            say(format_args!("     {}", self.coloured(&line, colour)))?;
        }
        if !failure.log.is_empty() {
            say("     the log meanwhile:")?;
        }
        for line in failure.log.lines() {
            let line = escaped::lines(line);
            say(format_args!("       {}", self.coloured(&line, "2")))?;
        }
        Ok(())
    }

    fn end(&self, summary: &TestSummary) -> Result<(), String> {
        if self.is_json {
            return say(project::json_summary(summary));
        }
        let mut line = format!("{} passed, {} failed", summary.passed, summary.failed);
        if summary.filtered > 0 {
            line += &format!(", {} filtered out", summary.filtered);
        }
        if summary.snapshots > 0 {
            let written = counted(summary.snapshots as u64, "snapshot");
            line += &format!(", {written} written");
        }
        for file in &summary.not_loaded {
            let file = escaped::line(file);
            say(format_args!(
                "\nleft out: {file} does not load; the filter names nothing in it"
            ))?;
        }
        let colour = if summary.failed > 0 { "31" } else { "32" };
        let seconds = summary.elapsed.as_secs_f64();
        say(format_args!(
            "\n{} in {seconds:.2} s",
            self.coloured(&line, colour)
        ))
    }

    fn coloured(&self, text: &str, colour: &str) -> String {
        match self.is_coloured && colour != "0" {
            true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}
