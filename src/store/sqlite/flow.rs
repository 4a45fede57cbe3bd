//! Taking due steps and applying what they came to.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::query;
use sqlx::sqlite::SqliteConnection;

use crate::chat::MessageId;
use crate::decision::{Attempt, AttemptEnd, Ended};
use crate::event::step::{Lease, Standing};
use crate::event::{Claim, Closing, Draft, End, Event, Outcome, Piece, PieceId, Posted};
use crate::store::StoreError;
use crate::store::sqlite::hear::{Standings, put_own_line};
use crate::store::sqlite::{Counters, rows, sql, stored};

pub async fn claim(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<Claim>, StoreError> {
    let ready = query(sql::READY_STEPS).bind(now.as_millisecond()).bind(most as i64);
    let ready = ready.fetch_all(&mut *connection).await.map_err(stored)?;
    if ready.is_empty() {
        return Ok(Vec::new());
    }
    let mut claims = Vec::with_capacity(ready.len());
    let mut steps = Vec::with_capacity(ready.len());
    counters.revision += 1;
    for row in &ready {
        let mut step = rows::step(row)?;
        counters.last_number += 1;
        let token = counters.last_number;
        claims.push(step.claim(token));
        step.attempts += 1;
        step.lease = Some(Lease { token, until: now + lease });
        if let Event::Post(piece) = &step.event {
            let dispatch = query(sql::DISPATCH_PIECE).bind(piece.id.0).bind(now.as_millisecond());
            dispatch.execute(&mut *connection).await.map_err(stored)?;
        }
        steps.push(rows::step_values(&step));
    }
    let steps = Value::Array(steps).to_string();
    query(sql::PUT_STEPS).bind(steps).execute(connection).await.map_err(stored)?;
    Ok(claims)
}

pub async fn complete(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    claim: &Claim,
    outcome: Outcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let conversation = claim.event.conversation();
    let mut standings = Standings::read(connection, &HashSet::from([conversation])).await?;
    let standing = standings.of(conversation);
    let step = standing.step.as_ref();
    let is_held =
        step.is_some_and(|step| step.lease.is_some_and(|lease| lease.token == claim.token));
    let is_current = is_held && step.is_some_and(|step| step.generation == claim.generation);
    let mut completion = Completion { connection, counters, claim, now };
    for attempt in outcome.attempts {
        completion.put_attempt(attempt, is_current).await?;
    }
    if let (End::Said(posted), Event::Post(piece)) = (&outcome.end, &claim.event) {
        completion.say(piece, posted).await?;
    }
    if is_current {
        completion.apply(standing, outcome.end).await?;
    } else if is_held {
        standing.release();
    }
    completion.touch().await?;
    standings.write(connection, now.as_millisecond()).await
}

/// One claim's end being written.
struct Completion<'a> {
    connection: &'a mut SqliteConnection,
    counters: &'a mut Counters,
    claim: &'a Claim,
    now: Timestamp,
}

