//! The removal of objects that no restore within the retention needs.

use crate::catalog::{Generation, generations};
use crate::names;
use crate::targets::{Target, TargetFault};

/// Removes what is not needed to restore any moment since `since`, in milliseconds since 1970. Returns the number of
/// objects that were removed.
///
/// # Errors
/// The target cannot be read or written.
pub(crate) fn tidy(target: &mut dyn Target, since: u64) -> Result<usize, TargetFault> {
    let names = generations(target)?;
    let mut known = Vec::with_capacity(names.len());
    for name in &names {
        known.push(Generation::read(target, name)?);
    }
    let needless = needless(&known, since);
    for name in &needless {
        target.remove(name)?;
    }
    Ok(needless.len())
}

/// The names of the objects that are not needed, in the order in which they can be removed.
fn needless(generations: &[Generation], since: u64) -> Vec<String> {
    // Each moment since then is restored from this whole copy or a later one.
    let base = generations.iter().enumerate().rev().find_map(|(at, one)| {
        let whole = one.wholes.iter().rev().find(|whole| whole.time <= since);
        whole.map(|whole| (at, *whole))
    });
    let Some((base, oldest)) = base else {
        return Vec::new();
    };
    let mut needless = Vec::new();
    for (at, one) in generations.iter().enumerate().take(base + 1) {
        // A database without writes is copied anew under the same number.
        let parts = one.parts.iter();
        let parts = parts.filter(|(stamp, _)| at < base || *stamp < oldest);
        let mut parts: Vec<String> = parts.map(|(_, name)| name.clone()).collect();
        // A copy whose end is gone counts no more, whatever happens before the rest is gone.
        parts.sort_by_key(|name| !name.ends_with(names::END));
        needless.append(&mut parts);
        let log = one.log.iter();
        let log = log.filter(|stamp| at < base || stamp.sequence <= oldest.sequence);
        needless.extend(log.map(|stamp| names::log(&one.name, stamp.sequence, stamp.time)));
    }
    needless
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Stamped;

    fn generation(name: &str, wholes: &[(u64, u64)], log: &[(u64, u64)]) -> Generation {
        let stamped = |pairs: &[(u64, u64)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|&(sequence, time)| Stamped { sequence, time });
            pairs.collect::<Vec<_>>()
        };
        let parts = wholes.iter().flat_map(|&(sequence, time)| {
            let stamp = Stamped { sequence, time };
            let named = |part| (stamp, names::whole(name, sequence, time, part));
            [named(Some(0)), named(None)]
        });
        Generation {
            name: name.to_owned(),
            wholes: stamped(wholes),
            log: stamped(log),
            parts: parts.collect(),
        }
    }

    #[test]
    fn copies_of_a_database_without_writes_are_removed() {
        let wholes = [(0, 100), (0, 200), (0, 300), (0, 400)];
        let known = [generation("00000001-00000000", &wholes, &[])];
        let removed = needless(&known, 350);
        let kept = |time| names::stamp(0, time);
        assert_eq!(removed.len(), 2 + 2, "{removed:?}");
        for time in [300, 400] {
            let mut names = removed.iter();
            assert!(!names.any(|name| name.contains(&kept(time))), "{removed:?}");
        }
    }

    #[test]
    fn only_what_no_moment_needs_is_removed() {
        let known = [
            generation("00000001-00000000", &[(0, 100)], &[(1, 110)]),
            generation(
                "00000002-00000000",
                &[(0, 200), (2, 300), (4, 400)],
                &[(1, 210), (2, 290), (3, 310), (4, 390), (5, 410)],
            ),
        ];
        assert!(needless(&known, 99).is_empty());
        assert!(needless(&known, 199).is_empty(), "the first is the base");
        let removed = needless(&known, 250);
        assert!(
            removed.iter().all(|name| name.starts_with("00000001")),
            "{removed:?}"
        );
        assert_eq!(removed.len(), 3);
        // The moment 350 is restored from the copy of 300 and the object 3.
        let removed = needless(&known, 350);
        let kept = [
            "0000000000000003-",
            "0000000000000004-",
            "0000000000000005-",
        ];
        let is_kept = |name: &String| kept.iter().any(|part| name.contains(part));
        assert!(!removed.iter().any(is_kept), "{removed:?}");
        assert_eq!(removed.len(), 3 + 2 + 2, "{removed:?}");
        assert!(removed[3].ends_with("end"), "{removed:?}");
    }
}
