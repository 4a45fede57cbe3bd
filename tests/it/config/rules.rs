//! The rulebook that results from the settings.

use aizuchi_agent::agent::StateCall;
use aizuchi_agent::inbox::WaitSettings;
use aizuchi_config::Config;
use aizuchi_config::budget::ModelCosts;
use aizuchi_model::chat::UserId;
use aizuchi_model::decision::gate::{Gate, OPTIONAL_GATES};
use aizuchi_model::rules::{
    BudgetLimits, ChannelRules, FacilitationRules, FirstWordRule, FollowUpRule, LanguageRule,
    MemoryRule, Mode, ModelRules, PersonaRule, PostTiming, QuietHours, Rulebook, TimingRules,
    ToolRule,
};
use jiff::SignedDuration;
use jiff::civil::time;

use crate::config::environment;

/// Every setting of the rules, for all channels and for single ones.
const EVERYTHING: &str = r##"
models:
  prices:
    ollama/small: {input: 0, output: 0}
    ollama/large: {input: 0, output: 0}
  named:
    small: {model_id: ollama/small}
    large: {model_id: ollama/large}
  workspaces:
    slack: small
response:
  order_trial_cost: 0.1
  mode: observe
  min_confidence: 0.6
  tolerance: 0.1
  max_wait_seconds: 900
  keeper: 123456789012345679
  cooldown_seconds: 90
  max_share: 0.25
  companions: [U8, 987654321098765431]
  companion_window_seconds: 90
  follow_up: own
  follow_up_after_seconds: 3600
  reactions: ["👍", " :tada: "]
  quiet_hours: 22:00-07:00
  gates: [share, cooldown, nothing_open, unchanged, directed]
decision:
  state: separate
facilitator:
  rest_seconds: 4
  max_rest_seconds: 40
  min_messages: 2
  buffer_size: 30
  cooldown_minutes: 15
  compare_window: 6
budget:
  tokens_per_day: 1000000
  money_per_day: 1.25
  money_per_month: 20
  posts_per_hour: 12
  posts_per_channel_per_hour: 7
  judge_calls_per_person_per_hour: 20
  calls_per_decision: off
  mention_share: 0.4
  answers_per_person_per_hour: 10
  soft_share: 0.5
channels:
  "#garden":
    mode: facilitator
    quiet_hours: none
    min_confidence: 0.9
    tolerance: 0.05
    max_share: 1
    reactions: []
    cooldown_seconds: 0.5
    language: auto
    keeper: "@U7"
    persona: Speak of plants.
    tools: [search_messages]
    memory: off
    timing: plain
    min_wait_floor_seconds: 5
    min_wait_seconds: 20
    max_wait_seconds: 300
    announce: false
    companions: []
    follow_up: all
    follow_up_after_seconds: 7200
    speaks_first: {after_days: 3, at: 09:30, on: [every Monday at 9:00, 毎年12月24日18時]}
    model: {response: large, judgment: small}
    facilitator:
      rest_seconds: 8
      max_rest_seconds: 80
      min_messages: 4
      buffer_size: 10
      cooldown_minutes: 0
      compare_window: 3
    budget:
      tokens_per_day: 1000
      money_per_day: 0.1
      money_per_month: 0.3
      posts_per_hour: 0
  C1:
    budget: 5
    facilitator: {rest_seconds: 6}
    persona: {system_prompt: You are a gardener.}
    tools: false
  123456789012345678:
    budget: ${BUDGET}
  C2: {}
opted_out: ["@U1", 987654321098765432]
"##;

