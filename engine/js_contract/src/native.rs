//! The native functions behind the prelude: the declarations of a project while it loads, and the rules that both
//! languages share.

use crate::guards;
use crate::vm::{Failure, Kind, Vm, found};
use sampan_host::javascript::WORDS;
use sampan_host::trace::ChainSpans;
use sampan_host::{
    BodyOptions, Error, GuardDef, HandlerId, LaneRule, MiddlewareDef, NativeMiddleware, Program,
    RouteDef, Value, answer, clock, refusals,
};
use std::rc::Rc;

/// A native function of the prelude.
#[derive(Clone, Copy, Debug)]
pub enum Native {
    /// `route(method | null, pattern, stack, handler, isFixed, name | undefined, bodyBytesMax | undefined, stream,
    /// uncompressed, etag, slow, quick, urgent, handlerFile | undefined)`
    Route,
    /// `use(pattern, stack, handler | undefined, guard)`
    Use,
    /// `notFound(handler)`
    NotFound,
    /// `onError(handler)`
    OnError,
    /// `check(caller, wanted, what, value)`: throws unless the value is a `string`, a `function`, a `boolean` or an
    /// object.
    Check,
    /// `checkPattern(caller, pattern)`: throws unless the string begins with a slash.
    CheckPattern,
    /// `checkHost(caller, host)`: throws unless routes can be for such a host.
    CheckHost,
    /// `checkStatus(builder, status)`
    CheckStatus,
    /// `checkRedirect(builder, status)`
    CheckRedirect,
    /// `unknownOption(builder, name, known, ...)`
    UnknownOption,
    /// `declaredTwice(declaration, stack)`: throws; the stack is that of the first.
    DeclaredTwice,
    /// `location(builder, url)`: the value of the field.
    Location,
    /// `nativeMiddleware(value)`: the function that it asks, null if it asks none, `undefined` if it is none.
    NativeMiddleware,
    /// `ask(middleware, request)`: the arguments for its function, the request behind them. Throws the refusal of the
    /// request.
    Ask,
    /// `decide(middleware, request, returned)`: throws the refusal of the request.
    Decide,
    /// `enterSpan(request, step)`: opens the span of a function of the request's chain, counted from 0. Returns its
    /// number.
    EnterSpan,
    /// `leaveSpan(request, number, hasFailed)`: ends a span.
    LeaveSpan,
    /// `now()`: the time of day in milliseconds since 1970. It is there where tests may set the time.
    Now,
}

impl Native {
    /// All of them, by the names that the prelude gives them.
    pub const ALL: &[(&str, Self)] = &[
        ("route", Self::Route),
        ("use", Self::Use),
        ("notFound", Self::NotFound),
        ("onError", Self::OnError),
        ("check", Self::Check),
        ("checkPattern", Self::CheckPattern),
        ("checkHost", Self::CheckHost),
        ("checkStatus", Self::CheckStatus),
        ("checkRedirect", Self::CheckRedirect),
        ("unknownOption", Self::UnknownOption),
        ("declaredTwice", Self::DeclaredTwice),
        ("location", Self::Location),
        ("nativeMiddleware", Self::NativeMiddleware),
        ("ask", Self::Ask),
        ("decide", Self::Decide),
        ("enterSpan", Self::EnterSpan),
        ("leaveSpan", Self::LeaveSpan),
        ("now", Self::Now),
    ];

    /// Reports whether the prelude gets the function.
    pub fn is_there(self) -> bool {
        !matches!(self, Self::Now) || clock::is_settable()
    }

