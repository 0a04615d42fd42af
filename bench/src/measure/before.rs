//! Comparisons of ours with itself: `--before EXECUTABLE` with the executable from before a change, and [`super::cost`]
//! with other settings.
//!
//! Both run in turn in one run on the same examples, so the machine is the same for both. What counts is the median of
//! the rounds' ratios of processor time per request.

use std::path::Path;

use super::{Sample, Series};
use crate::peers::{Installed, Peer};
use crate::report::stats::Spread;

/// The ending of the twins' ids.
const SUFFIX: &str = "-before";

/// A comparison of ours with its twins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwinComparison {
    /// The names of the two: the twin first.
    pub(crate) names: [&'static str; 2],
    /// The most that a route may cost, divided by the cost of the twin.
    pub(crate) ratio_max: f64,
}

/// The comparison with an older executable.
pub(crate) const BEFORE: TwinComparison = TwinComparison {
    names: ["before", "now"],
    ratio_max: 1.02,
};

/// Returns the peer with the older executable. Its names live as long as this program.
pub(crate) fn twin(
    peer: &Peer,
    installed: &Installed,
    program: &Path,
) -> (&'static Peer, Installed) {
    let program = std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf());
    let installed = Installed {
        program,
        ..installed.clone()
    };
    named_twin(peer, installed, BEFORE.names[0])
}

/// Returns the peer as another one that is installed so. Its names live as long as this program.
pub(crate) fn named_twin(
    peer: &Peer,
    installed: Installed,
    name: &str,
) -> (&'static Peer, Installed) {
    let twin = Peer {
        id: format!("{}{SUFFIX}", peer.id).leak(),
        title: format!("{} {name}", peer.title).leak(),
        ..*peer
    };
    (Box::leak(Box::new(twin)), installed)
}

/// Prints a line for each route. `false` if one costs more than it may, or nothing was measured.
pub(crate) fn print(series: &[Series], comparison: TwinComparison) -> bool {
    let TwinComparison {
        names: [twin, ours],
        ratio_max,
    } = comparison;
    let lines = series.iter().filter_map(|now| line(now, series, ratio_max));
    let lines: Vec<(String, f64)> = lines.collect();
    println!(
        "\nCPU µs per request: {twin}, {ours}, and the median of the rounds' ratios (least to greatest)\n"
    );
    for (text, _) in &lines {
        println!("{text}");
    }
    let above = lines.iter().filter(|(_, ratio)| *ratio > ratio_max).count();
    println!("\n{above} of {} routes above {ratio_max:.2}", lines.len());
    above == 0 && !lines.is_empty()
}

/// The line of a series that has a twin, with its ratio.
fn line(now: &Series, all: &[Series], ratio_max: f64) -> Option<(String, f64)> {
    let is_twin = |one: &&Series| {
        one.case == now.case && one.peer.id.strip_suffix(SUFFIX) == Some(now.peer.id)
    };
    let before = all.iter().find(is_twin)?;
    let cost = |sample: &Sample| sample.cpu_micros;
    let (was, is) = (before.spread(cost)?, now.spread(cost)?);
    let ratios = Spread::of(now.ratios_to(before, cost))?;
    let text = format!(
        "{:<20} {:<44} {:>8.2} {:>8.2}   {}{}",
        now.peer.title,
        now.case.title(),
        was.median,
        is.median,
        ratios.show(3),
        if ratios.median > ratio_max {
            "  ABOVE"
        } else {
            ""
        }
    );
    Some((text, ratios.median))
}

#[cfg(test)]
mod tests {
    use super::super::case::LoadCase;
    use super::super::tests::series;
    use super::*;
    use crate::routes::{Headers, Route};

    #[test]
    fn a_route_is_compared_with_its_older_twin_round_by_round() {
        let case = LoadCase::plain(Route::Echo, Headers::Plain, 1);
        let now = series("sampan-lua", case, &[10.0, 21.0, 44.0]);
        let mut before = series("sampan-lua", case, &[10.0, 20.0, 40.0]);
        let installed = Installed::new("new".into(), "/".into(), String::new());
        let (twin, installed) = twin(before.peer, &installed, Path::new("/old"));
        assert_eq!(installed.program, Path::new("/old"));
        let alone = line(&now, std::slice::from_ref(&now), 1.02);
        assert!(alone.is_none(), "no twin");
        before.peer = twin;
        let all = [now, before];
        let (text, ratio) = line(&all[0], &all, 1.02).expect("both were measured");
        assert_eq!(ratio, 1.05);
        assert!(text.contains("1.050 (1.000 to 1.100)  ABOVE"), "{text}");
        assert!(
            line(&all[1], &all, 1.02).is_none(),
            "the twin has none of its own"
        );
        let (text, _) = line(&all[0], &all, 1.05).expect("both were measured");
        assert!(text.ends_with("1.050 (1.000 to 1.100)"), "{text}");
        assert!(!print(&all, BEFORE));
        assert!(!print(&all[..1], BEFORE), "nothing was measured");
    }
}
