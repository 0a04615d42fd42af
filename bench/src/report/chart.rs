//! The results as a bar chart in SVG: as a rule CPU microseconds per request, a group of bars for each route.

use crate::measure::{Sample, Series};
use crate::report::BenchReport;
use crate::report::stats::Spread;
use crate::routes::Headers;

/// Pixels.
const WIDTH: f64 = 890.0;
const BARS_LEFT: f64 = 200.0;
const BARS_WIDTH: f64 = 610.0;
const BAR_HEIGHT: f64 = 16.0;
const ROW_HEIGHT: f64 = 22.0;
const HEADING_HEIGHT: f64 = 40.0;
const NOTES_TOP: f64 = 48.0;
const NOTE_HEIGHT: f64 = 18.0;
const BOTTOM: f64 = 20.0;

/// The characters of a line of notes.
const NOTE_CHARS_MAX: usize = 150;

/// The axis ends at so many times the cheapest; longer bars end there, so that one slow peer does not flatten the rest.
const AXIS_TIMES_CHEAPEST: f64 = 4.0;

const STYLE: &str = "text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 18px; font-weight: \
 600 } \
    .note { fill: #57606a; font-size: 12px } .route { font-weight: 600; font-size: 14px } rect.peer { fill: #adb5bd } \
    rect.ours { fill: #0b7285 } text.ours { font-weight: 600 } .spread { stroke: #24292f; stroke-width: 1.2 } \
    .name { text-anchor: end }";

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

/// Returns the end of the axis.
fn axis(groups: &[Vec<&Series>], figure: Figure) -> f64 {
    let spreads = || {
        groups
            .iter()
            .flatten()
            .filter_map(|series| series.spread(figure))
    };
    let costliest = spreads().map(|spread| spread.max).fold(0.0, f64::max);
    let medians = spreads().map(|spread| spread.median);
    costliest.min(medians.fold(f64::MAX, f64::min) * AXIS_TIMES_CHEAPEST)
}

/// Draws the cases without a browser's headers, with the least threads.
pub(crate) fn svg(report: &BenchReport) -> String {
    let threads = report.series.iter().map(|one| one.case.threads).min();
    let mut groups = report.groups();
    groups.retain(|group| {
        let case = group[0].case;
        case.headers == Headers::Plain && Some(case.threads) == threads
    });
    let figure = report.suite.bars.1;
    let common = axis(&groups, figure);
    let notes = notes(report);
    let mut y = NOTES_TOP + NOTE_HEIGHT * (notes.len() - 1) as f64;
    let mut body = String::new();
    for group in &groups {
        y += HEADING_HEIGHT;
        let axis = if report.suite.axis_per_group {
            axis(std::slice::from_ref(group), figure)
        } else {
            common
        };
        body += &text("route", 12.0, y - 12.0, &group[0].case.title());
        for series in group {
            body += &bar(series, series.spread(figure), y, axis);
            y += ROW_HEIGHT;
        }
    }
    let title = format!("{}: lower is better", report.suite.bars.0);
    let mut head = text("title", 12.0, 28.0, &title);
    for (line, note) in notes.iter().enumerate() {
        let y = NOTES_TOP + NOTE_HEIGHT * line as f64;
        head += &text("note", 12.0, y, note);
    }
    let height = y + BOTTOM;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{} by server and route\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}{body}</svg>\n",
        report.suite.bars.0, head
    )
}

/// The lines below the title: how to read the bars, then the conditions.
fn notes(report: &BenchReport) -> Vec<String> {
    let reading = "Bars are medians, lines the least and the greatest of the rounds. A bar that goes on is marked with ».";
    let mut lines = vec![reading.to_owned(), String::new()];
    let conditions = report.conditions.iter();
    let parts: Vec<String> = conditions
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let words = parts.join(" · ");
    for word in words.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if !last.is_empty() && last.chars().count() + word.chars().count() >= NOTE_CHARS_MAX {
            lines.push(word.to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    lines
}

/// A name, a bar with its spread, and the number.
fn bar(series: &Series, spread: Option<Spread>, y: f64, axis: f64) -> String {
    let Some(spread) = spread else {
        return String::new();
    };
    let x = |micros: f64| BARS_LEFT + BARS_WIDTH * (micros / axis).min(1.0);
    let whose = if series.peer.is_ours() {
        "ours"
    } else {
        "peer"
    };
    let mark = if spread.median > axis { "» " } else { "" };
    let (middle, baseline) = (y + BAR_HEIGHT / 2.0, y + BAR_HEIGHT - 3.5);
    format!(
        "{}<rect class=\"{whose}\" x=\"{BARS_LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>\
         <line class=\"spread\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>{}",
        text(
            &format!("name {whose}"),
            BARS_LEFT - 8.0,
            baseline,
            series.peer.title
        ),
        x(spread.median) - BARS_LEFT,
        x(spread.min),
        x(spread.max),
        text(
            whose,
            x(spread.max) + 8.0,
            baseline,
            &format!("{mark}{}", shown(spread.median))
        ),
    )
}

fn text(class: &str, x: f64, y: f64, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>\n")
}

/// A value with as many decimals as tell something, so that large ones have room.
fn shown(value: f64) -> String {
    match value.abs() {
        ..1_000.0 => format!("{value:.2}"),
        ..10_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn every_bar_ends_inside_the_picture() {
        let text = svg(&report());
        let widths = text
            .split(" width=\"")
            .skip(3)
            .filter_map(|part| part.split('"').next());
        let widths: Vec<f64> = widths
            .map(|width| width.parse().expect("a number"))
            .collect();
        assert_eq!(widths.len(), 3);
        assert!(
            widths
                .iter()
                .all(|width| (0.0..=BARS_WIDTH).contains(width)),
            "{widths:?}"
        );
        assert_eq!(text.matches("rect class=\"ours\"").count(), 1);
    }

    #[test]
    fn long_conditions_go_on_in_the_next_line() {
        let mut report = report();
        let words = "sixteen letters. ".repeat(30);
        report.conditions.push(("load", words.trim().to_owned()));
        let notes = notes(&report);
        assert!(notes.len() > 4, "{notes:?}");
        let is_short = |note: &String| note.chars().count() <= NOTE_CHARS_MAX;
        assert!(notes.iter().all(is_short), "{notes:?}");
        assert_eq!(notes.concat().matches("sixteen").count(), 30);
    }

    #[test]
    fn numbers_and_names_are_written_out() {
        let picture = svg(&report());
        for word in [
            "Sampan, Lua",
            ">7.00<",
            ">» 130.00<",
            "GET /greet/:name",
            "rounds: 3",
        ] {
            assert!(picture.contains(word), "{word}");
        }
        assert!(text("", 0.0, 0.0, "a<b & c").contains("a&lt;b &amp; c"));
    }
}
