//! The ports of servers that the configuration names, and those that it listens on.

use crate::app_config::AppConfig;
use sampan_host::settings::Settings;
use sampan_project::config::ListenAddress;

/// The port of name servers, which answer by TCP what is long.
const DNS_PORT: u16 = 53;
/// The ports of URLs that name none.
const USUAL: [(&str, &[u16]); 8] = [
    ("http", &[80]),
    ("https", &[443]),
    ("s3", &[443]),
    ("postgres", &[5432]),
    ("postgresql", &[5432]),
    // Mail servers take STARTTLS on either.
    ("smtp", &[25, 587]),
    ("smtps", &[465]),
    ("file", &[]),
];
/// Variables of the environment that stand for keys of the configuration.
const VARIABLES: [&str; 3] = [
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Returns the ports of all URLs in the configuration, and that of name servers.
pub(crate) fn of_servers(config: &AppConfig) -> Vec<u16> {
    let mut ports = vec![DNS_PORT];
    for section in config.base.sections.iter() {
        let texts = section.section().keys.iter();
        let texts = texts.filter_map(|key| text_of(section, key.name));
        texts.for_each(|text| ports.extend(of_url(text)));
    }
    if config.database.config.is_postgres() {
        ports.extend(
            std::env::var("PGPORT")
                .ok()
                .and_then(|port| port.parse::<u16>().ok()),
        );
    }
    if let Some(acme) = config.base.tls.as_ref().and_then(|tls| tls.acme.as_ref()) {
        ports.extend(of_url(&acme.directory));
    }
    let variables = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    variables.for_each(|url| ports.extend(of_url(&url)));
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Reports whether the configuration names a mail server.
pub(crate) fn sends_mail(config: &AppConfig) -> bool {
    config.base.sections.iter().any(|section| {
        let keys = section.section().keys.iter();
        let mut texts = keys.filter_map(|key| text_of(section, key.name));
        texts.any(|text| text.starts_with("smtp://") || text.starts_with("smtps://"))
    })
}

/// Returns the ports that the configuration listens on, but for those that the system chooses.
pub(crate) fn of_listeners(config: &AppConfig) -> Vec<u16> {
    let redirect = config.base.tls.iter().flat_map(|tls| &tls.redirect_listen);
    let addresses = config.base.listen.iter().chain(redirect);
    let ports = addresses.filter_map(|address| match address {
        ListenAddress::Tcp(address) => Some(address.port()),
        ListenAddress::Unix(_) => None,
    });
    let metrics = &config.serving.metrics;
    let of_metrics = metrics.listen.filter(|_| metrics.is_enabled);
    let ports = ports.chain(of_metrics.map(|address| address.port()));
    ports.filter(|port| *port > 0).collect()
}

/// Returns a text that was written, or that is preset.
fn text_of<'a>(settings: &'a Settings, key: &str) -> Option<&'a str> {
    settings
        .text_if_set(key)
        .filter(|text| text.contains("://"))
}

/// Returns the ports of a URL, which may name several hosts with commas between.
fn of_url(url: &str) -> Vec<u16> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Vec::new();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let hosts = rest[..end].rsplit('@').next().unwrap_or_default();
    let written = hosts
        .split(',')
        .filter_map(|host| host.rsplit_once(':')?.1.parse().ok());
    let mut ports: Vec<u16> = written.collect();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let of_query = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("port=")?.parse::<u16>().ok());
    ports.extend(of_query);
    if ports.len() < hosts.split(',').count() {
        let usual = USUAL.iter().find(|(name, _)| *name == scheme);
        ports.extend(usual.map_or(&[][..], |(_, ports)| ports));
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_its_ports() {
        for (url, ports) in [
            ("https://example.org/path:1", &[443][..]),
            ("https://user:1234@example.org:8443/x", &[8443]),
            ("http://[::1]/", &[80]),
            ("http://[::1]:81/", &[81]),
            ("postgres://me:pw@a:5433,b/app", &[5433, 5432]),
            ("postgres:///app?port=6000&sslmode=require", &[6000]),
            ("smtp://mail.test", &[25, 587]),
            ("smtps://user:pw@mail.test:466", &[466]),
            ("s3://bucket/prefix", &[443]),
            ("file:///backups", &[]),
            ("no url", &[]),
        ] {
            assert_eq!(of_url(url), ports, "{url}");
        }
    }
}
