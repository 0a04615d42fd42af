//! The house rules that a machine can check: `cargo xtask tidy`.
//!
//! Each rule is a function from the checkout to a list of complaints, one line each, that say what to do.
//! Each has a test that shows it complain about a small bad tree.

mod circles;
mod crates;
mod folders;
mod lengths;
mod listed;
mod names;
mod sources;
mod specs;
mod tree;
mod tunnels;
mod type_names;
mod waits;
mod words;

use std::path::Path;

use crate::error::Error;
use crate::project;
use crate::tally::Tally;
use tree::Tree;

/// A rule: no complaints, and it holds. Fails where a file or the workspace cannot be read.
type TidyRule = fn(&Tree) -> Result<Vec<String>, Error>;

/// Every rule, with the words that stand in the report.
#[rustfmt::skip]
const RULES: &[(&str, TidyRule)] = &[
    ("crates depend only along the allowed arrows", crates::arrows),
    ("ARCHITECTURE.md shows the allowed arrows", crates::printed_arrows),
    ("files form small circles, those of the application none", circles::circles),
    ("no folder has more than 15 source files", folders::folders),
    ("no crate passes another one on, ours or of others", tunnels::tunnels),
    ("versions are pinned, lints inherited", crates::pins),
    ("third-party crates come from crates.io under permissive licences", crates::licences),
    ("no capability knows a language", names::languages),
    ("no engine knows a capability by name", names::capabilities),
    ("capabilities stand in one list", listed::listed),
    ("every spec has its Lua and JavaScript twin and an outcome", specs::twins),
    ("every module opens with what it is for", sources::module_docs),
    ("doc comments begin with a verb or a noun phrase", words::openings),
    ("comments say who does something", words::plain_words),
    ("names of types that say little stand for one thing", type_names::type_names),
    ("lines end at 120 columns", words::columns),
    ("prose ends at 120 columns", words::prose_columns),
    ("tests wait for events, not for a time", waits::events),
    ("no source file is longer than 400 lines without a reason", lengths::lengths),
    ("unsafe code stays where ARCHITECTURE.md allows it", sources::unsafe_code),
    ("no unfinished business in the source", sources::markers),
    ("the documents are there and README has the two commands", sources::documents),
    ("the glossary is in the order of the alphabet", sources::glossary),
];

/// Runs the rules on this checkout and prints the closing line. `false` if any was broken.
///
/// # Errors
///
/// When the checkout cannot be read.
pub(crate) fn run() -> Result<bool, Error> {
    let tally = check(&project::root())?;
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Runs the rules on the checkout at `root` and prints a line for each.
///
/// # Errors
///
/// When the checkout cannot be read.
pub(crate) fn check(root: &Path) -> Result<Tally, Error> {
    let tree = Tree::read(root)?;
    let mut tally = Tally::default();
    for (name, rule) in RULES {
        let complaints = rule(&tree).unwrap_or_else(|error| vec![error.to_string()]);
        println!(
            "    {} {name}",
            if complaints.is_empty() {
                "ok  "
            } else {
                "FAIL"
            }
        );
        for complaint in &complaints {
            println!("           {complaint}");
        }
        tally.add(Tally::one(complaints.is_empty()));
    }
    Ok(tally)
}
