//! The names of routes, for those who must not wait, such as a signal handler.

use std::sync::OnceLock;

/// The routes whose names can be told.
const NAMED_MAX: usize = 1_024;

/// The methods and patterns of the first routes by their numbers, told without a lock.
#[derive(Debug)]
pub struct RouteNames(Box<[OnceLock<Box<str>>]>);

impl RouteNames {
    pub(super) fn new() -> Self {
        Self(
            std::iter::repeat_with(OnceLock::new)
                .take(NAMED_MAX)
                .collect(),
        )
    }

    fn cell(&self, number: u32) -> Option<&OnceLock<Box<str>>> {
        let at = (number as usize).checked_sub(1)?;
        self.0.get(at)
    }

    pub(super) fn set(&self, number: u32, name: &str) {
        if let Some(cell) = self.cell(number) {
            // A number has one name for ever.
            let _ = cell.set(name.into());
        }
    }

    /// Returns the method and the pattern of a route.
    pub fn get(&self, number: u32) -> Option<&str> {
        self.cell(number)?.get().map(|name| &**name)
    }
}
