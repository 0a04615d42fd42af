//! `[backup]`.

use crate::cipher::Cipher;
use crate::targets::{Bucket, FileTarget, Keys, MakeFetcher, S3Target, Target};
use sampan_host::fetch::{FetchAnswer, FetchRequest, Fetcher};
use sampan_host::settings::{Preset, Section, SettingKey, Settings};
use sampan_host::{Error, ErrorKind, LocalFuture};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const HOUR_MILLIS: u64 = 3_600 * 1_000;
const DAY_MILLIS: u64 = 24 * HOUR_MILLIS;

/// `[backup]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "backup",
    doc: "A copy of the database elsewhere, made as it is written.",
    keys: &[
        SettingKey::text("url", Preset::Unset,
            "the place of the copy: file:///folder or s3://bucket/prefix; without it there is none"),
        SettingKey::time("every", 10..=HOUR_MILLIS, 1_000, "how often commits are copied"),
        SettingKey::time("whole_every", 60_000..=365 * DAY_MILLIS, DAY_MILLIS,
            "how often the whole database is copied, so that a restore has fewer commits to apply"),
        SettingKey::time("keep", HOUR_MILLIS..=36_500 * DAY_MILLIS, 7 * DAY_MILLIS,
            "how long every moment can be restored"),
        SettingKey::flag("verify", Preset::Flag(false), "each whole copy is restored and checked when it is complete"),
        SettingKey::flag("restore", Preset::Flag(false), "a server that starts without a database restores it first"),
        SettingKey::text("key", Preset::Unset, "encrypts the copy; 32 random characters at least").secret(),
        SettingKey::size("behind_bytes_max", 1024 * 1024..=1 << 40, 64 * 1024 * 1024,
            "commits that wait in memory for a target that is slow or absent, compressed"),
        SettingKey::text("endpoint", Preset::Unset,
            "the server of s3://, if it is not Amazon's: https://host:port").secret(),
        SettingKey::text("region", Preset::Unset, "the region of s3://"),
        SettingKey::text("access_key", Preset::Unset, "the name of the key for s3://"),
        SettingKey::text("secret_key", Preset::Unset, "the key for s3://").secret(),
        SettingKey::text("session_token", Preset::Unset, "the token of a key that is valid for a while only").secret(),
    ],
};

/// The settings of a copy.
#[derive(Clone)]
pub struct BackupSettings {
    pub(crate) place: Place,
    pub(crate) every: Duration,
    pub(crate) whole_every: Duration,
    pub(crate) keep: Duration,
    pub(crate) verifies: bool,
    pub(crate) cipher: Arc<Option<Cipher>>,
    pub(crate) behind_bytes_max: u64,
    /// Makes the client for requests to a bucket.
    fetcher: MakeFetcher,
}

/// The place of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A folder.
    Folder(PathBuf),
    /// A bucket.
    Bucket(Bucket),
}

impl Place {
    /// Reads a URL, and what else a bucket needs.
    ///
    /// # Errors
    /// It names no place that a copy can have, or a key is missing.
    fn of(url: &str, settings: &Settings) -> Result<Self, String> {
        if let Some(rest) = url.strip_prefix("s3://") {
            return bucket(url, rest, settings).map(Self::Bucket);
        }
        match url.strip_prefix("file://") {
            Some(path) if path.starts_with('/') => Ok(Self::Folder(path.into())),
            Some(_) => Err(format!(
                "url: {url} has no absolute path: write file:///folder"
            )),
            None => Err(format!(
                "url: {url} is no place for a copy: write file:///folder or s3://bucket/prefix"
            )),
        }
    }

    /// Returns the place as it is shown.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Folder(path) => format!("file://{}", path.display()),
            Self::Bucket(place) => match place.prefix.as_str() {
                "" => format!("s3://{}", place.bucket),
                prefix => format!("s3://{}/{prefix}", place.bucket),
            },
        }
    }
}

