//! A setting that can be replaced at runtime.

use std::sync::Arc;

use parking_lot::RwLock;

/// A shared, replaceable value. Clones share it. Work that has read the value continues with what it read.
#[derive(Debug, Default)]
pub struct Reloadable<T>(Arc<RwLock<Arc<T>>>);

impl<T> Reloadable<T> {
    pub fn read(&self) -> Arc<T> {
        self.0.read().clone()
    }

    pub fn replace(&self, value: T) {
        *self.0.write() = Arc::new(value);
    }

    /// Replaces the value by the result of `change`. No other change comes between.
    pub fn update(&self, change: impl FnOnce(&T) -> T) {
        let mut value = self.0.write();
        *value = Arc::new(change(&value));
    }
}

impl<T> Clone for Reloadable<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> From<Arc<T>> for Reloadable<T> {
    fn from(value: Arc<T>) -> Self {
        Self(Arc::new(RwLock::new(value)))
    }
}

impl<T> From<T> for Reloadable<T> {
    fn from(value: T) -> Self {
        Arc::new(value).into()
    }
}

impl<T: PartialEq> PartialEq for Reloadable<T> {
    fn eq(&self, other: &Self) -> bool {
        *self.read() == *other.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_replaces_the_value() {
        let one = Reloadable::from(1);
        let other = one.clone();
        let read = one.read();
        one.replace(2);
        assert_eq!((*read, *one.read(), *other.read()), (1, 2, 2));
        other.update(|value| value + 1);
        assert_eq!((*one.read(), *other.read()), (3, 3));
        one.replace(2);
        assert!(one == other && one != Reloadable::from(1));
    }
}
