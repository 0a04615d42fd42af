//! Servers that are killed at any moment: all that was answered and copied is restored, and no commit by half.

use super::BackupScene;

/// The number of kills, unless the environment says another.
const KILLS: u64 = 30;

#[test]
fn kills_at_any_moment_lose_nothing_that_was_copied() {
    let kills = std::env::var("SAMPAN_TEST_BACKUP_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().expect("a number"));
    let mut scene = BackupScene::new("");
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
        let has_copy = super::objects(&scene.copy)
            .iter()
            .any(|path| path.ends_with("end"));
        if !has_copy {
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
