//! A check of property names that come from clients, before they become atoms.
//!
//! QuickJS keeps atoms in a hash table without a seed, in chains without a bound. Names with the same hash are easy to
//! find: a form of 1 MiB has room for 100,000 of them, and to make and release so many takes 10^10 steps. The names
//! that QuickJS takes for array indexes are in no such table, but each object finds its properties by their hash.

use crate::vm::sys::{Cx, Thrown};
use sampan_host::{Error, ErrorKind};
use std::fmt;

/// The number of names of a text that are not checked: a chain of so many costs little.
const UNCHECKED_NAMES: u32 = 1024;

/// The number of hash bits that tell names apart, so that the counters stay in the cache. A smaller table of QuickJS
/// has no chain that costs more: it has fewer names.
const BUCKET_BITS: u32 = 15;

/// The number of times that a bucket is counted before its names are compared.
const UNLISTED_NAMES: u16 = 64;

/// The most distinct names of a bucket. Texts with two million ordinary names have about 64 in each.
const SAME_HASH_MAX: usize = 256;

/// More names share a hash than texts that were not made for that have.
#[derive(Debug)]
pub(crate) struct SameHash;

impl fmt::Display for SameHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {SAME_HASH_MAX} names with the same hash")
    }
}

/// The names of one text.
#[derive(Default)]
pub(crate) struct NameCheck {
    unchecked: u32,
    /// The times that each bucket was counted or, above [`UNLISTED_NAMES`], the place of its names.
    buckets: Vec<u16>,
    /// Distinct names of the buckets that many names fell into.
    lists: Vec<Vec<Box<[u8]>>>,
}

impl NameCheck {
    /// Counts a name, in UTF-8. Surrogates without a partner have three bytes each.
    ///
    /// # Errors
    /// Too many distinct names share its hash.
    #[inline]
    pub(crate) fn add(&mut self, name: &[u8]) -> Result<(), SameHash> {
        if self.unchecked < UNCHECKED_NAMES {
            self.unchecked += 1;
            return Ok(());
        }
        if self.buckets.is_empty() {
            self.buckets = vec![0; 1 << BUCKET_BITS];
        }
        let bucket = bucket(name);
        let count = &mut self.buckets[bucket];
        if *count < UNLISTED_NAMES {
            *count += 1;
            return Ok(());
        }
        self.compare(bucket, name)
    }

    /// Counts a name, and throws an error of the client if too many share its hash.
    #[inline]
    pub(crate) fn allow(&mut self, cx: Cx<'_>, name: &[u8]) -> Result<(), Thrown> {
        self.add(name).map_err(|refusal| refuse(cx, &refusal))
    }

    /// Looks for the name in the list of its bucket.
    fn compare(&mut self, bucket: usize, name: &[u8]) -> Result<(), SameHash> {
        let place = &mut self.buckets[bucket];
        if *place == UNLISTED_NAMES {
            self.lists.push(Vec::new());
            // There are no more lists than buckets, so that the sum fits.
            *place += self.lists.len() as u16;
        }
        let list = &mut self.lists[usize::from(*place - UNLISTED_NAMES - 1)];
        if list.iter().any(|known| **known == *name) {
            return Ok(());
        }
        if list.len() == SAME_HASH_MAX {
            return Err(SameHash);
        }
        list.push(name.into());
        Ok(())
    }
}

/// Throws the error that answers a client.
#[cold]
fn refuse(cx: Cx<'_>, refusal: &SameHash) -> Thrown {
    let error = Error::new(ErrorKind::BadRequest, refusal.to_string());
    cx.throw(error.into());
    Thrown
}

/// The bits of a name's hash by which QuickJS finds it.
#[inline]
fn bucket(name: &[u8]) -> usize {
    if name.first().is_none_or(u8::is_ascii_digit)
        && let Some(index) = index_of(name)
    {
        // `hash_atom` of an atom that is a number: the highest bits count.
        let atom = u64::from(index | 1 << 31);
        return (atom.wrapping_mul(0x61c8_8646_80b5_83eb) >> (u64::BITS - BUCKET_BITS)) as usize;
    }
    (hash(name) & ((1 << BUCKET_BITS) - 1)) as usize
}

