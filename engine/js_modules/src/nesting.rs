//! A stack for what is nested deeply. The parser of oxc, and all that walks what it has made, recurse, and a stack that
//! overflows ends the process.

use std::panic::resume_unwind;
use std::thread::Builder;

/// The most stack that an open bracket takes, in bytes. Arrays take most.
const BYTES_PER_BRACKET: usize = 2048;
/// The stack for all else that nests by its letters: operators, calls in a row, `else if`.
const BYTES_PER_LETTER: usize = 512;
/// The stack of the work without any nesting.
const BYTES_MIN: usize = 1024 * 1024;
/// No text gets more. It is address space, and becomes memory only where it is used.
const BYTES_MAX: usize = 1024 * 1024 * 1024;

/// Does `work`, which parses `source`, on a thread whose stack is large enough for it.
///
/// # Errors
/// One line: the source is nested too deeply, or there is no such stack to be had.
pub(crate) fn with_stack_for<T: Send>(
    source: &str,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let brackets = brackets(source).saturating_mul(BYTES_PER_BRACKET);
    if brackets > BYTES_MAX / 2 {
        return Err("its brackets are nested too deeply".to_owned());
    }
    let letters = source.len().saturating_mul(BYTES_PER_LETTER);
    let bytes = (BYTES_MIN + brackets)
        .saturating_add(letters)
        .min(BYTES_MAX);
    std::thread::scope(|scope| {
        let thread = Builder::new().name("sampan-parser".into());
        let thread = thread.stack_size(bytes).spawn_scoped(scope, work);
        let thread = thread
            .map_err(|error| format!("there is no stack of {bytes} bytes for it: {error}"))?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Returns the number of brackets that are open at the same time, at most. Those in texts and comments are counted too.
fn brackets(source: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => {
                open += 1;
                most = most.max(open);
            }
            b')' | b']' | b'}' | b'>' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::{is_module, transform};
    use crate::tsconfig::TransformSettings;

    #[test]
    fn what_is_nested_deeply_ends_no_process() {
        const LEVELS: usize = 20_000;
        for (before, after) in [
            ("[", "]"),
            ("{a:", "}"),
            ("(", ")"),
            ("f(", ")"),
            ("a?b:", ""),
            ("1+", ""),
            ("!", ""),
            ("- ", ""),
            ("a||", ""),
            ("a=>", ""),
            ("a=", ""),
            ("new ", ""),
            ("`${", "}`"),
            ("<a>", "</a>"),
            ("function(){return ", "}"),
        ] {
            let source = format!(
                "const x = {}1{}",
                before.repeat(LEVELS),
                after.repeat(LEVELS)
            );
            // What comes of it is oxc's matter; that something does is ours.
            let _ = transform("app.tsx", &source, &TransformSettings::default());
            let _ = is_module("app.tsx", &source);
        }
        for part in [".f()", "?.f()", "[0]", "!", " as any"] {
            let source = format!("const x = a{}", part.repeat(LEVELS));
            let _ = transform("app.ts", &source, &TransformSettings::default());
        }
        for (before, after) in [
            ("{", "}"),
            ("if(a)", ";"),
            ("if(a);else ", ";"),
            ("type T = A<", ">"),
            ("l:", ";"),
        ] {
            let source = format!("{}{}", before.repeat(LEVELS), after.repeat(LEVELS));
            let _ = transform("app.ts", &source, &TransformSettings::default());
        }
    }

    #[test]
    fn what_no_stack_is_large_enough_for_is_refused() {
        let source = "[".repeat(BYTES_MAX / 2 / BYTES_PER_BRACKET + 1);
        assert_eq!(
            with_stack_for(&source, || ()),
            Err("its brackets are nested too deeply".to_owned())
        );
        assert_eq!(with_stack_for("[]", || 1), Ok(1));
        assert_eq!(brackets("([{}])()"), 3);
    }
}
