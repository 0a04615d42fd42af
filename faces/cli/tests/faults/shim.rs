//! The disk that fails: `shim/powerloss.c`, compiled once for each test program, and the ways to use it.

use super::{Project, Random};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const CONTROL_BYTES: usize = 4_096;

/// The size that a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The fault of the disk, as the shim reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DiskFault {
    None = 0,
    /// ENOSPC on every write.
    Full = b'n',
    /// EIO on every write.
    Write = b'e',
    /// EIO on every sync; what was to be synced may be lost.
    Sync = b's',
    /// EROFS where a file is opened to be written.
    ReadOnly = b'r',
}

/// The compiled library.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build(Path::new("shim/powerloss.c"), &["-shared", "-fPIC"], "so"))
}

/// Compiles a C file of these tests, into the folder that cargo has for what tests make.
pub(crate) fn build(source: &Path, flags: &[&str], ending: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let built = folder.join(format!("{name}.{ending}"));
    // Another run may have the old one in use: it is replaced, not written over.
    let fresh = folder.join(format!("{name}-{}.{ending}", std::process::id()));
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .arg(&fresh)
        .arg(source)
        .args(["-ldl", "-lpthread"])
        .output()
        .expect("a C compiler, as the engines need one too");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&fresh, &built).expect("it is put in place");
    built
}

/// The disk of one project.
pub(crate) struct Disk {
    control: PathBuf,
    durable: Option<PathBuf>,
    data: PathBuf,
}

impl Disk {
    /// A disk that fails when told to.
    pub(crate) fn failing(project: &Project) -> Self {
        Self::new(project, None)
    }

    /// A disk that fails when told to, and loses with the power what was not synced.
    pub(crate) fn losing(project: &Project) -> Self {
        let durable = project.file("durable");
        fs::create_dir_all(&durable).expect("a folder");
        Self::new(project, Some(durable))
    }

    fn new(project: &Project, durable: Option<PathBuf>) -> Self {
        let control = project.file("control");
        fs::write(&control, [0; CONTROL_BYTES]).expect("a file");
        Self {
            control,
            durable,
            data: project.data(),
        }
    }

    /// Makes a command use this disk. All that is in its files now counts as synced.
    pub(crate) fn under(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", library())
            .env("SAMPAN_SHIM_CONTROL", &self.control)
            // What the library writes lies outside of what the server may reach.
            .env("SAMPAN_SANDBOX_ENABLED", "false");
        if let Some(durable) = &self.durable {
            command.env("SAMPAN_SHIM_DURABLE", durable);
            for file in ["test.db", "test.db-wal"] {
                replace(&self.data.join(file), &durable.join(file));
            }
        }
    }

    /// From now on the disk fails in this way.
    pub(crate) fn fail(&self, fault: DiskFault) {
        self.set(0, fault as u8);
    }

    /// From now on syncs take as long as those of a slow disk.
    pub(crate) fn slow_down(&self, is_slow: bool) {
        self.set(1, is_slow.into());
    }

    /// From now on each sync takes four tenths of a second.
    pub(crate) fn crawl(&self) {
        self.set(1, 2);
    }

    /// From now on no sync ends, until [`Self::slow_down`] is called.
    pub(crate) fn hold_syncs(&self) {
        self.set(1, 3);
    }

    fn set(&self, place: u64, byte: u8) {
        let control = OpenOptions::new().write(true).open(&self.control);
        let control = control.expect("it is there");
        control.write_all_at(&[byte], place).expect("it is written");
    }

    /// Writes and syncs seen, and faults given, since the disk was made.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let mut bytes = [0; 32];
        let mut control = File::open(&self.control).expect("it is there");
        control.read_exact(&mut bytes).expect("it is long enough");
        let count = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        (count(8), count(16), count(24))
    }

    /// The power fails after the server was killed: the files become what was synced. With `some` a random part of what
    /// was not synced is there too, sector by sector, as disks write in any order.
    pub(crate) fn lose_power(&self, some: Option<&mut Random>) {
        let durable = self.durable.as_ref().expect("a disk that loses");
        let mut some = some;
        for file in ["test.db", "test.db-wal"] {
            let (live, synced) = (self.data.join(file), durable.join(file));
            if let Some(random) = some.as_deref_mut() {
                mix(&live, &synced, random);
            }
            replace(&synced, &live);
        }
        let _ = fs::remove_file(self.data.join("test.db-shm"));
    }
}

/// The file `to` becomes a copy of `from`, or is removed where there is none.
fn replace(from: &Path, to: &Path) {
    let _ = fs::remove_file(to);
    if from.exists() {
        fs::copy(from, to).expect("it is copied");
    }
}

/// Takes over about half of the sectors in which `live` differs from `synced`, into `synced`. Of two lengths either.
fn mix(live: &Path, synced: &Path, random: &mut Random) {
    let Ok(live) = fs::read(live) else { return };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(synced)
        .expect("it opens");
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).expect("it is read");
    if live.len() > bytes.len() && random.one_in(2) {
        bytes.resize(live.len(), 0);
    } else if live.len() < bytes.len() && random.one_in(2) {
        bytes.truncate(live.len());
    }
    let sectors = bytes
        .chunks_mut(SECTOR_BYTES)
        .zip(live.chunks(SECTOR_BYTES));
    for (sector, newer) in sectors.filter(|(sector, newer)| sector != newer) {
        if random.one_in(2) {
            let length = sector.len().min(newer.len());
            sector[..length].copy_from_slice(&newer[..length]);
        }
    }
    file.seek(SeekFrom::Start(0)).expect("it is a file");
    file.write_all(&bytes).expect("it is written");
    file.set_len(bytes.len() as u64).expect("it is cut");
}
