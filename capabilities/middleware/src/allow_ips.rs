//! Networks from which requests are admitted.

use crate::limits::NETWORKS_MAX;
use crate::options::GuardOptions;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::request::Network;
use sampan_host::{
    Args, Context, Error, ErrorKind, Guard, GuardStep, Hint, NativeMiddleware, Reader, RequestView,
    Value,
};
use std::net::IpAddr;
use std::rc::Rc;

/// The notation for clients that come over a Unix socket and have no address.
const UNIX: &str = "unix:";

/// The networks from which clients are admitted.
struct AllowedNetworks {
    networks: Vec<Network>,
    /// True if clients over a Unix socket are admitted.
    has_unix: bool,
}

/// Admits clients of networks.
struct NetworkGuard {
    allowed: AllowedNetworks,
    log: Option<Rc<dyn Log>>,
}

/// `app.allow_ips(options)`
pub(crate) fn allow_ips(
    context: &Context,
    args: Args,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), &["networks"])?;
    let Some(texts) = options.texts("networks")? else {
        let text = "networks is needed: addresses or prefixes like 10.0.0.0/8";
        return Err(Error::script(text).naming(["networks"]));
    };
    let allowed = AllowedNetworks::parse(&texts)?;
    let log = context.get::<Rc<dyn Log>>().map(|log| Rc::clone(&*log));
    Ok(NativeMiddleware::guard(
        context,
        NetworkGuard { allowed, log },
    ))
}

impl AllowedNetworks {
    fn parse(texts: &[String]) -> Result<Self, Error> {
        if texts.is_empty() {
            let text = "networks is empty, so every request would be refused";
            return Err(Error::script(text).with_hint(Some(Hint::NoMembers)));
        }
        if texts.len() > NETWORKS_MAX {
            let count = texts.len();
            return Err(Error::script(format!(
                "networks: {count} are too many: at most {NETWORKS_MAX}, write prefixes that hold several"
            )));
        }
        let mut allowed = Self {
            networks: Vec::with_capacity(texts.len()),
            has_unix: false,
        };
        for text in texts {
            if text == UNIX {
                allowed.has_unix = true;
                continue;
            }
            let network = Network::parse(text).ok_or_else(|| {
                Error::script(format!(
                    "networks: {text:?} is no network: write an address or a prefix like 10.0.0.0/8"
                ))
            })?;
            allowed.networks.push(network);
        }
        Ok(allowed)
    }

    fn has(&self, client: Option<IpAddr>) -> bool {
        let Some(client) = client else {
            return self.has_unix;
        };
        self.networks.iter().any(|it| it.contains(client))
    }
}

impl NetworkGuard {
    /// Logs that a proxy does not say for whom it asks: its own address must not count for that of the client.
    #[cold]
    fn warn(&self, request: &dyn RequestView) {
        let Some(log) = &self.log else {
            return;
        };
        let (method, path) = (request.method(), request.path());
        let text = format!(
            "{method} {path}: allow_ips does not know the client, only a proxy ({}): name the proxy in [server] \
             trusted_proxies, and let it send X-Forwarded-For",
            request.ip()
        );
        let entry = Entry {
            id: Some(request.id()),
            request: Some((method, path)),
            ..Entry::text(text)
        };
        log.write_limited(Level::Warn, Cause::place("allow_ips"), &entry);
    }
}

impl Guard for NetworkGuard {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        let refused = |text| Err(Error::new(ErrorKind::Status(403), text));
        if request.has_unknown_client() {
            self.warn(request);
            return refused("refused: the address of the client is not known");
        }
        match self.allowed.has(request.client()) {
            true => Ok(GuardStep::Pass),
            false => refused("refused: this address is not allowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(texts: &[&str]) -> Result<AllowedNetworks, Error> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        AllowedNetworks::parse(&texts)
    }

    #[test]
    fn networks_hold_their_addresses_only() {
        for (networks, inside, outside) in [
            (&["10.0.0.0/8"][..], "10.255.0.1", "11.0.0.1"),
            (&["10.1.2.3/8"], "10.255.0.1", "11.0.0.1"),
            (&["127.0.0.1"], "::ffff:127.0.0.1", "127.0.0.2"),
            (&["::ffff:192.0.2.1"], "192.0.2.1", "192.0.2.2"),
            (&["::ffff:192.168.0.0/112"], "192.168.1.1", "192.169.0.1"),
            (&["fd00::/8", "192.0.2.0/24"], "192.0.2.255", "fe80::1"),
            (&["0.0.0.0/0"], "203.0.113.9", "2001:db8::1"),
            (&["::/0"], "2001:db8::1", "192.0.2.1"),
            (&["unix:", "10.0.0.1"], "unix:", "10.0.0.2"),
            (&["0.0.0.0/0", "::/0"], "192.0.2.1", "unix:"),
        ] {
            let allowed = allowed(networks).expect("networks");
            // Text that is not an address stands for a client without one.
            let has = |client: &str| allowed.has(client.parse().ok());
            assert!(has(inside), "{networks:?} has {inside}");
            assert!(!has(outside), "{networks:?} does not have {outside}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.0/"] {
            let error = allowed(&["127.0.0.1", wrong]).err().expect(wrong);
            let message = error.message();
            assert!(message.contains("is no network"), "{message}");
        }
        let many = vec!["10.0.0.1"; NETWORKS_MAX + 1];
        let error = allowed(&many).err().expect("too many");
        assert!(error.message().contains("at most"), "{}", error.message());
        allowed(&[]).err().expect("none");
    }
}
