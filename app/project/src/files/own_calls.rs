//! Files of our own that call functions of a script: calls in them are no part of the stacks that people see.

use sampan_host::Error;

/// The prefix of the names of these files.
pub const OWN_PREFIX: &str = ".call.";

/// Reports whether a line of a stack is in a file of ours.
pub fn is_own_call(line: &str) -> bool {
    line.split([' ', '('])
        .any(|word| word.starts_with(OWN_PREFIX))
}

/// Leaves the calls in files of ours out of an error, and its place if that is in one of them.
pub fn without_own_calls(mut error: Error) -> Error {
    if error
        .place()
        .is_some_and(|place| place.file.starts_with(OWN_PREFIX))
    {
        error = error.at(None);
    }
    let Some(stack) = error.stack().filter(|stack| stack.contains(OWN_PREFIX)) else {
        return error;
    };
    let lines: Vec<&str> = stack.lines().filter(|line| !is_own_call(line)).collect();
    let stack = lines.join("\n");
    error.with_stack(stack)
}