#[test]
fn the_rulebook_has_every_setting() {
    let environment = environment(&[("BUDGET", "2.5")], "");
    let config = Config::read(EVERYTHING, "config.yaml", &environment).unwrap();
    assert_eq!(config.warnings, [""; 0]);
    let facilitation = FacilitationRules {
        rest_seconds: 4.0,
        max_rest_seconds: 40.0,
        min_messages: 2,
        buffer_size: 30,
        cooldown: SignedDuration::from_mins(15),
        compare_window: 6,
    };
    let defaults = ChannelRules {
        mode: Mode::Observe,
        quiet_hours: Some(QuietHours { from: time(22, 0, 0, 0), to: time(7, 0, 0, 0) }),
        min_confidence: 0.6,
        tolerance: Some(0.1),
        reactions: vec!["👍".to_owned(), ":tada:".to_owned()],
        facilitation,
        cooldown: SignedDuration::from_secs(90),
        max_share: 0.25,
        budget_limits: BudgetLimits { posts_per_hour: Some(7), ..BudgetLimits::default() },
        companions: Some(vec![UserId::new("U8"), UserId::new("987654321098765431")]),
        companion_window: SignedDuration::from_secs(90),
        follow_up: FollowUpRule::Own,
        follow_up_after: SignedDuration::from_hours(1),
        ..ChannelRules::default()
    };
    let garden = ChannelRules {
        mode: Mode::Facilitator,
        quiet_hours: None,
        min_confidence: 0.9,
        tolerance: Some(0.05),
        reactions: Vec::new(),
        facilitation: FacilitationRules {
            rest_seconds: 8.0,
            max_rest_seconds: 80.0,
            min_messages: 4,
            buffer_size: 10,
            cooldown: SignedDuration::ZERO,
            compare_window: 3,
        },
        cooldown: SignedDuration::from_millis(500),
        max_share: 1.0,
        budget_limits: BudgetLimits {
            tokens_per_day: Some(1000),
            micros_per_day: Some(100_000),
            micros_per_month: Some(300_000),
            posts_per_hour: Some(0),
        },
        language: LanguageRule::AsWritten,
        keeper: Some(UserId::new("U7")),
        persona: Some(PersonaRule::Addition("Speak of plants.".into())),
        tools: ToolRule::Only(vec!["search_messages".to_owned()]),
        memory: MemoryRule::Off,
        timing: TimingRules {
            min_wait_floor_seconds: Some(5.0),
            min_wait_seconds: Some(20.0),
            max_wait_seconds: Some(300.0),
            post_timing: Some(PostTiming::Immediate),
        },
        announces: Some(false),
        companions: Some(Vec::new()),
        companion_window: SignedDuration::from_secs(90),
        models: ModelRules {
            response: Some("large".into()),
            judgment: Some("small".into()),
            ..ModelRules::default()
        },
        follow_up: FollowUpRule::All,
        follow_up_after: SignedDuration::from_hours(2),
        first_word: Some(FirstWordRule {
            after_days: Some(3),
            at: time(9, 30, 0, 0),
            on: vec!["weekly mon 09:00".parse().unwrap(), "yearly 12-24 18:00".parse().unwrap()],
        }),
    };
    let monthly =
        |micros| BudgetLimits { micros_per_month: Some(micros), ..defaults.budget_limits };
    let first = ChannelRules {
        budget_limits: monthly(5_000_000),
        facilitation: FacilitationRules { rest_seconds: 6.0, ..facilitation },
        persona: Some(PersonaRule::Replacement("You are a gardener.".into())),
        tools: ToolRule::Only(Vec::new()),
        ..defaults.clone()
    };
    let numbered = ChannelRules { budget_limits: monthly(2_500_000), ..defaults.clone() };
    let channels = [
        ("#garden", garden),
        ("123456789012345678", numbered),
        ("C1", first),
        ("C2", defaults.clone()),
    ];
    let expected = Rulebook {
        default_rules: defaults,
        channels: channels.map(|(key, rules)| (key.to_owned(), rules)).into(),
        keeper: Some(UserId::new("123456789012345679")),
        workspace_limits: BudgetLimits {
            tokens_per_day: Some(1_000_000),
            micros_per_day: Some(1_250_000),
            micros_per_month: Some(20_000_000),
            posts_per_hour: Some(12),
        },
        answers_per_hour: Some(10),
        judge_calls_per_hour: Some(20),
        calls_per_decision: None,
        soft_share: 0.5,
        mention_share: 0.4,
        opted_out: ["U1", "987654321098765432"].map(UserId::new).to_vec(),
        drafts_standing_orders: true,
        workspace_models: {
            let small = || Some("small".into());
            let models = ModelRules {
                response: small(),
                judgment: small(),
                memory: small(),
                state: small(),
            };
            [("slack".to_owned(), models)].into()
        },
        model_choices: vec!["large".into(), "small".into()],
        unset: config.config.rulebook().unset.clone(),
        ..Rulebook::default()
    };
    assert_eq!(config.config.rulebook(), expected);
    let settings = config.config.agent_settings();
    assert_eq!(*settings.rulebook.read(), expected);
    assert_eq!(settings.state, StateCall::Separate);
    let backwards: Vec<Gate> = OPTIONAL_GATES.into_iter().rev().collect();
    assert_eq!(settings.gates, backwards);
    assert_eq!(config.config.wait_settings().max_wait_seconds, 900.0);
}

