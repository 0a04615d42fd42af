//! The values that capabilities share in a process.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Keeps one value for each type. Clones share the values.
#[derive(Clone, Default)]
pub struct Shared(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Shared {
    /// Keeps `value`, replacing an earlier one of the same type.
    pub fn put<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    /// Returns the value of type `T`, if there is one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.0.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("values", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_type() {
        let mut shared = Shared::default();
        shared.put(Arc::new(7_u32));
        shared.put(Arc::new("seven".to_owned()));
        shared.put(Arc::new(8_u32));
        assert_eq!(shared.get::<u32>().as_deref(), Some(&8));
        assert_eq!(
            shared.clone().get::<String>().as_deref(),
            Some(&"seven".to_owned())
        );
        assert!(shared.get::<u64>().is_none());
    }
}
