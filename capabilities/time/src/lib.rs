//! Time for scripts: the clock, waiting without blocking the worker, and dates in time zones.

mod calendar;
mod dates;
mod http;
mod local;

use sampan_host::{
    Args, Capability, Context, Error, FunctionKind, LocalFuture, Module, Type, Value, clock, param,
    row,
};
use std::time::Duration;

/// The longest sleep, in seconds: one day.
const SLEEP_SECONDS_MAX: f64 = 86_400.0;

/// The `time` table.
pub static MODULE: Module = Module {
    name: "time",
    doc: "The clock, waiting, and dates in time zones.",
    functions: &[
        row!("now"() -> Type::Number, FunctionKind::Sync(now),
            "The time in seconds since 1970-01-01 00:00 UTC, with fractions of a second."),
        row!("now_ms"() -> Type::Int, FunctionKind::Sync(now_ms),
            "The time in whole milliseconds since 1970-01-01 00:00 UTC."),
        row!("sleep"(
                param!("seconds": Type::Number, "The duration: fractions count; from 0 to 86400 (one day)."),
            ) -> Type::Nothing, FunctionKind::Async(sleep),
            "Waits without blocking other requests. A negative, too long or NaN duration is an error."),
        calendar::DATE,
        calendar::ADD,
        dates::PARSE,
        dates::FORMAT,
        http::HTTP_DATE,
    ],
    ..Module::EMPTY
};

/// The clock, waiting, dates.
pub static CAPABILITY: Capability = Capability {
    name: "time",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

fn now(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Float(clock::since_1970().as_secs_f64()))
}

fn now_ms(_: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Int(clock::since_1970().as_millis() as i64))
}

fn sleep(_: &Context, args: Args) -> LocalFuture<Result<Value, Error>> {
    let seconds = args.number(0).unwrap_or(0.0);
    Box::pin(async move {
        if !(0.0..=SLEEP_SECONDS_MAX).contains(&seconds) {
            return Err(Error::script(format!(
                "time.sleep: seconds must be between 0 and {SLEEP_SECONDS_MAX}, not {seconds}"
            )));
        }
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        Ok(Value::Null)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: Vec<Value>) -> Result<Value, Error> {
        let function = MODULE
            .functions
            .iter()
            .find(|f| f.name == name)
            .expect("a row of that name");
        let args = Args::check("time", function, arguments)?;
        let context = Context::default();
        match function.kind {
            FunctionKind::Sync(body) => body(&context, args),
            FunctionKind::Async(body) => tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime")
                .block_on(async { body(&context, args).await }),
            _ => unreachable!("time has no brackets"),
        }
    }

    #[test]
    fn the_two_clocks_agree() {
        let (Ok(Value::Float(seconds)), Ok(Value::Int(millis))) =
            (call("now", vec![]), call("now_ms", vec![]))
        else {
            panic!("now and now_ms return numbers");
        };
        assert!((seconds * 1000.0 - millis as f64).abs() < 2_000.0);
        assert!(millis > 1_600_000_000_000);
    }

    #[test]
    fn sleep_waits_and_refuses_what_is_no_duration() {
        assert!(call("sleep", vec![Value::Float(0.02)]).is_ok());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let _entered = runtime.enter();
        let function = MODULE.functions.iter().find(|f| f.name == "sleep");
        let hour = vec![Value::Float(3600.0)];
        let args = Args::check("time", function.expect("a row"), hour).expect("a number");
        let mut waiting = sleep(&Context::default(), args);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 86_401.0] {
            let error = call("sleep", vec![Value::Float(bad)]).expect_err("no duration");
            assert!(
                error
                    .message()
                    .starts_with("time.sleep: seconds must be between 0 and 86400"),
                "{error}"
            );
        }
    }
}
