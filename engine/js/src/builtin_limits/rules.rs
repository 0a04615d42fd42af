//! The built-ins that are wrapped, and what is measured before each.

use crate::vm::limits::{BUILTIN_LENGTH_MAX, NORMALIZE_STEPS_MAX, SEARCH_STEPS_MAX};
use std::ffi::CStr;

/// The check before a built-in runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// The length of `this`.
    This,
    /// The length of `this`; and a long array, or one with long elements, that is sorted without a comparator is given
    /// one that polls.
    Sort,
    /// The lengths of `this` and of all arguments.
    All,
    /// The length of the `raw` of the first argument.
    Raw,
    /// The prototypes of the argument at the index, a list of arguments.
    Arguments(usize),
    /// The elements of the first argument, of which the built-in walks the iterator if it has one; unless the second is
    /// a function, of which each call polls.
    Items,
    /// The elements of the first argument.
    List,
    /// The first argument, a number.
    Count,
    /// The comparisons of a search in `this` for the first argument, unless that has its own method under the symbol.
    Search(&'static CStr),
    /// The length of `this` times that of the first argument, if that is a text or a large integer.
    Find,
    /// The work of a normalization of `this`.
    Normalize,
    /// The work of normalizations of `this` and the first argument.
    NormalizeBoth,
}

impl Rule {
    /// Returns the name and value of the limit.
    pub(super) fn limit(self) -> (&'static str, i64) {
        match self {
            Self::This
            | Self::Sort
            | Self::All
            | Self::Raw
            | Self::Arguments(_)
            | Self::Items
            | Self::List => ("length", BUILTIN_LENGTH_MAX),
            Self::Count => ("count", BUILTIN_LENGTH_MAX),
            Self::Search(_) => ("characters to compare", SEARCH_STEPS_MAX),
            Self::Find => ("length times that of the value to find", SEARCH_STEPS_MAX),
            Self::Normalize | Self::NormalizeBoth => (
                "combining characters in a row, squared,",
                NORMALIZE_STEPS_MAX,
            ),
        }
    }
}

/// The holder of a built-in, its name, and its rule.
pub(super) const WRAPPED: &[(&CStr, &CStr, Rule)] = &[
    (c"Array.prototype", c"concat", Rule::All),
    (c"Array.prototype", c"copyWithin", Rule::This),
    (c"Array.prototype", c"fill", Rule::This),
    (c"Array.prototype", c"includes", Rule::Find),
    (c"Array.prototype", c"indexOf", Rule::Find),
    (c"Array.prototype", c"join", Rule::This),
    (c"Array.prototype", c"lastIndexOf", Rule::Find),
    (c"Array.prototype", c"reverse", Rule::This),
    (c"Array.prototype", c"shift", Rule::This),
    (c"Array.prototype", c"slice", Rule::This),
    (c"Array.prototype", c"sort", Rule::Sort),
    (c"Array.prototype", c"splice", Rule::This),
    (c"Array.prototype", c"toLocaleString", Rule::This),
    (c"Array.prototype", c"toReversed", Rule::This),
    (c"Array.prototype", c"toSorted", Rule::Sort),
    (c"Array.prototype", c"toSpliced", Rule::This),
    (c"Array.prototype", c"unshift", Rule::This),
    (c"Array.prototype", c"with", Rule::This),
    (c"Function.prototype", c"apply", Rule::Arguments(1)),
    (c"Iterator.prototype", c"drop", Rule::Count),
    (c"Reflect", c"apply", Rule::Arguments(2)),
    (c"Reflect", c"construct", Rule::Arguments(1)),
    (c"String", c"raw", Rule::Raw),
    (c"String.prototype", c"includes", Rule::Search(c"match")),
    (c"String.prototype", c"indexOf", Rule::Search(c"")),
    (c"String.prototype", c"lastIndexOf", Rule::Search(c"")),
    (c"String.prototype", c"localeCompare", Rule::NormalizeBoth),
    (c"String.prototype", c"normalize", Rule::Normalize),
    (c"String.prototype", c"replace", Rule::Search(c"replace")),
    (c"String.prototype", c"replaceAll", Rule::Search(c"replace")),
    (c"String.prototype", c"split", Rule::Search(c"split")),
    (c"Uint8Array.__proto__", c"from", Rule::Items),
    (c"Uint8Array.prototype.__proto__", c"set", Rule::List),
    (c"Uint8Array.prototype.__proto__", c"sort", Rule::This),
    (c"Uint8Array.prototype.__proto__", c"toSorted", Rule::This),
];
