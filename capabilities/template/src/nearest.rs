//! Names that a misspelt name may mean.

/// Returns `; did you mean "x"?` if one of the names is close to a misspelt one, and else nothing.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known
        .into_iter()
        .map(|known| (distance(name, known), known));
    let allowed = 1 + name.chars().count() / 4;
    match near.min().filter(|(distance, _)| *distance <= allowed) {
        Some((_, known)) => format!("; did you mean {known:?}?"),
        None => String::new(),
    }
}

/// Counts the letters to insert, to delete and to replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_closest() {
        let known = ["truncate", "trim", "title"];
        assert_eq!(hint("truncat", known), "; did you mean \"truncate\"?");
        assert_eq!(hint("trimm", known), "; did you mean \"trim\"?");
        assert_eq!(hint("nope", known), "");
    }
}
