//! The thread that keeps certificates, in whichever process has the lock of their folder.

use crate::account;
use crate::certificate::{CertificateFields, date, standing};
use crate::client::DirectoryClient;
use crate::host::{Clock, Host, Severity};
use crate::order::{self, Failure};
use crate::schedule::{SUGGESTION_PAUSE, bounded, pause};
use crate::settings::AcmeSettings;
use crate::state::{RenewalState, Window, seconds, time};
use crate::store;
use crate::unfinished::UnfinishedOrder;
use instant_acme::{CertificateIdentifier, Error};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::watch;

/// Certificates that are kept. Dropping it leaves them kept; [`Renewing::stop`] ends that.
pub struct Renewing {
    end: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Renewing {
    /// Ends it. An order in flight is given up.
    pub fn stop(self) {
        let _ = self.end.send(true);
        // A panic of it is in the log already.
        let _ = self.thread.join();
    }
}

/// Keeps certificates from now on, on a thread of its own.
///
/// # Errors
/// The system has no thread left.
pub fn start(
    settings: AcmeSettings,
    clock: Arc<dyn Clock>,
    host: Arc<dyn Host>,
) -> io::Result<Renewing> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()?;
    let (end, mut ended) = watch::channel(false);
    let body = move || {
        let mut keeper = Keeper {
            settings,
            clock,
            host,
            lock: None,
            told: HashMap::new(),
            unwritten: HashMap::new(),
        };
        runtime.block_on(async {
            tokio::select! {
                _ = ended.wait_for(|has_ended| *has_ended) => {}
                () = keeper.keep() => {}
            }
        });
        // A look-up of a name may hang for longer than anyone waits.
        runtime.shutdown_background();
    };
    let thread = thread::Builder::new().name("sampan-acme".into());
    Ok(Renewing {
        end,
        thread: thread.spawn(body)?,
    })
}

struct Keeper {
    settings: AcmeSettings,
    clock: Arc<dyn Clock>,
    host: Arc<dyn Host>,
    /// The lock of the folder, while this process has it.
    lock: Option<File>,
    /// The last fault that the log was told, by its subject.
    told: HashMap<String, String>,
    /// The states that could not be written, by their domains: attempts must not be forgotten.
    unwritten: HashMap<String, RenewalState>,
}

impl Keeper {
    async fn keep(&mut self) {
        loop {
            if self.is_leader() {
                for domain in self.settings.domains.clone() {
                    self.look(&domain).await;
                }
            }
            tokio::time::sleep(self.clock.look_pause()).await;
        }
    }

    /// Reports whether this process orders certificates; tries to become the one that does.
    fn is_leader(&mut self) -> bool {
        if self.lock.is_some() {
            return true;
        }
        match store::try_lock(&self.settings.lock_file()) {
            Ok(lock) => self.lock = lock,
            Err(fault) => self.tell_once("lock", format!("[tls.acme] {fault}")),
        }
        if self.lock.is_some() {
            self.begin();
        }
        self.lock.is_some()
    }

    /// Takes over from the process before, which may have been killed.
    fn begin(&mut self) {
        store::clear(&self.settings.challenge_folder());
        let own = self.settings.own_folder();
        for folder in ["", "certificates", "orders", "state"] {
            store::clear_fresh(&own.join(folder));
        }
        // Those who ask for a renewal put a file there.
        if let Err(fault) = store::make_folder(&own.join("state")) {
            self.tell_once("state", format!("[tls.acme] {fault}"));
        }
        for domain in self.settings.domains.clone() {
            self.resume(&domain);
        }
    }

