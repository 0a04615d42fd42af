//! The part of the configuration that a running server cannot change: it goes on as it was until a restart.

use super::AppConfig;
use crate::sandbox;
use crate::sandbox::settings::SandboxSettings;
use sampan_host::Section;
use sampan_project::Language;
use std::sync::Arc;

impl AppConfig {
    /// Takes over from the configuration that the server started with what only a restart can change. Names the
    /// settings that differ.
    ///
    /// # Errors
    /// This is another project: it has another folder, or is in another language. Or its scripts run in a program that
    /// cannot load them again.
    pub(crate) fn keep_fixed(&mut self, running: &Self) -> Result<Vec<&'static str>, String> {
        let (now, before) = (&self.base.project, &running.base.project);
        if running.program.host.is_some() && before.language() == Some(Language::Js) {
            return Err(
                "the program that runs the scripts keeps the modules that it has loaded: restart it"
                    .into(),
            );
        }
        if now.root() != before.root() {
            return Err(format!(
                "the project is in another folder now, {}: restart the server",
                now.root().display()
            ));
        }
        if now.language() != before.language() {
            return Err(format!(
                "the project is in another language now, {} instead of {}: restart the server",
                now.entry(),
                before.entry()
            ));
        }
        let mut differ = Vec::new();
        let mut keep = |name, is_same: bool| {
            if !is_same {
                differ.push(name);
            }
        };
        keep("[server] listen", self.base.listen == running.base.listen);
        keep(
            "[server] socket_mode",
            self.base.socket_mode == running.base.socket_mode,
        );
        keep("[tls]", self.base.tls == running.base.tls);
        keep("[server] user", self.base.user == running.base.user);
        keep(
            "[server] workers",
            self.base.workers == running.base.workers,
        );
        keep(
            "[server] proxy_protocol",
            self.serving.proxies() == running.serving.proxies(),
        );
        keep(
            "[server] http2",
            self.serving.takes_http2 == running.serving.takes_http2,
        );
        keep(
            "[server] h2c",
            self.serving.takes_h2c == running.serving.takes_h2c,
        );
        keep(
            "[limits]",
            self.serving.http == running.serving.http
                && self.serving.script == running.serving.script
                && self.serving.process_bytes_max == running.serving.process_bytes_max,
        );
        keep(
            "[scripts] mode or check_millis",
            self.base.scripts.check_time == running.base.scripts.check_time,
        );
        keep("[workers]", self.serving.lane == running.serving.lane);
        keep(
            "[overload]",
            self.serving.overload == running.serving.overload,
        );
        keep("[crash]", self.serving.crash == running.serving.crash);
        keep(
            "[files] storage or temp",
            sandbox::grants_folders(running, self),
        );
        keep("[health]", self.serving.health == running.serving.health);
        keep("[metrics]", self.serving.metrics == running.serving.metrics);
        keep("[db]", self.database.config == running.database.config);
        let is_same = |section: &'static Section| {
            let (new, old) = (
                self.base.sections.of(section),
                running.base.sections.of(section),
            );
            let mut keys = section.keys.iter().map(|key| key.name);
            keys.all(|key| new.written(key) == old.written(key))
        };
        keep("[backup]", is_same(&sampan_backup::SECTION));
        keep("[trace]", is_same(&sampan_trace::SECTION));
        let settings = |config: &Self| SandboxSettings::of(&config.project_settings());
        keep("[sandbox]", settings(self) == settings(running));
        keep("[log]", self.log_settings() == running.log_settings());
        self.base.listen.clone_from(&running.base.listen);
        self.base.tls.clone_from(&running.base.tls);
        self.base.socket_mode = running.base.socket_mode;
        self.base.user.clone_from(&running.base.user);
        self.base.workers = running.base.workers;
        self.serving.proxy_protocol = running.serving.proxy_protocol;
        self.serving.takes_http2 = running.serving.takes_http2;
        self.serving.takes_h2c = running.serving.takes_h2c;
        self.serving.process_bytes_max = running.serving.process_bytes_max;
        self.serving.overload = running.serving.overload;
        self.serving.crash.clone_from(&running.serving.crash);
        self.serving.http.clone_from(&running.serving.http);
        self.serving.script.clone_from(&running.serving.script);
        self.serving.health.clone_from(&running.serving.health);
        self.serving.lane = running.serving.lane;
        self.serving.metrics.clone_from(&running.serving.metrics);
        self.base.scripts.check_time = running.base.scripts.check_time;
        self.program
            .script_files
            .clone_from(&running.program.script_files);
        self.database.config.clone_from(&running.database.config);
        self.program.logger.clone_from(&running.program.logger);
        self.program.modules = running.program.modules;
        self.program.host.clone_from(&running.program.host);
        self.program.embedding = Arc::clone(&running.program.embedding);
        Ok(differ)
    }
}
