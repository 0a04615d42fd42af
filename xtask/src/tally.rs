//! Counting what passed and what failed, and reading such counts from the output of others.

/// The number of tests or checks that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// One check that passed or failed.
    pub(crate) fn one(passed: bool) -> Self {
        Self {
            passed: u64::from(passed),
            failed: u64::from(!passed),
        }
    }

    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Reads libtest's closing line: `test result: ok. 12 passed; 0 failed; 1 ignored; ...`.
    pub(crate) fn from_libtest(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut parts = counts.split("; ");
        Some(Self {
            passed: number_before(parts.next()?, " passed")?,
            failed: number_before(parts.next()?, " failed")?,
        })
    }

    /// Reads the plain closing line: `12 passed, 0 failed`.
    pub(crate) fn from_closing(line: &str) -> Option<Self> {
        let (passed, failed) = line.trim().split_once(", ")?;
        Some(Self {
            passed: number_before(passed, " passed")?,
            failed: number_before(failed, " failed")?,
        })
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)
    }
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    text.strip_suffix(word)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtest_lines_are_read() {
        let line = "test result: FAILED. 41 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.05s";
        assert_eq!(
            Tally::from_libtest(line),
            Some(Tally {
                passed: 41,
                failed: 2
            })
        );
        assert_eq!(Tally::from_libtest("test result: ok."), None);
        assert_eq!(Tally::from_libtest("test tests::result ... ok"), None);
    }

    #[test]
    fn closing_lines_are_read_and_written_alike() {
        let tally = Tally {
            passed: 7,
            failed: 1,
        };
        assert_eq!(Tally::from_closing(&tally.to_string()), Some(tally));
        assert_eq!(Tally::from_closing("7 passed, one failed"), None);
        assert_eq!(Tally::from_closing("total: 7 passed, 1 failed"), None);
    }
}
