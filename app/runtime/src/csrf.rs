//! The protection against requests of other sites, around every project but for the paths that its configuration
//! excepts.

use sampan_host::{Error, Guard, GuardStep, RequestView, Settings};
use sampan_middleware::Csrf;
use sampan_serve::routing::normal_form::normal_form;
use sampan_serve::routing::pattern::Pattern;

/// The protection as `[csrf]` configures it.
#[derive(Clone, Debug)]
pub(crate) struct CsrfGuard {
    csrf: Csrf,
    except: Vec<Pattern>,
}

impl CsrfGuard {
    /// Reads `[csrf]`: the protection, unless it is turned off.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Option<Self>, String> {
        let csrf = Csrf::new(&settings.list("trusted_origins"));
        let except = settings.list("except");
        let except = except.iter().map(|text| Pattern::parse(text));
        let except = except.collect::<Result<_, _>>();
        let guard = Self {
            csrf: csrf.map_err(|fault| format!("trusted_origins: {fault}"))?,
            except: except.map_err(|fault| format!("except: {fault}"))?,
        };
        Ok(settings.flag("enabled").then_some(guard))
    }
}

impl Guard for CsrfGuard {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        if !self.csrf.is_foreign(request) {
            return Ok(GuardStep::Pass);
        }
        let path = normal_form(request.path());
        if self.except.iter().any(|pattern| pattern.excepts(&path)) {
            return Ok(GuardStep::Pass);
        }
        Err(Csrf::refusal())
    }

    fn only_checks_changes(&self) -> bool {
        true
    }
}
