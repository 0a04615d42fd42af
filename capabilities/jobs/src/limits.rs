//! Limits of jobs.

use std::time::Duration;

/// The longest name of a job, a queue or a unique key, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 200;
/// The greatest number of attempts.
pub(crate) const ATTEMPTS_MAX: u32 = 100;
/// The number of attempts unless the declaration says otherwise.
pub(crate) const ATTEMPTS: u32 = 5;
/// The longest that an attempt may take, in milliseconds.
pub(crate) const TIMEOUT_MILLIS_MAX: u64 = 24 * 3_600 * 1_000;
/// The longest that an attempt may take unless the declaration says otherwise, in milliseconds.
pub(crate) const TIMEOUT_MILLIS: u64 = 60 * 1_000;
/// The pause before the second attempt unless the declaration says otherwise, in milliseconds.
pub(crate) const BACKOFF_MILLIS: u64 = 5_000;
/// The longest pause before an attempt, in milliseconds.
pub(crate) const BACKOFF_MILLIS_MAX: u64 = 24 * 3_600 * 1_000;
/// The greatest priority, and by its negative the smallest.
pub(crate) const PRIORITY_MAX: i64 = 1_000;
/// The latest time that a job is due, from now, in milliseconds: a hundred years.
pub(crate) const DELAY_MILLIS_MAX: i64 = 100 * 365 * 24 * 3_600 * 1_000;
/// The most times that an attempt begins anew because the database was busy.
pub(crate) const BUSY_TIMES_MAX: u32 = 20;
/// The first pause before that, and the longest.
pub(crate) const BUSY_PAUSES: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_secs(2));
/// The most bytes of an error that are kept with its job.
pub(crate) const ERROR_BYTES_MAX: usize = 2_000;
/// The most bytes of the text of a progress.
pub(crate) const PROGRESS_BYTES_MAX: usize = 1_000;
/// The most bytes of arguments that are read when a job is taken. Longer ones are read when its attempt begins, so that
/// jobs which wait for a thread need little memory.
pub(crate) const TAKEN_ARGS_BYTES_MAX: usize = 16 * 1024;
/// The most bytes of arguments that a list of jobs shows.
pub(crate) const LISTED_ARGS_BYTES_MAX: usize = 256 * 1024;
/// The greatest depth to which arguments may nest.
pub(crate) const DEPTH_MAX: usize = 128;
/// The most jobs that are taken ahead of their turn, of one queue.
pub(crate) const AHEAD_MAX: usize = 1_000;
/// The parts of the period of a rate: starts within one are counted together.
pub(crate) const RATE_PARTS: i64 = 1_000;
/// The least time after which a job is late: from its start as a rate counts it to the start of its function a tenth of
/// the period may pass. A late job goes back, and is counted anew.
pub(crate) const LATE_MIN: Duration = Duration::from_millis(20);
/// The greatest such time.
pub(crate) const LATE_MAX: Duration = Duration::from_secs(2);
/// The longest pause until a process looks again whether other processes have left room for a rate.
pub(crate) const RATE_LOOK: Duration = Duration::from_secs(10);
/// The most jobs that one transaction of the keeper changes for one reason.
pub(crate) const BATCH_MAX: usize = 1_000;
/// The most jobs of a queue that nothing declares any more that move at once. A process moves some every [`PRUNE`]: so
/// two versions that declare different queues move each job once in that time.
pub(crate) const STRAYS_MAX: usize = 10_000;
/// The most jobs that a test runs at once.
pub(crate) const TEST_ATTEMPTS_MAX: i64 = 10_000;
/// The interval at which the keeper looks for what other processes have added without ringing.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// A process that rings may have cancelled jobs so many milliseconds ago: its transaction was open meanwhile.
pub(crate) const CANCELLED_MILLIS: i64 = 60_000;
/// The interval after which a process that cannot listen for rings tries it again.
pub(crate) const HEAR_AGAIN: Duration = Duration::from_secs(60);
/// The pause of the keeper after an error of the database.
pub(crate) const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// The time in which a keeper that ends tries again after an error: jobs that it does not give back wait for the end of
/// their lease, which counts as a failed attempt.
pub(crate) const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// The longest pause of the keeper while the server of the database is away.
pub(crate) const AWAY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// The interval at which ended jobs are removed that were kept long enough.
pub(crate) const PRUNE: Duration = Duration::from_secs(60);
/// The interval at which a process tries again to take jobs of queues with a rate where it may not count their starts.
pub(crate) const DENIED_AGAIN: Duration = Duration::from_secs(60);
/// The longest lease, in milliseconds.
pub(crate) const LEASE_MILLIS_MAX: u64 = 24 * 3_600 * 1_000;
/// A job whose name a process does not declare is left so many milliseconds after the end of its lease to those that
/// declare it: they know how often it is tried.
pub(crate) const LEFT_MILLIS: i64 = 24 * 3_600 * 1_000;
/// A clock that is set back by more, in milliseconds, was wrong before: crons go on by the new time.
pub(crate) const SET_BACK_MILLIS: i64 = 3 * 3_600 * 1_000;
/// The difference between the time of day and the time that has passed from which on the clock has jumped.
pub(crate) const JUMP: Duration = Duration::from_secs(1);
/// The time that a look into the future takes jobs for: what threads do in this time is taken ahead.
pub(crate) const AHEAD: Duration = Duration::from_millis(20);
/// The time beyond its limit after which an attempt that has not ended counts as lost with its thread.
pub(crate) const LOST_AFTER: Duration = Duration::from_secs(30);
/// The longest pattern of a cron, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 200;
/// A run of a cron that begins so much later, in milliseconds, was missed.
pub(crate) const MISSED_MILLIS: i64 = 60_000;
/// The most jobs of one batch.
pub(crate) const BATCH_JOBS_MAX: usize = 10_000;
/// A schedule of a cron is forgotten so many milliseconds after its next run, if no process has it any more.
pub(crate) const FORGOTTEN_MILLIS: i64 = 24 * 3_600 * 1_000;

/// The most jobs whose traces a process keeps until they run.
pub(crate) const TRACES_MAX: usize = 10_000;