/// The number that a name is, if QuickJS makes an atom of it that is not in its table.
fn index_of(name: &[u8]) -> Option<u32> {
    if name.len() > 10 || name.len() > 1 && name[0] == b'0' || !name.iter().all(u8::is_ascii_digit)
    {
        return None;
    }
    let index: u32 = std::str::from_utf8(name).ok()?.parse().ok()?;
    (index < 1 << 31).then_some(index)
}

/// `hash_string` of QuickJS for an atom: over the units of UTF-16.
#[inline]
fn hash(name: &[u8]) -> u32 {
    const P: u32 = 263;
    const POWERS: [u32; 4] = [P * P * P, P * P, P, 1];
    // `JS_ATOM_TYPE_STRING`.
    let (mut hash, mut length) = (1_u32, name.len() as u32);
    if name.is_ascii() {
        // Four units at a time: each would wait for the one before.
        let (fours, rest) = name.as_chunks::<4>();
        for four in fours {
            let sum = |sum: u32, (byte, power): (&u8, u32)| {
                sum.wrapping_add(u32::from(*byte).wrapping_mul(power))
            };
            let first = hash.wrapping_mul(POWERS[0].wrapping_mul(P));
            hash = four.iter().zip(POWERS).fold(first, sum);
        }
        for byte in rest {
            hash = hash.wrapping_mul(P).wrapping_add(u32::from(*byte));
        }
    } else {
        length = 0;
        units(name, |unit| {
            hash = hash.wrapping_mul(P).wrapping_add(unit);
            length += 1;
        });
    }
    hash ^ length.wrapping_mul(0x61c8_8647)
}

/// Calls `each` with the units of UTF-16 of a text.
fn units(text: &[u8], mut each: impl FnMut(u32)) {
    let mut bytes = text.iter().map(|byte| u32::from(*byte));
    while let Some(first) = bytes.next() {
        let mut more = |bits: u32| bits << 6 | bytes.next().unwrap_or(0) & 0x3f;
        match first {
            0..0xc0 => each(first),
            0xc0..0xe0 => each(more(first & 0x1f)),
            0xe0..0xf0 => {
                let high = more(first & 0x0f);
                each(more(high));
            }
            _ => {
                let high = more(first & 0x07);
                let middle = more(high);
                let beyond = more(middle).wrapping_sub(0x1_0000);
                each(0xd800 | beyond >> 10 & 0x3ff);
                each(0xdc00 | beyond & 0x3ff);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash as QuickJS computes it.
    fn plain_hash(name: &str) -> u32 {
        let units = || name.encode_utf16();
        let sum = units().fold(1_u32, |hash, unit| {
            hash.wrapping_mul(263).wrapping_add(u32::from(unit))
        });
        sum ^ (units().count() as u32).wrapping_mul(0x61c8_8647)
    }

    #[test]
    fn the_hash_is_that_of_the_units_of_utf_16() {
        for name in [
            "",
            "a",
            "abcd",
            "a longer name",
            "é",
            "naïve",
            "日本語",
            "a😀b",
        ] {
            assert_eq!(hash(name.as_bytes()), plain_hash(name), "{name}");
        }
    }

    #[test]
    fn indexes_are_the_names_that_are_numbers_of_31_bits() {
        for (name, index) in [
            ("0", Some(0)),
            ("17", Some(17)),
            ("2147483647", Some(2_147_483_647)),
            ("2147483648", None),
            ("4294967296", None),
            ("00", None),
            ("1a", None),
            ("", None),
        ] {
            assert_eq!(index_of(name.as_bytes()), index, "{name}");
        }
    }

    #[test]
    fn one_name_counts_once_and_ordinary_names_pass() {
        let mut check = NameCheck::default();
        for number in 0..200_000 {
            check.add(b"always").expect("one name");
            check.add(format!("{number}").as_bytes()).expect("an index");
            check
                .add(format!("name{number:06}").as_bytes())
                .expect("a name");
        }
    }

    #[test]
    fn indexes_with_the_same_hash_are_refused() {
        let same = (0..1_u32 << 31)
            .step_by(3)
            .map(|index| index.to_string())
            .filter(|name| bucket(name.as_bytes()) == 7)
            .take(2000);
        let mut check = NameCheck::default();
        let refused = same.filter(|name| check.add(name.as_bytes()).is_err());
        assert_eq!(refused.count(), 2000 - 1024 - 64 - 256);
    }
}
