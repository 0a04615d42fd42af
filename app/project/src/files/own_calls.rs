//! Files of our own that call functions of a script: calls in them are no part of the stacks that people see.

/// The prefix of the names of these files.
pub const OWN_PREFIX: &str = ".call.";

/// Reports whether a line of a stack is in a file of ours.
pub fn is_own_call(line: &str) -> bool {
    line.split([' ', '('])
        .any(|word| word.starts_with(OWN_PREFIX))
}
