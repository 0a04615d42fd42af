//! The hosts of patterns: one name, or the names in front of a domain. `:tenant.example.org` matches one label there,
//! `*.example.org` one or more.
//!
//! Only names of letters, digits, `-` and `_` stand in front of a domain, so a parameter holds nothing else.

use super::covers::Covers;
use super::host_name;
use sampan_host::refusals::{check_host, is_host_name};
use std::collections::BTreeMap;

/// The host of a pattern. Names and domains are lower-case, without a dot at their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// One host.
    Name(String),
    /// `:name.domain`: the hosts with one label in front of the domain.
    Param {
        /// The name of the parameter.
        name: String,
        /// The domain behind the label.
        domain: String,
    },
    /// `*.domain`: the hosts with one or more labels in front of the domain.
    Below(String),
}

use HostPattern::{Below, Name, Param};

impl HostPattern {
    /// Takes the host of a pattern apart. The error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        check_host(text).map_err(|error| error.message().to_owned())?;
        Ok(match text.split_once('.') {
            Some(("*", domain)) => Below(host_name::form(domain)),
            Some((first, domain)) if first.starts_with(':') => Param {
                name: first[1..].to_owned(),
                domain: host_name::form(domain),
            },
            _ => Name(host_name::form(text)),
        })
    }

    /// The name of its parameter.
    pub(super) fn param(&self) -> Option<&str> {
        match self {
            Param { name, .. } => Some(name),
            Name(_) | Below(_) => None,
        }
    }

    /// Reports whether it matches a host in the form of [`host_name`].
    pub(super) fn matches(&self, host: &str) -> bool {
        match self {
            Name(name) => name == host,
            Param { domain, .. } => {
                front(host, domain).is_some_and(|label| !label.contains('.')) && is_host_name(host)
            }
            Below(domain) => front(host, domain).is_some() && is_host_name(host),
        }
    }

    /// Reports whether it matches the hosts of another one.
    pub(super) fn covers(&self, other: &Self) -> Covers {
        let (all, some) = match (self, other) {
            (_, Name(host)) => (self.matches(host), false),
            (Name(host), _) => (false, other.matches(host)),
            (Param { domain, .. }, Param { domain: theirs, .. }) => (domain == theirs, false),
            (Param { domain, .. }, Below(theirs)) => (false, is_within(domain, theirs)),
            (Below(domain), Param { domain: theirs, .. }) => (is_within(theirs, domain), false),
            (Below(domain), Below(theirs)) => {
                (is_within(theirs, domain), is_within(domain, theirs))
            }
        };
        match (all, some) {
            (true, _) => Covers::Always,
            (false, true) => Covers::Perhaps,
            (false, false) => Covers::Never,
        }
    }
}

/// Returns the part of a host in front of a domain and its dot.
fn front<'a>(host: &'a str, domain: &str) -> Option<&'a str> {
    host.strip_suffix(domain)?.strip_suffix('.')
}

/// Reports whether a domain is another one, or below it.
fn is_within(domain: &str, other: &str) -> bool {
    domain == other || front(domain, other).is_some()
}

/// Values by the hosts of patterns.
#[derive(Debug)]
pub(super) struct HostTable<T> {
    names: BTreeMap<String, T>,
    domains: BTreeMap<String, OfDomain<T>>,
}

/// The values for the hosts in front of one domain.
#[derive(Debug)]
struct OfDomain<T> {
    param: Option<T>,
    below: Option<T>,
}

impl<T> Default for HostTable<T> {
    fn default() -> Self {
        Self {
            names: BTreeMap::new(),
            domains: BTreeMap::new(),
        }
    }
}

impl<T> Default for OfDomain<T> {
    fn default() -> Self {
        Self {
            param: None,
            below: None,
        }
    }
}

impl<T: Default> HostTable<T> {
    /// Returns the value of a host, which is made if it is not there.
    pub(super) fn entry(&mut self, host: &HostPattern) -> &mut T {
        match host {
            Name(name) => self.names.entry(name.clone()).or_default(),
            Param { domain, .. } => {
                let of_domain = self.domains.entry(domain.clone()).or_default();
                of_domain.param.get_or_insert_default()
            }
            Below(domain) => {
                let of_domain = self.domains.entry(domain.clone()).or_default();
                of_domain.below.get_or_insert_default()
            }
        }
    }

    /// Reports whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.domains.is_empty()
    }

    /// Returns the values that match a host in the form of [`host_name`]: that of its name, then those of longer
    /// domains before those of shorter ones. For each label of the host one domain is looked up.
    pub(super) fn matching<'a>(&'a self, host: &'a str) -> impl Iterator<Item = &'a T> {
        let has_domains = !self.domains.is_empty() && is_host_name(host);
        let dots = if has_domains { host } else { "" }.match_indices('.');
        let domains = dots.enumerate().filter_map(move |(index, (at, _))| {
            let of_domain = self.domains.get(&host[at + 1..])?;
            Some((index == 0, of_domain))
        });
        let values = domains.flat_map(|(is_one_label, of_domain)| {
            let param = of_domain.param.as_ref().filter(|_| is_one_label);
            param.into_iter().chain(&of_domain.below)
        });
        self.names.get(host).into_iter().chain(values)
    }
}

/// The names of the parameters that stand in front of domains: a domain has one.
#[derive(Default)]
pub(crate) struct HostParams(BTreeMap<String, String>);