#[test]
fn an_empty_config_has_the_default_rulebook() {
    let config = Config::default();
    let unset = config.rulebook().unset.clone();
    assert_eq!(config.rulebook(), Rulebook { unset, ..Rulebook::default() });
    let settings = config.agent_settings();
    assert_eq!((settings.state, settings.gates), (StateCall::Fused, OPTIONAL_GATES.to_vec()));
    assert_eq!(config.wait_settings(), WaitSettings::default());
    // With a fixed wait, posts are immediate by default.
    for (text, timing, local_room) in [
        ("wait: fixed", PostTiming::Immediate, PostTiming::Immediate),
        ("wait: adaptive", PostTiming::HumanLike, PostTiming::Immediate),
        ("wait: fixed, timing: human", PostTiming::HumanLike, PostTiming::HumanLike),
        ("wait: adaptive, timing: plain", PostTiming::Immediate, PostTiming::Immediate),
    ] {
        let config = Config::parse(&format!("response: {{{text}}}")).unwrap();
        let timings = (config.agent_settings().timing, config.response.room_timing());
        assert_eq!(timings, (timing, local_room), "{text}");
    }
    // The value `none`, and a quoted number.
    let text = "response: {quiet_hours: none}\nchannels: {C1: {mode: off}, C2: {budget: '3'}}\n";
    let book = Config::parse(text).unwrap().rulebook();
    assert_eq!(book.default_rules, ChannelRules::default());
    assert_eq!(book.channels["C1"], ChannelRules { mode: Mode::Off, ..ChannelRules::default() });
    assert_eq!(book.channels["C2"].budget_limits.micros_per_month, Some(3_000_000));
}

#[test]
fn a_limit_is_off_only_if_it_says_so() {
    let limits_of = |text: &str| {
        let book = Config::parse(&format!("channels:\n  C1: {{mode: off}}\n{text}")).unwrap();
        let book = book.rulebook_with(ModelCosts::Tokens);
        (
            [
                book.workspace_limits.tokens_per_day,
                book.workspace_limits.posts_per_hour,
                book.answers_per_hour,
                book.judge_calls_per_hour,
                book.calls_per_decision,
            ],
            book.channels["C1"].budget_limits.posts_per_hour,
        )
    };
    let posts = ChannelRules::default().budget_limits.posts_per_hour;
    let defaults = [Some(2_000_000), None, Some(30), Some(30), Some(24)];
    assert_eq!(limits_of(""), (defaults, posts));
    assert_eq!(limits_of("budget: {tokens_per_day: , calls_per_decision: }"), (defaults, posts));
    let off = "budget: {tokens_per_day: off, answers_per_person_per_hour: none, judge_calls_per_person_per_hour: 'off', \
               calls_per_decision: off, posts_per_channel_per_hour: off}";
    assert_eq!(limits_of(off), ([None; 5], None));
    let set = "budget: {tokens_per_day: '0', posts_per_hour: 5, posts_per_channel_per_hour: 2}";
    assert_eq!(limits_of(set), ([Some(0), Some(5), Some(30), Some(30), Some(24)], Some(2)));
    // A channel's section overrides the values that it sets.
    for (budget, most) in
        [("5", posts), ("{tokens_per_day: 5}", posts), ("{posts_per_hour: off}", None)]
    {
        let text = format!("channels: {{C1: {{budget: {budget}}}}}");
        let book = Config::parse(&text).unwrap().rulebook();
        assert_eq!(book.channels["C1"].budget_limits.posts_per_hour, most, "{budget}");
    }
}

/// The built-in mind costs nothing, so by default its tokens are not limited.
#[test]
fn only_models_have_a_daily_limit_by_default() {
    for (text, limit) in [
        ("", None),
        ("budget: {tokens_per_day: 7}", Some(7)),
        ("agents: {judgment: {model_id: ollama/small}}", Some(2_000_000)),
        ("agents: {judgment: {model_id: ollama/small}}\nbudget: {tokens_per_day: off}", None),
    ] {
        let config = Config::read(text, "config.yaml", &environment(&[], "")).unwrap().config;
        assert_eq!(config.rulebook().workspace_limits.tokens_per_day, limit, "{text}");
    }
}