    /// Tells the log of an earlier failure that is not tried again at once. Without a valid certificate the next
    /// attempt is made soon.
    fn resume(&mut self, domain: &str) {
        let now = self.clock.now();
        let Some((mut state, certificate)) = self.read(domain) else {
            return;
        };
        let Some(fault) = state.fault.clone() else {
            return;
        };
        if certificate.as_ref().is_none_or(|own| own.until <= now) {
            state.hasten();
            self.write(domain, &state);
        }
        let due = state.due(certificate.as_ref());
        if due > now {
            let text = format!(
                "[tls.acme] the last attempt to get a certificate for {domain} has failed: {fault}; {}; the next \
                 attempt is on {}",
                standing(certificate.as_ref(), now, domain),
                date(due),
            );
            self.host.log(Severity::Error, &text);
        }
    }

    /// Returns the state of a domain's renewal, and its certificate. `None` if one of them cannot be read, of which the
    /// log is told: a new order might not be due.
    fn read(&mut self, domain: &str) -> Option<(RenewalState, Option<CertificateFields>)> {
        let file = self.settings.certificate_file(domain);
        let subject = format!("files of {domain}");
        let read = self.state(domain);
        let read = read.and_then(|state| Ok((state, CertificateFields::read(&file)?)));
        match read {
            Ok(read) => {
                self.told.remove(&subject);
                Some(read)
            }
            Err(fault) => {
                let text = format!(
                    "[tls.acme] {fault}; the certificate of {domain} is not renewed until that can be read"
                );
                self.tell_once(&subject, text);
                None
            }
        }
    }

    /// Returns the state of a domain's renewal.
    fn state(&mut self, domain: &str) -> Result<RenewalState, String> {
        let (mut state, is_unwritten) = match self.unwritten.remove(domain) {
            Some(state) => (state, true),
            None => (RenewalState::read(&self.settings, domain)?, false),
        };
        if state.set_right(self.clock.now()) || is_unwritten {
            self.write(domain, &state);
        }
        Ok(state)
    }

    /// Does what is due for a domain.
    async fn look(&mut self, domain: &str) {
        let now = self.clock.now();
        let Some((mut state, certificate)) = self.read(domain) else {
            return;
        };
        if let Some(certificate) = &certificate
            && now >= time(state.asked_at) + SUGGESTION_PAUSE
        {
            self.ask_when(domain, certificate, &mut state).await;
        }
        let request = self.settings.request_file(domain);
        let is_asked = request.exists();
        if is_asked || now >= state.due(certificate.as_ref()) {
            self.renew(domain, certificate, state).await;
            if is_asked {
                store::remove(&request);
            }
        }
    }

    /// Asks the authority when to renew.
    async fn ask_when(
        &mut self,
        domain: &str,
        certificate: &CertificateFields,
        state: &mut RenewalState,
    ) {
        state.asked_at = seconds(self.clock.now());
        let Ok(identifier) = CertificateIdentifier::try_from(&certificate.der) else {
            return;
        };
        let asked = async {
            let account = account::open(&self.settings, &self.client()?).await?;
            match account.renewal_info(&identifier.into_owned()).await {
                Ok((suggested, _)) => Ok(Some(suggested)),
                // An authority without renewal information: the lifetime decides.
                Err(Error::Unsupported(_)) => Ok(None),
                Err(error) => Err(order::failure(error)),
            }
        };
        match asked.await {
            Ok(None) => drop(self.told.remove("ari")),
            Ok(Some(suggested)) => {
                let window = suggested.suggested_window;
                let window = Window::new(window.start.into(), window.end.into());
                // The moment is chosen once for a window.
                let is_same = |old: Window| (old.from, old.until) == (window.from, window.until);
                if !state.window.is_some_and(is_same) {
                    state.window = Some(window);
                }
                self.told.remove("ari");
            }
            Err(Failure { reason, .. }) => {
                let text = format!(
                    "[tls.acme] cannot ask when to renew the certificate of {domain}: {reason}"
                );
                self.tell_once("ari", text);
            }
        }
        self.write(domain, state);
    }

    fn client(&self) -> Result<DirectoryClient, Failure> {
        Ok(DirectoryClient::new(self.settings.directory_ca.as_deref())?)
    }

