//! Samples of what the scripts of a worker do, for `sampan profile`.
//!
//! A thread of its own looks at the worker about a thousand times a second ([`Watch::sample`](crate::Watch::sample)).
//! While a script runs, one more sample is due for that run, and the engine is woken. It shows the stack as soon as it
//! safely can, which then counts for all that are due. What is still due when the run has ended was spent by the engine
//! outside of the script's functions.

use crate::error::Place;
use crate::run::watch::Kick;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Different stacks that are told apart. Of those that come later all calls count as one.
const STACKS_MAX: usize = 50_000;

/// The most calls that a sample has; the outermost of a deeper stack are left out.
pub const CALLS_MAX: usize = 64;

/// The placeholder in a stack for the calls that were left out.
const LEFT_OUT: &str = "[more calls]";

/// A function on the stack of a script.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The name, if it has a name.
    pub name: Option<String>,
    /// The start, with its column, and nothing for a native one.
    pub place: Option<(Place, u32)>,
}

impl Frame {
    /// Something that is not a function of the script.
    pub fn native(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            place: None,
        }
    }
}

/// The number of times that a stack was seen.
#[derive(Debug)]
pub struct Stack {
    /// The number of the handler that was entered.
    pub handler: u32,
    /// The calls, outermost first, each with its name and place. What is no function of the script stands in brackets.
    pub calls: Vec<String>,
    /// In how many samples.
    pub count: u64,
}

/// The samples of one worker.
#[derive(Default)]
pub struct Samples {
    taken: Mutex<Taken>,
    /// False while no sample is due: engines ask far more often than samples are taken, and need no lock then.
    is_wanted: AtomicBool,
    kick: OnceLock<Kick>,
}

#[derive(Default)]
struct Taken {
    /// The run that samples are due for, by its epoch, and its handler.
    epoch: u64,
    handler: u32,
    due: u64,
    /// The calls as numbers in `functions`, outermost first.
    stacks: HashMap<(u32, Vec<u32>), u64>,
    functions: Vec<Known>,
    numbers: HashMap<String, u32>,
}

/// A function that was seen.
struct Known {
    name: Option<String>,
    /// The file and line.
    place: Option<Place>,
}

impl Samples {
    /// Sets the function that wakes the engine from another thread when a sample is due. It is meant for a script that
    /// runs, but a call may come late, so it must be safe at any time.
    pub fn on_due(&self, kick: Kick) {
        // A worker's second isolate is woken as its first.
        let _ = self.kick.set(kick);
    }