#[test]
fn default_waits_yield_to_configured_ones() {
    for (text, waits, local_room) in [
        ("", (300.0, 3600.0), (12.0, 3600.0)),
        ("min_wait_seconds: 30", (30.0, 3600.0), (30.0, 3600.0)),
        ("min_wait_seconds: 7200", (7200.0, 7200.0), (7200.0, 7200.0)),
        ("max_wait_seconds: 60", (60.0, 60.0), (12.0, 60.0)),
        ("{min_wait_seconds: 60, max_wait_seconds: 60}", (60.0, 60.0), (60.0, 60.0)),
    ] {
        let config = Config::parse(&format!("response:\n  {text}\n")).unwrap();
        let waits_of =
            |settings: WaitSettings| (settings.min_wait_seconds, settings.max_wait_seconds);
        assert_eq!(waits_of(config.wait_settings()), waits, "{text}");
        assert_eq!(waits_of(config.room_wait_settings()), local_room, "{text}");
    }
}

#[test]
fn ineffective_settings_get_a_warning() {
    let models = "agents:\n  response: {model_id: ollama/large, fallback: {model_id: ollama/spare}}\n  \
                  judgment: {model_id: ollama/small}\n  state: {model_id: ollama/tiny}\n";
    let unused_state = "config.yaml:4:3: agents.state is asked only with decision.state: separate; now the \
                 judge names the state in its own call";
    let missing_price = |location: &str, limit: &str, models: &str| {
        format!(
            "config.yaml:{location}: {limit} cannot count what {models} costs: there is no price in \
             models.prices"
        )
    };
    let three = "ollama/large, ollama/small or ollama/spare";
    let four = "ollama/large, ollama/small, ollama/spare or ollama/tiny";
    let prices = |names: &[&str]| {
        let prices = names.iter().map(|name| format!("ollama/{name}: {{input: 0, output: 0}}"));
        format!("models: {{prices: {{{}}}}}\n", prices.collect::<Vec<_>>().join(", "))
    };
    let separate = "decision: {state: separate}\n";
    let cases = [
        (String::new(), vec![unused_state.to_owned()]),
        (separate.to_owned(), vec![]),
        (
            "budget:\n  money_per_month: 5\n".to_owned(),
            vec![unused_state.to_owned(), missing_price("6:3", "budget.money_per_month", three)],
        ),
        (
            "budget: {tokens_per_day: 5, money_per_day: }\n".to_owned(),
            vec![unused_state.to_owned()],
        ),
        (
            format!("{separate}channels:\n  C1: {{mode: off}}\n  C2: {{budget: 5}}\n"),
            vec![missing_price("8:8", "channels.C2.budget", four)],
        ),
        (
            format!("{separate}channels:\n  '#a': {{budget: {{money_per_day: 5}}}}\n"),
            vec![missing_price("7:19", "channels.#a.budget.money_per_day", four)],
        ),
        // Only the first limit gets a warning.
        (
            format!("{separate}channels:\n  C1: {{budget: 1}}\nbudget: {{money_per_day: 1}}\n"),
            vec![missing_price("7:8", "channels.C1.budget", four)],
        ),
        (
            format!(
                "{separate}budget: {{money_per_day: 1}}\n{}",
                prices(&["large", "spare", "tiny"])
            ),
            vec![missing_price("6:10", "budget.money_per_day", "ollama/small")],
        ),
        (
            format!(
                "{separate}budget: {{money_per_day: 1}}\n{}",
                prices(&["large", "small", "spare", "tiny"])
            ),
            vec![],
        ),
    ];
    for (text, expected) in cases {
        let text = format!("{models}{text}");
        let warnings = Config::read(&text, "config.yaml", &environment(&[], "")).unwrap().warnings;
        assert_eq!(warnings, expected, "{text}");
    }
    // The built-in mind is free.
    let builtin = "budget: {money_per_day: 1}\n";
    let loaded = Config::read(builtin, "config.yaml", &environment(&[], "")).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
}
