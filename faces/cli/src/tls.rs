//! `sampan tls`: the certificates that a server gets and renews by itself.

use crate::terminal::print::{counted, say};
use clap::Subcommand;
use sampan_acme::{AcmeSettings, CertificateStatus, RenewalOutcome};
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::AppConfig;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The longest time that a renewal may take.
const RENEWAL_TIME_MAX: Duration = Duration::from_secs(5 * 60);
/// The seconds of a day.
const DAY: u64 = 24 * 3_600;

/// The arguments of `sampan tls`.
#[derive(clap::Args)]
pub(crate) struct TlsArgs {
    #[command(subcommand)]
    command: TlsCommand,
}

#[derive(Subcommand)]
enum TlsCommand {
    /// Print until when the certificates are valid, and when they are renewed.
    Status(CertificateArgs),
    /// Have the running server renew its certificates now.
    Renew(CertificateArgs),
}

/// The project whose certificates are meant, and the form of the output.
#[derive(clap::Args)]
struct CertificateArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// The domains, as the server was started with them [default: [tls.acme] domains].
    #[arg(long, value_name = "DOMAIN", value_parser = crate::arguments::server::a_domain, value_delimiter = ',')]
    tls: Vec<String>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A value of the configuration, such as tls.acme.directory=staging.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// A file of variables, as that of sampan run [default: .env in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: TlsArgs) -> Result<i32, String> {
    match args.command {
        TlsCommand::Status(args) => status(args),
        TlsCommand::Renew(args) => renew(args),
    }
}

/// Returns the settings of the certificates that are meant.
fn settings(args: CertificateArgs) -> Result<AcmeSettings, String> {
    let config = AppConfig::resolve(&Flags {
        path: args.path,
        tls: args.tls,
        config: args.config,
        set: args.set,
        env_file: args.env_file.map_or(EnvFile::OfProject, EnvFile::At),
        ..Flags::default()
    })?;
    let settings = sampan_runtime::acme_settings(&config)?;
    settings.ok_or_else(|| {
        "this project gets no certificates by itself: name its domains with --tls, or in [tls.acme] domains"
            .to_owned()
    })
}

/// Prints the certificates. The exit status is 1 if one of them is missing or has ended.
fn status(args: CertificateArgs) -> Result<i32, String> {
    let is_json = args.json;
    let now = SystemTime::now();
    let all = sampan_acme::status(&settings(args)?)?;
    if is_json {
        let rows: Vec<_> = all.iter().map(|one| row(one, now)).collect();
        say(Value::from(rows))?;
    } else {
        for one in &all {
            say(shown(one, now))?;
        }
    }
    Ok(i32::from(!all.iter().all(|one| is_valid(one, now))))
}

fn is_valid(one: &CertificateStatus, now: SystemTime) -> bool {
    one.validity
        .is_some_and(|(from, until)| (from..=until).contains(&now))
}

fn row(one: &CertificateStatus, now: SystemTime) -> Value {
    let date = |time: SystemTime| httpdate::fmt_http_date(time);
    json!({
        "domain": one.domain,
        "valid": is_valid(one, now),
        "from": one.validity.map(|(from, _)| date(from)),
        "until": one.validity.map(|(_, until)| date(until)),
        "next_attempt": date(one.next_attempt.max(now)),
        "suggested_from": one.suggested.map(|(from, _)| date(from)),
        "suggested_until": one.suggested.map(|(_, until)| date(until)),
        "failures": one.failures,
        "fault": one.fault,
        "tried": one.tried.map(date),
    })
}

fn shown(one: &CertificateStatus, now: SystemTime) -> String {
    let date = |time: SystemTime| httpdate::fmt_http_date(time);
    let mut text = match one.validity {
        None => format!("{}: no certificate yet", one.domain),
        Some((_, until)) => match until.duration_since(now) {
            Ok(left) => {
                let days = counted(left.as_secs() / DAY, "day");
                format!("{}: valid until {} ({days})", one.domain, date(until))
            }
            Err(_) => format!("{}: has ended on {}", one.domain, date(until)),
        },
    };
    match one.next_attempt > now {
        true => text += &format!("\n  renewed on {}", date(one.next_attempt)),
        false => text += "\n  renewed as soon as its server runs",
    }
    if let Some(fault) = &one.fault {
        let failures = counted(one.failures.into(), "attempt");
        text += &format!("\n  {failures} failed: {fault}");
    }
    text
}

/// Renews the certificates. The exit status is 1 if one of them could not be renewed.
fn renew(args: CertificateArgs) -> Result<i32, String> {
    let is_json = args.json;
    let settings = settings(args)?;
    let (mut rows, mut has_failed) = (Vec::new(), false);
    for domain in &settings.domains {
        let outcome = sampan_acme::renew(&settings, domain, RENEWAL_TIME_MAX)?;
        let (until, fault) = match outcome {
            RenewalOutcome::Renewed(until) => (Some(httpdate::fmt_http_date(until)), None),
            RenewalOutcome::Failed(fault) => (None, Some(fault)),
        };
        has_failed |= fault.is_some();
        if is_json {
            rows.push(json!({ "domain": domain, "until": until, "fault": fault }));
            continue;
        }
        match (until, fault) {
            (Some(until), _) => say(format_args!("{domain}: renewed, valid until {until}"))?,
            (None, fault) => {
                let fault = fault.unwrap_or_default();
                say(format_args!("{domain}: not renewed: {fault}"))?;
            }
        }
    }
    if is_json {
        say(Value::from(rows))?;
    }
    Ok(i32::from(has_failed))
}
