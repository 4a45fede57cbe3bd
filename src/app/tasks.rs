//! Spawns the tasks of the program, and stops all of them as soon as one ends or a signal comes. The writer of the
//! database stops last.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::app::{App, serving};

impl App {
    /// Runs until `stop` is cancelled. Fails if any task ends before that.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Self {
            started,
            metrics,
            models,
            mut writer,
            writer_stop,
            runner,
            retention,
            backup,
            forgetter,
            learner,
            first_words,
            computing,
            report_cache,
            erasures,
            web,
            room,
            demo,
            connections,
            mcp_servers,
            allowed_calls,
            pages,
            health,
            own_addresses,
            shutdown,
            ..
        } = self;
        room.open().await.context("cannot open the local room")?;
        drop(room);
        let mut tasks = Tasks { set: JoinSet::new(), shutdown: shutdown.clone() };
        // MCP servers end after everything that calls them: of a call that is cut off it would be unknown whether it
        // was made.
        let servers_stop = CancellationToken::new();
        let calls_guard = Arc::new(servers_stop.clone().drop_guard());
        let replies_guard = calls_guard.clone();
        tasks.spawn("runner", |stop| async move {
            let ended = runner.run(stop).await;
            drop(replies_guard);
            ended
        });
        tasks.spawn("retention", |stop| async move { retention.run(stop).await });
        if let Some(backup) = backup {
            tasks.spawn("backup", |stop| async move { backup.run(stop).await });
        }
        tasks.spawn("forgetter", |stop| async move { forgetter.run(stop).await });
        tasks.spawn("learner", |stop| async move { learner.run(stop).await });
        tasks.spawn("first words", |stop| async move { first_words.run(stop).await });
        let handle = tokio::runtime::Handle::current();
        tasks.set.spawn_blocking(move || {
            computing.run(&handle);
            ("computing".to_owned(), Ok(()))
        });
        let (answers, erasures_of_answers) = (web.shadow_answers.clone(), erasures.clone());
        tasks.spawn("recent answers", |stop| async move {
            answers.drop_outdated(erasures_of_answers, stop).await;
            Ok(())
        });
        tasks.spawn("kept reports", |stop| async move {
            report_cache.drop_outdated(erasures, stop).await;
            Ok(())
        });
        tasks.spawn("pages computed ahead", |stop| async move {
            aizuchi_web::compute_ahead(web, stop).await;
            Ok(())
        });
        tasks.spawn("demo", |stop| async move { demo.run(stop).await });
        for connection in connections {
            tasks.spawn(format!("connection to {}", connection.name), |stop| connection.run(stop));
        }
        if let Some(servers) = mcp_servers {
            tasks.spawn("MCP servers", |_| async move { servers.run(servers_stop).await });
        }
        tasks.spawn("allowed calls", |stop| async move {
            let ended = allowed_calls.run(stop).await;
            drop(calls_guard);
            ended
        });
        // These tasks only probe: they neither delay the start nor end the program.
        let mut looks = JoinSet::new();
        let looking = models.clone();
        looks.spawn(async move { looking.look_around(&own_addresses).await });
        looks.spawn(async move { models.watch().await });
        tasks.spawn("web", |_| serving::serve(pages));
        if let Some(health) = health {
            tasks.spawn("health", |_| serving::serve(health));
        }
        metrics.record_start(started.elapsed());

        let mut failure = None;
        let mut writer_end = None;
        tokio::select! {
            () = stop.cancelled() => info!("stopping: finishing the work in flight"),
            Some(ended) = tasks.set.join_next() => failure = Some(unexpected_end(ended)),
            ended = &mut writer => writer_end = Some(ended),
        }
        // Whatever ended first, all other tasks finish their work in flight.
        shutdown.cancel();
        while let Some(ended) = tasks.set.join_next().await {
            if let Ok((name, Err(error))) = ended {
                error!(task = %name, error = format!("{error:#}"), "a task failed while stopping");
                failure.get_or_insert(error);
            }
        }
        writer_stop.cancel();
        // The writer stops last, because the other tasks still commit what they finish.
        let was_asked = writer_end.is_none();
        let writer_end = match writer_end {
            Some(ended) => ended,
            None => writer.await,
        };
        writer_end.context("the writer's task")??;
        anyhow::ensure!(was_asked, "the database's writer stopped unexpectedly");
        failure.map_or(Ok(()), Err)
    }
}

/// The tasks of the program, each with its name. All of them stop at the shutdown.
struct Tasks {
    set: JoinSet<(String, anyhow::Result<()>)>,
    shutdown: CancellationToken,
}

impl Tasks {
    fn spawn<T>(&mut self, name: impl Into<String>, task: impl FnOnce(CancellationToken) -> T)
    where
        T: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let (name, task) = (name.into(), task(self.shutdown.clone()));
        self.set.spawn(async move { (name, task.await) });
    }
}

fn unexpected_end(ended: Result<(String, anyhow::Result<()>), JoinError>) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("the {name} stopped unexpectedly"),
        Ok((name, Err(error))) => error.context(format!("the {name} ended")),
        Err(error) => anyhow::anyhow!("a part of Aizuchi ended unexpectedly: {error}"),
    }
}
