//! A server in the making.

use crate::error::{Error, ErrorKind};
use crate::handler::IntoHandler;
use crate::options::{AppOptions, common_options};
use crate::running::Server;
use sampan_host::log::Level;
use sampan_host::{Context, Module, Place};
use sampan_project::config::OptionNames;
use sampan_runtime::AppConfig;
use sampan_serve::check_native_routes;
use sampan_serve::native::NativeRoute;
use std::panic::Location;
use std::path::Path;

/// A server in the making: routes, a project, settings. [`App::start`] or [`App::run`] serves it.
#[derive(Debug, Default)]
pub struct App {
    has_project: bool,
    options: AppOptions,
    routes: Vec<NativeRoute>,
}

macro_rules! methods {
    ($($name:ident $method:literal;)*) => {$(
        #[doc = concat!("Answers ", $method, " requests to the paths of a pattern. See [`App::route`].")]
        #[must_use]
        #[track_caller]
        pub fn $name<Kind>(self, pattern: &str, handler: impl IntoHandler<Kind>) -> Self {
            self.route(Some($method), pattern, handler)
        }
    )*};
}

impl App {
    common_options!();

    /// A server without routes that listens on 127.0.0.1:8080, with a worker for each core.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves a project too: its folder, or the file to run. Its `sampan.toml` and the environment's `SAMPAN_…`
    /// configure the server, as they do for `sampan run`; what is said here wins.
    #[must_use]
    pub fn project(mut self, path: impl AsRef<Path>) -> Self {
        self.has_project = true;
        self.options.flags.path = path.as_ref().to_owned();
        self
    }

    /// The address to listen on, or several with commas between: `"127.0.0.1:8080"`, `"unix:/run/app.sock"`. With port
    /// 0 the system chooses a free one, see [`Server::address`].
    #[must_use]
    pub fn listen(mut self, addresses: &str) -> Self {
        self.options.flags.listen = Some(addresses.to_owned());
        self
    }

    methods! {
        get "GET";
        post "POST";
        put "PUT";
        patch "PATCH";
        delete "DELETE";
        options "OPTIONS";
    }

    /// Answers requests of all methods to the paths of a pattern. See [`App::route`].
    #[must_use]
    #[track_caller]
    pub fn all<Kind>(self, pattern: &str, handler: impl IntoHandler<Kind>) -> Self {
        self.route(None, pattern, handler)
    }

    /// Answers requests with a method (`None`: all) to the paths of a pattern such as `/users/:id`, `/report/:id.pdf`
    /// or `/files/*rest`. `api.example.org/users` is for requests to one host, whose name has a dot, and
    /// `:tenant.example.org/users` for those to hosts with one label in front of the domain. Literal parts win over
    /// parameters, and those over `*rest`, among native routes and those of scripts alike. Faults of a route, and one
    /// that is there twice, are errors of the start, with the place of this call or that in the script.
    ///
    /// ```
    /// # use sampan::{App, Request, Response};
    /// let app = App::new()
    ///     .get("/", |_: Request| "hello")
    ///     .post("/echo", |request: Request| request.body().to_vec())
    ///     .get("/later", |_: Request| async { Response::text("a future's answer") });
    /// # drop(app);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn route<Kind>(
        self,
        method: Option<&str>,
        pattern: &str,
        handler: impl IntoHandler<Kind>,
    ) -> Self {
        let place = Location::caller();
        self.native(NativeRoute {
            place: Some(Place {
                file: place.file().to_owned(),
                line: place.line(),
            }),
            method: method.map(str::to_owned),
            pattern: pattern.to_owned(),
            body: handler.body_rule(),
            handler: handler.into_handler(),
        })
    }

    /// A route as the server has it: for other faces.
    #[doc(hidden)]
    #[must_use]
    pub fn native(mut self, route: NativeRoute) -> Self {
        self.routes.push(route);
        self
    }

    /// Loads the project on every worker, listens, and serves on threads of its own. Returns when it serves; that may
    /// take as long as the project's `on_start` does.
    ///
    /// # Errors
    /// A setting is wrong, a route cannot be or is there twice, a capability has the name of another, the project does
    /// not load (with file and line), or the address cannot be listened on.
    pub fn start(self) -> Result<Server, Error> {
        self.options.check()?;
        check_native_routes(&self.routes).map_err(Error::of_route)?;
        let config = match self.has_project {
            true => AppConfig::resolve(&self.options.flags),
            false => AppConfig::without_project(&self.options.flags),
        };
        let config = config.map_err(|text| Error::told(ErrorKind::Config, &text))?;
        Server::start(config, self.has_project, self.options, self.routes)
    }

    /// Starts, and serves until the future is dropped or the server gives up. It needs no particular runtime: the
    /// workers have threads of their own, and nothing of the caller's thread is blocked. Dropping the future stops the
    /// server, on a thread of its own.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), sampan::Error> {
    /// let app = sampan::App::new().get("/", |_: sampan::Request| "hello");
    /// app.run().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`App::start`]; [`ErrorKind::Internal`] if the server gives up because scripts could not be stopped.
    pub async fn run(self) -> Result<(), Error> {
        let server = Server::start_elsewhere(self).await?;
        server.ended().await
    }
}
