//! The measurements of a server at one moment, and what happened between two.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// The measurements of a server at one moment.
pub(super) struct Scrape {
    at: Instant,
    samples: HashMap<String, Vec<Sample>>,
}

struct Sample {
    labels: Vec<(String, String)>,
    value: f64,
}

/// The requests that a server has answered.
pub(super) const REQUESTS: &str = "sampan_http_requests_total";
/// The route of requests that no route answers, those for measurements among them.
pub(super) const NO_ROUTE: &str = "(none)";

/// A condition on a label: its name and its value.
pub(super) type Only<'a> = &'a [(&'a str, &'a str)];

impl Sample {
    fn label(&self, name: &str) -> Option<&str> {
        let mut labels = self.labels.iter();
        labels
            .find(|(label, _)| label == name)
            .map(|(_, value)| value.as_str())
    }

    fn fits(&self, only: Only<'_>) -> bool {
        only.iter()
            .all(|(name, value)| self.label(name) == Some(value))
    }
}

impl Scrape {
    /// Reads the text format of Prometheus. Lines that are none of it are left out.
    pub(super) fn read(text: &str) -> Self {
        let mut samples: HashMap<String, Vec<Sample>> = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, sample)) = sample(line) {
                samples.entry(name).or_default().push(sample);
            }
        }
        Self {
            at: Instant::now(),
            samples,
        }
    }

    fn of(&self, name: &str, only: Only<'_>) -> impl Iterator<Item = &Sample> {
        let samples = self.samples.get(name).into_iter().flatten();
        samples.filter(move |sample| sample.fits(only))
    }

    /// Reports whether there is a metric.
    pub(super) fn has(&self, name: &str) -> bool {
        self.samples.contains_key(name)
    }

    /// Returns the sum of the values with these labels.
    pub(super) fn sum(&self, name: &str, only: Only<'_>) -> f64 {
        // The sum of nothing would be -0.
        self.of(name, only)
            .fold(0.0, |sum, sample| sum + sample.value)
    }

    /// Returns the values of a label.
    pub(super) fn values(&self, name: &str, label: &str) -> BTreeSet<String> {
        let values = self.of(name, &[]).filter_map(|sample| sample.label(label));
        values.map(str::to_owned).collect()
    }

    /// Returns the cumulated counts of a histogram by their bounds.
    fn buckets(&self, name: &str, only: Only<'_>) -> Vec<(f64, f64)> {
        let name = format!("{name}_bucket");
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for sample in self.of(&name, only) {
            let Some(bound) = sample.label("le").and_then(|bound| bound.parse().ok()) else {
                continue;
            };
            match buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, count)) => *count += sample.value,
                None => buckets.push((bound, sample.value)),
            }
        }
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        buckets
    }
}

/// Reads a line: `name{label="value"} 1`.
fn sample(line: &str) -> Option<(String, Sample)> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, mut rest)) = head.split_once('{') else {
        let labels = Vec::new();
        return Some((head.to_owned(), Sample { labels, value }));
    };
    let mut labels = Vec::new();
    while let Some((label, quoted)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut chars = quoted.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, char) => text.push(char),
            }
        };
        labels.push((label.trim_start_matches(',').to_owned(), text));
        rest = &quoted[end..];
    }
    (rest == "}").then(|| (name.to_owned(), Sample { labels, value }))
}

/// The changes between two moments.
pub(super) struct Between<'a> {
    pub(super) before: &'a Scrape,
    pub(super) now: &'a Scrape,
}

/// The requests that a server answers by itself, those for measurements among them.
const UNROUTED: Only<'static> = &[("route", NO_ROUTE), ("method", "GET"), ("status", "200")];

