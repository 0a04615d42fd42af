//! The functions of scripts.

use crate::declaration::{SUFFIXES, read};
use crate::labels;
use crate::limits::{METRICS_MAX, NUMBER_MAX};
use crate::metric::{Metric, MetricHandle, WorkerMetrics};
use sampan_host::metrics::{MetricKind, MetricShape};
use sampan_host::{
    Args, CallSite, Class, Context, Error, FunctionKind, Lifetime, Module, Param, Place, Type,
    Value, param, refusals, row,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The table of functions.
pub(crate) static MODULE: Module = Module {
    name: "metrics",
    doc: "Measurements of the app, which the server shows beside its own at `/_sampan/metrics`. They are declared \
     while the project loads. A second declaration of the same metric gives the same one. Of one metric 1,000 label \
     sets are kept; others are counted with the value `other` in each label.",
    functions: &[
        row!("counter"(NAME, OPTIONS) -> Type::Object(&COUNTER), FunctionKind::Sync(counter),
            "Declares a number that only grows, over all workers: `orders_total`."),
        row!("gauge"(NAME, OPTIONS) -> Type::Object(&GAUGE), FunctionKind::Sync(gauge),
            "Declares a number that goes up and down, which all workers share: `queue_length`."),
        row!("histogram"(NAME, param!("options"? Type::Map,
                "`help`, `labels` as for `metrics.counter`, and `buckets`, a list of upper bounds, each above the one \
                 before; from 25 µs to 10 s unless given.")) -> Type::Object(&HISTOGRAM),
            FunctionKind::Sync(histogram),
            "Declares the distribution of values, such as times in seconds: `payment_seconds`."),
        row!("text"() -> Type::Text, FunctionKind::Sync(text),
            "All measurements of the app and the server, as `/_sampan/metrics` has them; those of the app alone on \
             this worker with `[metrics] enabled = false`, and in tests."),
    ],
    classes: &[&COUNTER, &GAUGE, &HISTOGRAM],
    ..Module::EMPTY
};

const NAME: Param = param!("name": Type::Text,
    "The name: letters, digits and underscores. Names of counters end with `_total`, others with their unit.");
const OPTIONS: Param = param!("options"? Type::Map,
    "`help`, a line about it, and `labels`, a list of the names of its labels.");
const BY: Param = param!("n"? Type::Number, "How much; 1 unless given.");
const LABELS: Param = param!("labels"? Type::Map,
    "A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from \
     clients. They are cut after 100 characters.");

static COUNTER: Class = Class {
    name: "Counter",
    variable: "counter",
    doc: "A number that only grows.",
    methods: &[
        row!("inc"(BY, LABELS) -> Type::Nothing, FunctionKind::Sync(add),
        "Adds to the number, at once: also if the request fails later."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

static GAUGE: Class = Class {
    name: "Gauge",
    variable: "gauge",
    doc: "A number that goes up and down.",
    methods: &[
        row!("set"(param!("value": Type::Number, "The number."), LABELS) -> Type::Nothing,
            FunctionKind::Sync(set), "Sets the number for all workers."),
        row!("inc"(BY, LABELS) -> Type::Nothing, FunctionKind::Sync(add), "Adds to the number."),
        row!("dec"(BY, LABELS) -> Type::Nothing, FunctionKind::Sync(take_away), "Takes away from the number."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

static HISTOGRAM: Class = Class {
    name: "Histogram",
    variable: "histogram",
    doc: "The distribution of values.",
    methods: &[
        row!("observe"(param!("value": Type::Number, "The value."), LABELS) -> Type::Nothing,
        FunctionKind::Sync(set), "Takes note of a value."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// The declarations of one isolate.
pub(crate) struct IsolateMetrics {
    worker: Rc<WorkerMetrics>,
    declared: RefCell<HashMap<String, DeclaredMetric>>,
    is_closed: Cell<bool>,
}

/// A metric, and where it was declared first, as far as the engine knows.
struct DeclaredMetric {
    metric: Rc<Metric>,
    place: Option<Place>,
}

impl IsolateMetrics {
    pub(crate) fn new(worker: Rc<WorkerMetrics>) -> Self {
        Self {
            worker,
            declared: RefCell::default(),
            is_closed: Cell::new(false),
        }
    }

    /// Takes note that the project is loaded: nothing is added from now on.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
    }

    fn declare(&self, context: &Context, shape: MetricShape) -> Result<Rc<Metric>, Error> {
        if let Some(known) = self.declared.borrow().get(&shape.name) {
            return match *known.metric.shape() == shape {
                true => Ok(Rc::clone(&known.metric)),
                false => Err(declared_otherwise(known, &shape)),
            };
        }
        // The engine may run script to find it, which may declare metrics: nothing is borrowed.
        let place = CallSite::of(context);
        let mut declared = self.declared.borrow_mut();
        let shapes = || declared.values().map(|known| known.metric.shape());
        if let Some(other) = shapes().find(|other| is_part(other, &shape)) {
            return Err(Error::script(format!(
                "the metrics {} and {} cannot both be: a histogram has lines with that name",
                other.name, shape.name
            )));
        }
        if self.is_closed.get() {
            return Err(refusals::too_late("metrics"));
        }
        if declared.len() == METRICS_MAX {
            return Err(Error::script(format!(
                "a project has at most {METRICS_MAX} metrics"
            )));
        }
        let (name, metric) = (shape.name.clone(), self.worker.declare(shape));
        let known = DeclaredMetric {
            metric: Rc::clone(&metric),
            place,
        };
        declared.insert(name, known);
        Ok(metric)
    }
}

/// Returns the error for a second declaration of a name that differs from the first. The engine adds its place.
#[cold]
fn declared_otherwise(known: &DeclaredMetric, shape: &MetricShape) -> Error {
    let place = known.place.as_ref();
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let known = known.metric.shape();
    let told: fn(&MetricShape) -> String = if known.kind != shape.kind {
        |shape| match shape.kind {
            MetricKind::Counter => "as a counter".to_owned(),
            MetricKind::Gauge => "as a gauge".to_owned(),
            MetricKind::Histogram => "as a histogram".to_owned(),
        }
    } else if known.labels != shape.labels {
        |shape| match &*shape.labels {
            [] => "without labels".to_owned(),
            labels => format!("with the labels {}", labels.join(", ")),
        }
    } else if known.buckets != shape.buckets {
        |shape| format!("with the buckets {:?}", shape.buckets)
    } else {
        |shape| format!("with the help {:?}", shape.help)
    };
    Error::script(format!(
        "the metric {} is declared already{place} {}, and here {}",
        shape.name,
        told(known),
        told(shape)
    ))
}

/// Reports whether the name of one metric is that of a line of the other.
fn is_part(one: &MetricShape, other: &MetricShape) -> bool {
    let has = |histogram: &MetricShape, name: &str| {
        let rest = name.strip_prefix(histogram.name.as_str());
        histogram.kind == MetricKind::Histogram && rest.is_some_and(|rest| SUFFIXES.contains(&rest))
    };
    has(one, &other.name) || has(other, &one.name)
}

fn declare(
    context: &Context,
    mut args: Args,
    kind: MetricKind,
    class: &'static Class,
) -> Result<Value, Error> {
    let shape = read(kind, args.text(0), args.take(1))?;
    let metric = crate::of(context)?.declare(context, shape)?;
    Ok(Value::Object(context.objects().add_shared(class, metric)))
}

fn counter(context: &Context, args: Args) -> Result<Value, Error> {
    declare(context, args, MetricKind::Counter, &COUNTER)
}

fn gauge(context: &Context, args: Args) -> Result<Value, Error> {
    declare(context, args, MetricKind::Gauge, &GAUGE)
}

fn histogram(context: &Context, args: Args) -> Result<Value, Error> {
    declare(context, args, MetricKind::Histogram, &HISTOGRAM)
}

fn text(context: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::Text(crate::of(context)?.worker.registry.text()))
}

/// Returns the handle of a call, and the number; 1 where there is none.
fn handle(context: &Context, mut args: Args) -> Result<(Rc<MetricHandle>, f64), Error> {
    let (_, metric) = args.object::<Metric>(context)?;
    let number = args.number(0).unwrap_or(1.0);
    if number.is_nan() || number.abs() > NUMBER_MAX {
        return Err(Error::script(format!(
            "{}: {number:e} is no number that can be added up",
            metric.shape().name
        )));
    }
    let values = labels::values(metric.shape(), args.take(1))?;
    Ok((metric.handle(values), number))
}

fn add(context: &Context, args: Args) -> Result<Value, Error> {
    let (handle, number) = handle(context, args)?;
    match &*handle {
        MetricHandle::Counter(_) if number < 0.0 => {
            let text = "a counter only grows: use a gauge for what goes up and down";
            return Err(Error::script(text));
        }
        MetricHandle::Counter(counter) => counter.add(number),
        MetricHandle::Gauge(gauge) => gauge.add(number),
        MetricHandle::Histogram(_) => {}
    }
    Ok(Value::Null)
}

fn take_away(context: &Context, args: Args) -> Result<Value, Error> {
    let (handle, number) = handle(context, args)?;
    if let MetricHandle::Gauge(gauge) = &*handle {
        gauge.add(-number);
    }
    Ok(Value::Null)
}

fn set(context: &Context, args: Args) -> Result<Value, Error> {
    let (handle, number) = handle(context, args)?;
    match &*handle {
        MetricHandle::Gauge(gauge) => gauge.set(number),
        MetricHandle::Histogram(histogram) => histogram.observe(number),
        MetricHandle::Counter(_) => {}
    }
    Ok(Value::Null)
}
