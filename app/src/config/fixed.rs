//! The part of the configuration that a running server cannot change: it goes on as it was until a restart.

use super::Config;
use sampan_project::Language;
use std::sync::Arc;

impl Config {
    /// Takes over from the configuration of the running server what only a restart can change. Names the settings that
    /// differ.
    ///
    /// # Errors
    /// This is another project: it has another folder, or is in another language. Or its scripts run in a program that
    /// cannot load them again.
    pub(crate) fn keep_fixed(&mut self, running: &Self) -> Result<Vec<&'static str>, String> {
        let (now, before) = (&self.project, &running.project);
        if running.host.is_some() && before.language() == Some(Language::Js) {
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
        keep("[server] listen", self.listen == running.listen);
        keep(
            "[server] socket_mode",
            self.socket_mode == running.socket_mode,
        );
        keep("[server] user", self.user == running.user);
        keep("[server] workers", self.workers == running.workers);
        keep(
            "[limits]",
            self.http == running.http && self.script == running.script,
        );
        keep(
            "[scripts] mode or check_millis",
            self.scripts.check_time == running.scripts.check_time,
        );
        keep("[db]", self.db == running.db);
        keep("[log]", self.log_settings() == running.log_settings());
        self.listen.clone_from(&running.listen);
        self.socket_mode = running.socket_mode;
        self.user.clone_from(&running.user);
        self.workers = running.workers;
        self.http.clone_from(&running.http);
        self.script.clone_from(&running.script);
        self.scripts.check_time = running.scripts.check_time;
        self.script_files.clone_from(&running.script_files);
        self.db.clone_from(&running.db);
        self.logger.clone_from(&running.logger);
        self.modules = running.modules;
        self.host.clone_from(&running.host);
        self.embedding = Arc::clone(&running.embedding);
        Ok(differ)
    }
}