impl Completion<'_> {
    async fn apply(&mut self, standing: &mut Standing, end: End) -> Result<(), StoreError> {
        if self.is_said().await? {
            // Whatever this claim came to: the piece has been said, and is never said again.
            return self.go_on_after_post(standing).await;
        }
        match end {
            End::Silent(closing) => {
                self.end_pieces("dropped").await?;
                self.close(standing, closing, &[], None).await
            }
            End::Join { judgment, state, due } => {
                let judge = query(sql::JUDGE_DECISION)
                    .bind(self.claim.decision.0)
                    .bind(json!(judgment).to_string())
                    .bind(state.0);
                judge.execute(&mut *self.connection).await.map_err(stored)?;
                standing.go_on(Event::Reply(self.claim.event.conversation().clone()), due);
                Ok(())
            }
            End::Drafted { draft, due } => {
                if let Some(piece) = self.put_draft(draft).await? {
                    standing.go_on(Event::Post(piece), due);
                }
                Ok(())
            }
            // It is said by now; see above.
            End::Said(_) => Ok(()),
            End::Withdrawn { why } => {
                self.end_pieces("dropped").await?;
                if !standing.fall_back_to_judging(self.now) {
                    self.close(standing, Closing::new(Ended::Dropped, why), &[], None).await?;
                }
                Ok(())
            }
            End::Again { due } => {
                standing.again(due);
                Ok(())
            }
            End::NotSaid { due } => self.take_back(standing, due).await,
            End::GivenUp { error, why } => self.give_up(standing, error, why).await,
            End::Overtaken => {
                standing.release();
                Ok(())
            }
        }
    }

    async fn put_attempt(&mut self, attempt: Attempt, is_current: bool) -> Result<(), StoreError> {
        let end = match (is_current, attempt.end) {
            (false, AttemptEnd::Kept) => AttemptEnd::Superseded,
            (true, end) | (false, end @ (AttemptEnd::Superseded | AttemptEnd::Failed)) => end,
        };
        let put = query(sql::PUT_ATTEMPT)
            .bind(self.claim.decision.0)
            .bind(&*attempt.verb)
            .bind(attempt.at.as_millisecond())
            .bind(&*attempt.model)
            .bind(&*attempt.prompt_hash)
            .bind(attempt.prompt_bytes as i64)
            .bind(attempt.usage.input_tokens as i64)
            .bind(attempt.usage.cached_tokens as i64)
            .bind(attempt.usage.output_tokens as i64)
            .bind(attempt.latency.as_millis() as i64)
            .bind(end.name())
            .bind(attempt.judgment.map(|judgment| json!(judgment).to_string()))
            .bind(attempt.error);
        put.execute(&mut *self.connection).await.map_err(stored)?;
        Ok(())
    }

    async fn say(&mut self, piece: &Piece, posted: &Posted) -> Result<(), StoreError> {
        let say = query(sql::SAY_PIECE).bind(piece.id.0).bind(posted.id.as_str());
        let said = say.execute(&mut *self.connection).await.map_err(stored)?;
        if said.rows_affected() == 0 {
            return Ok(());
        }
        put_own_line(self.connection, self.counters, &piece.said(posted)).await
    }

    async fn is_said(&mut self) -> Result<bool, StoreError> {
        let Event::Post(piece) = &self.claim.event else { return Ok(false) };
        let state = query(sql::PIECE_STATE).bind(piece.id.0);
        let state = state.fetch_optional(&mut *self.connection).await.map_err(stored)?;
        let state = state.map(|row| rows::column::<String>(&row, "state")).transpose()?;
        Ok(state.as_deref() == Some("said"))
    }

    async fn put_draft(&mut self, draft: Draft) -> Result<Option<Piece>, StoreError> {
        let conversation = self.claim.event.conversation();
        let notes = std::sync::Arc::new(draft.notes);
        let notes_json = json!(*notes).to_string();
        let first = PieceId(self.counters.last_number + 1);
        let mut piece = None;
        for text in draft.pieces {
            self.counters.last_number += 1;
            let id = PieceId(self.counters.last_number);
            let put = query(sql::PUT_PIECE)
                .bind(id.0)
                .bind(first.0)
                .bind(conversation.workspace.as_str())
                .bind(conversation.channel.as_str())
                .bind(rows::thread(conversation))
                .bind(self.claim.decision.0)
                .bind(&text)
                .bind(&notes_json);
            put.execute(&mut *self.connection).await.map_err(stored)?;
            piece.get_or_insert_with(|| Piece {
                id,
                conversation: conversation.clone(),
                key: id.key(),
                text: text.into(),
                draft: notes.clone(),
                dispatched: None,
            });
        }
        Ok(piece)
    }

    /// A piece was said: the next one of its draft, or the end of the decision.
    async fn go_on_after_post(&mut self, standing: &mut Standing) -> Result<(), StoreError> {
        let Event::Post(piece) = &self.claim.event else {
            return Ok(());
        };
        let next = query(sql::NEXT_PIECE).bind(piece.id.0);
        let next = next.fetch_optional(&mut *self.connection).await.map_err(stored)?;
        if let Some(next) = next {
            standing.go_on(Event::Post(rows::piece(&next)?), self.now);
            return Ok(());
        }
        let notes = piece.draft.clone();
        let closing = Closing::new(notes.ends, notes.why.clone());
        self.close(standing, closing, &notes.owed, Some(notes.considered)).await
    }

    async fn take_back(
        &mut self,
        standing: &mut Standing,
        due: Timestamp,
    ) -> Result<(), StoreError> {
        let Event::Post(piece) = &self.claim.event else {
            return Ok(());
        };
        let take_back = query(sql::UNDISPATCH_PIECE).bind(piece.id.0);
        take_back.execute(&mut *self.connection).await.map_err(stored)?;
        standing.again(due);
        if let Some(step) = &mut standing.step {
            step.event = Event::Post(Piece { dispatched: None, ..piece.clone() });
        }
        Ok(())
    }

    async fn give_up(
        &mut self,
        standing: &mut Standing,
        error: String,
        why: String,
    ) -> Result<(), StoreError> {
        let (answered, considered, text): (Vec<MessageId>, _, _) = match &self.claim.event {
            Event::Post(piece) => (
                piece.draft.owed.clone(),
                Some(piece.draft.considered),
                Some(piece.text.to_string()),
            ),
            Event::Judge(_) | Event::Reply(_) => {
                (standing.owed.iter().map(|owed| owed.message.clone()).collect(), None, None)
            }
        };
        let conversation = self.claim.event.conversation();
        let put = query(sql::PUT_DEAD_LETTER)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(rows::thread(conversation))
            .bind(self.claim.event.verb())
            .bind(self.now.as_millisecond())
            .bind(self.claim.attempt)
            .bind(error)
            .bind(text);
        put.execute(&mut *self.connection).await.map_err(stored)?;
        self.end_pieces("dead").await?;
        self.close(standing, Closing::new(Ended::Failed, why), &answered, considered).await
    }

    async fn end_pieces(&mut self, state: &'static str) -> Result<(), StoreError> {
        let Event::Post(piece) = &self.claim.event else {
            return Ok(());
        };
        let end = query(sql::END_PIECES).bind(piece.id.0).bind(state);
        end.execute(&mut *self.connection).await.map_err(stored)?;
        Ok(())
    }

    /// Closes the claim's decision; lines newer than `considered` go to a new one.
    async fn close(
        &mut self,
        standing: &mut Standing,
        closing: Closing,
        answered: &[MessageId],
        considered: Option<u64>,
    ) -> Result<(), StoreError> {
        let decision = self.claim.decision.0;
        let seen = considered.map_or(i64::MAX, |considered| considered as i64);
        let count = query(sql::COUNT_UNSEEN).bind(decision).bind(seen);
        let count = count.fetch_one(&mut *self.connection).await.map_err(stored)?;
        let has_unseen = rows::column::<i64>(&count, "n")? > 0;
        let close = query(sql::CLOSE_DECISION)
            .bind(decision)
            .bind(self.now.as_millisecond())
            .bind(closing.ended.name())
            .bind(closing.gate.map(|gate| gate.name()))
            .bind(closing.judgment.map(|judgment| json!(judgment).to_string()))
            .bind(closing.state.map(|state| state.0))
            .bind(closing.why);
        close.execute(&mut *self.connection).await.map_err(stored)?;
        let fresh = self.counters.next_decision();
        standing.close(answered, has_unseen, self.now, fresh);
        let Some(step) = &standing.step else {
            return Ok(());
        };
        self.counters.last_number = fresh.0;
        let conversation = self.claim.event.conversation();
        let opened = json!([[
            fresh,
            conversation.workspace,
            conversation.channel,
            rows::thread(conversation),
            self.now.as_millisecond(),
            i64::from(step.is_owed),
            self.counters.revision,
        ]]);
        let open = query(sql::OPEN_DECISIONS).bind(opened.to_string());
        open.execute(&mut *self.connection).await.map_err(stored)?;
        let move_unseen = query(sql::MOVE_UNSEEN).bind(decision).bind(seen).bind(fresh.0);
        move_unseen.execute(&mut *self.connection).await.map_err(stored)?;
        Ok(())
    }

    async fn touch(&mut self) -> Result<(), StoreError> {
        let touch = query(sql::TOUCH_DECISION)
            .bind(self.claim.decision.0)
            .bind(self.counters.revision as i64);
        touch.execute(&mut *self.connection).await.map_err(stored)?;
        Ok(())
    }
}
