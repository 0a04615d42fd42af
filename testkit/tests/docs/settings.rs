//! The tables of `docs/configuration.md` and `docs/limits.md` have the keys of the configuration, with their defaults.

use crate::root;
use libtest_mimic::{Failed, Trial};
use sampan_host::settings::{Preset, SettingKey, units};
use sampan_runtime::sections;

/// The heading in `docs/limits.md` whose table has the keys of `[limits]`.
const LIMITS: &str = "## Configurable limits\n";

pub(crate) fn trial() -> Trial {
    Trial::test("settings", || {
        let page = std::fs::read_to_string(root().join("docs/configuration.md"))?;
        let limits = std::fs::read_to_string(root().join("docs/limits.md"))?;
        let mut faults = Vec::new();
        for section in sections() {
            let (page, heading) = match section.name {
                "limits" => (&limits, LIMITS.to_owned()),
                name => (&page, format!("## `[{name}]`\n")),
            };
            let Some((_, part)) = page.split_once(&heading) else {
                faults.push(format!("there is no {heading}"));
                continue;
            };
            let table = part.lines().skip_while(|line| !line.starts_with("| key |"));
            let table = table.take_while(|line| line.starts_with('|'));
            let rows: Vec<_> = table.filter_map(row).collect();
            for key in section.keys {
                let name = format!("{}.{}", section.name, key.name);
                match rows.iter().find(|(row, _)| *row == key.name) {
                    None => faults.push(format!("{name} has no row")),
                    Some((_, told)) if !is_default(key, told) => {
                        faults.push(format!("{name}: {told:?} is not {:?}", key.default));
                    }
                    Some(_) => {}
                }
            }
            let is_known = |row: &str| section.keys.iter().any(|key| key.name == row);
            let unknown = rows.iter().filter(|(row, _)| !is_known(row));
            faults.extend(unknown.map(|(row, _)| format!("{}.{row} is no key", section.name)));
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Failed::from(faults.join("\n"))),
        }
    })
}

/// Parses a row of a table of keys: the key and its default.
fn row(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    let default = rest.split(" | ").next()?;
    Some((key, default.trim_matches('`')))
}

/// Reports whether a page tells the default of a key. One that depends on something is told in words.
fn is_default(key: &SettingKey, told: &str) -> bool {
    match key.default {
        Preset::Unset | Preset::Computed(_) => true,
        Preset::Flag(flag) => told == flag.to_string(),
        Preset::Number(number) => {
            let written = units::millis(told.trim_matches('"')).or_else(|| told.parse().ok());
            written == Some(number)
        }
        Preset::Text(text) => told == format!("{text:?}"),
        Preset::Empty => told == "[]",
    }
}
