//! The layout that all pages of the console share.

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::named_enum;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::http::Method;
use axum::response::Html;
use jiff::{Timestamp, Zoned};

use crate::access::{FrameState, Visitor, allows};
use crate::figures::calendar::Calendar;
use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

/// The frame of a page.
pub struct Layout<'a> {
    pub language: Language,
    pub persona: &'a str,
    pub has_session: bool,
    /// The name of the reader.
    pub reader: String,
    pub may_order: bool,
    pub may_administer: bool,
    pub has_room: bool,
    pub has_persona: bool,
    /// Which link in the head leads to this page.
    pub section: Section,
    /// The time zone of days and times.
    pub zone: String,
    pub now: Zoned,
    pub frame: FrameState,
}

named_enum! {
    pub enum Section {
        Overview,
        /// Also a channel, and a decision.
        Channels,
        Queue,
        Failures,
        Plans,
        Memory,
        People,
        Figures,
        Report,
        Orders,
        Persona,
        Configuration,
        Api,
        Trial,
    }
}

impl<'a> Layout<'a> {
    pub fn new(web: &'a Web, visitor: &Visitor, language: Language, section: Section) -> Self {
        let reader = match &visitor.access {
            Access::SignedIn(holder) => {
                let role = texts::console::role(language);
                format!("{role} {} ({})", holder.name, holder.role.name())
            }
            Access::Public | Access::ThisMachine => {
                texts::console::this_machine(language).to_owned()
            }
        };
        let calendar = Calendar { zone: &web.zone };
        Self {
            language,
            persona: &web.persona.name,
            has_session: visitor.session.is_some(),
            reader,
            may_order: visitor.access.may_order(),
            may_administer: visitor.access.may_administer(),
            has_room: allows(&visitor.access, &Method::GET, "/"),
            has_persona: allows(&visitor.access, &Method::GET, "/console/persona"),
            section,
            zone: calendar.zone_name(web.clock.now()),
            now: web.clock.now().to_zoned(web.zone.clone()),
            frame: visitor.frame.clone(),
        }
    }

    /// The value of `aria-current` for a link: `page` if it leads to the section of this page, `true` if it leads to
    /// several sections of which it is one, else `false`.
    pub fn current(&self, sections: &str) -> &'static str {
        match sections.split(' ').any(|section| section == self.section.name()) {
            false => "false",
            true if sections.contains(' ') => "true",
            true => "page",
        }
    }

    /// A time as briefly as it is clear today.
    pub fn brief(&self, at: &TimeView) -> String {
        texts::home::brief(self.language, self.local(at).datetime(), self.now.date())
    }

    /// The time of day, for a row below the heading of its day.
    pub fn clock(&self, at: &TimeView) -> String {
        texts::builtin::time_of_day(self.local(at).time())
    }

    pub fn exact(&self, at: &TimeView) -> String {
        self.local(at).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    fn local(&self, at: &TimeView) -> Zoned {
        at.at.to_zoned(self.now.time_zone().clone())
    }

    /// Whether the page is not updated when something changes.
    pub fn is_still(&self) -> bool {
        match self.section {
            Section::Trial | Section::Persona | Section::Report | Section::Api => true,
            Section::Overview
            | Section::Channels
            | Section::Queue
            | Section::Orders
            | Section::Failures
            | Section::Plans
            | Section::Figures
            | Section::Memory
            | Section::People
            | Section::Configuration => false,
        }
    }
}

/// A time on a page, which shows it in its time zone. Browsers keep relative times up to date.
pub struct TimeView {
    pub at: Timestamp,
    pub iso: String,
}

impl TimeView {
    pub fn new(at: Timestamp) -> Self {
        Self { at, iso: at.to_string() }
    }

    pub fn from_seconds(seconds: f64) -> Self {
        let at = Timestamp::from_millisecond((seconds * 1000.0) as i64);
        Self::new(at.unwrap_or(Timestamp::MAX))
    }
}

/// A page of a list, newest first.
pub struct ListPart {
    /// The name of the list, by which tests find its links.
    pub name: &'static str,
    /// The number of rows on this page.
    pub shown: usize,
    /// The address of the newest page, unless it is this one.
    pub newest: Option<String>,
    /// The address of the next older page, if there is one.
    pub older: Option<String>,
}

impl ListPart {
    /// A note that this is not the whole list, if that is so.
    pub fn note(&self, language: Language) -> Option<String> {
        let note: fn(Language, usize) -> String = match (&self.newest, &self.older) {
            (None, None) => return None,
            (None, Some(_)) => texts::console::newest_of_more,
            (Some(_), Some(_)) => texts::console::between_others,
            (Some(_), None) => texts::console::oldest_of_more,
        };
        Some(note(language, self.shown))
    }
}

