//! Copies in a bucket: with a server that answers, fails, stalls and loses its answers.

use super::bucket::{Bucket, Trouble};
use super::{BackupScene, run};
use sampan_testkit::wait;

/// A project whose copy is in a bucket.
pub(super) fn scene(bucket: &Bucket) -> BackupScene {
    BackupScene::at(
        "s3://copies/shop/one",
        &format!(
            "endpoint = \"{}\"\nregion = \"eu-test-1\"\naccess_key = \"test-key\"\nsecret_key = \"secret\"\n",
            bucket.endpoint
        ),
    )
}

#[test]
fn a_bucket_keeps_a_copy_through_all_troubles() {
    let bucket = Bucket::start();
    let mut scene = scene(&bucket);
    let mut process = scene.start();
    let log = process.read_errors();
    for _ in 0..10 {
        scene.add(&process);
    }
    scene.all_copied();
    let names = bucket.names();
    assert!(
        names.iter().all(|name| name.starts_with("shop/one/")),
        "{names:?}"
    );
    assert!(names.contains(&"shop/one/owner".to_owned()), "{names:?}");
    bucket.set(Trouble::LosesAnswers);
    for _ in 0..10 {
        scene.add(&process);
    }
    wait::until("another object", || bucket.names().len() > names.len());
    bucket.set(Trouble::None);
    scene.all_copied();
    bucket.set(Trouble::Refuses);
    scene.add(&process);
    log.until("the server answers 503 SlowDown");
    bucket.set(Trouble::None);
    scene.all_copied();
    let generations = |names: &[String]| {
        let ends = names.iter().filter(|name| name.ends_with("/end"));
        ends.count()
    };
    assert_eq!(generations(&bucket.names()), 1, "{}", log.text());
    process.signal("KILL");
    process.end();
    // The process is known to have ended, so the next one does not wait for its lease.
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    process.signal("TERM");
    process.end();
    assert_eq!(generations(&bucket.names()), 1);
    let names = bucket.names();
    let last = names
        .iter()
        .rfind(|name| name.contains("/log/"))
        .expect("an object");
    bucket.damage(last);
    let to = scene.scratch.path().join("x.db").display().to_string();
    let folder = scene.scratch.path().display().to_string();
    let (code, _, errors) = run(&["db", "restore", "--to", &to, &folder]);
    assert_eq!(code, 3, "{errors}");
    assert!(errors.contains("its body is damaged"), "{errors}");
    assert_eq!(scene.requests_in(&to), scene.next - 1);
}

#[test]
fn a_bucket_that_stalls_holds_nothing_up() {
    let bucket = Bucket::start();
    let mut scene = scene(&bucket);
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    bucket.set(Trouble::Stalls);
    // More than a checkpoint of the database waits for.
    for _ in 0..60 {
        scene.add(&process);
    }
    bucket.set(Trouble::None);
    scene.all_copied();
    process.signal("TERM");
    process.end();
}

#[test]
fn one_server_writes_to_a_bucket() {
    let bucket = Bucket::start();
    let mut first = scene(&bucket);
    let process = first.start();
    first.add(&process);
    first.all_copied();
    let second = scene(&bucket);
    let other = second.start_until(&[], "so nothing is copied");
    first.add(&process);
    first.all_copied();
    // An orderly end gives the lease away.
    process.signal("TERM");
    process.end();
    wait::until("the second copy", || {
        bucket
            .names()
            .iter()
            .filter(|name| name.ends_with("/end"))
            .count()
            == 2
    });
    other.signal("TERM");
    other.end();
}

#[test]
fn wrong_keys_are_told() {
    let bucket = Bucket::start();
    let scene = scene(&bucket);
    let folder = scene.scratch.path().display().to_string();
    let toml = scene.scratch.path().join("sampan.toml");
    let text = std::fs::read_to_string(&toml).expect("read");
    std::fs::write(&toml, text.replace("test-key", "other-key")).expect("written");
    let (code, _, errors) = run(&["db", "restore", &folder]);
    assert_eq!(code, 1);
    assert!(
        errors.contains("403 SignatureDoesNotMatch no: check the keys"),
        "{errors}"
    );
}
