//! The time of a restore, against that of reading the files of the copy. Neither finds them in memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::lag::RATE;
use super::{BackupBench, url};
use crate::load;
use crate::measure::figures::Figure;
use crate::peers::install::run;
use crate::peers::placement::Placement;
use crate::peers::storage::Durability;
use crate::peers::{LUA_COPIED, Peer};
use crate::report::stats::Spread;
use crate::routes::rows;

const RATIO_MAX: f64 = 3.0;
/// A part of the database that is made at once, in MB: the log has to hold it.
const PART: u32 = 100;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

impl BackupBench<'_> {
    /// The ratio of the two times, and both.
    pub(super) fn restore(&self) -> Result<Figure, String> {
        let (size, commits) = (self.options.size, self.options.commits);
        let peer = Peer::named(LUA_COPIED).ok_or("no such peer")?;
        let app = peer.example(&self.setup.root).display().to_string();
        let storage = self.storage(Durability::Normal)?;
        let database = storage.file();
        let ours = |arguments: &[&str]| run(self.program().args(arguments));
        self.fill(&app, &database)?;
        let placement = Placement::here(1);
        let copied = self.start_copied(peer, &placement, storage)?;
        println!("  {size} MB are copied");
        let (written, _) = self.write_at_rate(&copied, &placement, commits.div_ceil(RATE))?;
        let storage = copied.end()?;
        let files = files_below(&storage.copies()).map_err(|error| error.to_string())?;
        let to = storage.file().with_file_name("restored.db");
        let (url, to_text) = (url(&storage), to.display().to_string());
        let (mut reads, mut restores) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..self.options.shared.rounds {
            forget(&files)?;
            let begun = Instant::now();
            bytes = read_all(&files).map_err(|error| error.to_string())?;
            reads.push(begun.elapsed());
            forget(&files)?;
            let begun = Instant::now();
            ours(&["db", "restore", &url, &app, "--to", &to_text, "--force"])?;
            restores.push(begun.elapsed());
        }
        let count = ours(&[
            "db",
            &app,
            "--db",
            &to_text,
            "--json",
            "SELECT count(*) AS count FROM events",
        ])?;
        let least = rows::SEEDED + written.requests;
        // One more may have been in flight at the end of the load.
        let is_whole = (least..=least + 1).any(|rows| count.contains(&format!("\"count\":{rows}")));
        if !is_whole {
            return Err(format!("{least} rows were written, and it has {count}"));
        }
        let ratios = restores.iter().zip(&reads);
        let ratios = ratios.map(|(one, other)| one.as_secs_f64() / other.as_secs_f64());
        let ratio = Spread::of(ratios).ok_or("nothing was measured")?;
        let show = |times: &[Duration]| {
            let seconds = Spread::of(times.iter().map(Duration::as_secs_f64));
            seconds.map_or_else(String::new, |seconds| seconds.show(2))
        };
        Ok(Figure {
            what: format!(
                "restore of {size} MB with {} commits behind the whole copy, against reading its {} MB",
                written.requests,
                bytes / 1_000_000
            ),
            value: format!(
                "{} ({} s against {} s)",
                ratio.show(2),
                show(&restores),
                show(&reads)
            ),
            wanted: format!("at most {RATIO_MAX}"),
            reached: Some(ratio.median <= RATIO_MAX),
        })
    }

    fn program(&self) -> Command {
        Command::new(load::program(&self.setup.root))
    }

    /// Makes a database of the size, of bytes that cannot be compressed.
    fn fill(&self, app: &str, database: &Path) -> Result<(), String> {
        let database = database.display().to_string();
        let ask = |sql: &str| {
            run(self
                .program()
                .args(["db", app, "--db", &database, "--write", sql]))
        };
        ask("CREATE TABLE filler (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")?;
        let mut left = self.options.size;
        while left > 0 {
            let part = left.min(PART);
            ask(&format!(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {part})
                 INSERT INTO filler (body) SELECT randomblob(1000000) FROM n"
            ))?;
            left -= part;
        }
        Ok(())
    }
}

/// All files of a folder and of those in it.
fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files.extend(files_below(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    Ok(files)
}

/// Makes the system forget what files have: the next reader reads the disk.
fn forget(files: &[PathBuf]) -> Result<(), String> {
    run(&mut Command::new("sync"))?;
    for file in files {
        let file = format!("if={}", file.display());
        run(Command::new("dd").args([&file, "iflag=nocache", "count=0", "status=none"]))?;
    }
    Ok(())
}

/// Reads files one after the other. Returns the number of bytes.
fn read_all(files: &[PathBuf]) -> std::io::Result<u64> {
    let (mut bytes, mut buffer) = (0, vec![0; READ_BYTES]);
    for file in files {
        let mut file = File::open(file)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => bytes += count as u64,
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_read_to_their_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("log")).expect("made");
        fs::write(folder.path().join("log/1"), vec![7; READ_BYTES + 1]).expect("written");
        fs::write(folder.path().join("owner"), "abc").expect("written");
        let files = files_below(folder.path()).expect("listed");
        assert_eq!(files.len(), 2);
        forget(&files).expect("dd");
        assert_eq!(read_all(&files).expect("read"), READ_BYTES as u64 + 4);
    }
}
