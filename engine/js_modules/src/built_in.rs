//! Modules beside `sampan` that need no package: a project imports them as `sampan/NAME`.

/// The modules, each with its source, an ECMAScript module.
const ALL: [(&str, &str); 1] = [("sampan/hono", include_str!("built_in/hono.js"))];

/// The name of the module that a package has in place of one that it does without: `false` in its map under `browser`.
/// No script can name it.
pub(crate) const EMPTY: &str = "sampan:empty";

/// Returns the source of a module, and its name as it is kept.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    ALL.into_iter().find(|(known, _)| *known == name)
}
