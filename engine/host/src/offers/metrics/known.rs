//! The server's own metrics. `docs/deploy/metrics.md` lists them.

use super::MetricKind::{Counter, Gauge, Histogram};
use super::{KnownMetric, MetricKind, TIME_BUCKETS};

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> KnownMetric {
    metric(name, Counter, labels, help, &[])
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> KnownMetric {
    metric(name, Gauge, labels, help, &[])
}

const fn times(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> KnownMetric {
    metric(name, Histogram, labels, help, TIME_BUCKETS)
}

const fn metric(
    name: &'static str,
    kind: MetricKind,
    labels: &'static [&'static str],
    help: &'static str,
    buckets: &'static [f64],
) -> KnownMetric {
    KnownMetric {
        name,
        help,
        kind,
        labels,
        buckets,
    }
}

macro_rules! known {
    ($($ident:ident = $metric:expr;)*) => {
        $(#[allow(missing_docs)] pub static $ident: KnownMetric = $metric;)*
        /// All of them.
        pub static ALL: &[&KnownMetric] = &[$(&$ident),*];
    };
}

known! {
    REQUESTS = counter("sampan_http_requests_total", &["route", "method", "status"], "Requests that were answered.");
    REQUEST_SECONDS = times("sampan_http_request_seconds", &["route"],
        "Time from the whole request until the system took the last byte of its answer.");
    QUEUE_SECONDS = times("sampan_http_queue_seconds", &["route"],
        "Time from the whole request until a script began to run for it.");
    SCRIPT_SECONDS = times("sampan_script_seconds", &["route"], "Time in the script of a request, over all its runs.");
    SQL_SECONDS = times("sampan_sql_seconds", &["route"], "Time of a request in the database, commits included.");
    IN_FLIGHT = gauge("sampan_http_requests_in_flight", &["worker"],
        "Requests that are being answered, by the worker of their connection.");
    HELD = gauge("sampan_http_answers_held", &[], "Answers that are complete and wait for a commit.");
    ERRORS = counter("sampan_request_errors_total", &["kind"],
        "Requests that failed in the script or in the server: script, stopped (too long), memory and others.");
    REFUSALS = counter("sampan_refusals_total", &["reason"],
        "Requests and connections that the server refused, by the limit or the status.");
    SLOW_MOVES = counter("sampan_slow_route_moves_total", &["to"],
        "Routes that moved to the slow lane (slow), or back to the workers (quick).");
    SOCKETS = gauge("sampan_websockets", &[], "WebSockets that are open.");
    EVENT_STREAMS = gauge("sampan_event_streams", &[], "Streams of events that are open.");
    CONNECTIONS = gauge("sampan_connections", &[], "Connections that are open.");
    CONNECTIONS_PARKED = gauge("sampan_connections_parked", &[],
        "Idle connections that the next free worker of all takes; they count among the open ones.");
    CONNECTIONS_ACCEPTED = counter("sampan_connections_accepted_total", &[], "Connections that were accepted.");
    TLS_HANDSHAKES = counter("sampan_tls_handshakes_total", &["result"],
        "Handshakes of TLS: ok or failed.");
    ISOLATE_MEMORY = gauge("sampan_isolate_memory_bytes", &["worker"], "Memory of the script of each worker.");
    ISOLATE_COLLECTIONS = counter("sampan_isolate_collections_total", &["worker"],
        "Full collections of garbage in the script of each worker.");
    PANICS = counter("sampan_panics_total", &[], "Faults of the server itself, each of which cost one request.");
    ISOLATES_REPLACED = counter("sampan_isolates_replaced_total", &[],
        "Isolates that ran out of memory and were replaced.");
    ISOLATES_ABANDONED = counter("sampan_isolates_abandoned_total", &[],
        "Isolates whose script could not be stopped and that were given up.");
    BUILD = gauge("sampan_build_info", &["version", "language"], "Always 1: the version is in the label.");
    COMMIT_SECONDS = times("sampan_db_commit_seconds", &[], "Time of a commit.");
    COMMIT_WRITES = metric("sampan_db_commit_writes", Histogram, &[], "Statements that wrote, of one commit of SQLite.",
        &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
    SLOW_STATEMENTS = counter("sampan_slow_statements_total", &["statement"],
        "Times that a statement took 10 ms or longer; the slowest statements have a series.");
    SLOW_STATEMENT_SECONDS = counter("sampan_slow_statement_seconds_total", &["statement"],
        "Time of a statement at the times when it took 10 ms or longer.");
    SLOW_STATEMENT_LONGEST = gauge("sampan_slow_statement_longest_seconds", &["statement"],
        "The longest time that a statement has taken.");
    JOBS = gauge("sampan_jobs", &["queue", "state"],
        "Jobs in the database: ready, scheduled, running, done, dead or cancelled.");
    JOB_ATTEMPTS = counter("sampan_job_attempts_total", &["queue", "outcome"],
        "Attempts of jobs that this process has made: done, failed, or dead after the last.");
    BACKUP_LAG = gauge("sampan_backup_lag_seconds", &[],
        "Age of the oldest commit that is not copied yet; 0 without one.");
    BACKUP_UPLOADED = gauge("sampan_backup_last_upload_timestamp_seconds", &[],
        "When something was last written to the copy, in seconds since 1970; 0 if nothing was.");
    WORKERS = gauge("sampan_workers", &[], "Workers that serve.");
    WORKER_CPU = counter("sampan_worker_cpu_seconds_total", &["worker"],
        "Time of each worker's thread on the processor.");
    RESIDENT = gauge("process_resident_memory_bytes", &[], "Memory of the process that is in RAM.");
    OPEN_FILES = gauge("process_open_fds", &[], "Open file descriptors.");
    OPEN_FILES_MAX = gauge("process_max_fds", &[], "The most file descriptors that the process may open.");
    CPU = counter("process_cpu_seconds_total", &[], "Time on the processor, of user and system together.");
    PROCESS_START = gauge("process_start_time_seconds", &[], "When the process started, in seconds since 1970.");
}
