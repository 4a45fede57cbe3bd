//! Computations that take longer than a request should: one at a time, on a thread of their own, each with a time
//! limit and only while a client waits for the result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ApiProblem;
use crate::refusal::Refusal;

/// The time limit from the request to the answer, including the wait for other computations.
const MOST_TIME: Duration = Duration::from_secs(25);
/// The maximum number of computations that wait for the running one.
const MOST_WAITING: usize = 4;

/// The queue to which pages submit computations.
#[derive(Clone)]
pub struct Computations {
    jobs: mpsc::Sender<Job>,
    shutdown: CancellationToken,
}

/// Runs the submitted computations.
pub struct ComputingThread {
    jobs: mpsc::Receiver<Job>,
    shutdown: CancellationToken,
}

struct Job {
    stop: CancellationToken,
    work: Box<dyn FnOnce(&CancellationToken) + Send>,
}

/// Creates both ends of the queue. `shutdown` cancels all computations.
pub fn computations(shutdown: CancellationToken) -> (Computations, ComputingThread) {
    let (sender, receiver) = mpsc::channel(MOST_WAITING);
    let thread = ComputingThread { jobs: receiver, shutdown: shutdown.clone() };
    (Computations { jobs: sender, shutdown }, thread)
}

impl Computations {
    /// Runs `work` and waits for its result. If this future is dropped, because the page is gone, the token is
    /// cancelled.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, ApiProblem> {
        let stop = self.shutdown.child_token();
        let _guard = stop.clone().drop_guard();
        let (sender, answer) = oneshot::channel();
        let work = Box::new(move |stop: &CancellationToken| {
            // Sending fails if the page is gone.
            let _ = sender.send(work(stop));
        });
        // Not `send`: at the end of a full queue, the time limit would expire before the computation ends.
        self.jobs.try_send(Job { stop, work }).map_err(|_| Refusal::OthersCompute)?;
        match timeout(MOST_TIME, answer).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(Ok(Err(error))) => {
                tracing::error!(error = format!("{error:#}"), "a page could not be computed");
                Err(Refusal::ComputationFailed.into())
            }
            Ok(Err(_)) => Err(Refusal::ComputationStopped.into()),
            Err(_) => Err(Refusal::ComputationTooLong.into()),
        }
    }
}

impl ComputingThread {
    /// Runs one computation after the other until the shutdown. Needs a thread of its own.
    pub fn run(mut self, runtime: &Handle) {
        while let Some(job) = runtime.block_on(self.next()) {
            // The page may have gone while the computation was queued.
            if !job.stop.is_cancelled() {
                // A computation that panics must not end the program.
                let _ = catch_unwind(AssertUnwindSafe(|| (job.work)(&job.stop)));
            }
        }
    }

    async fn next(&mut self) -> Option<Job> {
        tokio::select! {
            () = self.shutdown.cancelled() => None,
            job = self.jobs.recv() => job,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as threads;

    use super::*;

    /// Runs `story` alongside the computing thread.
    async fn with_thread<F: Future<Output = ()>>(story: impl FnOnce(Computations) -> F) {
        let shutdown = CancellationToken::new();
        let (computations, thread) = computations(shutdown.clone());
        let runtime = Handle::current();
        let thread = tokio::task::spawn_blocking(move || thread.run(&runtime));
        story(computations).await;
        shutdown.cancel();
        thread.await.unwrap();
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_stopped() {
        with_thread(async |computations| {
            let (began, begun) = oneshot::channel();
            let (ended, end) = threads::channel();
            let waits = computations.run(move |stop| {
                began.send(()).unwrap();
                while !stop.is_cancelled() {
                    std::thread::yield_now();
                }
                ended.send(()).unwrap();
                Ok(())
            });
            tokio::select! {
                _ = waits => unreachable!("it goes on until it is stopped"),
                _ = begun => {}
            }
            // The next one is computed, so the first has ended.
            assert_eq!(computations.run(|_| Ok(7)).await.unwrap(), 7);
            end.try_recv().unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn what_fails_or_panics_ends_nothing_else() {
        with_thread(async |computations| {
            let failed = computations.run(|_| Err::<(), _>(anyhow::anyhow!("no"))).await;
            assert!(matches!(*failed.unwrap_err().0, Refusal::ComputationFailed));
            let panicked = computations.run(|_| -> anyhow::Result<()> { panic!("oh") }).await;
            assert!(matches!(*panicked.unwrap_err().0, Refusal::ComputationStopped));
            assert_eq!(computations.run(|_| Ok(7)).await.unwrap(), 7);
        })
        .await;
    }

    #[tokio::test]
    async fn only_so_many_wait() {
        let (computations, _thread) = computations(CancellationToken::new());
        let mut waiting = Vec::new();
        for _ in 0..MOST_WAITING {
            let mut wait = Box::pin(computations.run(|_| Ok(())));
            assert!(futures_util::poll!(&mut wait).is_pending());
            waiting.push(wait);
        }
        let refused = computations.run(|_| Ok(())).await.unwrap_err();
        assert!(matches!(*refused.0, Refusal::OthersCompute), "{refused:?}");
    }
}
