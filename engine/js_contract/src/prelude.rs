//! The part of the contract that is written in JavaScript.

/// The prelude: a script whose value is the function.
pub const PRELUDE: &str = concat!(
    include_str!("prelude/builders.js"),
    include_str!("prelude/chain.js"),
    include_str!("prelude/upgrade.js"),
    include_str!("prelude/routes.js"),
);
