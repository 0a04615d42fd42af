//! The limits in `docs/limits.md` are those of the source.

use crate::root;
use libtest_mimic::{Failed, Trial};

const PAGE: &str = "docs/limits.md";

/// A table is followed by a comment that names the constant of each of its rows.
pub(crate) fn trial() -> Trial {
    Trial::test("limits", || {
        let page = std::fs::read_to_string(root().join(PAGE))?;
        let mut faults = Vec::new();
        let mut count = 0;
        let mut before = "";
        for part in page.split("<!-- constants\n") {
            if let Some((constants, _)) = part.split_once("-->").filter(|_| !before.is_empty()) {
                let rows = rows_at_end(before);
                if rows.len() != constants.lines().count() {
                    faults.push(format!("{} rows have {constants}", rows.len()));
                }
                for (row, constant) in rows.iter().zip(constants.lines()) {
                    count += 1;
                    if let Err(fault) = compare(row, constant) {
                        faults.push(format!("{row}: {fault}"));
                    }
                }
            }
            before = part;
        }
        if count == 0 {
            faults.push("no row names its constant".to_owned());
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Failed::from(faults.join("\n")))
        }
    })
}

/// The rows of the table that a text ends with, without its head.
fn rows_at_end(text: &str) -> Vec<&str> {
    let lines = text.trim_end().lines().rev();
    let mut rows: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    rows.reverse();
    rows.split_off(rows.len().min(2))
}

fn compare(row: &str, constant: &str) -> Result<(), String> {
    let (path, name) = constant.split_once(' ').ok_or("a path and a name")?;
    let source = std::fs::read_to_string(root().join(path)).map_err(|error| error.to_string())?;
    let (_, rest) = source
        .split_once(&format!("const {name}: "))
        .ok_or_else(|| format!("{path} has no {name}"))?;
    let (_, value) = rest.split_once("= ").ok_or("it has no value")?;
    let (value, _) = value.split_once(';').ok_or("it has no value")?;
    let told = row.trim_end_matches('|').rsplit('|').next().unwrap_or("");
    let (told, wanted) = (quantity(told)?, product(value)?);
    if told == wanted {
        Ok(())
    } else {
        Err(format!("{name} is {wanted}"))
    }
}

/// `4,096` or `64 KiB`.
fn quantity(text: &str) -> Result<u64, String> {
    let mut words = text.split_whitespace();
    let number = words.next().unwrap_or("").replace(',', "");
    let number: u64 = number.parse().map_err(|error| format!("{text}: {error}"))?;
    match words.next() {
        None => Ok(number),
        Some("KiB") => Ok(number * 1024),
        Some("MiB") => Ok(number * 1024 * 1024),
        Some(unit) => Err(format!("the unit {unit}")),
    }
}

/// `64 * 1024`.
fn product(text: &str) -> Result<u64, String> {
    let numbers = text.split('*').map(|factor| {
        let factor = factor.trim().replace('_', "");
        factor
            .parse::<u64>()
            .map_err(|error| format!("{text}: {error}"))
    });
    numbers.product()
}
