//! `sampan db copy`: the rows of the project's file of SQLite on a PostgreSQL server.

use crate::arguments::database::{DatabaseArgs, StorageArgs};
use crate::terminal::print::{counted, say};
use sampan_db::copy::{CopyJob, CopyProgress, CopyReport, check_url, copy};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// The arguments of `sampan db copy`.
#[derive(clap::Args)]
pub(super) struct CopyArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// The database on the server, as postgres://user@host/database [default: the url of [db]].
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The file of SQLite [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Delete the rows that the tables on the server have.
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: CopyArgs) -> Result<i32, String> {
    if let Some(url) = &args.to {
        check_url(url).map_err(|fault| format!("--to: {fault}"))?;
    }
    let storage = StorageArgs {
        path: args.path,
        database: args.database,
    };
    let storage = storage.resolve()?;
    let mut from = storage.db.clone();
    from.url = None;
    if let Some(path) = args.from {
        from.path = path;
    }
    let mut to = storage.db;
    to.url = args.to.or(to.url);
    let job = CopyJob {
        from: &from,
        to: &to,
        migrations: &storage.migrations,
        replaces: args.replace,
    };
    let mut lines = ProgressLines {
        is_watched: io::stderr().is_terminal(),
        shown: 0,
    };
    let copied = copy(job, &mut |progress| lines.tell(progress));
    lines.wipe();
    let report = copied.map_err(|error| format!("{}; nothing was copied", error.message()))?;
    for line in &report.left_out {
        say(format_args!("left out: {line}"))?;
    }
    if report.was_written {
        say(format_args!(
            "{} was written to meanwhile: these writes are not in the copy; stop the server, and copy again with \
             --replace",
            from.path.display()
        ))?;
    }
    say(format_args!("{}: {}", to.shown(), summary(&report)))?;
    Ok(0)
}

fn summary(report: &CopyReport) -> String {
    let schema = match (report.migrated, report.made) {
        (0, 0) => "which were there".to_owned(),
        (0, made) if made == report.tables => "made by what the file has".to_owned(),
        (0, made) => format!("{made} of them made by what the file has"),
        (count, _) => format!("made by {}", counted(count as u64, "migration")),
    };
    format!(
        "{} in {}, {schema}; counts and sums are the same",
        counted(report.rows, "row"),
        counted(report.tables as u64, "table")
    )
}

/// The progress on standard error: one line that changes on a terminal, else a line for each table.
struct ProgressLines {
    is_watched: bool,
    /// The length of the line that stands there.
    shown: usize,
}

impl ProgressLines {
    fn tell(&mut self, progress: CopyProgress<'_>) {
        let line = match progress {
            CopyProgress::Waits => {
                let line = "waiting until a migration or another copy on the server has ended";
                // Standard error may be gone.
                let _ = writeln!(io::stderr(), "{line}");
                return;
            }
            CopyProgress::Reads(table) => format!("reading {table}"),
            CopyProgress::Rows(table, rows) => format!("{table}: {}", counted(rows, "row")),
            CopyProgress::Copied(table, rows) => {
                self.wipe();
                // Standard error may be gone.
                let _ = writeln!(io::stderr(), "{table}: {}", counted(rows, "row"));
                return;
            }
            CopyProgress::Checks => "comparing, and making indexes".to_owned(),
        };
        if self.is_watched {
            self.wipe();
            self.shown = line.chars().count();
            let _ = write!(io::stderr(), "{line}");
        }
    }

    /// Takes away the line that changes.
    fn wipe(&mut self) {
        if self.shown > 0 {
            let _ = write!(io::stderr(), "\r{:1$}\r", "", self.shown);
            self.shown = 0;
        }
    }
}
