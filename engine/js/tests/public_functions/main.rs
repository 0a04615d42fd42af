//! Runs the tests of objects once more, in isolates that call QuickJS's public functions only. Isolates do that if
//! QuickJS's data does not lie where the probe expects it, and must behave the same.
#![allow(
    clippy::duplicate_mod,
    reason = "each of these files has the rig for itself"
)]

#[path = "../answers.rs"]
mod answers;
#[path = "../builders.rs"]
mod builders;
#[path = "../objects.rs"]
mod objects;
#[path = "../reading.rs"]
mod reading;
#[path = "../rows.rs"]
mod rows;