impl HostParams {
    /// Adds the host of a pattern. The error names the host that is the same but for its parameter's name.
    pub(crate) fn add(&mut self, host: Option<&HostPattern>) -> Result<(), String> {
        let Some(Param { name, domain }) = host else {
            return Ok(());
        };
        let known = self.0.entry(domain.clone()).or_insert_with(|| name.clone());
        if known == name {
            return Ok(());
        }
        Err(format!(
            "the hosts \":{known}.{domain}\" and \":{name}.{domain}\" are the same: write one name for the parameter"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostPattern {
        HostPattern::parse(text).expect(text)
    }

    #[test]
    fn hosts_of_patterns_have_the_form_of_those_that_are_asked_for() {
        let name = |text: &str| Name(text.to_owned());
        for (text, expected) in [
            ("API.example.org", name("api.example.org")),
            ("example.org.", name("example.org")),
            ("127.1", name("127.0.0.1")),
            ("*.Example.org.", Below("example.org".to_owned())),
        ] {
            assert_eq!(host(text), expected);
        }
        let tenant = host(":Tenant.EXAMPLE.org.");
        assert_eq!(tenant.param(), Some("Tenant"));
        assert!(tenant.matches("acme.example.org"));
        for text in [
            "*",
            "*.",
            "a.*.b",
            ":.a.b",
            "::1",
            "a:80",
            "http:",
            "1.2.3.4.5",
        ] {
            HostPattern::parse(text).expect_err(text);
        }
    }

    #[test]
    fn a_parameter_is_one_label_and_a_star_one_or_more() {
        for (asked, is_param, is_below) in [
            ("acme.example.org", true, true),
            ("a_1-b.example.org", true, true),
            ("a.b.example.org", false, true),
            ("example.org", false, false),
            ("acmeexample.org", false, false),
            (".example.org", false, false),
            ("..example.org", false, false),
            ("a..example.org", false, false),
            (".a.example.org", false, false),
            ("acme.example.org.", false, false),
            ("acme.example.com", false, false),
            ("a%2fb.example.org", false, false),
            ("a'b.example.org", false, false),
            ("b\u{fc}cher.example.org", false, false),
            ("", false, false),
            (".", false, false),
        ] {
            assert_eq!(host(":t.example.org").matches(asked), is_param, "{asked}");
            assert_eq!(host("*.example.org").matches(asked), is_below, "{asked}");
        }
        let long = format!("{}.example.org", "a".repeat(242));
        assert!(!host("*.example.org").matches(&long));
    }

    #[test]
    fn hosts_cover_hosts() {
        use Covers::{Always, Never, Perhaps};
        for (one, other, expected) in [
            ("a.b.c", "a.b.c", Always),
            ("a.b.c", "x.b.c", Never),
            (":t.b.c", "a.b.c", Always),
            (":t.b.c", "x.a.b.c", Never),
            ("*.b.c", "a.b.c", Always),
            ("*.b.c", "x.a.b.c", Always),
            ("*.b.c", "b.c", Never),
            ("a.b.c", ":t.b.c", Perhaps),
            ("x.a.b.c", ":t.b.c", Never),
            ("x.a.b.c", "*.b.c", Perhaps),
            ("b.c", "*.b.c", Never),
            (":t.b.c", ":u.b.c", Always),
            (":t.b.c", ":t.c", Never),
            (":t.b.c", "*.b.c", Perhaps),
            (":t.b.c", "*.c", Perhaps),
            (":t.c", "*.b.c", Never),
            ("*.b.c", ":t.b.c", Always),
            ("*.c", ":t.b.c", Always),
            ("*.b.c", ":t.c", Never),
            ("*.b.c", "*.b.c", Always),
            ("*.c", "*.b.c", Always),
            ("*.b.c", "*.c", Perhaps),
            ("*.bb.c", "*.b.c", Never),
            ("*.b.c", "*.bb.c", Never),
        ] {
            let (ours, theirs) = (host(one), host(other));
            assert_eq!(ours.covers(&theirs), expected, "{one} {other}");
            for asked in ["a.b.c", "x.b.c", "x.a.b.c", "b.c", "x.c", "c", "x.bb.c"] {
                let is_right = match expected {
                    Always => ours.matches(asked) || !theirs.matches(asked),
                    Never => !ours.matches(asked) || !theirs.matches(asked),
                    Perhaps => true,
                };
                assert!(is_right, "{one} {other} {asked}");
            }
        }
    }

    #[test]
    fn the_most_specific_host_comes_first() {
        let texts = ["*.c", "*.b.c", ":t.b.c", "a.b.c", ":t.c", "*.a.b.c", "c"];
        let mut table = HostTable::<Vec<&str>>::default();
        assert!(table.is_empty() && table.matching("a.b.c").next().is_none());
        for text in texts {
            table.entry(&host(text)).push(text);
        }
        assert!(!table.is_empty());
        for (asked, expected) in [
            ("a.b.c", &["a.b.c", ":t.b.c", "*.b.c", "*.c"][..]),
            ("x.b.c", &[":t.b.c", "*.b.c", "*.c"]),
            ("x.a.b.c", &["*.a.b.c", "*.b.c", "*.c"]),
            ("b.c", &[":t.c", "*.c"]),
            ("c", &["c"]),
            ("x..c", &[]),
            ("c.d", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = table.matching(asked).flatten().copied().collect();
            assert_eq!(found, expected, "{asked}");
            let mut matching = texts.iter().filter(|text| host(text).matches(asked));
            assert!(matching.all(|text| found.contains(text)), "{asked}");
        }
    }

    #[test]
    fn a_domain_has_one_name_for_its_parameter() {
        let mut params = HostParams::default();
        for text in [":t.a.b", ":t.a.b", ":u.b", "*.a.b", "x.a.b"] {
            params.add(Some(&host(text))).expect(text);
        }
        params.add(None).expect("no host");
        let error = params.add(Some(&host(":u.A.b"))).expect_err("another name");
        assert!(
            error.contains("\":t.a.b\" and \":u.a.b\" are the same"),
            "{error}"
        );
    }
}
