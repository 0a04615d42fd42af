//! The `sampan` command.

fn main() {}
