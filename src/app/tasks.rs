//! Spawns the tasks of the program, and stops all of them as soon as one ends or a signal comes. The writer of the
//! database stops last.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::task::JoinSet;
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
        let mut tasks: JoinSet<(String, anyhow::Result<()>)> = JoinSet::new();
        // MCP servers end after everything that calls them: of a call that is cut off it would be unknown whether it
        // was made.
        let servers_stop = CancellationToken::new();
        let calls_guard = Arc::new(servers_stop.clone().drop_guard());
        let replies_guard = calls_guard.clone();
        let runner_stop = shutdown.clone();
        tasks.spawn(async move {
            let ended = runner.run(runner_stop).await;
            drop(replies_guard);
            ("runner".to_owned(), ended)
        });
        let retention_stop = shutdown.clone();
        tasks.spawn(async move { ("retention".to_owned(), retention.run(retention_stop).await) });
        if let Some(backup) = backup {
            let backup_stop = shutdown.clone();
            tasks.spawn(async move { ("backup".to_owned(), backup.run(backup_stop).await) });
        }
        let forgetter_stop = shutdown.clone();
        tasks.spawn(async move { ("forgetter".to_owned(), forgetter.run(forgetter_stop).await) });
        let learner_stop = shutdown.clone();
        // Learning computes for up to half a second, so it runs on a thread of its own. The guard stops that thread
        // however this function returns.
        let _learner_guard = shutdown.clone().drop_guard();
        let handle = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || {
            let learning = async {
                tokio::select! {
                    () = learner_stop.cancelled() => Ok(()),
                    ended = learner.run(learner_stop.clone()) => ended,
                }
            };
            ("learner".to_owned(), handle.block_on(learning))
        });
        let handle = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || {
            computing.run(&handle);
            ("computing".to_owned(), Ok(()))
        });
        let (answers, answers_stop) = (web.shadow_answers.clone(), shutdown.clone());
        let erasures_of_answers = erasures.clone();
        tasks.spawn(async move {
            answers.drop_outdated(erasures_of_answers, answers_stop).await;
            ("recent answers".to_owned(), Ok(()))
        });
        let reports_stop = shutdown.clone();
        tasks.spawn(async move {
            report_cache.drop_outdated(erasures, reports_stop).await;
            ("kept reports".to_owned(), Ok(()))
        });
        let renewal_stop = shutdown.clone();
        tasks.spawn(async move {
            aizuchi_web::renew_reports(web, renewal_stop).await;
            ("renewed reports".to_owned(), Ok(()))
        });
        let demo_stop = shutdown.clone();
        tasks.spawn(async move { ("demo".to_owned(), demo.run(demo_stop).await) });
        for connection in connections {
            let connection_stop = shutdown.clone();
            let name = format!("connection to {}", connection.name);
            tasks.spawn(async move { (name, connection.run(connection_stop).await) });
        }
        if let Some(servers) = mcp_servers {
            tasks.spawn(async move { ("MCP servers".to_owned(), servers.run(servers_stop).await) });
        }
        let calls_stop = shutdown.clone();
        tasks.spawn(async move {
            let ended = allowed_calls.run(calls_stop).await;
            drop(calls_guard);
            ("allowed calls".to_owned(), ended)
        });
        // These tasks only probe: they neither delay the start nor end the program.
        let mut looks = JoinSet::new();
        let looking = models.clone();
        looks.spawn(async move { looking.look_around(&own_addresses).await });
        looks.spawn(async move { models.watch().await });
        let servers = [("web", Some(pages)), ("health", health)];
        for (name, server) in servers {
            let Some(server) = server else { continue };
            tasks.spawn(async move { (name.to_owned(), serving::serve(server).await) });
        }
        metrics.record_start(started.elapsed());

        let mut failure = None;
        let mut writer_end = None;
        tokio::select! {
            () = stop.cancelled() => info!("stopping: finishing the work in flight"),
            Some(ended) = tasks.join_next() => failure = Some(unexpected_end(ended)),
            ended = &mut writer => writer_end = Some(ended),
        }
        // Whatever ended first, all other tasks finish their work in flight.
        shutdown.cancel();
        while let Some(ended) = tasks.join_next().await {
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

fn unexpected_end(
    ended: Result<(String, anyhow::Result<()>), tokio::task::JoinError>,
) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("the {name} stopped unexpectedly"),
        Ok((name, Err(error))) => error.context(format!("the {name} ended")),
        Err(error) => anyhow::anyhow!("a part of Aizuchi ended unexpectedly: {error}"),
    }
}