impl Between<'_> {
    /// Returns the number of requests of this command that the server has counted: the one for the first of the two
    /// moments, or 0 if it does not count those for measurements.
    pub(super) fn own(&self) -> f64 {
        self.growth(REQUESTS, UNROUTED).min(1.0)
    }

    /// Returns how much a counter grows in a second without the own requests, each of which adds one to it.
    pub(super) fn others(&self, name: &str, only: Only<'_>) -> f64 {
        (self.growth(name, only) - self.own()).max(0.0) / self.seconds()
    }

    fn seconds(&self) -> f64 {
        let seconds = self.now.at.saturating_duration_since(self.before.at);
        seconds.as_secs_f64().max(0.001)
    }

    /// Returns how much a counter has grown. After a restart of the server it began anew.
    pub(super) fn growth(&self, name: &str, only: Only<'_>) -> f64 {
        let (before, now) = (self.before.sum(name, only), self.now.sum(name, only));
        if now < before { now } else { now - before }
    }

    /// Returns how much a counter grows in a second.
    pub(super) fn rate(&self, name: &str, only: Only<'_>) -> f64 {
        self.growth(name, only) / self.seconds()
    }

    /// Returns the value below which this part of the values of a histogram lies, as Prometheus finds it: values are
    /// taken to be spread evenly in their bucket. `None` without values.
    pub(super) fn quantile(&self, part: f64, name: &str, only: Only<'_>) -> Option<f64> {
        let before = self.before.buckets(name, only);
        let counts = self
            .now
            .buckets(name, only)
            .into_iter()
            .map(|(bound, count)| {
                let known = before.iter().find(|(known, _)| *known == bound);
                let grown = count - known.map_or(0.0, |(_, count)| *count);
                (bound, if grown < 0.0 { count } else { grown })
            });
        let counts: Vec<(f64, f64)> = counts.collect();
        let all = counts.last()?.1;
        if all <= 0.0 {
            return None;
        }
        let rank = part * all;
        let at = counts.iter().position(|(_, count)| *count >= rank)?;
        let (from, below) = match at {
            0 => (0.0, 0.0),
            at => counts[at - 1],
        };
        let (bound, count) = counts[at];
        // Above the last bound nothing more is known.
        if bound.is_infinite() {
            return Some(from);
        }
        Some(from + (bound - from) * (rank - below) / (count - below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "a_total{route=\"/x\",status=\"200\"} 10\n";
    const NOW: &str = "# TYPE a_total counter\n\
        a_total{route=\"/x\",status=\"200\"} 30\n\
        a_total{route=\"/a\\\"b\\\\c\",status=\"500\"} 5\n\
        t_bucket{route=\"/x\",le=\"0.1\"} 50\n\
        t_bucket{route=\"/x\",le=\"0.2\"} 90\n\
        t_bucket{route=\"/x\",le=\"+Inf\"} 100\n\
        g 7\nnonsense\nbad{x=\"1} 2\n";

    #[test]
    fn counters_and_labels_are_read() {
        let (before, now) = (Scrape::read(BEFORE), Scrape::read(NOW));
        let between = Between {
            before: &before,
            now: &now,
        };
        assert_eq!(between.growth("a_total", &[("status", "200")]), 20.0);
        assert_eq!(between.growth("a_total", &[]), 25.0);
        assert_eq!(now.sum("g", &[]), 7.0);
        let routes: Vec<String> = now.values("a_total", "route").into_iter().collect();
        assert_eq!(routes, ["/a\"b\\c", "/x"]);
        assert!(!now.has("bad") && !now.has("nonsense"));
        // The server was started anew.
        let between = Between {
            before: &now,
            now: &before,
        };
        assert_eq!(between.growth("a_total", &[]), 10.0);
    }

    #[test]
    fn requests_for_the_measurements_are_left_out() {
        let scrape = |route: &str, count: u32| {
            let labels = format!("route=\"{route}\",method=\"GET\",status=\"200\"");
            Scrape::read(&format!("{REQUESTS}{{{labels}}} {count}\n"))
        };
        for (route, own) in [(NO_ROUTE, 1.0), ("/a", 0.0)] {
            let (before, now) = (scrape(route, 5), scrape(route, 8));
            let between = Between {
                before: &before,
                now: &now,
            };
            assert_eq!(between.own(), own, "{route}");
            let (all, others) = (between.rate(REQUESTS, &[]), between.others(REQUESTS, &[]));
            assert!((others / all - (3.0 - own) / 3.0).abs() < 1e-9, "{route}");
            let same = Between {
                before: &now,
                now: &now,
            };
            assert_eq!((same.own(), same.others(REQUESTS, &[])), (0.0, 0.0));
        }
    }

    #[test]
    fn quantiles_lie_in_their_buckets() {
        let (before, now) = (Scrape::read(""), Scrape::read(NOW));
        let between = Between {
            before: &before,
            now: &now,
        };
        let quantile = |part| between.quantile(part, "t", &[("route", "/x")]);
        assert_eq!(quantile(0.5), Some(0.1));
        assert_eq!(quantile(0.25), Some(0.05));
        assert!((quantile(0.7).expect("there") - 0.15).abs() < 1e-9);
        assert_eq!(quantile(0.99), Some(0.2));
        assert_eq!(between.quantile(0.5, "t", &[("route", "/y")]), None);
        let same = Between {
            before: &now,
            now: &now,
        };
        assert_eq!(same.quantile(0.5, "t", &[]), None);
    }
}
