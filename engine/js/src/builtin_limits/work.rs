//! The work of built-ins with texts, counted before they do it and in time that grows with the length only.

use crate::vm::limits::{NORMALIZE_STEPS_MAX, SEARCH_STEPS_MAX};
use crate::vm::sys::{Cx, Failure, RawValue};

/// After how many bytes a count looks whether it must stop.
const BYTES_PER_CHECK: usize = 64 * 1024;

/// Returns the approximate number of characters that a search compares. Bytes of UTF-8 are counted, of which a
/// character may have
/// three.
pub(crate) fn search(cx: Cx<'_>, text: RawValue<'_>, wanted: RawValue<'_>) -> Result<i64, Failure> {
    let (length, wanted_length) = (cx.length(text)?, cx.length(wanted)?);
    let most = (length - wanted_length + 1)
        .max(0)
        .saturating_mul(wanted_length);
    if most <= SEARCH_STEPS_MAX {
        return Ok(most);
    }
    let stop = || check(cx);
    cx.with_bytes(text, |text| {
        cx.with_bytes(wanted, |wanted| comparisons(text, wanted, &stop))
    })??
}

/// Returns the work of normalizing a text: what is not known to start a new character may be reordered, at a cost that
/// grows with the square of the length of such a run.
pub(crate) fn normalization(cx: Cx<'_>, text: RawValue<'_>) -> Result<i64, Failure> {
    let length = cx.length(text)?;
    let most = length.saturating_mul(length + 1);
    if most <= NORMALIZE_STEPS_MAX / 4 {
        return Ok(most);
    }
    cx.with_bytes(text, |bytes| {
        let (mut sum, mut run) = (0_i64, 0_i64);
        for chunk in bytes.chunks(BYTES_PER_CHECK) {
            check(cx)?;
            // Continuations are skipped, so it does not matter where a chunk begins but for the character that it cuts.
            for character in chunk.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
                run = if starts(character) { 0 } else { run + 1 };
                sum = sum.saturating_add(2 * run);
            }
        }
        Ok(sum)
    })?
}

/// Reports whether a character surely is no combining one: Latin, Greek, Cyrillic, punctuation, the scripts of East
/// Asia. The others
/// may be or not.
fn starts(character: char) -> bool {
    matches!(character,
        '\0'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{48a}'..='\u{590}'
        | '\u{1e00}'..='\u{20cf}'
        | '\u{3000}'..='\u{3029}'
        | '\u{3030}'..='\u{3098}'
        | '\u{309b}'..='\u{a66e}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}')
}

fn check(cx: Cx<'_>) -> Result<(), Failure> {
    if cx.core().must_stop() {
        return Err(cx.core().stopped_error().into());
    }
    Ok(())
}

/// The sum of the lengths of what is equal to the beginning of `wanted` at each place of `text` (by the Z algorithm),
/// or more than [`SEARCH_STEPS_MAX`].
fn comparisons(
    text: &[u8],
    wanted: &[u8],
    stop: &dyn Fn() -> Result<(), Failure>,
) -> Result<i64, Failure> {
    let mut equal = vec![0_u32; wanted.len()];
    let (mut left, mut right) = (0, 0);
    for at in 1..wanted.len() {
        if at % BYTES_PER_CHECK == 0 {
            stop()?;
        }
        let known = if at < right {
            (equal[at - left] as usize).min(right - at)
        } else {
            0
        };
        let length = known + common(&wanted[at + known..], &wanted[known..]);
        equal[at] = length as u32;
        if at + length > right {
            (left, right) = (at, at + length);
        }
    }
    if let Some(whole) = equal.first_mut() {
        *whole = wanted.len() as u32;
    }
    let (mut left, mut right, mut sum) = (0, 0, 0_i64);
    for at in 0..text.len() {
        if at % BYTES_PER_CHECK == 0 {
            stop()?;
        }
        let known = if at < right {
            (equal[at - left] as usize).min(right - at)
        } else {
            0
        };
        let length = known + common(&text[at + known..], &wanted[known..]);
        sum += length as i64 + 1;
        if sum > SEARCH_STEPS_MAX {
            break;
        }
        if at + length > right {
            (left, right) = (at, at + length);
        }
    }
    Ok(sum)
}

/// Returns the number of bytes that two slices have in common at their beginning.
#[inline]
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparisons as a search does them.
    fn slowly(text: &[u8], wanted: &[u8]) -> i64 {
        (0..text.len())
            .map(|at| common(&text[at..], wanted) as i64 + 1)
            .sum()
    }

    #[test]
    fn comparisons_are_counted() {
        for (text, wanted) in [
            ("", "a"),
            ("abcabcabd", "abcabd"),
            ("aaaaaaaaaa", "aaab"),
            ("aabaabaaabaaab", "aabaaab"),
            ("abababab", "abab"),
            ("xyz", "xyzxyz"),
        ] {
            let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
            let counted = comparisons(text, wanted, &|| Ok(())).expect("nothing stops it");
            assert_eq!(counted, slowly(text, wanted), "{text:?} {wanted:?}");
        }
    }

    #[test]
    fn combining_characters_start_nothing() {
        for character in [
            '\u{300}',
            '\u{36f}',
            '\u{483}',
            '\u{591}',
            '\u{302a}',
            '\u{3099}',
            '\u{20d0}',
            '\u{1d165}',
        ] {
            assert!(!starts(character), "{character:?}");
        }
        for character in ['a', 'é', 'я', '你', '한'] {
            assert!(starts(character), "{character:?}");
        }
    }
}
