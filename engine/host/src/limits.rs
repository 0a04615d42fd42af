//! The limits of a script, each with its unit in its name.

/// What a script may use. Time is per request, memory per isolate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// One uninterrupted run of a script, the draining of its jobs included, in milliseconds. Per request.
    pub script_millis_max: u64,
    /// What one isolate may allocate, in bytes. Per isolate, shared by all requests that it serves.
    pub memory_bytes_max: usize,
    /// How deeply JSON may nest, in either direction.
    pub json_depth_max: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            script_millis_max: 2_000,
            memory_bytes_max: 128 * 1024 * 1024,
            json_depth_max: 128,
        }
    }
}
