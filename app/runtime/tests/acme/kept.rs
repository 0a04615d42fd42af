//! Certificates that are kept, with a clock of the test.

use base64::Engine as _;
use sampan_acme::{
    AcmeSettings, CertificateFields, ChallengeKind, Clock, ExternalAccount, Host, RenewalOutcome,
    Renewing, Severity, renew, start, status,
};
use sampan_client::pebble::{ACCOUNT_KEY, Pebble, PebbleOptions};
use sampan_client::wait;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub(crate) const DAY: u64 = 24 * 3_600;
const RENEWAL_TIME_MAX: Duration = Duration::from_secs(60);

/// A clock that goes ahead, and back to the time of the system.
#[derive(Default)]
pub(crate) struct TestClock {
    seconds_ahead: AtomicU64,
    /// The looks that the keeper has ended.
    looks: AtomicUsize,
}

impl TestClock {
    pub(crate) fn go_ahead(&self, seconds: u64) {
        self.seconds_ahead.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn set_right(&self) {
        self.seconds_ahead.store(0, Ordering::SeqCst);
    }

    /// Waits until the keeper has looked at the present time. The look that is under way may have seen an older one.
    pub(crate) fn wait_for_look(&self) {
        let looks = || self.looks.load(Ordering::SeqCst);
        let before = looks();
        wait::until("a look", || looks() >= before + 2);
    }
}

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::now() + Duration::from_secs(self.seconds_ahead.load(Ordering::SeqCst))
    }

    fn look_pause(&self) -> Duration {
        self.looks.fetch_add(1, Ordering::SeqCst);
        Duration::from_millis(20)
    }
}

/// A host that keeps what it is told.
#[derive(Default)]
pub(crate) struct TestHost(Mutex<Vec<(Severity, String)>>);

impl Host for TestHost {
    fn log(&self, severity: Severity, text: &str) {
        self.0
            .lock()
            .expect("whole")
            .push((severity, text.to_owned()));
    }

    fn has_changed(&self) {
        self.log(Severity::Info, "changed");
    }
}

impl TestHost {
    /// The number of lines with this text.
    pub(crate) fn count(&self, text: &str) -> usize {
        let lines = self.0.lock().expect("whole");
        lines.iter().filter(|(_, line)| line.contains(text)).count()
    }

    /// Waits for a line with this text. A failure shows the lines that came instead.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let shown = std::fmt::from_fn(|f| {
            let lines = self.0.lock().expect("whole");
            write!(f, "{text:?} in the log {lines:#?}")
        });
        wait::found(shown, || {
            let lines = self.0.lock().expect("whole");
            let found = lines.iter().find(|(_, line)| line.contains(text));
            found.map(|(_, line)| line.clone())
        })
    }
}

/// Certificates that a test keeps.
pub(crate) struct Kept {
    pub(crate) settings: AcmeSettings,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) host: Arc<TestHost>,
    pub(crate) renewing: Option<Renewing>,
}

impl Kept {
    pub(crate) fn start(settings: AcmeSettings) -> Self {
        let (clock, host) = (Arc::<TestClock>::default(), Arc::<TestHost>::default());
        let renewing = start(settings.clone(), clock.clone(), host.clone()).expect("a thread");
        Self {
            settings,
            clock,
            host,
            renewing: Some(renewing),
        }
    }

    pub(crate) fn stop(&mut self) {
        self.renewing.take().into_iter().for_each(Renewing::stop);
    }