    /// Calls it.
    ///
    /// # Errors
    /// It refuses an argument, or comes too late.
    pub fn call<'a, V: Vm<'a>>(self, vm: V, args: &[V::Raw<'_>]) -> Result<V::Val, Failure> {
        let args = NativeArgs { vm, args };
        match self {
            Self::Route => args.route(),
            Self::Use => args.middleware(),
            Self::NotFound => {
                let handler = args.handler(0);
                args.declare(|program| program.not_found = Some(handler))
            }
            Self::OnError => {
                let handler = args.handler(0);
                args.declare(|program| program.on_error = Some(handler))
            }
            Self::Check => args.check(),
            Self::CheckPattern => args.unless(refusals::check_pattern(&args.text(1)?)),
            Self::CheckHost => args.unless(refusals::check_host(&args.text(1)?)),
            Self::CheckStatus => {
                let status = args.number(1).map_err(answer::wrong_status);
                args.unless(status.and_then(answer::check_status).map(drop))
            }
            Self::CheckRedirect => {
                let status = args.number(1).map_err(answer::wrong_redirect);
                args.unless(status.and_then(answer::check_redirect).map(drop))
            }
            Self::UnknownOption => {
                let known = (2..args.args.len()).map(|index| args.text(index));
                let known = known.collect::<Result<Vec<_>, _>>()?;
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                args.unless(Err(refusals::unknown_option(&args.text(1)?, &known)))
            }
            Self::DeclaredTwice => {
                let place = vm.place_in(&args.text(1)?);
                args.unless(Err(refusals::declared_twice(place.as_ref())))
            }
            Self::Location => match answer::location(args.text(1)?.as_bytes()) {
                Ok(url) => Ok(vm.new_text(&url)?),
                Err(error) => args.unless(Err(error)),
            },
            Self::NativeMiddleware => guards::function(vm, args.args),
            Self::Ask => guards::ask(vm, args.args),
            Self::Decide => guards::decide(vm, args.args),
            Self::EnterSpan => {
                let step = args.number(1).unwrap_or(0.0) as usize;
                let number = args.spans().map(|spans| spans.enter(step) as i64);
                Ok(vm.give(number.map_or(Value::Null, Value::Int))?)
            }
            Self::LeaveSpan => {
                if let (Some(spans), Ok(number)) = (args.spans(), args.number(1)) {
                    spans.leave(number as usize, args.is_yes(2));
                }
                Ok(vm.nothing())
            }
            Self::Now => Ok(vm.give((clock::since_1970().as_millis() as i64).into())?),
        }
    }
}

/// The arguments of a native function. Those of a builder or a declaration begin with its name.
struct NativeArgs<'b, V, R> {
    vm: V,
    args: &'b [R],
}

impl<'a, V: Vm<'a>> NativeArgs<'_, V, V::Raw<'_>> {
    fn kind(&self, index: usize) -> Kind {
        let value = self.args.get(index);
        value.map_or(Kind::Undefined, |value| self.vm.kind(*value))
    }

    /// Returns the text of an argument; nothing where it is `undefined` or `null`.
    fn optional_text(&self, index: usize) -> Result<Option<String>, Failure> {
        match (self.kind(index), self.args.get(index)) {
            (Kind::Text, Some(value)) => Ok(Some(self.vm.text_at(*value)?)),
            _ => Ok(None),
        }
    }

    fn text(&self, index: usize) -> Result<String, Failure> {
        Ok(self.optional_text(index)?.unwrap_or_default())
    }

    fn is_yes(&self, index: usize) -> bool {
        let value = self.args.get(index);
        value.is_some_and(|value| self.vm.is_yes(*value))
    }