/// Reads what a bucket needs: of the settings, or of the variables that other programs for S3 read too.
fn bucket(url: &str, rest: &str, settings: &Settings) -> Result<Bucket, String> {
    let value = |key: &str, variables: &[&str]| {
        let written = settings.text_if_set(key).map(str::to_owned);
        let of_environment = || variables.iter().find_map(|name| std::env::var(name).ok());
        written
            .or_else(of_environment)
            .filter(|text| !text.is_empty())
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(format!(
            "url: {url} has no bucket: write s3://bucket/prefix"
        ));
    }
    let endpoint = value("endpoint", &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    if let Some(endpoint) = &endpoint
        && !["http://", "https://"]
            .iter()
            .any(|scheme| endpoint.starts_with(scheme))
    {
        return Err("endpoint: the value is no URL: write https://host:port".to_owned());
    }
    let needed = |key: &str, variable: &str| {
        let found = value(key, &[variable]);
        found.ok_or_else(|| format!("{key}: s3:// needs it: set it, or the variable {variable}"))
    };
    Ok(Bucket {
        bucket: bucket.to_owned(),
        prefix: prefix.trim_matches('/').to_owned(),
        endpoint,
        region: value("region", &["AWS_REGION", "AWS_DEFAULT_REGION"])
            .unwrap_or_else(|| "us-east-1".to_owned()),
        keys: Keys {
            access: needed("access_key", "AWS_ACCESS_KEY_ID")?,
            secret: needed("secret_key", "AWS_SECRET_ACCESS_KEY")?,
            token: value("session_token", &["AWS_SESSION_TOKEN"]),
        },
    })
}

impl BackupSettings {
    /// Reads `[backup]`. `None` if there is no copy. `fetcher` makes the client for requests to a bucket.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn of(settings: &Settings, fetcher: MakeFetcher) -> Result<Option<Self>, String> {
        match settings.text_if_set("url").filter(|url| !url.is_empty()) {
            Some(url) => Self::with_url(settings, url, fetcher).map(Some),
            None => Ok(None),
        }
    }

    /// Reads `[backup]` with another URL.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn with_url(settings: &Settings, url: &str, fetcher: MakeFetcher) -> Result<Self, String> {
        let key = settings.text_if_set("key").filter(|key| !key.is_empty());
        let time = |name: &str| Duration::from_millis(settings.number(name));
        Ok(Self {
            place: Place::of(url, settings)?,
            every: time("every"),
            whole_every: time("whole_every"),
            keep: time("keep"),
            verifies: settings.flag("verify"),
            cipher: Arc::new(key.map(Cipher::of).transpose()?),
            behind_bytes_max: settings.number("behind_bytes_max"),
            fetcher,
        })
    }

    /// Opens the place, for the thread that calls.
    ///
    /// # Errors
    /// The system has nothing to make requests with.
    pub(crate) fn open(&self) -> Result<Box<dyn Target>, String> {
        Ok(match &self.place {
            Place::Folder(path) => Box::new(FileTarget::new(path.clone())),
            Place::Bucket(place) => {
                Box::new(S3Target::new(place.clone(), Arc::clone(&self.fetcher))?)
            }
        })
    }
}

/// A client that sends nothing, to check settings with.
pub(crate) fn no_fetcher() -> MakeFetcher {
    struct Nothing;
    impl Fetcher for Nothing {
        fn fetch(&self, _: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
            Box::pin(async { Err(Error::new(ErrorKind::Internal, "there is no client")) })
        }
    }
    Arc::new(|| Rc::new(Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Option<BackupSettings>, String> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(key, text)| (*key, SettingValue::Text((*text).to_owned())));
        BackupSettings::of(
            &Settings::with(&SECTION, pairs).expect("valid"),
            no_fetcher(),
        )
    }

    #[test]
    fn a_copy_needs_a_place() {
        assert!(read(&[]).expect("valid").is_none());
        let settings = read(&[("url", "file:///var/copies/app")]).expect("valid");
        let place = settings.expect("a copy").place;
        assert_eq!(place, Place::Folder("/var/copies/app".into()));
        for url in ["file://here", "/var/copies", "ftp://x/y"] {
            let fault = read(&[("url", url)]).err().expect(url);
            assert!(fault.contains("file:///folder"), "{fault}");
        }
    }

    #[test]
    fn a_short_key_is_refused_and_not_shown() {
        let fault = read(&[("url", "file:///x"), ("key", "secret")])
            .err()
            .expect("short");
        assert!(fault.contains("32") && !fault.contains("secret"), "{fault}");
    }

    #[test]
    fn a_bucket_needs_keys() {
        let url = ("url", "s3://copies/shop/");
        let fault = read(&[
            url,
            ("access_key", ""),
            ("endpoint", "https://s3.example.org"),
        ])
        .err();
        let fault = fault.expect("no key");
        assert!(fault.contains("AWS_ACCESS_KEY_ID"), "{fault}");
        let keys = [("access_key", "a"), ("secret_key", "b")];
        let settings = read(&[url, keys[0], keys[1]])
            .expect("valid")
            .expect("a copy");
        assert_eq!(settings.place.shown(), "s3://copies/shop");
        let fault = read(&[("url", "s3:///x"), keys[0], keys[1]])
            .err()
            .expect("no bucket");
        assert!(fault.contains("s3://bucket/prefix"), "{fault}");
        let endpoint = ("endpoint", "minio:9000");
        let fault = read(&[url, keys[0], keys[1], endpoint])
            .err()
            .expect("no URL");
        // It may have a password.
        assert!(
            fault.contains("https://host:port") && !fault.contains("minio"),
            "{fault}"
        );
    }
}
