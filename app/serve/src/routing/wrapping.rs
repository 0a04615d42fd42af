//! The wrappers of a project's paths, by patterns: the script's middleware, and the guards.

use crate::files::paths::any_name;
use crate::routing::covers::Covers;
use crate::routing::normal_form::merged_slashes;
use crate::routing::pattern::Pattern;
use sampan_host::Guard;
use sampan_host::trace::ChainStep;
use sampan_http::Method;
use std::borrow::Cow;
use std::rc::Rc;

/// Things that wrap paths, outermost first.
pub(crate) struct Wrapping<T>(Vec<(Pattern, T)>);

/// Those of them that wrap the paths of one route.
pub(crate) enum Chain<T> {
    /// The list for all paths of the route.
    Fixed(Box<[T]>),
    /// The list depends on the path.
    PerPath,
}

impl<T> Default for Wrapping<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Wrapping<T> {
    /// Adds one, inside of the others.
    pub(crate) fn add(&mut self, pattern: Pattern, wraps: T) {
        self.0.push((pattern, wraps));
    }

    /// Reports whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those around a route.
    pub(crate) fn around(&self, route: &Pattern) -> Chain<T> {
        let mut chain = Vec::new();
        for (pattern, wraps) in &self.0 {
            match pattern.covers(route) {
                Covers::Always => chain.push(wraps.clone()),
                Covers::Never => {}
                Covers::Perhaps => return Chain::PerPath,
            }
        }
        Chain::Fixed(chain.into())
    }

    /// Reports whether any wraps the paths of some hosts only.
    pub(crate) fn has_hosts(&self) -> bool {
        self.0.iter().any(|(pattern, _)| pattern.host.is_some())
    }

    /// Those around a path of a host in normal form, also as an application may read that which takes it apart itself.
    pub(crate) fn of_path(&self, host: Option<&str>, path: &str) -> Vec<T> {
        let read = merged_slashes(path);
        let is_around = |(pattern, _): &&(Pattern, T)| {
            let wraps = |path: &str| pattern.wraps_at(host, path);
            wraps(path) || read.as_deref().is_some_and(wraps)
        };
        let wrapping = self.0.iter().filter(is_around);
        wrapping.map(|(_, wraps)| wraps.clone()).collect()
    }

    /// Those around a file that a host is asked for: what wraps one of its names wraps it under all.
    pub(crate) fn of_file(&self, host: Option<&str>, path: &str) -> Vec<T> {
        let is_around =
            |(pattern, _): &&(Pattern, T)| any_name(path, |name| pattern.wraps_at(host, name));
        let wrapping = self.0.iter().filter(is_around);
        wrapping.map(|(_, wraps)| wraps.clone()).collect()
    }

    /// Those around a route, for a path of it. `host` is asked where they depend on the path.
    #[inline]
    pub(crate) fn of_route<'a>(
        &self,
        chain: &'a Chain<T>,
        host: impl FnOnce() -> Option<String>,
        path: &str,
    ) -> Cow<'a, [T]> {
        match chain {
            Chain::Fixed(chain) => Cow::Borrowed(chain),
            Chain::PerPath => Cow::Owned(self.of_path(host().as_deref(), path)),
        }
    }
}

impl<T> Chain<T> {
    /// Reports whether it may have any.
    pub(crate) fn may_wrap(&self) -> bool {
        !matches!(self, Self::Fixed(chain) if chain.is_empty())
    }
}

/// A guard as it was declared.
pub(crate) struct DeclaredGuard {
    pub(crate) guard: Rc<dyn Guard>,
    /// The guard as its spans show it.
    pub(crate) step: ChainStep,
}

/// A guard as it is kept.
pub(crate) type SharedGuard = Rc<DeclaredGuard>;

/// The guards of a project.
#[derive(Default)]
pub(crate) struct Guards {
    /// Those that check every request.
    safe: Wrapping<SharedGuard>,
    /// All: for methods that may change something.
    all: Wrapping<SharedGuard>,
}

/// The guards of one route.
pub(crate) struct RouteGuards {
    safe: Chain<SharedGuard>,
    all: Chain<SharedGuard>,
}

/// Reports whether requests with this method change nothing (RFC 9110 section 9.2.1).
fn is_safe(method: Method) -> bool {
    matches!(method, Method::Get | Method::Head | Method::Options)
}

impl Guards {
    /// Adds one behind the others.
    pub(crate) fn add(&mut self, pattern: &Pattern, guard: Rc<dyn Guard>, step: ChainStep) {
        let is_for_all = !guard.only_checks_changes();
        let guard = Rc::new(DeclaredGuard { guard, step });
        if is_for_all {
            self.safe.add(pattern.clone(), Rc::clone(&guard));
        }
        self.all.add(pattern.clone(), guard);
    }

    /// Those of a route.
    pub(crate) fn around(&self, route: &Pattern) -> RouteGuards {
        RouteGuards {
            safe: self.safe.around(route),
            all: self.all.around(route),
        }
    }

    /// Those that check a request to a path of a route.
    #[inline]
    pub(crate) fn of_route<'a>(
        &self,
        guards: &'a RouteGuards,
        method: Method,
        host: impl FnOnce() -> Option<String>,
        path: &str,
    ) -> Cow<'a, [SharedGuard]> {
        match is_safe(method) {
            true => self.safe.of_route(&guards.safe, host, path),
            false => self.all.of_route(&guards.all, host, path),
        }
    }

    /// Reports whether any checks the requests to some hosts only.
    pub(crate) fn has_hosts(&self) -> bool {
        self.all.has_hosts()
    }

    /// Those that check a request to a path of a host in normal form.
    pub(crate) fn of_path(
        &self,
        method: Method,
        host: Option<&str>,
        path: &str,
    ) -> Vec<SharedGuard> {
        match is_safe(method) {
            true => self.safe.of_path(host, path),
            false => self.all.of_path(host, path),
        }
    }

    /// Those that check a request to a host for a file.
    pub(crate) fn of_file(&self, host: Option<&str>, path: &str) -> Vec<SharedGuard> {
        self.safe.of_file(host, path)
    }
}

impl RouteGuards {
    /// Reports whether the route may have any.
    pub(crate) fn may_check(&self) -> bool {
        self.all.may_wrap()
    }
}
