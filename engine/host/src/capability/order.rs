//! The order in which the hooks of capabilities are called.

use super::Capability;

/// Returns the capabilities in an order in which each comes after those that offer what it asks for; otherwise as they
/// are given.
///
/// # Errors
/// Some ask for each other's offers: their names.
pub fn order(all: &[&'static Capability]) -> Result<Vec<&'static Capability>, String> {
    let mut left = all.to_vec();
    let mut ordered = Vec::with_capacity(all.len());
    while !left.is_empty() {
        let waits = |one: &Capability| {
            left.iter().any(|other| {
                other.name != one.name && other.offers.iter().any(|offer| one.asks.contains(offer))
            })
        };
        let Some(at) = left.iter().position(|one| !waits(one)) else {
            let names: Vec<&str> = left.iter().map(|one| one.name).collect();
            let names = names.join(", ");
            return Err(format!(
                "these capabilities ask for each other's offers: {names}"
            ));
        };
        ordered.push(left.remove(at));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIRST: Capability = Capability {
        name: "first",
        asks: &["b", "unknown"],
        ..Capability::EMPTY
    };
    static SECOND: Capability = Capability {
        name: "second",
        offers: &["b"],
        asks: &["c"],
        ..Capability::EMPTY
    };
    static THIRD: Capability = Capability {
        name: "third",
        offers: &["c"],
        ..Capability::EMPTY
    };
    static CIRCLE: Capability = Capability {
        name: "circle",
        offers: &["c"],
        asks: &["b"],
        ..Capability::EMPTY
    };

    #[test]
    fn each_comes_after_those_that_it_asks() {
        let ordered = order(&[&FIRST, &SECOND, &THIRD]).expect("an order");
        let names: Vec<&str> = ordered.iter().map(|one| one.name).collect();
        assert_eq!(names, ["third", "second", "first"]);
    }

    #[test]
    fn a_circle_is_named() {
        let fault = order(&[&SECOND, &THIRD, &CIRCLE])
            .map(drop)
            .expect_err("a circle");
        assert!(fault.ends_with("second, circle"), "{fault}");
    }
}
