//! The settings of a client, and the options of one request.

use std::path::PathBuf;

use super::reach::{AddressPolicy, check_authorities};

/// The limits of a client, each with its unit in its name. One of 0 has no end where that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// The longest time until a connection is there: waiting for a free place, name lookup and TLS included.
    pub connect_millis_max: u64,
    /// The longest time from the end of a request, or from its last progress, to the end of the answer's head.
    pub head_millis_max: u64,
    /// The longest time of a request with its redirects and its answer's body; 0 for no end.
    pub total_millis_max: u64,
    /// The longest time without progress of a body that is received or sent, while its other end is ready.
    pub idle_millis_max: u64,
    /// The most bytes of an answer's body, decompressed; 0 for no end.
    pub answer_bytes_max: u64,
    /// The most bytes of an answer's head.
    pub answer_head_bytes_max: usize,
    /// The most field lines of an answer, and again of its trailers.
    pub answer_fields_max: usize,
    /// The most redirects that are followed.
    pub redirects_max: usize,
    /// The most connections of a worker, kept ones included.
    pub connections_max: usize,
    /// The most connections of a worker to one server.
    pub connections_per_host_max: usize,
    /// The most requests of a worker that wait for a connection.
    pub waiting_max: usize,
    /// The longest time that a connection is kept without a request.
    pub kept_millis_max: u64,
    /// The time for which the addresses of a name are kept.
    pub lookup_millis: u64,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl ClientLimits {
    /// The limits that `sampan run` starts with.
    pub const DEFAULT: Self = Self {
        connect_millis_max: 10_000,
        head_millis_max: 30_000,
        total_millis_max: 0,
        idle_millis_max: 60_000,
        answer_bytes_max: 1024 * 1024 * 1024,
        answer_head_bytes_max: 64 * 1024,
        answer_fields_max: 200,
        redirects_max: 20,
        connections_max: 256,
        connections_per_host_max: 64,
        waiting_max: 1_000,
        kept_millis_max: 60_000,
        lookup_millis: 10_000,
    };
}

/// The authorities whose certificates are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// Those of the system.
    #[default]
    System,
    /// Those of Mozilla, as they were when this was built.
    Webpki,
}

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySettings {
    /// `http://host:port` or `https://host:port`, with a name and a password where it asks for them.
    pub url: url::Url,
    /// The hosts that are reached without it: names, `.name` for all names below, addresses, networks.
    pub bypassed: Vec<String>,
}

/// The settings of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// The limits.
    pub limits: ClientLimits,
    /// The addresses that requests may go to.
    pub policy: AddressPolicy,
    /// The authorities.
    pub roots: Roots,
    /// A file of more authorities (PEM).
    pub authorities: Option<PathBuf>,
    /// True if HTTP/2 is offered to servers over TLS.
    pub offers_http2: bool,
    /// The proxy.
    pub proxy: Option<ProxySettings>,
}

impl ClientSettings {
    /// Reads the file of more authorities, if there is one, as the first request over TLS will.
    ///
    /// # Errors
    /// It cannot be read, or has no certificate.
    pub fn check_authorities(&self) -> Result<(), String> {
        check_authorities(self)
    }
}

/// The options of one request. `None` stands for the limit of the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// See [`ClientLimits::connect_millis_max`].
    pub connect_millis_max: Option<u64>,
    /// See [`ClientLimits::head_millis_max`].
    pub head_millis_max: Option<u64>,
    /// See [`ClientLimits::total_millis_max`].
    pub total_millis_max: Option<u64>,
    /// See [`ClientLimits::idle_millis_max`].
    pub idle_millis_max: Option<u64>,
    /// See [`ClientLimits::answer_bytes_max`].
    pub answer_bytes_max: Option<u64>,
    /// The treatment of redirects.
    pub redirects: Redirects,
    /// True to give a compressed body as it was sent.
    pub keeps_coding: bool,
}

/// The treatment of answers that redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redirects {
    /// They are followed.
    #[default]
    Follow,
    /// They are answers.
    Manual,
    /// They are faults.
    Error,
}
