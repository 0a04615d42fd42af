//! Servers that are killed at any moment: all that was answered and copied is restored, and no commit by half.

use super::BackupScene;
use super::bucket::Bucket;
use super::s3::scene;

/// The number of kills, unless `SAMPAN_TEST_BACKUP_KILLS` says another.
const KILLS: u64 = 30;
/// The number of kills of a server that copies to a bucket, unless the same variable says another.
const BUCKET_KILLS: u64 = 8;

fn kills(usual: u64) -> u64 {
    let kills = std::env::var("SAMPAN_TEST_BACKUP_KILLS").ok();
    kills.map_or(usual, |kills| kills.parse().expect("a number"))
}

/// Kills a server so many times. `has_copy` tells whether a copy has been begun.
fn survives(kills: u64, scene: &mut BackupScene, has_copy: impl Fn(&BackupScene) -> bool) {
    let mut seed = 11_u64;
    let mut before = 0;
    for _ in 0..kills {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let process = scene.start();
        // Requests take about as long as the pause between two looks at the log.
        for _ in 0..(seed >> 33) % 23 {
            scene.add(&process);
        }
        process.signal("KILL");
        process.end();
        if !has_copy(scene) {
            continue;
        }
        let (time, restored) = scene.restore(&[]);
        let copied = scene
            .answered
            .iter()
            .filter(|answered| **answered < time)
            .count() as u64;
        assert!(
            restored >= copied,
            "{restored} of {copied} that were copied"
        );
        assert!(restored >= before, "{restored} after {before}");
        assert!(restored <= scene.next, "{restored} of {}", scene.next);
        before = restored;
    }
    // The end in good order copies the rest.
    let process = scene.start();
    scene.add(&process);
    process.signal("TERM");
    process.end();
    assert_eq!(scene.restore(&[]).1, scene.next);
}

#[test]
fn kills_at_any_moment_lose_nothing_that_was_copied() {
    let mut scene = BackupScene::new("");
    survives(kills(KILLS), &mut scene, |scene| {
        let objects = super::objects(&scene.copy);
        objects.iter().any(|path| path.ends_with("end"))
    });
}

#[test]
fn kills_at_any_moment_lose_nothing_that_is_in_a_bucket() {
    let bucket = Bucket::start();
    let mut scene = scene(&bucket);
    survives(kills(BUCKET_KILLS), &mut scene, |_| {
        bucket.names().iter().any(|name| name.ends_with("/end"))
    });
}
