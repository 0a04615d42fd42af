//! The `fetch` of a default export: the beginning of the path stands for the route, which only the script knows.

use super::serve;
use sampan_client::wait;

const APP: &str = r#"
import { app } from "sampan";
const lane = () => (app.worker.index > app.worker.count ? "slow" : "quick");
app.get("/declared", lane);
export default {
  fetch(request) {
    const url = new URL(request.url);
    let sum = 0;
    for (let at = 0; at < Number(url.searchParams.get("times") ?? 0); at++) sum += at % 7;
    return new Response(lane());
  },
};
"#;

#[test]
fn the_beginnings_of_paths_have_lanes_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve(folder.path(), "app.js", APP);
    assert_eq!(served.ask("/api/report/1"), "quick");
    wait::until("the paths are known to be slow", || {
        served.ask("/api/report/1?times=2000000") == "slow"
    });
    for (path, lane) in [
        ("/api/report/2", "slow"),
        ("/api/report", "slow"),
        ("/api/users/1", "quick"),
        ("/api", "quick"),
        ("/", "quick"),
        ("/declared", "quick"),
    ] {
        assert_eq!(served.ask(path), lane, "{path}");
    }
    assert!(served.running.shutdown());
    let kept = std::fs::read_to_string(folder.path().join("data.db-routes"));
    let kept = kept.expect("a file");
    assert!(kept.contains(" 1 fetch /api/report\n"), "{kept}");
    let served = serve(folder.path(), "app.js", APP);
    assert_eq!(served.ask("/api/report/3"), "slow");
    assert_eq!(served.ask("/api/users/3"), "quick");
    assert!(served.running.shutdown());
}

#[test]
fn paths_that_clients_make_up_take_no_quick_ones_to_the_slow_lane() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = serve(folder.path(), "app.js", APP);
    for at in 0..400 {
        assert_eq!(served.ask(&format!("/made/{at}")), "quick");
        assert_eq!(served.ask(&format!("/up{at}")), "quick");
    }
    for _ in 0..5 {
        assert_eq!(served.ask("/another/1?times=2000000"), "quick");
    }
    assert_eq!(served.ask("/yet/another"), "quick");
    wait::until("a path that was seen before is known to be slow", || {
        served.ask("/made/1?times=2000000") == "slow"
    });
    assert_eq!(served.ask("/made/2"), "quick");
    assert!(served.running.shutdown());
}
