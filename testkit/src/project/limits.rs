//! The limits of a project's tests.

use std::time::Duration;

/// The lines around a change that a difference shows.
pub(super) const DIFFERENCE_CONTEXT_LINES: usize = 3;

/// The number of lines shown of a difference.
pub(super) const DIFFERENCE_LINES_MAX: usize = 60;

/// The longest time that what a test did not wait for may go on after it, so that its errors are told.
pub(super) const LEFT_TIME_MAX: Duration = Duration::from_millis(250);

/// The interval between two checks whether that has ended.
pub(super) const LEFT_PAUSE: Duration = Duration::from_millis(1);

/// The greatest depth to which the JSON of an answer may nest.
pub(super) const JSON_DEPTH_MAX: usize = 1_000;

/// The maximum number of files of tests there may be.
pub(super) const FILES_MAX: usize = 10_000;

/// The time that a test waits for a message of a WebSocket, where it names none, in milliseconds.
pub(super) const RECEIVE_MILLIS: u64 = 2_000;

/// The longest message that a WebSocket of a test takes, in bytes.
pub(super) const SOCKET_MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
