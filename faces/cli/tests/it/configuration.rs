//! `sampan config`, and the places from which values of the configuration come.

use super::command::{fails, run, sampan};
use crate::support::Scratch;

#[test]
fn config_shows_what_is_in_force_and_from_where() {
    let scratch = Scratch::new(&[
        ("app.lua", ""),
        ("sampan.toml", "[log]\nlevel = \"warn\"\n"),
    ]);
    let folder = scratch.path().display().to_string();
    let output = sampan(&["config", &folder, "--set", "limits.body_bytes_max=1MB"])
        .env("SAMPAN_SERVER_WORKERS", "3")
        .env("PORT", "5000")
        .output()
        .expect("the command starts");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let file = scratch.file("sampan.toml");
    for line in [
        "[server]\nlisten = \"0.0.0.0:5000\"  # PORT\nworkers = 3  # SAMPAN_SERVER_WORKERS\n# trusted_proxies = []\n",
        "\nbody_bytes_max = \"1MB\"  # --set\n",
        "\n# headers_max = 100\n",
        &format!("\nlevel = \"warn\"  # {file}:2\n"),
        "\n# default is not set\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // It can be read as it is.
    let copy = scratch.file("shown.toml");
    std::fs::write(&copy, &shown).expect("written");
    let (status, again, errors) = run(&["config", &folder, "--config", &copy]);
    assert_eq!(status, 0, "{errors}");
    assert!(
        again.contains(&format!("workers = 3  # {copy}:3")),
        "{again}"
    );
    fails(
        &["config", &folder, "--set", "limits.x=1"],
        1,
        &["--set: [limits] has no key \"x\""],
    );
}