    /// The certificate in place.
    pub(crate) fn certificate(&self) -> Option<CertificateFields> {
        let file = self.settings.certificate_file(&self.settings.domains[0]);
        CertificateFields::of_file(&file)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn settings(folder: &Path, directory: String) -> AcmeSettings {
    AcmeSettings {
        folder: folder.to_owned(),
        directory,
        directory_ca: None,
        domains: vec!["localhost".to_owned()],
        email: None,
        profile: None,
        external_account: None,
        challenges: vec![ChallengeKind::Http],
    }
}

pub(crate) fn of_pebble(folder: &Path, pebble: &Pebble) -> AcmeSettings {
    AcmeSettings {
        directory_ca: Some(pebble.authority()),
        // Without one pebble takes any of its profiles.
        profile: Some("default".to_owned()),
        ..settings(folder, pebble.directory())
    }
}

pub(crate) const BELIEVING: PebbleOptions = PebbleOptions {
    http_port: 1,
    tls_port: 1,
    believes_all: true,
    wants_account: false,
};

#[test]
fn sixty_days_ahead_it_is_renewed_and_asked_for_twice_a_day() {
    let Some(pebble) = Pebble::start(BELIEVING) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Kept::start(of_pebble(folder.path(), &pebble));
    kept.host.wait_for("changed");
    let first = kept.certificate().expect("there");
    // The authority suggests a window in the last third.
    let suggested = wait::found("a suggestion", || {
        status(&kept.settings).expect("read")[0].suggested
    });
    assert!(
        suggested.0 > first.from + Duration::from_secs(45 * DAY),
        "{suggested:?}"
    );
    let next = status(&kept.settings).expect("read")[0].next_attempt;
    assert!(
        (suggested.0..=suggested.1).contains(&next),
        "{next:?} {suggested:?}"
    );
    kept.clock.go_ahead(DAY);
    assert_eq!(kept.host.count("changed"), 1);
    kept.clock.go_ahead(64 * DAY);
    wait::until("a second one", || kept.host.count("changed") == 2);
    let second = kept.certificate().expect("there");
    assert_ne!(first, second);
    // A new one is not renewed at once, also by a clock that is ahead.
    kept.clock.go_ahead(DAY / 4);
    kept.clock.wait_for_look();
    assert_eq!(kept.host.count("changed"), 2);
}

#[test]
fn one_of_two_orders_and_the_other_takes_over() {
    let Some(pebble) = Pebble::start(BELIEVING) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut first = Kept::start(of_pebble(folder.path(), &pebble));
    first.host.wait_for("changed");
    let second = Kept::start(first.settings.clone());
    second.clock.go_ahead(70 * DAY);
    let outcome = renew(&first.settings, "localhost", RENEWAL_TIME_MAX);
    assert!(
        matches!(outcome, Ok(RenewalOutcome::Renewed(_))),
        "{outcome:?}"
    );
    assert_eq!(
        (first.host.count("changed"), second.host.count("changed")),
        (2, 0)
    );
    first.stop();
    second.host.wait_for("changed");
}

#[test]
fn accounts_are_kept_bound_and_made_again_if_they_are_unknown() {
    let options = PebbleOptions {
        wants_account: true,
        ..BELIEVING
    };
    let Some(pebble) = Pebble::start(options) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut kept = Kept::start(of_pebble(folder.path(), &pebble));
    kept.host.wait_for("externalAccountRequired");
    kept.stop();
    let key = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(ACCOUNT_KEY);
    let external_account = Some(ExternalAccount {
        id: "kid-1".to_owned(),
        key: key.expect("base64url"),
    });
    let bound = AcmeSettings {
        external_account,
        email: Some("me@example.org".to_owned()),
        ..kept.settings.clone()
    };
    let kept = Kept::start(bound);
    kept.clock.go_ahead(DAY / 24);
    kept.host.wait_for("changed");
    let account = || {
        let own = std::fs::read_dir(folder.path()).expect("there").flatten();
        let mut files = own.map(|own| own.path().join("account.json"));
        std::fs::read_to_string(files.find(|file| file.exists())?).ok()
    };
    let first = account().expect("kept");
    assert!(
        first.contains("me@example.org") && first.contains("kid-1"),
        "{first}"
    );
    let outcome = renew(&kept.settings, "localhost", RENEWAL_TIME_MAX);
    assert!(
        matches!(outcome, Ok(RenewalOutcome::Renewed(_))),
        "{outcome:?}"
    );
    assert_eq!(account().as_ref(), Some(&first));
    // An account that the authority has lost.
    let lost = first.replace("/my-account/", "/my-account/9");
    assert_ne!(lost, first);
    let own = std::fs::read_dir(folder.path()).expect("there").flatten();
    let files = own.map(|own| own.path().join("account.json"));
    for file in files.filter(|file| file.exists()) {
        std::fs::write(file, &lost).expect("written");
    }
    let outcome = renew(&kept.settings, "localhost", RENEWAL_TIME_MAX);
    assert!(
        matches!(outcome, Ok(RenewalOutcome::Failed(_))),
        "{outcome:?}"
    );
    let outcome = renew(&kept.settings, "localhost", RENEWAL_TIME_MAX);
    assert!(
        matches!(outcome, Ok(RenewalOutcome::Renewed(_))),
        "{outcome:?}"
    );
}
