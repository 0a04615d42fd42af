//! The names of routes, for those who must not wait, such as a signal handler.

use std::sync::OnceLock;

/// The routes whose names can be told.
const NAMED_MAX: usize = 1_024;

/// The methods and patterns of the first routes by their numbers, told without a lock.
#[derive(Debug)]
pub struct RouteNames(Box<[OnceLock<Box<str>>]>);

impl Default for RouteNames {
    fn default() -> Self {
        Self::new()
    }
}

impl RouteNames {
    /// Creates the names of a server, which are all free.
    pub fn new() -> Self {
        Self(
            std::iter::repeat_with(OnceLock::new)
                .take(NAMED_MAX)
                .collect(),
        )
    }

    /// Returns the number of a route on a server without a slow lane, and takes a free one for a route that has none.
    /// Returns 0 where none is free. With a slow lane the numbers are those of its routes.
    pub(crate) fn number_of(&self, name: &str) -> u32 {
        let is_here = |cell: &OnceLock<Box<str>>| **cell.get_or_init(|| name.into()) == *name;
        let at = self.0.iter().position(is_here);
        at.map_or(0, |at| at as u32 + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_keeps_its_number_and_those_beyond_the_last_have_none() {
        let names = RouteNames::new();
        for _ in 0..2 {
            for number in 1..=NAMED_MAX as u32 {
                let name = format!("GET /{number}");
                assert_eq!(names.number_of(&name), number);
                assert_eq!(names.get(number), Some(&*name));
            }
        }
        assert_eq!(names.number_of("GET /more"), 0);
        assert_eq!(names.get(0), None);
    }
}
