//! Memory that native code keeps for the scripts of an isolate, by kind: it does not count as the scripts' own.

use crate::run::limits::ScriptLimits;
use crate::tables::module::Context;
use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;

/// The bytes of a kind in an isolate.
struct BytesOfKind<K> {
    bytes: Cell<usize>,
    kind: PhantomData<K>,
}

/// A part of the bytes of the kind `K`, for as long as this is there. All parts of a kind take at most
/// [`ScriptLimits::memory_bytes_max`], but the first may be larger: it is as large as a script could make it.
pub struct KeptBytes<K: 'static> {
    all: Rc<BytesOfKind<K>>,
    bytes: usize,
    all_bytes_max: usize,
}

/// The error of a part that has no room beside the others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The most bytes that all parts of the kind may have.
    pub bytes_max: usize,
}

impl<K: 'static> KeptBytes<K> {
    /// Makes a part that has no bytes yet.
    pub fn new(context: &Context) -> Self {
        let empty = || BytesOfKind::<K> {
            bytes: Cell::new(0),
            kind: PhantomData,
        };
        let all = context.get().unwrap_or_else(|| {
            context.put(empty());
            context.get().unwrap_or_else(|| Rc::new(empty()))
        });
        let limits = context.get::<ScriptLimits>().unwrap_or_default();
        Self {
            all,
            bytes: 0,
            all_bytes_max: limits.memory_bytes_max,
        }
    }

    /// Makes a part of so many bytes.
    ///
    /// # Errors
    /// There is no room for them.
    pub fn of(context: &Context, bytes: usize) -> Result<Self, NoRoom> {
        let mut part = Self::new(context);
        part.count(bytes)?;
        Ok(part)
    }

    /// Counts so many bytes in the place of those before.
    ///
    /// # Errors
    /// They are more than before, and there is no room for them. The part counts as before.
    pub fn count(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let (others, bytes_max) = (self.all.bytes.get() - self.bytes, self.all_bytes_max);
        if others > 0 && bytes > self.bytes && others.saturating_add(bytes) > bytes_max {
            return Err(NoRoom { bytes_max });
        }
        self.all.bytes.set(others + bytes);
        self.bytes = bytes;
        Ok(())
    }
}

impl<K: 'static> Drop for KeptBytes<K> {
    fn drop(&mut self) {
        self.all.bytes.set(self.all.bytes.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Texts;
    struct Pictures;

    #[test]
    fn the_parts_of_a_kind_have_a_limit() {
        let context = Context::default();
        context.put(ScriptLimits {
            memory_bytes_max: 1_000,
            ..ScriptLimits::default()
        });
        let texts = |bytes| KeptBytes::<Texts>::of(&context, bytes);
        drop(texts(2_000).expect("the first"));
        let (mut first, mut second) = (texts(600).expect("room"), texts(400).expect("room"));
        assert_eq!(second.count(401), Err(NoRoom { bytes_max: 1_000 }));
        assert!(texts(1).is_err());
        // After an error it counts as before, and less is no error.
        second.count(399).expect("less");
        first.count(601).expect("room");
        // Other kinds have room of their own.
        let pictures = KeptBytes::<Pictures>::of(&context, 1_000);
        assert!(pictures.is_ok());
        drop(second);
        first.count(1_000).expect("room again");
        drop(first);
        assert!(texts(2_000).is_ok());
    }
}
