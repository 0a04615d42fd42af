//! The results as a bar chart in SVG: CPU microseconds per request, a group of bars for each route.

use crate::report::Report;
use crate::report::stats::Spread;
use crate::suites::measure::Series;
use crate::suites::routes::Headers;

/// Pixels.
const WIDTH: f64 = 860.0;
const LABEL_WIDTH: f64 = 170.0;
const VALUE_WIDTH: f64 = 80.0;
const BAR_HEIGHT: f64 = 16.0;
const ROW_HEIGHT: f64 = 22.0;
const HEADING_HEIGHT: f64 = 40.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 20.0;

/// The axis ends at so many times the cheapest; longer bars are cut, so that one slow peer does not flatten the rest.
const AXIS_TIMES_CHEAPEST: f64 = 4.0;

const STYLE: &str = "text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 18px; font-weight: 600 } \
    .note { fill: #57606a; font-size: 12px } .route { font-weight: 600; font-size: 14px } .ours { fill: #0b7285 } \
    .peer { fill: #adb5bd } .spread { stroke: #24292f; stroke-width: 1.2 } .cut { fill: #ffffff } \
    .name { text-anchor: end } .bold { font-weight: 600 }";

/// Where the axis of these bars ends.
fn axis(groups: &[Vec<&Series>]) -> f64 {
    let spreads = || groups.iter().flatten().filter_map(|series| cost(series));
    let costliest = spreads().map(|spread| spread.max).fold(0.0, f64::max);
    let cheapest = spreads()
        .map(|spread| spread.median)
        .fold(f64::MAX, f64::min);
    costliest.min(cheapest * AXIS_TIMES_CHEAPEST)
}

/// Draws the cases without a browser's headers, with the least threads.
pub(crate) fn svg(report: &Report) -> String {
    let threads = report.series.iter().map(|one| one.case.threads).min();
    let groups: Vec<Vec<&Series>> = report
        .groups()
        .into_iter()
        .filter(|group| group[0].case.headers == Headers::Plain)
        .filter(|group| Some(group[0].case.threads) == threads)
        .collect();
    let common = axis(&groups);
    let mut y = TOP;
    let mut body = String::new();
    for group in &groups {
        y += HEADING_HEIGHT;
        let axis = if report.suite.axis_per_group {
            axis(std::slice::from_ref(group))
        } else {
            common
        };
        let route = escape(&group[0].case.title());
        body += &format!(
            "<text class=\"route\" x=\"12\" y=\"{:.0}\">{route}</text>\n",
            y - 12.0
        );
        for series in group {
            body += &bar(series, y, axis);
            y += ROW_HEIGHT;
        }
    }
    let height = y + BOTTOM;
    let conditions: Vec<String> = report
        .conditions
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    // Two lines, as they are too long for one: the machine, then the load.
    let (machine, load) = conditions.split_at(conditions.len().min(4));
    let notes = [machine, load].map(|part| escape(&part.join(" · ")));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"CPU microseconds per request by server and route\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text class=\"title\" x=\"12\" y=\"28\">CPU µs per request: lower is better</text>\n\
         <text class=\"note\" x=\"12\" y=\"48\">Bars are medians, lines the least and the greatest of the rounds.</text>\n\
         <text class=\"note\" x=\"12\" y=\"66\">{}</text>\n\
         <text class=\"note\" x=\"12\" y=\"84\">{}</text>\n{body}</svg>\n",
        notes[0], notes[1]
    )
}

fn cost(series: &Series) -> Option<Spread> {
    series.spread(|sample| sample.cpu_micros)
}

/// A name, a bar with its spread (cut where it is longer than the axis), and the number.
fn bar(series: &Series, y: f64, axis: f64) -> String {
    let Some(spread) = cost(series) else {
        return String::new();
    };
    let full = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
    let x = |micros: f64| LABEL_WIDTH + full * (micros / axis).min(1.0);
    let is_cut = spread.median > axis;
    let class = if series.peer.is_ours() {
        "ours"
    } else {
        "peer"
    };
    let bold = if series.peer.is_ours() { " bold" } else { "" };
    let (middle, text_y) = (y + BAR_HEIGHT / 2.0, y + BAR_HEIGHT - 3.5);
    let name = escape(series.peer.title);
    let mut text = format!(
        "<text class=\"name{bold}\" x=\"{:.0}\" y=\"{text_y:.1}\">{name}</text>\
         <rect class=\"{class}\" x=\"{LABEL_WIDTH}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\"/>",
        LABEL_WIDTH - 8.0,
        x(spread.median) - LABEL_WIDTH
    );
    if is_cut {
        // A white slash through the bar: it does not end where it seems to.
        let at = LABEL_WIDTH + full - 24.0;
        let (top, bottom) = (y - 1.0, y + BAR_HEIGHT + 1.0);
        text += &format!(
            "<polygon class=\"cut\" points=\"{:.1},{top:.1} {:.1},{top:.1} {:.1},{bottom:.1} {at:.1},{bottom:.1}\"/>",
            at + 6.0,
            at + 10.0,
            at + 4.0
        );
    } else {
        text += &format!(
            "<line class=\"spread\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>",
            x(spread.min),
            x(spread.max)
        );
    }
    let end = if is_cut { x(axis) } else { x(spread.max) };
    text + &format!(
        "<text class=\"value{bold}\" x=\"{:.1}\" y=\"{text_y:.1}\">{:.2}</text>\n",
        end + 8.0,
        spread.median
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn every_bar_ends_inside_the_picture() {
        let text = svg(&report());
        for part in text.split(" width=\"").skip(2) {
            let width: f64 = part
                .split('"')
                .next()
                .and_then(|width| width.trim_end_matches('%').parse().ok())
                .expect("a number");
            assert!((0.0..=WIDTH - LABEL_WIDTH).contains(&width), "{width}");
        }
        assert_eq!(
            text.matches("class=\"cut\"").count(),
            1,
            "only Express is cut"
        );
        assert_eq!(text.matches("class=\"ours\"").count(), 1);
    }

    #[test]
    fn numbers_and_names_are_written_out() {
        let text = svg(&report());
        for word in [
            "Sampan, Lua",
            ">7.00<",
            ">130.00<",
            "GET /greet/:name",
            "rounds: 3",
        ] {
            assert!(text.contains(word), "{word}");
        }
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
