//! `[trace]`, and the variables of the environment that other programs with OpenTelemetry read.

use percent_encoding::percent_decode_str;
use sampan_host::settings::{ANY, Preset, Section, SettingKey, SettingKind, Settings, items};
use std::time::Duration;
use url::{Position, Url};

/// The path of a collector for traces (OTLP/HTTP).
const PATH: &str = "/v1/traces";
/// The name of the service unless one is written.
const SERVICE_NAME: &str = "sampan";

/// `[trace]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "trace",
    doc: "Traces of requests, for a collector that speaks OTLP over HTTP, such as Jaeger or Tempo.",
    keys: &[
        SettingKey::text("endpoint", Preset::Unset,
            "the URL of the collector, such as \"http://localhost:4318\"; nothing is traced without it").secret(),
        SettingKey::text("service_name", Preset::Unset, "the name of this service; \"sampan\" unless given"),
        SettingKey::text("sample", Preset::Text("1"),
            "the part of the traces that begin here which is kept: 0.01 or \"1%\"").of_kind(SettingKind::Share),
        SettingKey::time("slow_millis", ANY, 0, "requests that took longer are kept in any case; 0 for none"),
        SettingKey::texts("headers", Preset::Empty,
            "header fields for the collector: [\"authorization: Bearer ...\"]").secret(),
    ],
};

/// The settings of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSettings {
    /// The URL that spans are sent to.
    pub(crate) url: Url,
    pub(crate) service_name: String,
    pub(crate) sample: f64,
    pub(crate) slow: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
}

impl TraceSettings {
    /// Returns the host and the port of the collector, without a password.
    pub(crate) fn place(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// Reads `[trace]`; `None` if nothing is traced. `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS` and
    /// `OTEL_SERVICE_NAME` count where a key is not written.
    ///
    /// # Errors
    /// A key with a wrong value, and what it must be.
    pub fn of(settings: &Settings) -> Result<Option<Self>, String> {
        Self::read(settings, |name| std::env::var(name).ok())
    }

    fn read(
        settings: &Settings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let text = |key: &str, name: &str| {
            let written = settings.text_if_set(key).map(str::to_owned);
            written.or_else(|| variable(name))
        };
        let sample = sample(settings.text("sample"))?;
        let listed = settings.list("headers");
        let listed = listed.iter().map(|line| written_header(line));
        let mut headers = listed.collect::<Result<Vec<_>, _>>()?;
        let endpoint = text("endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_default();
        if endpoint.is_empty() {
            return Ok(None);
        }
        if headers.is_empty() {
            let given = variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
            headers.extend(
                items(&given)
                    .iter()
                    .filter_map(|item| environment_header(item)),
            );
        }
        let service_name = text("service_name", "OTEL_SERVICE_NAME");
        let service_name = service_name.filter(|name| !name.is_empty());
        Ok(Some(Self {
            url: url(&endpoint)?,
            service_name: service_name.unwrap_or_else(|| SERVICE_NAME.to_owned()),
            sample,
            slow: match settings.number::<u64>("slow_millis") {
                0 => None,
                millis => Some(Duration::from_millis(millis)),
            },
            headers,
        }))
    }
}

/// Reads a share: `0.25` or `25%`.
fn sample(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number / whole);
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("sample is {text:?}; it must be 0 to 1, or \"0%\" to \"100%\""))
}

/// Reads the URL of a collector, which may have the path of traces or lack it.
fn url(text: &str) -> Result<Url, String> {
    // It may have a password in it: it is not shown.
    let fault = || "endpoint must be a URL such as \"http://localhost:4318\"".to_owned();
    let mut url = Url::parse(text).map_err(|_| fault())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(fault());
    }
    if !url.path().ends_with(PATH) {
        let path = format!("{}{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

/// Reads a header field as it is written: `name: value`.
fn written_header(line: &str) -> Result<(String, String), String> {
    let parts = line.split_once(':');
    let parts = parts.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let fits = |(name, value): &(String, String)| is_header(name, value);
    // The value may be a secret: it is not shown.
    parts.filter(fits).ok_or_else(|| {
        "headers must be a list of fields such as [\"authorization: Bearer ...\"]".to_owned()
    })
}

/// Reads a header field as variables of the environment have it: `name=value`, percent-encoded.
fn environment_header(item: &str) -> Option<(String, String)> {
    let (name, value) = item.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let (name, value) = (name.trim().to_owned(), value.into_owned());
    is_header(&name, &value).then_some((name, value))
}

fn is_header(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty()
        && name.bytes().all(is_token)
        && !value.bytes().any(|byte| byte < b' ' || byte == 127)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    fn read(
        keys: &[(&'static str, SettingValue)],
        variables: &[(&str, &str)],
    ) -> Result<Option<TraceSettings>, String> {
        let settings = Settings::with(&SECTION, keys.iter().cloned())?;
        TraceSettings::read(&settings, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn text(value: &str) -> SettingValue {
        SettingValue::Text(value.to_owned())
    }

    #[test]
    fn nothing_is_traced_without_an_endpoint() {
        assert_eq!(read(&[], &[]), Ok(None));
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4318")];
        assert_eq!(read(&[("endpoint", text(""))], &variables), Ok(None));
    }

    #[test]
    fn variables_count_where_a_key_is_not_written() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://other:4318/otlp/"),
            ("OTEL_SERVICE_NAME", "shop"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic%20abc, x-y=1,=,bad name=2",
            ),
        ];
        let settings = read(&[], &variables).expect("valid").expect("on");
        assert_eq!(settings.url.as_str(), "https://other:4318/otlp/v1/traces");
        assert_eq!(settings.service_name, "shop");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            settings.headers,
            [pair("authorization", "Basic abc"), pair("x-y", "1")]
        );
        let written = [
            ("endpoint", text("http://own/v1/traces")),
            ("service_name", text("own")),
            ("headers", SettingValue::List(vec!["a: b:c".to_owned()])),
        ];
        let settings = read(&written, &variables).expect("valid").expect("on");
        assert_eq!(settings.url.as_str(), "http://own/v1/traces");
        assert_eq!(settings.service_name, "own");
        assert_eq!(settings.headers, [pair("a", "b:c")]);
    }

    #[test]
    fn wrong_values_are_told() {
        for (share, number) in [("0", 0.0), ("1", 1.0), ("0.25", 0.25), ("25 %", 0.25)] {
            assert_eq!(sample(share), Ok(number));
        }
        for share in ["", "2", "-1", "101%", "NaN", "all"] {
            assert!(sample(share).is_err(), "{share}");
        }
        for endpoint in ["localhost:4318", "ftp://x", "http://", "x"] {
            assert!(
                read(&[("endpoint", text(endpoint))], &[]).is_err(),
                "{endpoint}"
            );
        }
        let fault = read(&[("endpoint", text("ftp://u:secret@h"))], &[]).expect_err("no HTTP");
        assert!(!fault.contains("secret"), "{fault}");
        let settings = read(&[("endpoint", text("http://u:secret@h:4318"))], &[]);
        assert_eq!(settings.expect("valid").expect("on").place(), "h:4318");
        let secret = SettingValue::List(vec!["secret".to_owned()]);
        let fault = read(&[("headers", secret)], &[]).expect_err("no field");
        assert!(!fault.contains("secret"), "{fault}");
    }
}
