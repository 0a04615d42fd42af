//! The cases about the database and what lies in it once more on PostgreSQL.

use libtest_mimic::{Failed, Trial};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::Case;

/// The folders whose cases run.
const FOLDERS: [&str; 4] = ["db", "jobs", "mail", "session"];

/// Cases of other folders that run too.
const CASES: [&str; 3] = [
    "cache/shared",
    "middleware/rate_limit_shared",
    "socket/request",
];

/// A case that does not run on PostgreSQL as it is. Answers that differ stand in the case: `[request.expect.postgres]`.
struct DatabaseException {
    case: &'static str,
    /// The requests that are left out, by their names.
    requests: &'static [&'static str],
    why: &'static str,
}

const fn part(
    case: &'static str,
    requests: &'static [&'static str],
    why: &'static str,
) -> DatabaseException {
    DatabaseException {
        case,
        requests,
        why,
    }
}

const EXCEPTIONS: &[DatabaseException] = &[
    part(
        "db/errors",
        &["GET /case/vacuum"],
        "scripts may run VACUUM there, which takes as long as it takes",
    ),
    part(
        "db/fts_query",
        &["letters beyond ASCII"],
        "small letters of them depend on the locale of the server",
    ),
    part(
        "db/transaction_others",
        &["GET /names"],
        "a stream that fails gives up the statement that it does not await",
    ),
    part(
        "session/others",
        &[
            "the session of a stream stays after it has got a new id",
            "the others have ended",
        ],
        "in JavaScript a stream begins before its session is written there",
    ),
    part(
        "session/end_all",
        &["GET /plan"],
        "a plan in SQLite's words",
    ),
    part(
        "session/failing",
        &["GET /undone"],
        "a statement that rolls back its transaction",
    ),
    part("session/in_cookie", &["GET /tables"], "SQLite's catalogue"),
    part(
        "session/login",
        &["GET /tables", "GET /forge"],
        "SQLite's catalogue, and writes to the server's own tables, which it refuses",
    ),
    part(
        "session/waiting",
        &["GET /read", "GET /set/8"],
        "waiting for SQLite's write connection",
    ),
    part(
        "jobs/limits",
        &[
            "POST /add/write",
            "a job does not keep the write connection",
        ],
        "a write keeps others waiting only in db.transaction",
    ),
    part(
        "jobs/names",
        &["what was refused has made no table"],
        "tables that are made at start",
    ),
];

/// A test for each case and language.
pub(super) fn trials(cases: &[Case]) -> Vec<Trial> {
    for one in EXCEPTIONS {
        let name = one.case;
        assert!(!one.requests.is_empty(), "no requests of {name}");
        assert!(cases.iter().any(|case| case.name == name), "no case {name}");
        println!("left out: {name} on PostgreSQL: {}", one.why);
    }
    let is_chosen = |case: &&Case| {
        let folder = case.name.split('/').next().unwrap_or_default();
        FOLDERS.contains(&folder) || CASES.contains(&&*case.name)
    };
    let mut trials = Vec::new();
    for case in cases.iter().filter(is_chosen) {
        let exception = EXCEPTIONS.iter().find(|one| one.case == case.name);
        let skipped = exception.map_or(&[][..], |one| one.requests);
        for engine in case.engines().iter().copied() {
            let (name, case) = (format!("{}::{engine} postgres", case.name), case.clone());
            trials.push(Trial::test(name, move || {
                let Some(server) = PostgresServer::shared() else {
                    return Ok(());
                };
                let url = server.url(&server.database());
                case.run_on_postgres(engine, &url, skipped)
                    .map_err(Failed::from)
            }));
        }
    }
    trials
}
