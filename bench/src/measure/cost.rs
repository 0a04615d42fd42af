//! `--cost PART`: what a part of the server costs, measured beside the same executable without it.

use clap::ValueEnum;

use super::before::TwinComparison;
use crate::load::collector;

/// A part of the server that can be turned off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasuredPart {
    /// Traces, of which 1 % are kept and sent to a collector
    Traces,
    /// Metrics
    Metrics,
}

/// Arguments of `sampan run`.
pub(crate) type Arguments = Vec<String>;

impl MeasuredPart {
    pub(crate) fn comparison(self) -> TwinComparison {
        TwinComparison {
            names: ["without", "with"],
            ratio_max: match self {
                Self::Traces => 1.03,
                Self::Metrics => 1.01,
            },
        }
    }

    /// Returns the arguments of the server without the part, and of the one with it. Starts the collector of traces,
    /// which lives as long as this program.
    ///
    /// # Errors
    ///
    /// When the collector cannot listen.
    pub(crate) fn arguments(self) -> std::io::Result<[Arguments; 2]> {
        Ok(match self {
            Self::Traces => {
                let endpoint = format!("trace.endpoint=http://{}", collector::start()?);
                [
                    settings(&["trace.endpoint="]),
                    settings(&[&endpoint, "trace.sample=0.01"]),
                ]
            }
            Self::Metrics => [
                settings(&["metrics.enabled=false"]),
                settings(&["metrics.enabled=true"]),
            ],
        })
    }
}

fn settings(settings: &[&str]) -> Arguments {
    let arguments = settings.iter().flat_map(|one| ["--set", one]);
    arguments.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_differ_in_the_part_alone() {
        for cost in MeasuredPart::value_variants() {
            let [without, with] = cost.arguments().expect("a collector");
            let key = |argument: &String| argument.split('=').next().map(str::to_owned);
            assert_eq!(key(&without[1]), key(&with[1]), "{cost:?}");
            assert_ne!(without, with, "{cost:?}");
            assert!(cost.comparison().ratio_max > 1.0);
        }
    }
}
