//! `GET /_sampan/health`: tells load balancers and supervisors if the server can answer requests.
//!
//! [`HealthHandler`](handler::HealthHandler) answers it before the project's routes and middleware. The checks run on a
//! thread of their own, which the [`HealthMonitor`](monitor::HealthMonitor) starts when a request asks; answers of the
//! same second share one look. Parts of the server add checks by the trait `host::health::HealthCheck`. Those that the
//! project declares ([`declared`]) are run by one of the workers, which takes the monitor's question
//! ([`AppChecks`](app_checks::AppChecks)).

pub(crate) mod answer;
pub(crate) mod app_checks;
pub(crate) mod declared;
pub(crate) mod disk;
pub(crate) mod handler;
pub(crate) mod monitor;
pub(crate) mod operators;
pub(crate) mod settings;

use crate::app_config::AppConfig;
use crate::migrations::migrations_of;
use disk::DiskCheck;
use sampan_db::AppDatabase;
use sampan_host::health::HealthCheck;
use std::sync::Arc;

/// Returns the checks of a server, as its project is now.
///
/// # Errors
/// The migrations cannot be read: one line that says what to do.
pub(crate) fn checks(
    config: &AppConfig,
    database: &AppDatabase,
) -> Result<Vec<Arc<dyn HealthCheck>>, String> {
    let migrations = migrations_of(&config.base.project)?;
    let checks = sampan_db::health_checks(database, &migrations);
    let mut checks = checks.map_err(|error| error.to_string())?;
    let written = config.written_folders().into_iter();
    let is_here = !config.database.config.is_postgres();
    let file = is_here.then(|| config.database.config.path.clone());
    let mut places = Vec::from_iter(file);
    places.extend(written.map(|folder| folder.path));
    checks.push(Arc::new(DiskCheck {
        places,
        bytes_min: config.serving.health.disk_bytes_min,
    }));
    Ok(checks)
}
