//! `[limits]`: the limits of the HTTP engine and of the scripts, by their names.

use sampan_host::ScriptLimits;
use sampan_host::settings::{ANY, Section, SettingKey, Settings};
use sampan_http::Limits;

/// The key of the memory of the process.
const PROCESS: &str = "process_bytes_max";
const DAY_MILLIS: u64 = 24 * 3_600 * 1_000;
/// Less than this and an engine cannot even start.
const MEMORY_BYTES_MIN: u64 = 4 * 1024 * 1024;

/// Less than this and a server cannot even start.
const PROCESS_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Declares `[limits]` from the names of the limits themselves, so that none can be stored and never used.
macro_rules! limits {
    (
        http { $($http:ident: $http_kind:ident($http_range:expr), $http_doc:literal;)* }
        script { $($script:ident: $script_kind:ident($script_range:expr), $script_doc:literal;)* }
    ) => {
        /// `[limits]`.
        pub(crate) static SECTION: Section = Section {
            name: "limits",
            doc: "What one client, one request and one script may use.",
            keys: &[
                $(SettingKey::$http_kind(
                    stringify!($http), $http_range, Limits::DEFAULT.$http as u64, $http_doc,
                ),)*
                $(SettingKey::$script_kind(
                    stringify!($script), $script_range, ScriptLimits::DEFAULT.$script as u64, $script_doc,
                ),)*
                SettingKey::size(
                    PROCESS, ANY, 0, "memory of the whole process; 0 is what the system gives it",
                ),
            ],
        };

        fn read(settings: &Settings) -> (Limits, ScriptLimits) {
            let http = Limits { $($http: settings.number(stringify!($http)),)* };
            let script = ScriptLimits { $($script: settings.number(stringify!($script)),)* };
            (http, script)
        }
    };
}

limits! {
    http {
        head_bytes_max: size(ANY), "request line and header fields";
        target_bytes_max: size(ANY), "the target of a request";
        headers_max: count(ANY), "header fields of a request";
        body_bytes_max: size(ANY), "the body of a request; a route may set its own";
        chunk_ext_bytes_max: size(ANY), "chunk extensions of a body";
        trailer_bytes_max: size(ANY), "trailers of a body";
        head_millis_max: time(ANY), "until the head of a request is complete";
        body_idle_millis_max: time(ANY), "without progress in reading a body";
        write_idle_millis_max: time(ANY), "without progress of a client in reading its answer";
        progress_bytes_min: size(ANY), "a peer that sends or reads fewer bytes in those times is cut off";
        idle_millis_max: time(ANY), "a connection without a request";
        handler_millis_max: time(ANY), "until a handler has answered";
        stream_idle_millis_max: time(ANY), "between two chunks of a streamed answer";
        connections_max: count(ANY), "connections of the whole process";
        refused_max: count(ANY), "connections that are being told 503 at one time";
        retry_after_seconds: count(0..=u32::MAX as u64), "what that 503 says";
        backlog_max: count(0..=i32::MAX as u64), "connections that the kernel queues";
        pipeline_bytes_max: size(ANY), "read ahead on one connection while a handler works";
        out_bytes_max: size(ANY), "unsent output of one connection above which its further requests wait";
        unsent_bytes_max: size(ANY), "memory that waits for clients to read it; 0 is a quarter of the memory";
        unsent_bytes_per_client_max: size(ANY), "the same for one client address; 0 is half of unsent_bytes_max";
        received_bytes_max: size(ANY), "memory of the process for bodies of requests; 0 is a quarter of all";
        received_bytes_per_client_max: size(ANY), "the same for one client address; 0 is half of received_bytes_max";
        held_max: count(ANY), "answers of one connection that wait for the commit of their group";
        streams_max: count(ANY), "requests of one HTTP/2 connection that are under way at a time";
        resets_max: count(ANY), "requests that an HTTP/2 client takes back unanswered";
        control_frames_max: count(ANY), "frames of HTTP/2 or a WebSocket within a second that carry nothing";
        window_bytes_max: size(ANY), "of the body of an HTTP/2 request, what is received ahead of its reader";
        collected_bytes_max: size(ANY), "bodies of one HTTP/2 connection in memory, above which their clients wait";
        linger_millis_max: time(ANY), "reading on after an error answer, so that the client can read it";
        linger_idle_millis_max: time(ANY), "the same, without a byte from the client";
        drain_millis: time(ANY), "how long an upgrade waits for connections; a stop spreads their ends over it";
        shutdown_millis_max: time(ANY), "how long a shutdown waits for requests in flight";
    }
    script {
        script_millis_max: time(1..=DAY_MILLIS), "one uninterrupted run of a script";
        cleanup_millis_max: time(ANY), "what a request that was given up may still do";
        memory_bytes_max: size(MEMORY_BYTES_MIN..=u64::MAX), "memory of one isolate";
        json_depth_max: count(1..=1_000), "nesting of JSON, in either direction";
    }
}

/// `[limits]`, checked.
pub(super) struct AllLimits {
    pub(super) http: Limits,
    pub(super) script: ScriptLimits,
    /// The memory of the whole process; 0 is what the system gives it.
    pub(super) process_bytes_max: u64,
}

impl AllLimits {
    /// Returns the memory that the process may have.
    pub(super) fn memory_bytes(&self) -> u64 {
        let system = sampan_http::process_memory_bytes();
        match self.process_bytes_max {
            0 => system,
            bytes => bytes.min(system),
        }
    }
}

/// Reads `[limits]`.
///
/// # Errors
/// The limit that is out of its range, and the range.
pub(super) fn from_settings(settings: &Settings) -> Result<AllLimits, String> {
    let (http, script) = read(settings);
    let mut limits = AllLimits {
        http,
        script,
        process_bytes_max: settings.number(PROCESS),
    };
    if (1..PROCESS_BYTES_MIN).contains(&limits.process_bytes_max) {
        let bytes = limits.process_bytes_max;
        return Err(format!(
            "{PROCESS} is {bytes}; it must be 0 or at least {PROCESS_BYTES_MIN}"
        ));
    }
    let memory_bytes = limits.memory_bytes();
    let http = &mut limits.http;
    if settings.written("target_bytes_max").is_none() {
        // A target is a part of the head.
        http.target_bytes_max = http.target_bytes_max.min(http.head_bytes_max);
    }
    if limits.process_bytes_max > 0 {
        let quarter = usize::try_from(memory_bytes / 4).unwrap_or(usize::MAX);
        for bytes_max in [&mut http.unsent_bytes_max, &mut http.received_bytes_max] {
            if *bytes_max == 0 {
                *bytes_max = quarter;
            }
        }
    }
    http.check()?;
    Ok(limits)
}
