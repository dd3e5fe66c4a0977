//! What the surroundings of a run hand to its handler.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A small map from types to values, for what is no part of the protocol's input: the authenticated user, the
/// request's headers, a database handle.
///
/// # Examples
/// ```
/// # use agui_core::producer::Extensions;
/// #[derive(Debug, PartialEq)]
/// struct User(&'static str);
///
/// let mut extensions = Extensions::new();
/// extensions.insert(User("ada"));
/// assert_eq!(extensions.get::<User>(), Some(&User("ada")));
/// assert_eq!(extensions.get::<String>(), None);
/// ```
#[derive(Clone, Default)]
pub struct Extensions {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Extensions {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a value in, in place of an earlier one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Takes over every value of another map, in place of earlier ones of the same types.
    pub fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    /// The value of a type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// The value of a type, to keep.
    pub fn get_arc<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.values.get(&TypeId::of::<T>())?).downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    /// Says how many values there are, not what they are: credentials may be among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("len", &self.values.len()).finish()
    }
}