    /// Reports whether samples are due for the run of `epoch`.
    #[inline]
    pub fn is_due(&self, epoch: u64) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && self.is_due_now(epoch)
    }

    #[cold]
    fn is_due_now(&self, epoch: u64) -> bool {
        let taken = self.lock();
        let is_due = taken.epoch == epoch && taken.due > 0;
        if !is_due {
            self.is_wanted.store(false, Ordering::Relaxed);
        }
        is_due
    }

    /// Counts all samples that are due for the run of `epoch` for this stack. `frames` has the innermost call first;
    /// `has_more` says that there are calls outside of them.
    pub fn record(&self, epoch: u64, frames: &[Frame], has_more: bool) {
        let mut taken = self.lock();
        if taken.epoch == epoch && taken.due > 0 && !frames.is_empty() {
            let mut calls: Vec<u32> = Vec::with_capacity(frames.len() + 1);
            if has_more {
                calls.push(taken.number(&Frame::native(LEFT_OUT)));
            }
            for frame in frames.iter().rev() {
                let number = taken.number(frame);
                // A native function and what stands for it are one.
                if frame.place.is_some() || calls.last() != Some(&number) {
                    calls.push(number);
                }
            }
            taken.count(calls);
        }
    }

    /// One more look at the worker, in the run of `epoch`.
    pub(crate) fn look(&self, epoch: u64, handler: u32) {
        let mut taken = self.lock();
        if taken.epoch != epoch {
            taken.settle();
            (taken.epoch, taken.handler) = (epoch, handler);
        }
        if epoch & 1 == 0 {
            return;
        }
        taken.due += 1;
        self.is_wanted.store(true, Ordering::Relaxed);
        drop(taken);
        if let Some(kick) = self.kick.get() {
            kick();
        }
    }

    /// Returns the stacks seen so far.
    pub fn stacks(&self) -> Vec<Stack> {
        let mut taken = self.lock();
        taken.settle();
        let taken = &*taken;
        let stacks = taken.stacks.iter().map(|((handler, calls), count)| Stack {
            handler: *handler,
            calls: calls.iter().map(|call| taken.shown(*call)).collect(),
            count: *count,
        });
        stacks.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// The run is over: what is still due was not the script's.
    fn settle(&mut self) {
        if self.due > 0 {
            let engine = self.number(&Frame::native("[engine]"));
            self.count(vec![engine]);
        }
    }

    fn count(&mut self, calls: Vec<u32>) {
        let due = std::mem::take(&mut self.due);
        let is_full = self.stacks.len() >= STACKS_MAX;
        let mut key = (self.handler, calls);
        if is_full && !self.stacks.contains_key(&key) {
            key.1 = vec![self.number(&Frame::native("[other stacks]"))];
        }
        *self.stacks.entry(key).or_default() += due;
    }

    /// The number of a function. Who calls it may know its name or not, so the first name counts for all.
    fn number(&mut self, frame: &Frame) -> u32 {
        let key = match &frame.place {
            Some((place, column)) => format!("{place}:{column}"),
            None => frame.name.clone().unwrap_or_default(),
        };
        if let Some(&number) = self.numbers.get(&key) {
            let known = &mut self.functions[number as usize];
            if known.name.is_none() {
                known.name.clone_from(&frame.name);
            }
            return number;
        }
        let number = self.functions.len() as u32;
        self.functions.push(Known {
            name: frame.name.clone(),
            place: frame.place.as_ref().map(|(place, _)| place.clone()),
        });
        self.numbers.insert(key, number);
        number
    }

    fn shown(&self, number: u32) -> String {
        let known = &self.functions[number as usize];
        let name = known.name.as_deref().unwrap_or("(anonymous)");
        match &known.place {
            Some(place) => format!("{name} {place}"),
            None if name.starts_with('[') => name.to_owned(),
            None => format!("[{name}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Watch;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn frame(name: Option<&str>, line: u32) -> Frame {
        let file = "app.lua".to_owned();
        Frame {
            name: name.map(str::to_owned),
            place: Some((Place { file, line }, 0)),
        }
    }

    /// Returns the samples, in the form `handler calls count`.
    fn seen(samples: &Samples) -> Vec<String> {
        let mut all: Vec<_> = samples
            .stacks()
            .into_iter()
            .map(|stack| {
                format!(
                    "{} {} {}",
                    stack.handler,
                    stack.calls.join(";"),
                    stack.count
                )
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_stack_counts_for_all_samples_that_are_due_and_the_rest_is_the_engines() {
        let watch = Watch::sampled();
        let samples = watch.samples().expect("sampled");
        let kicks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&kicks);
        samples.on_due(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        watch.sample();
        assert_eq!(kicks.load(Ordering::Relaxed), 0, "no script runs");
        watch.enter(7);
        let epoch = watch.epoch();
        watch.sample();
        watch.sample();
        assert_eq!(kicks.load(Ordering::Relaxed), 2);
        samples.record(epoch, &[frame(None, 3), frame(Some("outer"), 9)], false);
        assert!(!samples.is_due(epoch), "they were taken");
        samples.record(epoch, &[frame(None, 5)], false);
        watch.sample();
        watch.leave();
        watch.enter(8);
        watch.sample();
        samples.record(epoch, &[frame(None, 4)], false);
        let frames = [Frame::native("db.query"), frame(Some("inner"), 3)];
        samples.record(watch.epoch(), &frames, false);
        assert_eq!(
            seen(samples),
            [
                "7 [engine] 1",
                "7 outer app.lua:9;inner app.lua:3 2",
                "8 inner app.lua:3;[db.query] 1"
            ]
        );
    }

    #[test]
    fn a_deep_stack_says_that_calls_are_left_out() {
        let watch = Watch::sampled();
        let samples = watch.samples().expect("sampled");
        watch.enter(1);
        watch.sample();
        samples.record(watch.epoch(), &[frame(Some("f"), 1)], true);
        assert_eq!(samples.stacks()[0].calls, [LEFT_OUT, "f app.lua:1"]);
    }
}
