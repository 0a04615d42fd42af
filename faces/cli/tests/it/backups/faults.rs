//! Targets that are away, damaged, or wanted by two servers.

use super::{BackupScene, objects, run};
use sampan_testkit::wait;

#[test]
fn a_target_that_comes_back_catches_up() {
    let mut scene = BackupScene::new("");
    let mut process = scene.start();
    let log = process.read_errors();
    scene.add(&process);
    scene.all_copied();
    // As a disk that is unmounted: the folder and those above it are gone.
    let away = scene.scratch.path().join("away");
    std::fs::rename(&scene.copy, &away).expect("moved");
    std::fs::write(&scene.copy, "no folder").expect("written");
    for _ in 0..50 {
        scene.add(&process);
    }
    log.until("tried again");
    scene.add(&process);
    std::fs::remove_file(&scene.copy).expect("removed");
    std::fs::rename(&away, &scene.copy).expect("moved");
    log.until("works again");
    scene.all_copied();
    assert_eq!(scene.generations(), 1, "it goes on where it was");
    process.signal("TERM");
    process.end();
}

/// They close the database, and the last one to close it copies its log; a server is still there.
#[test]
fn commands_that_look_leave_the_log_to_the_server() {
    let mut scene = BackupScene::new("");
    let toml = scene.scratch.path().join("sampan.toml");
    let text = std::fs::read_to_string(&toml).expect("read");
    std::fs::write(&toml, text.replace("\"10 ms\"", "\"1 s\"")).expect("written");
    let process = scene.start();
    let folder = scene.scratch.path().display().to_string();
    for _ in 0..3 {
        scene.add(&process);
        let (status, out, errors) = run(&["jobs", &folder]);
        assert_eq!(status, 0, "{out}{errors}");
    }
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 1, "nothing was copied again");
    process.signal("TERM");
    process.end();
}

#[test]
fn commits_that_nothing_takes_are_bounded() {
    let mut scene = BackupScene::new("behind_bytes_max = \"1 MiB\"");
    let mut process = scene.start();
    let log = process.read_errors();
    scene.add(&process);
    scene.all_copied();
    let away = scene.scratch.path().join("away");
    std::fs::rename(&scene.copy, &away).expect("moved");
    std::fs::write(&scene.copy, "no folder").expect("written");
    log.until("tried again");
    // Each commit has some pages of random bytes.
    for _ in 0..600 {
        scene.add(&process);
    }
    let wal = std::fs::metadata(scene.scratch.path().join("data.db-wal"));
    let bytes = wal.expect("a log").len();
    assert!(
        bytes < 16 * 1024 * 1024,
        "the log of the database has {bytes} bytes"
    );
    std::fs::remove_file(&scene.copy).expect("removed");
    std::fs::rename(&away, &scene.copy).expect("moved");
    log.until("is copied again: the target did not take the commits");
    log.until("works again");
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 2, "the whole database again");
    process.signal("TERM");
    process.end();
}

#[test]
fn two_servers_do_not_write_to_one_target() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    let other = BackupScene::new("");
    let url = format!("backup.url={}", scene.url());
    let second = other.start_until(&["--set", &url], "so nothing is copied");
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 1);
    // The first ends, in whatever way: then the other may.
    process.signal("KILL");
    process.end();
    wait::until("a second generation", || scene.generations() == 2);
    second.signal("TERM");
    second.end();
}

#[test]
fn a_damaged_object_costs_what_is_behind_it_and_is_told() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    for _ in 0..6 {
        scene.add(&process);
        scene.all_copied();
    }
    process.signal("KILL");
    process.end();
    let all = objects(&scene.copy);
    let logs: Vec<_> = all
        .iter()
        .filter(|path| path.parent().is_some_and(|parent| parent.ends_with("log")))
        .collect();
    assert!(logs.len() >= 3, "{logs:?}");
    let damaged = logs[logs.len() - 2];
    let mut bytes = std::fs::read(damaged).expect("read");
    let at = bytes.len() - 20;
    bytes[at] ^= 0x40;
    std::fs::write(damaged, bytes).expect("written");
    let to = scene
        .scratch
        .path()
        .join("restored.db")
        .display()
        .to_string();
    let folder = scene.scratch.path().display().to_string();
    let (code, out, errors) = run(&[
        "db",
        "restore",
        "--to",
        &to,
        "--force",
        &scene.url(),
        &folder,
    ]);
    assert_eq!(code, 3, "{out}{errors}");
    let name = damaged
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        errors.contains(&format!("{name}: its body is damaged")),
        "{errors}"
    );
    assert_eq!(scene.requests_in(&to), scene.next - 2);
    // The whole copy is damaged, and there is no other.
    let part = all
        .iter()
        .find(|path| path.ends_with("000000"))
        .expect("a part");
    std::fs::write(part, "sampan").expect("written");
    let (code, _, errors) = run(&[
        "db",
        "restore",
        "--to",
        &to,
        "--force",
        &scene.url(),
        &folder,
    ]);
    assert_eq!(code, 1);
    assert!(errors.contains("no copy can be used"), "{errors}");
    assert_eq!(
        scene.requests_in(&to),
        scene.next - 2,
        "the file is as it was"
    );
}

#[test]
fn whole_copies_are_tried() {
    let scene = BackupScene::new("verify = true");
    let process = scene.start_until(&[], "was restored on trial, and is whole");
    let left = objects(scene.scratch.path()).into_iter();
    let left: Vec<_> = left
        .filter(|path| path.to_string_lossy().contains("data.db-v"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    process.signal("TERM");
    process.end();
}
