//! Every limit of the HTTP engine, in one place, each with its unit in its name.
//!
//! Nothing in the engine waits or grows without one of these. All can be set; [`Limits::check`] says in
//! one line what is wrong with a set of values before anything is started with it.

use crate::process::process_memory_bytes;

/// More header fields than this cannot be configured: the parser keeps that many on the stack.
pub(crate) const HEADERS_CEILING: usize = 256;

/// The largest settable [`Limits::head_bytes_max`].
pub(crate) const HEAD_BYTES_CEILING: usize = 1 << 20;

/// All headers of one response together; a further one is an error of the handler. Clients and proxies take less.
pub(crate) const RESPONSE_FIELDS_BYTES_MAX: usize = 64 * 1024;

/// Space in a request line for what is not the target: method, two spaces, version.
pub(crate) const REQUEST_LINE_SLACK_BYTES: usize = 64;

/// The limits of one client, one connection and one worker may use. `Default` is what `sampan run` starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Request line and all field lines together; more is 431.
    pub head_bytes_max: usize,
    /// The request target; more is 414.
    pub target_bytes_max: usize,
    /// Field lines in one head, and again in one trailer section; more is 431.
    pub headers_max: usize,
    /// Body after removal of the chunked coding; more is 413. A route may have its own limit, see
    /// [`Handler::body_rule`](crate::Handler::body_rule).
    pub body_bytes_max: usize,
    /// All chunk extensions of one body together; more is 400.
    pub chunk_ext_bytes_max: usize,
    /// The trailer section of one chunked body; more is 431.
    pub trailer_bytes_max: usize,

    /// From the first byte of a head (or from connecting, if none comes) to its end; later is 408,
    /// or a silent close where not one byte has come. A handshake of TLS has as much time before that.
    pub head_millis_max: u64,
    /// Between two moments of progress while a body is read; longer is 408.
    pub body_idle_millis_max: u64,
    /// Between two moments of progress while output waits for the client; longer ends the connection.
    pub write_idle_millis_max: u64,
    /// The progress required by the two limits above: at least so many bytes (or all that is left),
    /// so that one byte now and then does not hold a connection for ever.
    pub progress_bytes_min: usize,
    /// A keep-alive connection without a request; longer closes it silently.
    pub idle_millis_max: u64,
    /// From the call of the handler to its answer, and from a held answer to its release; longer is 504. Where the
    /// handler reads the body as it comes, from the last piece that it was given, and not while it waits for the next.
    pub handler_millis_max: u64,
    /// Between two chunks of a streamed response; longer aborts the response.
    pub stream_idle_millis_max: u64,

    /// Open connections of the whole process; one more is answered 503 and closed.
    pub connections_max: usize,
    /// Connections over `connections_max` that are being answered 503 at one time; one more is closed unanswered.
    pub refused_max: usize,
    /// The `Retry-After` of that 503, in seconds.
    pub retry_after_seconds: u32,
    /// Connections that the kernel queues before they are accepted.
    pub backlog_max: i32,

    /// Bytes read ahead while a handler works on an earlier request of the connection.
    pub pipeline_bytes_max: usize,
    /// Unsent output above which a connection's further requests and chunks wait. Over HTTP/2 the largest answer does
    /// not count, and files and streams are only read a little ahead.
    pub out_bytes_max: usize,
    /// Memory that waits for clients of the whole process to read it; over it the slowest connections are closed. 0
    /// stands for a quarter of the memory that the process may have.
    pub unsent_bytes_max: usize,
    /// The limit for one client address; 0 stands for half of `unsent_bytes_max`.
    pub unsent_bytes_per_client_max: usize,
    /// Memory for bodies of requests in the whole process; one that has no room is answered 503. Buffers of up to 64
    /// KiB do not count. 0 stands for a quarter of the memory that the process may have.
    pub received_bytes_max: usize,
    /// The limit for one client address; 0 stands for half of `received_bytes_max`.
    pub received_bytes_per_client_max: usize,
    /// Answers that one connection keeps behind an undecided ticket.
    pub held_max: usize,

    /// Requests of one connection of HTTP/2 that may be under way at a time.
    pub streams_max: usize,
    /// Requests of one connection of HTTP/2 that its client may take back before they are answered; each answer
    /// allows for another. More end the connection.
    pub resets_max: usize,
    /// Frames of one connection of HTTP/2 within a second that carry neither a request nor a part of a body, such as
    /// PING; each frame that does, and each KiB that is sent, allows for another. More end the connection. Also pings
    /// and pongs of one WebSocket within a second; each message allows for another. More close it with 1008.
    pub control_frames_max: usize,
    /// Bytes of the body of one request over HTTP/2 that its client may send ahead of the reader; all requests of a
    /// connection together have four times as many.
    pub window_bytes_max: usize,
    /// Bodies of requests of one connection of HTTP/2 that are kept in memory at a time; above it their clients wait.
    /// The request that began first goes on to its own limit.
    pub collected_bytes_max: usize,

    /// The time that a connection that ends in an error goes on reading and throws away what the client sends, so that
    /// the client can read the answer.
    pub linger_millis_max: u64,
    /// The longest time that it waits in that time for the next bytes.
    pub linger_idle_millis_max: u64,
    /// The time in which an upgrade waits for connections to close behind their next answer. The ends of connections
    /// of HTTP/2 and of those that handlers have taken over are spread over it, also at a shutdown, which gives them
    /// half of `shutdown_millis_max` at most.
    pub drain_millis: u64,
    /// The longest time that a shutdown waits for requests in flight.
    pub shutdown_millis_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Limits {
    /// The limits that `sampan run` starts with.
    pub const DEFAULT: Self = Self {
        head_bytes_max: 16 * 1024,
        target_bytes_max: 8 * 1024,
        headers_max: 100,
        body_bytes_max: 1024 * 1024,
        chunk_ext_bytes_max: 4 * 1024,
        trailer_bytes_max: 8 * 1024,
        head_millis_max: 10_000,
        body_idle_millis_max: 30_000,
        write_idle_millis_max: 30_000,
        progress_bytes_min: 1024,
        idle_millis_max: 75_000,
        handler_millis_max: 30_000,
        stream_idle_millis_max: 300_000,
        connections_max: 16_384,
        refused_max: 256,
        retry_after_seconds: 1,
        backlog_max: 4096,
        pipeline_bytes_max: 64 * 1024,
        out_bytes_max: 256 * 1024,
        unsent_bytes_max: 0,
        unsent_bytes_per_client_max: 0,
        received_bytes_max: 0,
        received_bytes_per_client_max: 0,
        held_max: 64,
        streams_max: 100,
        resets_max: 100,
        control_frames_max: 1000,
        window_bytes_max: 256 * 1024,
        collected_bytes_max: 8 * 1024 * 1024,
        linger_millis_max: 30_000,
        linger_idle_millis_max: 5_000,
        drain_millis: 5_000,
        shutdown_millis_max: 10_000,
    };

    /// Returns the limit of unsent bytes of the process, where 0 is chosen by its memory.
    pub fn unsent_bytes_max(&self) -> usize {
        match self.unsent_bytes_max {
            0 => usize::try_from(process_memory_bytes() / 4).unwrap_or(usize::MAX),
            bytes => bytes,
        }
    }

    /// Returns the limit of unsent bytes of one client address.
    pub fn unsent_bytes_per_client_max(&self) -> usize {
        match self.unsent_bytes_per_client_max {
            0 => self.unsent_bytes_max() / 2,
            bytes => bytes,
        }
    }

    /// Returns the limit of the memory for bodies of requests, where 0 is chosen by the memory of the process.
    pub fn received_bytes_max(&self) -> usize {
        match self.received_bytes_max {
            0 => usize::try_from(process_memory_bytes() / 4).unwrap_or(usize::MAX),
            bytes => bytes,
        }
    }

    /// Returns the limit of that memory for one client address.
    pub fn received_bytes_per_client_max(&self) -> usize {
        match self.received_bytes_per_client_max {
            0 => self.received_bytes_max() / 2,
            bytes => bytes,
        }
    }

    /// Reports whether the engine can run with these values.
    ///
    /// # Errors
    /// One line that names the first limit that is out of range and the range.
    pub fn check(&self) -> Result<(), String> {
        let sizes = [
            (
                "head_bytes_max",
                self.head_bytes_max,
                128,
                HEAD_BYTES_CEILING,
            ),
            (
                "target_bytes_max",
                self.target_bytes_max,
                1,
                self.head_bytes_max,
            ),
            ("headers_max", self.headers_max, 1, HEADERS_CEILING),
            ("body_bytes_max", self.body_bytes_max, 0, usize::MAX / 4),
            ("connections_max", self.connections_max, 1, 10_000_000),
            ("pipeline_bytes_max", self.pipeline_bytes_max, 1, 1 << 30),
            ("out_bytes_max", self.out_bytes_max, 1, 1 << 30),
            ("held_max", self.held_max, 1, 1 << 20),
            ("streams_max", self.streams_max, 1, 10_000),
            ("resets_max", self.resets_max, 1, 1 << 20),
            ("control_frames_max", self.control_frames_max, 10, 1 << 20),
            (
                "window_bytes_max",
                self.window_bytes_max,
                16 * 1024,
                1 << 26,
            ),
            ("progress_bytes_min", self.progress_bytes_min, 1, 1 << 20),
        ];
        for (name, value, least, most) in sizes {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} is {value}; it must be {least} to {most}"));
            }
        }
        let times = [
            ("head_millis_max", self.head_millis_max),
            ("body_idle_millis_max", self.body_idle_millis_max),
            ("write_idle_millis_max", self.write_idle_millis_max),
            ("idle_millis_max", self.idle_millis_max),
            ("handler_millis_max", self.handler_millis_max),
            ("stream_idle_millis_max", self.stream_idle_millis_max),
            ("linger_millis_max", self.linger_millis_max),
            ("linger_idle_millis_max", self.linger_idle_millis_max),
            ("drain_millis", self.drain_millis),
            ("shutdown_millis_max", self.shutdown_millis_max),
        ];
        // A year: far below where adding it to a clock could overflow, far above any use.
        const YEAR_MILLIS: u64 = 365 * 24 * 3600 * 1000;
        for (name, value) in times {
            if !(1..=YEAR_MILLIS).contains(&value) {
                return Err(format!(
                    "{name} is {value}; it must be 1 to {YEAR_MILLIS} milliseconds"
                ));
            }
        }
        if self.backlog_max < 1 {
            return Err(format!(
                "backlog_max is {}; it must be at least 1",
                self.backlog_max
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_in_range_and_a_bad_value_is_named() {
        Limits::default().check().unwrap();
        let bad = Limits {
            headers_max: 1000,
            ..Limits::default()
        };
        assert_eq!(
            bad.check().unwrap_err(),
            "headers_max is 1000; it must be 1 to 256"
        );
        let bad = Limits {
            idle_millis_max: 0,
            ..Limits::default()
        };
        assert!(
            bad.check()
                .unwrap_err()
                .starts_with("idle_millis_max is 0;")
        );
        let bad = Limits {
            target_bytes_max: 20_000,
            ..Limits::default()
        };
        assert!(bad.check().unwrap_err().contains("1 to 16384"));
    }
}