    /// Returns the number that an argument is, or the name of its type.
    fn number(&self, index: usize) -> Result<f64, &'static str> {
        let value = self.args.get(index).ok_or("undefined")?;
        let number = self.vm.number_at(*value);
        number.ok_or_else(|| found(self.vm, *value))
    }

    /// Returns the number of a kept handler.
    fn handler(&self, index: usize) -> HandlerId {
        self.number(index).unwrap_or(0.0) as HandlerId
    }

    /// Throws an error with the name of the builder or declaration in front.
    fn unless(&self, checked: Result<(), Error>) -> Result<V::Val, Failure> {
        match checked {
            Ok(()) => Ok(self.vm.nothing()),
            Err(error) => {
                let text = format!("{}: {}", self.text(0)?, error.message());
                Err(Error::new(error.kind(), text).into())
            }
        }
    }

    /// Changes the declarations of the project.
    fn declare(&self, change: impl FnOnce(&mut Program)) -> Result<V::Val, Failure> {
        self.vm.contract().declare(change)?;
        Ok(self.vm.nothing())
    }

    fn route(&self) -> Result<V::Val, Failure> {
        let route = RouteDef {
            method: self.optional_text(0)?,
            pattern: self.text(1)?,
            place: self.vm.place_in(&self.text(2)?),
            handler: self.handler(3),
            fixed: self.is_yes(4),
            name: self.optional_text(5)?,
            body: self.body_options(6)?,
            lane: match (self.is_yes(10), self.is_yes(11)) {
                (true, _) => LaneRule::Slow,
                (false, true) => LaneRule::Quick,
                (false, false) => LaneRule::Measured,
            },
            has_priority: self.is_yes(12),
            handler_file: self.optional_text(13)?,
            kind: self.optional_text(14)?,
        };
        self.declare(|program| program.routes.push(route))
    }

    /// Reads the options of bodies, from this argument on.
    fn body_options(&self, first: usize) -> Result<BodyOptions, Failure> {
        Ok(BodyOptions {
            bytes_max: self.optional_text(first)?,
            stream: self.is_yes(first + 1),
            uncompressed: self.is_yes(first + 2),
            etag: self.is_yes(first + 3),
        })
    }

    fn middleware(&self) -> Result<V::Val, Failure> {
        let (pattern, place) = (self.text(0)?, self.vm.place_in(&self.text(1)?));
        let native = self.args.get(3).and_then(|it| guards::at(self.vm, *it));
        let needs_whole_bodies = native
            .as_ref()
            .and_then(NativeMiddleware::needs_whole_bodies);
        if let Some(NativeMiddleware::Guard(guard)) = native {
            return self.declare(|program| {
                program.guards.push(GuardDef {
                    pattern,
                    guard,
                    behind: program.middleware.len(),
                    place,
                });
            });
        }
        let wraps = MiddlewareDef {
            pattern,
            handler: self.handler(2),
            needs_whole_bodies,
            place,
        };
        self.declare(|program| program.middleware.push(wraps))
    }

    /// Returns the spans of the request that is the first argument, while it goes on and its chain is recorded.
    fn spans(&self) -> Option<Rc<ChainSpans>> {
        let request = self.vm.request_at(*self.args.first()?).ok()?;
        request.store().get()
    }

    fn check(&self) -> Result<V::Val, Failure> {
        let (wanted, kind) = (self.text(1)?, self.kind(3));
        let is_wanted = match wanted.as_str() {
            "string" => kind == Kind::Text,
            "function" => kind == Kind::Function,
            "boolean" => kind == Kind::Bool,
            _ => kind == Kind::Object,
        };
        if is_wanted {
            return Ok(self.vm.nothing());
        }
        let found = self
            .args
            .get(3)
            .map_or("undefined", |it| found(self.vm, *it));
        let error = refusals::wrong_type(&WORDS, &self.text(2)?, &wanted, found);
        self.unless(Err(error))
    }
}

/// Reads the value of the prelude's `serve`: the handler of a default export and the options of its bodies.
///
/// # Errors
/// There is no memory for it.
pub fn served<'a, V: Vm<'a>>(vm: V, parts: &[V::Val]) -> Result<(HandlerId, BodyOptions), Failure> {
    let args: Vec<V::Raw<'_>> = parts.iter().map(|part| vm.raw(part)).collect();
    let args = NativeArgs { vm, args: &args };
    Ok((args.handler(0), args.body_options(1)?))
}
