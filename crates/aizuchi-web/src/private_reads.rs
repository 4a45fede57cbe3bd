//! The record of who read the text of private channels, for admins.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_store::private_reads::{PrivateReadQuery, PrivateReads};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct ReadsQuery {
    /// Only this workspace, by its id; all workspaces if omitted.
    workspace: Option<String>,
    /// The `older` value of a page, to get the next older one.
    before: Option<i64>,
}

/// Reads of the text of private channels, newest first.
#[derive(Serialize, JsonSchema)]
pub struct PrivateReadsAnswer {
    reads: Vec<PrivateReadView>,
    /// The value of `before` for the next older page, if there is one: a time in epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub struct PrivateReadView {
    workspace: WorkspaceId,
    channel: ChannelId,
    reader: Arc<str>,
    what: &'static str,
    ts: f64,
    count: u64,
}

/// The number of rows of the record on one page.
const PAGE: usize = 200;

/// A page of the record, newest first.
pub struct ReadsPage {
    pub reads: Vec<PrivateReads>,
    /// The cursor of the next older page, if there is one: a time in milliseconds.
    pub older: Option<i64>,
}

/// `GET /api/private-reads`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<ReadsQuery>, QueryRejection>,
) -> JsonResult<PrivateReadsAnswer> {
    if !visitor.access.is_admin() {
        return Err(Refusal::OnlyAdminReadsLooks.into());
    }
    let Query(query) = query.map_err(|_| Refusal::TimeNeeded)?;
    let workspace = workspaces::find_only(&web, query.workspace.as_deref()).await?;
    let ReadsPage { reads, older } = page(&web, workspace, query.before).await?;
    Ok(Json(PrivateReadsAnswer { reads: reads.iter().map(view).collect(), older }))
}

/// Returns the newest rows of the record before a time.
pub async fn page(
    web: &Web,
    workspace: Option<WorkspaceId>,
    before: Option<i64>,
) -> Result<ReadsPage, ApiProblem> {
    // A time that is out of range is later than all rows.
    let before = before.and_then(|before| Timestamp::from_millisecond(before).ok());
    let mut most = PAGE;
    loop {
        // Fetch one more, to learn whether there is a page before this one.
        let query = PrivateReadQuery { workspace: workspace.clone(), before, limit: most + 1 };
        match ReadsPage::new(web.archive.private_reads(&query).await?, most) {
            Some(page) => return Ok(page),
            None => most *= 2,
        }
    }
}

impl ReadsPage {
    /// Makes a page from one row more than it holds. Rows of the same moment stay together, because the cursor is a
    /// time. Returns `None` if one moment has more rows than a page.
    fn new(mut reads: Vec<PrivateReads>, most: usize) -> Option<Self> {
        let Some(next) = reads.get(most).map(at_ms) else {
            return Some(Self { reads, older: None });
        };
        let last = reads.iter().rposition(|reads| at_ms(reads) != next)?;
        reads.truncate(last + 1);
        let older = reads.last().map(at_ms);
        Some(Self { reads, older })
    }
}

fn at_ms(reads: &PrivateReads) -> i64 {
    reads.at.as_millisecond()
}

pub fn view(reads: &PrivateReads) -> PrivateReadView {
    PrivateReadView {
        workspace: reads.read.workspace.clone(),
        channel: reads.read.channel.clone(),
        reader: reads.read.reader.clone(),
        what: reads.read.what.name(),
        ts: views::seconds(reads.at),
        count: reads.count,
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_store::private_reads::{PrivateRead, PrivateText};

    use super::*;

    #[test]
    fn what_was_read_in_one_moment_is_on_one_page() {
        let page = |times: &[i64], most| {
            let reads = times.iter().map(|ms| PrivateReads {
                read: PrivateRead {
                    workspace: WorkspaceId::new("slack:T1"),
                    channel: ChannelId::new("attic"),
                    reader: "mia".into(),
                    what: PrivateText::Messages,
                },
                at: Timestamp::from_millisecond(*ms).unwrap(),
                count: 1,
            });
            let page = ReadsPage::new(reads.collect(), most)?;
            Some((page.reads.len(), page.older))
        };
        assert_eq!(page(&[], 3), Some((0, None)));
        assert_eq!(page(&[9, 8, 7], 3), Some((3, None)));
        assert_eq!(page(&[9, 8, 7, 6], 3), Some((3, Some(7))));
        assert_eq!(page(&[9, 8, 7, 7], 3), Some((2, Some(8))));
        assert_eq!(page(&[7, 7, 7, 7], 3), None);
    }
}
