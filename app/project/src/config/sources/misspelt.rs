//! Variables of the environment that look like ours, and that no key reads.

use super::environment::{Environment, FILE_SUFFIX, PREFIX};
use sampan_host::names::nearest_name;
use sampan_host::settings::{AllSettings, Settings};

/// Lists the variables whose names are close to those of keys: each has no effect. Others that begin with `SAMPAN_`
/// may have a meaning for other programs.
pub(in crate::config) fn misspelt(all: &AllSettings, environment: &Environment) -> Vec<String> {
    let names: Vec<(String, &str)> = all.iter().flat_map(names_of).collect();
    let starts: Vec<String> = all.iter().map(|one| start_of(one) + "_").collect();
    let told = environment.0.keys().filter_map(|variable| {
        let rest = variable.strip_prefix(PREFIX)?.to_ascii_lowercase();
        // Their wrong keys are errors.
        if starts.iter().any(|start| rest.starts_with(start)) {
            return None;
        }
        let (name, ending) = match rest.strip_suffix(FILE_SUFFIX) {
            Some(name) => (name, FILE_SUFFIX),
            None => (&rest[..], ""),
        };
        let meant = meant_by(name, all, &names)?;
        let meant = format!("{PREFIX}{}", (meant + ending).to_ascii_uppercase());
        Some(format!(
            "the variable {variable} has no effect: did you mean {meant}?"
        ))
    });
    told.collect()
}

/// Returns the name that a misspelt one most probably means: close to it, of the key alone, or of the section alone.
fn meant_by(name: &str, all: &AllSettings, names: &[(String, &str)]) -> Option<String> {
    let of_section = all.iter().find(|one| start_of(one) == name);
    let of_section = of_section.and_then(|one| names_of(one).next());
    let of_key = || names.iter().find(|(_, key)| *key == name).cloned();
    if let Some((whole, _)) = of_section.or_else(of_key) {
        return Some(whole);
    }
    nearest_name(name, names.iter().map(|(whole, _)| whole.clone()).collect())
}

/// Returns the beginning of the names of a section's variables, in small letters.
fn start_of(settings: &Settings) -> String {
    settings.section().name.replace('.', "_")
}

/// Returns the names of a section's variables without the prefix, in small letters, and the keys.
fn names_of(settings: &Settings) -> impl Iterator<Item = (String, &'static str)> {
    let (start, section) = (start_of(settings), settings.section());
    let keys = section.keys.iter();
    keys.map(move |key| (format!("{start}_{}", key.name), key.name))
}
