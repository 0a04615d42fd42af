//! Files that have no name yet. The system removes them when nobody has them open any more, however the process ends.

use crate::storage::{Durability, sync_folder};
use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;

/// A file without a name in `folder`, to be written and read.
pub(crate) fn unnamed(folder: &Dir) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(folder, ".", flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => return Ok(File::from(file)),
        // Some file systems have no such thing.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let (name, file) = named(folder)?;
    folder.remove_file(name)?;
    Ok(file)
}

/// A new file with a name that nobody else has.
fn named(folder: &Dir) -> io::Result<(String, File)> {
    let name = new_name()?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let file = folder.open_with(&name, &options)?;
    Ok((name, file.into_std()))
}

fn new_name() -> io::Result<String> {
    let mut random = [0; 12];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(".sampan-{hex}"))
}

/// Gives the file of `temp`, which is one of [`unnamed`] there, the name `name` in `folder`. A file that had it is replaced: whoever looks sees the old
/// one or the new one, whole.
pub(crate) fn publish(
    file: &mut File,
    temp: &Dir,
    folder: &Dir,
    name: &str,
    durability: Durability,
) -> io::Result<()> {
    if durability == Durability::Full {
        file.sync_all()?;
    }
    let whole = new_name()?;
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let linked = linkat(
        CWD,
        own.as_str(),
        temp,
        whole.as_str(),
        AtFlags::SYMLINK_FOLLOW,
    );
    let moved = match linked {
        Ok(()) => {
            let moved = temp.rename(&whole, folder, name);
            // Also where it was moved over another name of itself, which changes nothing.
            let _ = temp.remove_file(&whole);
            moved
        }
        Err(error) => Err(error.into()),
    };
    // It is on another file system, or has lost its last name.
    if moved.is_err() {
        copy(file, folder, name, durability)?;
    }
    if durability == Durability::Full {
        sync_folder(folder)?;
    }
    Ok(())
}

fn copy(file: &mut File, folder: &Dir, name: &str, durability: Durability) -> io::Result<()> {
    let at = file.stream_position()?;
    file.rewind()?;
    let (other, mut copied) = named(folder)?;
    let done = io::copy(file, &mut copied)
        .and_then(|_| copied.flush())
        .and_then(|()| match durability {
            Durability::Full => copied.sync_all(),
            Durability::Normal => Ok(()),
        })
        .and_then(|()| folder.rename(&other, folder, name));
    if done.is_err() {
        let _ = folder.remove_file(&other);
    }
    file.seek(io::SeekFrom::Start(at))?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;

    #[test]
    fn a_file_has_no_name_until_it_is_whole() {
        let root = tempfile::tempdir().expect("a folder");
        let temp = Dir::open_ambient_dir(root.path(), ambient_authority()).expect("the folder");
        fs::write(root.path().join("a"), "old").expect("a file");
        let mut file = unnamed(&temp).expect("a file");
        file.write_all(b"new").expect("bytes");
        assert_eq!(fs::read_dir(root.path()).expect("a list").count(), 1);
        for durability in [Durability::Full, Durability::Normal] {
            publish(&mut file, &temp, &temp, "a", durability).expect("a name");
            assert_eq!(fs::read(root.path().join("a")).expect("the file"), b"new");
        }
        // Its last name goes: it is copied from then on.
        fs::remove_file(root.path().join("a")).expect("gone");
        publish(&mut file, &temp, &temp, "b", Durability::Full).expect("a copy");
        assert_eq!(fs::read(root.path().join("b")).expect("the file"), b"new");
        // What cannot be replaced leaves nothing behind.
        fs::create_dir(root.path().join("c")).expect("a folder");
        publish(&mut file, &temp, &temp, "c", Durability::Full).expect_err("a folder is there");
        let names = fs::read_dir(root.path()).expect("a list");
        let mut names: Vec<_> = names.map(|entry| entry.expect("one").file_name()).collect();
        names.sort();
        assert_eq!(names, ["b", "c"]);
    }
}
