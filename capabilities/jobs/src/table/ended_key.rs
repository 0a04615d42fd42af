//! The unique keys of jobs that have ended.
//!
//! A job that has ended leaves its key to others, and needs it again where people have it run anew. So its column
//! `unique_key` has the key behind the character 1, the number of the job, and the character 1 again. No key of a job
//! that has not ended begins with a control character. Earlier releases put NULL there.

/// The value of `unique_key` of a job that ends.
macro_rules! ended_key {
    () => {
        "CASE WHEN unique_key GLOB char(1) || '*' THEN unique_key
      ELSE char(1) || id || char(1) || unique_key END"
    };
}
pub(super) use ended_key;

/// The value of `unique_key` of a job that runs anew.
macro_rules! live_key {
    () => {
        "CASE WHEN unique_key GLOB char(1) || '*' THEN substr(unique_key, length(id) + 3) ELSE unique_key END"
    };
}
pub(super) use live_key;
