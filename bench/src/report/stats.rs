//! Medians with their spread.

/// The median of some values with the least and the greatest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of the values; `None` for no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        };
        Some(Self { median, min, max })
    }

    /// The median, with the spread in parentheses, to so many decimals.
    pub(crate) fn show(&self, decimals: usize) -> String {
        let Self { median, min, max } = self;
        format!("{median:.decimals$} ({min:.decimals$} to {max:.decimals$})")
    }
}

/// Bytes in MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(
            Spread::of([3.0, 1.0, 10.0]),
            Some(Spread {
                median: 3.0,
                min: 1.0,
                max: 10.0
            })
        );
        assert_eq!(
            Spread::of([4.0, 1.0, 2.0, 9.0]).map(|spread| spread.median),
            Some(3.0)
        );
        assert_eq!(
            Spread::of([1.0, 2.0]).map(|spread| spread.show(2)),
            Some("1.50 (1.00 to 2.00)".to_owned())
        );
    }
}
