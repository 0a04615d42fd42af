//! The answer of a database that somebody else writes to.

use crate::faults::locker::Locker;
use crate::faults::{Project, ask};

#[test]
fn the_answer_of_a_busy_database_has_the_fields_of_middleware() {
    for (app, cors) in [
        ("app.lua", "app.use('*', app.cors{ origins = '*' })\n"),
        ("app.js", "app.use('*', app.cors({ origins: '*' }));\n"),
    ] {
        let project = Project::new("cors", "full", "busy_millis_max = 100");
        let source = std::fs::read_to_string(project.file(app)).expect("the app");
        std::fs::write(project.file(app), source + cors).expect("written");
        let server = project.start(app);
        let mut client = server.client();
        // From now on the route is known to write.
        let answer = ask(&mut client, "POST", "/write/1/1").expect("an answer");
        assert_eq!(answer.status, 200, "{app}: {}", answer.text());
        let _locker = Locker::start(&project, 2_000);
        let request = "POST /write/1/2 HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\nSec-Fetch-Site: \
         none\r\nContent-Length: 0\r\n\r\n";
        client.send(request.as_bytes()).expect("sent");
        let answer = client.read(false).expect("an answer");
        assert_eq!(answer.status, 503, "{app}: {}", answer.text());
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, ["*"], "{app}");
    }
}