    /// Makes an attempt, and notes its outcome.
    async fn renew(
        &mut self,
        domain: &str,
        old: Option<CertificateFields>,
        mut state: RenewalState,
    ) {
        let (outcome, asked_pause) = match self.client() {
            Ok(client) => {
                let outcome = self.attempt(domain, old.as_ref(), &state, &client).await;
                (outcome, client.take_asked_pause())
            }
            Err(failure) => (Err(failure), None),
        };
        let now = self.clock.now();
        state.tried_at = seconds(now);
        match outcome {
            Ok(fresh) => {
                let until = date(fresh.until);
                state = RenewalState {
                    tried_at: state.tried_at,
                    issued_at: state.tried_at,
                    ..RenewalState::default()
                };
                let text = format!("the certificate of {domain} is new, and valid until {until}");
                self.host.log(Severity::Info, &text);
                self.host.has_changed();
                self.told.clear();
                if fresh.until <= now || fresh.from > now {
                    let text = format!(
                        "[tls.acme] the new certificate of {domain} is valid from {} to {until}, and the clock of this \
                         machine says {}: set the clock",
                        date(fresh.from),
                        date(now),
                    );
                    self.host.log(Severity::Error, &text);
                }
            }
            Err(failure) => {
                if failure.is_account_unknown {
                    account::forget(&self.settings);
                }
                state.failures = state.failures.saturating_add(1);
                let pause = pause(state.failures, asked_pause);
                state.not_before = seconds(now + pause);
                state.refused_until = seconds(now + bounded(asked_pause));
                let text = format!(
                    "[tls.acme] no new certificate for {domain}: {}; {}; the next attempt is on {}",
                    failure.reason,
                    standing(old.as_ref(), now, domain),
                    date(now + pause),
                );
                self.host.log(Severity::Error, &text);
                state.fault = Some(failure.reason);
            }
        }
        self.write(domain, &state);
    }

    async fn attempt(
        &self,
        domain: &str,
        old: Option<&CertificateFields>,
        state: &RenewalState,
        client: &DirectoryClient,
    ) -> Result<CertificateFields, Failure> {
        let file = self.settings.certificate_file(domain);
        store::check_room(&file)?;
        let account = account::open(&self.settings, client).await?;
        let unfinished = UnfinishedOrder::finish(&account, &self.settings, domain).await?;
        if let Some(text) = unfinished
            && let Some(fresh) = CertificateFields::of_pem(text.as_bytes())
            && fresh.until > self.clock.now()
            && old.is_none_or(|old| old.der != fresh.der)
        {
            return self.put(domain, &text, fresh);
        }
        let replaced = old.and_then(|old| CertificateIdentifier::try_from(&old.der).ok());
        let replaced = replaced.map(CertificateIdentifier::into_owned);
        let settings = &self.settings;
        let text = order::obtain(&account, settings, domain, replaced, state.failures).await?;
        let fresh = CertificateFields::of_pem(text.as_bytes());
        let fresh =
            fresh.ok_or("the authority has sent something that is not a certificate".to_owned())?;
        self.put(domain, &text, fresh)
    }

    /// Puts a certificate in place.
    fn put(
        &self,
        domain: &str,
        text: &str,
        fresh: CertificateFields,
    ) -> Result<CertificateFields, Failure> {
        let file = self.settings.certificate_file(domain);
        store::put(&file, text.as_bytes())?;
        UnfinishedOrder::forget(&self.settings, domain);
        Ok(fresh)
    }

    fn write(&mut self, domain: &str, state: &RenewalState) {
        if let Err(fault) = state.write(&self.settings, domain) {
            self.unwritten.insert(domain.to_owned(), state.clone());
            self.tell_once("state", format!("[tls.acme] {fault}"));
        }
    }

    /// Tells the log of a fault unless it was the last of its subject.
    fn tell_once(&mut self, subject: &str, text: String) {
        if self.told.get(subject) != Some(&text) {
            self.host.log(Severity::Error, &text);
            self.told.insert(subject.to_owned(), text);
        }
    }
}