/// A page of a list that is sorted by importance.
#[derive(Debug, PartialEq, Eq)]
pub struct ListSlice {
    /// The name of the list, by which tests find its links.
    pub name: &'static str,
    /// A note that this is not the whole list.
    pub told: String,
    /// The address of the first page, unless it is this one.
    pub first: Option<String>,
    pub next: Option<String>,
}

impl ListSlice {
    /// Describes the page at `address`, which shows `shown` of the `all` rows of the list `name`, after the first
    /// `after` rows. `None` if that is the whole list.
    pub fn new(
        (name, address): (&'static str, &str),
        after: usize,
        (shown, all): (usize, usize),
        language: Language,
    ) -> Option<Self> {
        if shown == all {
            return None;
        }
        let joint = if address.contains('?') { '&' } else { '?' };
        let end = after.saturating_add(shown);
        Some(Self {
            name,
            told: texts::console::some_of(language, shown, all),
            first: (after > 0).then(|| format!("{address}#{name}")),
            next: (end < all).then(|| format!("{address}{joint}{name}_after={end}#{name}")),
        })
    }
}

/// The address of a channel's timeline.
pub fn channel_address(workspace: &WorkspaceId, channel: &ChannelId) -> String {
    format!("/console/channels/{}/{}", encode(workspace.as_str()), encode(channel.as_str()))
}

/// The address of the memory page of a workspace or a channel.
pub fn memory_address(workspace: &WorkspaceId, channel: Option<&ChannelId>) -> String {
    let channel = channel.map(|channel| format!("&channel={}", encode(channel.as_str())));
    let channel = channel.unwrap_or_default();
    format!("/console/memory?workspace={}{channel}", encode(workspace.as_str()))
}

/// The address of the page that tries other settings on a channel.
pub fn what_if_address(workspace: &WorkspaceId, channel: &ChannelId) -> String {
    format!("{}/what-if", channel_address(workspace, channel))
}

/// The address of the page that tries a standing order on a channel.
pub fn standing_order_trial_address(workspace: &WorkspaceId, channel: &ChannelId) -> String {
    format!("{}/order-trial", channel_address(workspace, channel))
}

/// The address of a decision's page.
pub fn decision_address(workspace: &WorkspaceId, DecisionId(id): DecisionId) -> String {
    format!("/console/decisions/{}/{id}", encode(workspace.as_str()))
}

/// The address of the page that asks a decision's judge again.
pub fn judge_again_address(workspace: &WorkspaceId, id: DecisionId) -> String {
    format!("{}/judge", decision_address(workspace, id))
}

/// The address of a page with the parameters that are not empty.
pub fn address_with(page: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = page.to_owned();
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        address.push(if address.contains('?') { '&' } else { '?' });
        address += &format!("{name}={}", encode(value));
    }
    address
}

/// Percent-encodes a part of an address.
pub fn encode(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

pub fn render(page: &impl Template) -> Result<Html<String>, ApiProblem> {
    page.render().map(Html).map_err(|_| Refusal::PageFailed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_says_so() {
        let told = |newest: bool, older: bool| {
            let address = |is_given: bool| is_given.then(|| "/console/queue".to_owned());
            let (newest, older) = (address(newest), address(older));
            ListPart { name: "letters", shown: 200, newest, older }.note(Language::En)
        };
        assert_eq!(told(false, false), None);
        for (newest, older, expected) in [
            (false, true, "The newest 200 are shown here; there are older ones."),
            (true, true, "200 are shown here; there are newer and older ones."),
            (true, false, "The oldest 200 are shown here; there are newer ones."),
        ] {
            assert_eq!(told(newest, older).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_part_of_a_list_leads_to_the_others() {
        let part = |address: &str, after, shown, all| {
            let part = ListSlice::new(("memos", address), after, (shown, all), Language::En)?;
            Some((part.first, part.next))
        };
        let to = |address: &str| Some(address.to_owned());
        assert_eq!(part("/m", 0, 3, 3), None);
        assert_eq!(part("/m", 0, 50, 120), Some((None, to("/m?memos_after=50#memos"))));
        let (first, third) = (to("/m?x=y#memos"), to("/m?x=y&memos_after=100#memos"));
        assert_eq!(part("/m?x=y", 50, 50, 120), Some((first.clone(), third)));
        assert_eq!(part("/m?x=y", 100, 20, 120), Some((first.clone(), None)));
        assert_eq!(part("/m?x=y", usize::MAX, 0, 120), Some((first, None)));
    }

    #[test]
    fn ids_are_safe_in_addresses() {
        let (workspace, channel) = (WorkspaceId::new("slack:T1"), ChannelId::new("a/b?\"<é"));
        let address = channel_address(&workspace, &channel);
        assert_eq!(address, "/console/channels/slack%3AT1/a%2Fb%3F%22%3C%C3%A9");
    }
}
