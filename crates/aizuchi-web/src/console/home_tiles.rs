//! The head of the home page: whether everything works, what it costs, and what waits for somebody.

use aizuchi_model::context::BudgetUsage;
use aizuchi_model::decision::consent::ConsentState;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::console::feed::bars;
use crate::console::health;
use crate::figures::tally::{Figures, percent, thousands};
use crate::status::{Status, told_cost};
use crate::{ApiProblem, Web, workspaces};

pub struct HomeView {
    /// What does not work, each with the page that tells more.
    pub troubles: Vec<(String, String)>,
    pub spent: String,
    /// How much that is of the limit.
    pub limit: String,
    /// What was spent on each of the days before today, and today.
    pub spending: Vec<(u64, String)>,
    pub waiting: Vec<WaitingCount>,
}

/// How many things wait for somebody, with the page that lists them.
pub struct WaitingCount {
    pub name: &'static str,
    pub address: String,
    pub word: &'static str,
    pub count: usize,
}

/// The page of the channels whose history is not read yet.
const BACKFILL: &str = "/console/failures?kind=backfill";

impl HomeView {
    pub async fn read(
        web: &Web,
        status: &Status,
        week: &[Figures],
        language: Language,
    ) -> Result<Self, ApiProblem> {
        let models = health::failing_models(web).await?;
        let waiting = waiting(web, status, models.len(), language).await?;
        let page = |page: &'static str| move |told: String| (told, page.to_owned());
        let outages = outages(web, status, language).into_iter().map(page("/console/queue"));
        let failing = models.iter().map(|model| texts::console::model_fails(language, model));
        let failed = waiting.iter().filter(|it| ["letters", "unread"].contains(&it.name));
        let failed = failed.map(|it| (format!("{}: {}", it.word, it.count), it.address.clone()));
        let troubles = outages.chain(failing.map(page("/console/failures"))).chain(failed);
        let today = status.workspaces.iter().map(|it| it.money_today * 1e6).sum::<f64>();
        let spending = week.iter().map(|day| day.all.micros).chain([today as u64]);
        let spending: Vec<u64> = spending.collect();
        let tell = |micros: u64| told_cost(language, micros as f64 / 1e6, &web.currency, 0);
        let date = web.clock.now().to_zoned(web.zone.clone()).date();
        let (spent, limit) = cost(web, status, language);
        Ok(Self {
            troubles: troubles.collect(),
            spent,
            limit,
            spending: bars(&spending, tell, date, language),
            waiting,
        })
    }
}

/// Why workspaces of the config cannot be heard.
fn outages(web: &Web, status: &Status, language: Language) -> Vec<String> {
    let remotes = web.remotes.read();
    let shown = &status.workspaces;
    let is_listed = |name: &str| shown.iter().any(|it| it.workspace.platform() == name);
    // A platform that has never been connected has no workspace that could say so.
    let unknown = remotes.iter().filter(|(name, _)| !is_listed(name));
    let unknown = unknown.filter_map(|(name, remote)| {
        let why = texts::console::not_connected(language, &remote.outage()?);
        Some(format!("{name}: {why}"))
    });
    let known = shown.iter().filter_map(|it| {
        let connection = it.connection.as_ref()?;
        let outage = connection.outage.clone()?;
        let told = match connection.platform {
            Some(_) => texts::console::not_connected(language, &outage),
            None => texts::console::no_platform(language).to_owned(),
        };
        Some(format!("{}: {told}", workspaces::label(web, &it.workspace, language)))
    });
    unknown.chain(known).collect()
}

/// Tells what was spent within 24 hours, and how much that is of the limit, which is the same for each workspace.
fn cost(web: &Web, status: &Status, language: Language) -> (String, String) {
    let (rulebook, shown) = (web.room.rulebook(), &status.workspaces);
    let micros = shown.iter().map(|it| it.usage.micros_in_day).sum::<u64>();
    let unpriced = shown.iter().map(|it| it.unpriced_tokens_today).sum();
    let spent = told_cost(language, micros as f64 / 1e6, &web.currency, unpriced);
    let limits = &rulebook.workspace_limits;
    let (used, limit): (fn(&BudgetUsage) -> u64, u64) =
        match (limits.micros_per_day, limits.tokens_per_day) {
            (Some(limit), _) => (|usage| usage.micros_in_day, limit),
            (None, Some(limit)) => (|usage| usage.tokens_in_day, limit),
            (None, None) => return (spent, texts::home::no_limit(language).to_owned()),
        };
    let Some(nearest) = shown.iter().max_by_key(|it| used(&it.usage)) else {
        return (spent, String::new());
    };
    let told = match limits.micros_per_day {
        Some(limit) => format!("{:.2} {}", limit as f64 / 1e6, web.currency),
        None => texts::home::tokens(language, &thousands(limit)),
    };
    let told = texts::home::of_limit(language, &percent(used(&nearest.usage), limit), &told);
    if shown.iter().filter(|it| used(&it.usage) > 0).count() > 1 {
        let label = workspaces::label(web, &nearest.workspace, language);
        return (spent, texts::home::nearest(language, &label, &told));
    }
    (spent, told)
}

async fn waiting(
    web: &Web,
    status: &Status,
    failing_models: usize,
    language: Language,
) -> Result<Vec<WaitingCount>, ApiProblem> {
    let now = web.clock.now();
    let consents = web.archive.unsettled_consents().await?.into_iter();
    let consents = consents.filter(|it| it.clone().at(now).state == ConsentState::Open).count();
    let connections = || status.workspaces.iter().filter_map(|it| it.connection.as_ref());
    let proposals = web.archive.open_proposals(now).await?.len();
    let letters = usize::try_from(status.dead_letters).unwrap_or(usize::MAX);
    let behind = connections().map(|it| it.behind).sum();
    let unread = connections().map(|it| it.failing).sum();
    let counts = [
        ("proposals", "/console/queue#proposals", texts::home::proposals(language), proposals),
        ("calls", "/console/queue#calls", texts::home::calls(language), consents),
        ("letters", "/console/failures?kind=post", texts::home::letters(language), letters),
        (
            "models",
            "/console/failures?kind=model",
            texts::home::failing_models(language),
            failing_models,
        ),
        ("behind", BACKFILL, texts::home::behind(language), behind),
        ("unread", BACKFILL, texts::home::unread(language), unread),
    ];
    let counts = counts.into_iter().filter(|(.., count)| *count > 0);
    let counts = counts.map(|(name, address, word, count)| {
        let address = address.to_owned();
        WaitingCount { name, address, word, count }
    });
    Ok(counts.collect())
}
