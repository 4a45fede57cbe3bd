//! The figures of a workspace by calendar days: what it heard, how it decided, what that cost, and how soon it answered.

pub mod calendar;
pub mod tally;
pub mod kept_days;
pub mod answer;

use std::sync::Arc;

use crate::web::Web;
use crate::web::figures::calendar::Calendar;
use crate::web::figures::kept_days::DayReader;
use crate::web::figures::tally::Figures;
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::store::StoreError;
use aizuchi_core::store::figures::Day;

/// The periods to choose, in days.
pub const SPANS: [i64; 3] = [7, 30, 90];

/// What the last days came to, today among them.
pub struct PeriodFigures {
    /// All of them, oldest first.
    pub days: Vec<(Day, Arc<Figures>)>,
    pub total: Figures,
}

impl PeriodFigures {
    pub async fn read(web: &Web, workspace: &WorkspaceId, days: i64) -> Result<Self, StoreError> {
        let reader = DayReader {
            archive: &*web.archive,
            calendar: Calendar { zone: &web.zone },
            now: web.clock.now(),
            revision: *web.revisions.borrow(),
        };
        let days = reader.calendar.last_days(reader.now, days);
        let days = web.kept_days.read(&reader, workspace, &days).await?;
        let mut total = Figures::default();
        for (_, figures) in &days {
            total.add(figures);
        }
        Ok(Self { days, total })
    }
}
