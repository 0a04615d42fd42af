//! The limits of a script, each with its unit in its name, and what is said where one is passed.

use crate::error::{Error, ErrorKind};
use crate::run::watch::StopCause;

/// The code of the error of a wait, or of a run, whose request was given up.
pub const CANCELLED: &str = "cancelled";

/// The code of the error by which a script ends whose isolate is about to end.
pub const CLOSED: &str = "stopped";

/// The limits of a script. Time is per request, memory per isolate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// One uninterrupted run of a script, the draining of its jobs included, in milliseconds. Per request.
    pub script_millis_max: u64,
    /// The time that the script of a request that was given up may go on to end in order, in milliseconds. Per request.
    pub cleanup_millis_max: u64,
    /// The memory that one isolate may allocate, in bytes. Per isolate, shared by all requests that it serves.
    pub memory_bytes_max: usize,
    /// The greatest depth to which JSON may nest, in either direction.
    pub json_depth_max: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl ScriptLimits {
    /// The limits that `sampan run` starts with.
    pub const DEFAULT: Self = Self {
        script_millis_max: 2_000,
        cleanup_millis_max: 1_000,
        memory_bytes_max: 128 * 1024 * 1024,
        json_depth_max: 128,
    };

    /// A run was stopped, mostly because it took too long.
    #[cold]
    pub fn stopped(&self, cause: StopCause) -> Error {
        let stopped = |text: &str| Error::new(ErrorKind::Stopped, text);
        match cause {
            StopCause::TooLong => {
                let millis = self.script_millis_max;
                stopped(&format!(
                    "the script ran longer than script_millis_max ({millis} ms)"
                ))
            }
            StopCause::GivenUp => {
                stopped("the script was stopped: given up by its caller").with_code(CANCELLED)
            }
            StopCause::Closing => {
                stopped("the script was stopped: its isolate was closed").with_code(CLOSED)
            }
        }
    }

    /// The isolate has no memory left.
    #[cold]
    pub fn out_of_memory(&self) -> Error {
        let bytes = self.memory_bytes_max;
        let text = format!("the isolate needs more memory than memory_bytes_max ({bytes} bytes)");
        Error::new(ErrorKind::Memory, text)
    }

    /// A value is larger than the isolate may be: it shares others, which are copied each time.
    #[cold]
    pub fn value_too_large(&self) -> Error {
        let bytes = self.memory_bytes_max;
        let text = format!("a value is larger than memory_bytes_max ({bytes} bytes)");
        Error::new(ErrorKind::Memory, text)
    }
}
