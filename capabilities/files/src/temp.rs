//! Files that have no name yet. The system removes them when their last descriptor is closed, however the process ends.

use crate::storage::{Durability, sync_folder};
use cap_std::fs::{Dir, MetadataExt, OpenOptions};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt as _;

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

/// A new file with a unique name.
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

/// Gives the first `length` bytes of a file the name `name` in `folder`. A file that had it is replaced: a reader sees
/// the old one or the new one, whole. The file is one of [`unnamed`]; `own` is the folder that has what is not
/// complete.
pub(crate) fn publish(
    file: &mut File,
    length: u64,
    own: &Dir,
    folder: &Dir,
    name: &str,
    durability: Durability,
) -> io::Result<()> {
    if durability == Durability::Full {
        file.sync_all()?;
    }
    // With two names a change under one of them would be one under the other.
    let has_name = file.metadata()?.nlink() > 0;
    if has_name || link(file, own, folder, name).is_err() {
        copy(file, length, own, folder, name, durability)?;
    }
    if durability == Durability::Full {
        sync_folder(folder)?;
    }
    Ok(())
}

/// Fails where the file is on another file system, or where that has no files without a name.
fn link(file: &File, own: &Dir, folder: &Dir, name: &str) -> io::Result<()> {
    let whole = new_name()?;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = AtFlags::SYMLINK_FOLLOW;
    linkat(CWD, opened.as_str(), own, whole.as_str(), flags)?;
    let moved = own.rename(&whole, folder, name);
    moved.inspect_err(|_| drop(own.remove_file(&whole)))
}

fn copy(
    file: &mut File,
    length: u64,
    own: &Dir,
    folder: &Dir,
    name: &str,
    durability: Durability,
) -> io::Result<()> {
    // A folder where another file system is mounted has its copies itself. Only there a process that is killed can
    // leave half a file.
    let is_near = own.dir_metadata()?.dev() == folder.dir_metadata()?.dev();
    let beside = if is_near { own } else { folder };
    let (other, mut copied) = named(beside)?;
    let mut copy = || {
        file.rewind()?;
        io::copy(&mut (&*file).take(length), &mut copied)?;
        if durability == Durability::Full {
            copied.sync_all()?;
        }
        beside.rename(&other, folder, name)
    };
    copy().inspect_err(|_| drop(beside.remove_file(&other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;
    use std::io::Write;

    struct Folder(tempfile::TempDir, Dir);

    impl Folder {
        fn new() -> Self {
            Self::of(tempfile::tempdir().expect("a folder"))
        }

        fn of(root: tempfile::TempDir) -> Self {
            let dir = Dir::open_ambient_dir(root.path(), ambient_authority());
            Self(root, dir.expect("the folder"))
        }

        fn read(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.path().join(name)).expect("the file")
        }

        fn names(&self) -> Vec<String> {
            let names = fs::read_dir(self.0.path()).expect("a list");
            let name = |entry: io::Result<fs::DirEntry>| entry.expect("one").file_name();
            let mut names: Vec<_> = names
                .map(|entry| name(entry).into_string().expect("UTF-8"))
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_file_has_no_name_until_it_is_whole() {
        let folder = Folder::new();
        let Folder(root, dir) = &folder;
        fs::write(root.path().join("a"), "old").expect("a file");
        let mut file = unnamed(dir).expect("a file");
        file.write_all(b"new").expect("bytes");
        assert_eq!(folder.names(), ["a"]);
        for durability in [Durability::Full, Durability::Normal] {
            publish(&mut file, 3, dir, dir, "a", durability).expect("a name");
            assert_eq!(folder.read("a"), b"new");
        }
        // Its last name goes: it is copied from then on.
        fs::remove_file(root.path().join("a")).expect("gone");
        publish(&mut file, 3, dir, dir, "b", Durability::Full).expect("a copy");
        assert_eq!(folder.read("b"), b"new");
        // What cannot be replaced leaves nothing behind.
        fs::create_dir(root.path().join("c")).expect("a folder");
        publish(&mut file, 3, dir, dir, "c", Durability::Full).expect_err("a folder is there");
        assert_eq!(folder.names(), ["b", "c"]);
    }

    #[test]
    fn two_names_are_two_files() {
        let folder = Folder::new();
        let Folder(root, dir) = &folder;
        let mut file = unnamed(dir).expect("a file");
        file.write_all(b"new").expect("bytes");
        publish(&mut file, 3, dir, dir, "a", Durability::Normal).expect("a name");
        let mut first = fs::File::options().append(true).open(root.path().join("a"));
        let first = first.as_mut().expect("the file");
        first.write_all(b" and more").expect("bytes");
        publish(&mut file, 3, dir, dir, "b", Durability::Normal).expect("a name");
        assert_eq!(
            (folder.read("a"), folder.read("b")),
            (b"new and more".to_vec(), b"new".to_vec())
        );
        first.write_all(b", and more").expect("bytes");
        assert_eq!(folder.read("b"), b"new");
    }

    #[test]
    fn what_is_copied_is_nowhere_to_be_seen_before_it_is_whole() {
        const LENGTH: u64 = 96 * 1024 * 1024;
        let (own, folder) = (Folder::new(), Folder::new());
        let mut file = unnamed(&own.1).expect("a file");
        file.set_len(LENGTH).expect("a long file");
        publish(
            &mut file,
            LENGTH,
            &own.1,
            &folder.1,
            "a",
            Durability::Normal,
        )
        .expect("a name");
        std::thread::scope(|scope| {
            let copy = scope.spawn(|| {
                let mut file = file;
                publish(
                    &mut file,
                    LENGTH,
                    &own.1,
                    &folder.1,
                    "b",
                    Durability::Normal,
                )
            });
            while !copy.is_finished() {
                let names = folder.names();
                assert!(names == ["a"] || names == ["a", "b"], "{names:?}");
            }
            copy.join().expect("no panic").expect("a copy");
        });
        assert_eq!((folder.names().len(), own.names().len()), (2, 0));
    }

    #[test]
    fn a_file_gets_a_name_on_another_file_system() {
        // Memory is a file system of its own where this is one.
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
            return;
        };
        let (far, near) = (Folder::of(memory), Folder::new());
        for (temp, own, folder) in [(&far, &near, &near), (&near, &near, &far)] {
            let mut file = unnamed(&temp.1).expect("a file");
            file.write_all(b"new").expect("bytes");
            publish(&mut file, 3, &own.1, &folder.1, "a", Durability::Full).expect("a name");
            assert_eq!(folder.read("a"), b"new");
        }
        assert_eq!(
            (near.names(), far.names()),
            (vec!["a".to_owned()], vec!["a".to_owned()])
        );
    }
}
