//! Work that several requests need at the same time is done once, and continues after all of them have stopped waiting.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};

/// Work by key.
#[derive(Debug)]
pub struct Flights<K, V>(Arc<Mutex<HashMap<K, Flight<V>>>>);

/// `None` if the work panicked.
type Flight<V> = Shared<BoxFuture<'static, Option<V>>>;

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Flights(Arc::default())
    }
}

impl<K, V> Flights<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Joins the work for a key, or starts it.
    pub async fn join<F>(&self, key: K, work: impl FnOnce() -> F) -> Option<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let flight = {
            let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match flights.get(&key) {
                Some(flight) => flight.clone(),
                None => {
                    let flight = self.start(key.clone(), work());
                    flights.insert(key, flight.clone());
                    flight
                }
            }
        };
        flight.await
    }

    fn start(&self, key: K, work: impl Future<Output = V> + Send + 'static) -> Flight<V> {
        let flights = self.0.clone();
        let task = tokio::spawn(async move {
            let landed = Landed { flights, key };
            let value = work.await;
            drop(landed);
            value
        });
        task.map(Result::ok).boxed().shared()
    }
}

/// Removes work that ended, also by a panic.
struct Landed<K: Hash + Eq, V> {
    flights: Arc<Mutex<HashMap<K, Flight<V>>>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for Landed<K, V> {
    fn drop(&mut self) {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.remove(&self.key);
    }
}
