//! Errors about invalid configs: one sentence with the location, and never a secret.

use aizuchi_config::Config;
use aizuchi_config::known_keys::keys;
use aizuchi_config::secret::is_secret_key;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::config::environment;

/// Resembles the API key of a provider.
const KEY: &str = "sk-live-51H0pelessLySecret";

/// A secret that resembles an ordinary word.
const WORD: &str = "hunter2";

/// Invalid configs, each with its error.
const BAD: &[(&str, &str)] = &[
    (
        "persona:\n  name: Aki\n  name: Bo\n",
        "3:3: the key \"name\" appears twice in one section; keep one of them",
    ),
    (
        "language: en\nlanguage: ja\n",
        "2:1: the key \"language\" appears twice in one section; keep one of them",
    ),
    ("persona:\n\tname: Aki\n", "2:2: this line is indented with a tab; use spaces"),
    ("persona: [\n", "1:10: the bracket that opens here is never closed"),
    ("persona: {name: Aki\n", "1:10: the bracket that opens here is never closed"),
    ("persona: ]\n", "1:10: this bracket closes, but none was opened"),
    (
        "persona:\n  name: 'Aki\nlanguage: en\n",
        "3:1: a quoted text is never closed, or continues without indentation",
    ),
    (
        "persona:\n  name: a: b\n",
        "2:10: a colon is not expected here; check the indentation, look for a line above without its colon, and put text that contains a colon in quotes",
    ),
    (
        "persona:\n  name: Aki\n system_prompt: x\n",
        "3:2: this line is indented differently from the lines around it",
    ),
    (
        "persona:\n  name Aki\n  system_prompt: x\n",
        "3:16: a colon is not expected here; check the indentation, look for a line above without its colon, and put text that contains a colon in quotes",
    ),
    ("persona:\n  name: @aki\n", "2:9: text cannot begin with this character; put it in quotes"),
    (
        "persona:\n  name: *aki\n",
        "2:9: what follows this * is not defined anywhere above; put a text that begins with * in quotes",
    ),
    (
        "persona:\n  name: \"\\q\"\n",
        "2:9: this backslash in double quotes starts no known escape; write two of them, or use single quotes",
    ),
    (
        "language: en\n---\nlanguage: ja\n",
        "3:1: a second document begins here, but a config file must be a single one; remove the line with --- or ...",
    ),
    (
        "- language\n- en\n",
        "1:1: the file contains a list, but a config consists of keys, like \"language: en\"",
    ),
    (
        "language\n",
        "1:1: the file contains only text, but a config consists of keys; a key needs a colon and a space after it, like \"language: en\"",
    ),
    (
        "language:en\n",
        "1:1: the file contains only text, but a config consists of keys; a key needs a colon and a space after it, like \"language: en\"",
    ),
    (
        "slack:\n  bot_token: [${A}]\n",
        "2:16: something between these brackets cannot be read; put variables and text with special characters in quotes",
    ),
    ("<<: 5\n", "1:5: what follows << must be a section"),
    ("? [a, b]\n: 1\n", "1:3: a key must be a name on one line"),
    (
        "http: {listen: ${LISTEN}}\n",
        "1:17: something between these brackets cannot be read; put variables and text with special characters in quotes",
    ),
    (
        "slack:\n  bot_tokn: x\n",
        "2:3: unknown key \"bot_tokn\" in slack; did you mean \"bot_token\"?",
    ),
    ("persona:\n  nam: Aki\n", "2:3: unknown key \"nam\" in persona; did you mean \"name\"?"),
    (
        "personna:\n  name: Aki\n",
        "1:1: unknown key \"personna\" at the top level; did you mean \"persona\"?",
    ),
    ("bot_token: x\n", "1:1: unknown key \"bot_token\" at the top level; it belongs in slack"),
    (
        "slack:\n  temperature: 1\n",
        "2:3: unknown key \"temperature\" in slack; it belongs in agents.NAME.params",
    ),
    (
        "agents:\n  response:\n    temperature: 1\n",
        "3:5: unknown key \"temperature\" in agents.response; it belongs in agents.response.params",
    ),
    (
        "agents:\n  response:\n    api_key: x\n",
        "3:5: unknown key \"api_key\" in agents.response; it belongs in agents.response.client_args",
    ),
    (
        "agents:\n  judge:\n    model_id: builtin\n",
        "2:3: unknown key \"judge\" in agents; did you mean \"judgment\"?",
    ),
    (
        "agents:\n  judgement:\n    model_id: builtin\n",
        "2:3: unknown key \"judgement\" in agents; did you mean \"judgment\"?",
    ),
    (
        "response:\n  min_wait: 3\n",
        "2:3: unknown key \"min_wait\" in response; did you mean \"min_wait_seconds\"?",
    ),
    (
        "timezone: Asia/Tokio\n",
        "1:11: timezone is \"Asia/Tokio\", but it must be UTC or the name of a time zone, like Asia/Tokyo; did you mean Asia/Tokyo?",
    ),
    (
        "context:\n  max_tokens: 10\n",
        "2:15: context.max_tokens is 10, but it must be a whole number from 2000 to 1000000",
    ),
    (
        "context:\n  sections: {memo: 10}\n",
        "2:14: unknown key \"memo\" in context.sections; did you mean \"memos\"?",
    ),
    (
        "xyzzy: 1\n",
        "1:1: unknown key \"xyzzy\" at the top level; known keys are persona, language, timezone, prompts_dir, agents, discover, models, vision, transcription, response, decision, facilitator, budget, context, storage, memory, retention, http, health_check, logging, slack, discord, tools, channels, workspaces and opted_out",
    ),
    (
        "xoxb-123-secret: 1\n",
        "1:1: there is an unknown key at the top level; known keys are persona, language, timezone, prompts_dir, agents, discover, models, vision, transcription, response, decision, facilitator, budget, context, storage, memory, retention, http, health_check, logging, slack, discord, tools, channels, workspaces and opted_out",
    ),
    (
        "channels:\n  \"#a\":\n    mod: off\n",
        "3:5: unknown key \"mod\" in channels.#a; did you mean \"mode\"?",
    ),
    (
        "memory:\n  databse_path: a\n",
        "2:3: unknown key \"databse_path\" in memory; did you mean \"database_path\"?",
    ),
    (
        "persona: Aki\n",
        "1:10: persona is a text, but it must be a section with keys of its own: name, also_called and system_prompt",
    ),
    (
        "slack:\n  - xoxb-1\n",
        "2:3: slack is a list, but it must be a section with keys of its own: bot_token, app_token, signing_secret, reply_in, connections, settle_seconds, history_days and api_base",
    ),
    (
        "slack: xoxb-123456\n",
        "1:8: slack is a text, but it must be a section with keys of its own: bot_token, app_token, signing_secret, reply_in, connections, settle_seconds, history_days and api_base",
    ),
    ("persona:\n  name: [Aki]\n", "2:9: persona.name is a list, but it must be text"),
    (
        "persona:\n  name: {first: Aki}\n",
        "2:9: persona.name is a section with keys of its own, but it must be text",
    ),
    (
        "response:\n  gates: unchanged\n",
        "2:10: response.gates is a text, but it must be a list, like [one, two]",
    ),
    (
        "response:\n  gates: [directed, unchangd]\n",
        "2:21: response.gates is \"unchangd\", but it must be directed, unchanged, nothing_open, cooldown or share",
    ),
    (
        "response:\n  gates: {a: 1}\n",
        "2:10: response.gates is a section with keys of its own, but it must be a list, like [one, two]",
    ),
    (
        "response:\n  min_wait_seconds: soon\n",
        "2:21: response.min_wait_seconds is \"soon\", but it must be a number",
    ),
    (
        "response:\n  min_wait_seconds: [1]\n",
        "2:21: response.min_wait_seconds is a list, but it must be a number",
    ),
    (
        "response:\n  channel_messages_limit: 1.5\n",
        "2:27: response.channel_messages_limit is 1.5, but it must be a whole number",
    ),
    (
        "channels: [general]\n",
        "1:11: channels is a list, but it must be a section with keys of its own",
    ),
    ("language: fr\n", "1:11: language is \"fr\", but it must be en, ja or auto"),
    (
        "persona:\n  name: ''\n",
        "2:9: persona.name is \"\", but it must be a name of 1 to 40 characters on one line",
    ),
    (
        "response:\n  jitter_ratio: 2\n",
        "2:17: response.jitter_ratio is 2, but it must be from 0 to 1",
    ),
    (
        "response:\n  jitter_ratio: -0.1\n",
        "2:17: response.jitter_ratio is -0.1, but it must be from 0 to 1",
    ),
    (
        "response:\n  min_wait_seconds: -1\n",
        "2:21: response.min_wait_seconds is -1, but it must be a number of seconds from 0 to a year",
    ),
    (
        "response:\n  min_wait_seconds: .inf\n",
        "2:21: response.min_wait_seconds is \".inf\", but it must be a number",
    ),
    (
        "response:\n  wait: adaptively\n",
        "2:9: response.wait is \"adaptively\", but it must be fixed or adaptive",
    ),
    (
        "response:\n  channel_messages_limit: 0\n",
        "2:27: response.channel_messages_limit is 0, but it must be a whole number from 1 to 1000",
    ),
    (
        "retention:\n  prompts_days: -1\n",
        "2:17: retention.prompts_days is -1, but it must not be negative",
    ),
    (
        "http:\n  listen: everywhere\n",
        "2:11: http.listen is \"everywhere\", but it must be an address like 127.0.0.1:8080",
    ),
    (
        "http:\n  trusted_proxies: [127.0.0.1, here]\n",
        "2:32: http.trusted_proxies is \"here\", but it must be an IP address, or a network like 10.0.0.0/8",
    ),
    (
        "tools:\n  web_search: {search_depth: ultra}\n",
        "2:30: tools.web_search.search_depth is \"ultra\", but it must be basic, advanced, fast or ultra-fast",
    ),
    (
        "tools:\n  web_fetch: {allow_networks: [intranet]}\n",
        "2:32: tools.web_fetch.allow_networks is \"intranet\", but it must be an IP address, or a network like 10.0.0.0/8",
    ),
    (
        "response:\n  link_hosts: [a/b]\n",
        "2:16: response.link_hosts is \"a/b\", but it must be the name of a host, like docs.example.com",
    ),
    (
        "http:\n  trusted_proxies: [10.0.0.0/33]\n",
        "2:21: http.trusted_proxies is \"10.0.0.0/33\", but it must be an IP address, or a network like 10.0.0.0/8",
    ),
    (
        "http:\n  listen: 0.0.0.0:80\n",
        "2:11: http.listen can be reached from other machines, so http.token must be set; without one, listen on 127.0.0.1",
    ),
    (
        "http:\n  listen: 0.0.0.0:80\n  token: hunter2\n",
        "3:10: http.token cannot be used: it must have at least 16 characters",
    ),
    (
        "http:\n  token: changeme-password-1234567890\n",
        "2:10: http.token cannot be used: it is easy to guess (well-known words, sequences and repeated characters count \
         for little); make a random one, for example with `openssl rand -hex 16`",
    ),
    (
        "health_check:\n  port: 70000\n",
        "2:9: health_check.port is 70000, but it must be a whole number from 1 to 65535",
    ),
    (
        "http:\n  listen: 127.0.0.1:9000\nhealth_check:\n  port: 9000\n",
        "4:9: health_check.port and http.listen name the same port; change one of them",
    ),
    (
        "storage:\n  url: mysql://x\n",
        "2:8: storage.url is \"mysql://x\", but it must be like sqlite://data/aizuchi.db or postgres://USER:PASSWORD@HOST/DATABASE",
    ),
    (
        "storage:\n  url: 'sqlite://:memory:'\n",
        "2:8: storage.url is \"sqlite://:memory:\", but it must be like sqlite://data/aizuchi.db or postgres://USER:PASSWORD@HOST/DATABASE",
    ),
    (
        "storage:\n  url: postgres://aki:hunter2@host:port/db\n",
        "2:8: storage.url cannot be used: it must be like postgres://USER:PASSWORD@HOST/DATABASE",
    ),
    (
        "storage:\n  url: sqlite://a.db\nmemory:\n  database_path: b.db\n",
        "4:18: memory.database_path and storage.url name different places; keep storage.url",
    ),
    (
        "memory:\n  database_path: ':memory:'\n",
        "2:18: memory.database_path is \":memory:\", but it must be a file, like data/aizuchi.db",
    ),
    (
        "logging:\n  level: LOUD\n",
        "2:10: logging.level is \"LOUD\", but it must be DEBUG, INFO, WARNING, ERROR or CRITICAL",
    ),
    (
        "logging:\n  format: xml\n",
        "2:11: logging.format is \"xml\", but it must be auto, text or json",
    ),
    (
        "logging:\n  loggers:\n    sqlx: LOUD\n",
        "3:11: logging.loggers.sqlx is \"LOUD\", but it must be DEBUG, INFO, WARNING, ERROR or CRITICAL",
    ),
    (
        "logging:\n  loggers:\n    'a=b': INFO\n",
        "3:5: logging.loggers.a=b cannot be used: it must be the name of a part, like sqlx",
    ),
    (
        "slack:\n  app_token: xapp-hunter2\n",
        "1:1: slack needs bot_token, the token that begins with xoxb-; remove the whole section if you do not use Slack",
    ),
    (
        "slack:\n  bot_token: '${NOTHING:-}'\n  app_token: xapp-hunter2\n",
        "1:1: slack needs bot_token, the token that begins with xoxb-; remove the whole section if you do not use Slack",
    ),
    (
        "slack:\n  bot_token: xoxb-hunter2\n",
        "1:1: slack needs app_token, the token that begins with xapp-, for Socket Mode, or else signing_secret, for events that Slack sends to /slack/events",
    ),
    (
        "slack:\n  bot_token: xoxb-hunter2\n  app_token: xapp-hunter2\n  signing_secret: hunter2\n",
        "1:1: slack.app_token and slack.signing_secret do not go together: app_token is for Socket Mode, where this machine calls Slack and needs no address of its own; signing_secret is for events over HTTP, which Slack sends to /slack/events; keep the one that the app is set up for",
    ),
    (
        "slack:\n  bot_token: xapp-hunter2\n",
        "2:14: slack.bot_token cannot be used: it must begin with xoxb-: the bot's token, from the page OAuth & Permissions of the app",
    ),
    (
        "slack:\n  bot_token: xoxb-hunter2\n  app_token: xoxb-hunter2\n",
        "3:14: slack.app_token cannot be used: it must begin with xapp-: the app-level token, from the page Basic Information of the app",
    ),
    (
        "slack:\n  bot_token: xoxb-hunter2\n  signing_secret: xapp-hunter2\n",
        "3:19: slack.signing_secret cannot be used: it must be the app's signing secret, from the page Basic Information of the app, not a token",
    ),
    (
        "slack:\n  bot_token: xoxb-hunter2\n  app_token: xapp-hunter2\n  settle_seconds: 15\n",
        "4:19: slack.settle_seconds must be more than 15: a post may take that long, and one that is still on its way would be posted twice",
    ),
    (
        "slack:\n  connections: 6\n",
        "2:16: slack.connections is 6, but it must be a whole number from 1 to 5",
    ),
    (
        "slack:\n  reply_in: threads\n",
        "2:13: slack.reply_in is \"threads\", but it must be same or thread",
    ),
    ("slack:\n  history_days: -1\n", "2:17: slack.history_days is -1, but it must not be negative"),
    (
        "slack:\n  sign_secret: x\n",
        "2:3: unknown key \"sign_secret\" in slack; did you mean \"signing_secret\"?",
    ),
    (
        "response:\n  channel_sync_interval_seconds: 0\n",
        "2:34: response.channel_sync_interval_seconds is 0, but it must be a number of seconds from 1 to a year",
    ),
    (
        "slack:\n  api_base: slack.com\n",
        "2:13: slack.api_base is \"slack.com\", but it must be an address with http:// or https://, like https://example.com/v1",
    ),
    (
        "discord:\n  gateway_url: https://gateway\n",
        "2:16: discord.gateway_url is \"https://gateway\", but it must be an address like wss://example.com/",
    ),
    (
        "channels:\n  '#a':\n    mode: loud\n",
        "3:11: channels.#a.mode is \"loud\", but it must be companion, facilitator, mention_only, propose, observe or off",
    ),
    (
        "channels:\n  '#a':\n    quiet_hours: at night\n",
        "3:18: channels.#a.quiet_hours is \"at night\", but it must be two times of day, like 22:00-07:00, or none",
    ),
    (
        "channels:\n  '#a b':\n    mode: off\n",
        "2:3: channels.#a b cannot be used: it must be \"#\" and a channel's name, or its id",
    ),
    ("slack:\n  budget: 1\n", "2:3: unknown key \"budget\" in slack; it belongs at the top level"),
    (
        "response:\n  reaction: []\n",
        "2:3: unknown key \"reaction\" in response; did you mean \"reactions\"?",
    ),
    (
        "response:\n  rest_seconds: 1\n",
        "2:3: unknown key \"rest_seconds\" in response; it belongs in facilitator",
    ),
    (
        "facilitator:\n  rest_second: 1\n",
        "2:3: unknown key \"rest_second\" in facilitator; did you mean \"rest_seconds\"?",
    ),
    (
        "channels:\n  '#a':\n    rest_seconds: 1\n",
        "3:5: unknown key \"rest_seconds\" in channels.#a; it belongs in channels.NAME.facilitator",
    ),
    (
        "channels:\n  C1:\n    budget: {money_per_moth: 1}\n",
        "3:14: unknown key \"money_per_moth\" in channels.C1.budget; did you mean \"money_per_month\"?",
    ),
    (
        "channels:\n  C1:\n    budget: {soft_share: 1}\n",
        "3:14: unknown key \"soft_share\" in channels.C1.budget; it belongs in budget",
    ),
    (
        "channels:\n  C1:\n    budget: much\n",
        "3:13: channels.C1.budget is \"much\", but it must be an amount of money, or a section with keys of its own: tokens_per_day, money_per_day, money_per_month and posts_per_hour",
    ),
    (
        "channels:\n  C1:\n    budget: [1]\n",
        "3:13: channels.C1.budget is a list, but it must be an amount of money, or a section with keys of its own: tokens_per_day, money_per_day, money_per_month and posts_per_hour",
    ),
    (
        "channels:\n  C1:\n    budget: .inf\n",
        "3:13: channels.C1.budget is \".inf\", but it must be an amount of money, or a section with keys of its own: tokens_per_day, money_per_day, money_per_month and posts_per_hour",
    ),
    (
        "channels:\n  C1:\n    budget: -1\n",
        "3:13: channels.C1.budget is -1, but it must not be negative",
    ),
    (
        "channels:\n  C1:\n    budget:\n      money_per_day: -1\n",
        "4:22: channels.C1.budget.money_per_day is -1, but it must not be negative",
    ),
    (
        "channels:\n  C1:\n    min_confidence: 50\n",
        "3:21: channels.C1.min_confidence is 50, but it must be from 0 to 1",
    ),
    (
        "channels:\n  C1:\n    persona: {xyzzy: x}\n",
        "3:15: unknown key \"xyzzy\" in channels.C1.persona; known keys are system_prompt",
    ),
    (
        "channels:\n  C1:\n    tools: [add_memo, rm]\n",
        "3:23: channels.C1.tools is \"rm\", but it must be the name of a tool: add_memo, edit_memo, remove_memo, list_memo, get_memo, list_memo_tags, search_messages, web_search, web_fetch, be_quiet, schedule, or SERVER__TOOL for one of an MCP server",
    ),
    (
        "channels:\n  C1:\n    tools: [add_memo, tracker__find]\n",
        "3:12: tools of a channel names a tool of an MCP server that is not in tools.mcp.servers",
    ),
    (
        "channels:\n  C1:\n    tools: some\n",
        "3:12: channels.C1.tools is \"some\", but it must be true, false, or a list of the tools that may be used",
    ),
    (
        "channels:\n  C1:\n    memory: forget\n",
        "3:13: channels.C1.memory is \"forget\", but it must be on or off",
    ),
    (
        "channels:\n  C1: {min_wait_seconds: 90, max_wait_seconds: 60}\n",
        "2:48: max_wait_seconds of a channel must be at least its min_wait_seconds, which is how long a conversation rests before it is judged",
    ),
    (
        "channels:\n  C1:\n    facilitator: {min_messages: none}\n",
        "3:33: channels.C1.facilitator.min_messages is \"none\", but it must be a whole number",
    ),
    (
        "budget:\n  tokens_per_day: 1.5\n",
        "2:19: budget.tokens_per_day is 1.5, but it must be a whole number, or off",
    ),
    (
        "budget:\n  posts_per_hour: -1\n",
        "2:19: budget.posts_per_hour is -1, but it must not be negative",
    ),
    (
        "budget:\n  answers_per_person_per_hour: 2000000000000\n",
        "2:32: budget.answers_per_person_per_hour is 2000000000000, but it must be a whole number from 0 to 1000000000000",
    ),
    ("budget:\n  soft_share: 80\n", "2:15: budget.soft_share is 80, but it must be from 0 to 1"),
    (
        "budget: 5\n",
        "1:9: budget is a text, but it must be a section with keys of its own: tokens_per_day, money_per_day, money_per_month, posts_per_hour, posts_per_channel_per_hour, answers_per_person_per_hour, judge_calls_per_person_per_hour, calls_per_decision, soft_share and mention_share",
    ),
    (
        "decision:\n  state: both\n",
        "2:10: decision.state is \"both\", but it must be fused or separate",
    ),
    (
        "response:\n  mode: silent\n",
        "2:9: response.mode is \"silent\", but it must be companion, facilitator, mention_only, propose, observe or off",
    ),
    (
        "response:\n  quiet_hours: 22:00-22:00\n",
        "2:16: response.quiet_hours is \"22:00-22:00\", but it must be two times of day, like 22:00-07:00, or none",
    ),
    (
        "response:\n  reactions: ['👍', '']\n",
        "2:20: response.reactions is \"\", but it must be an emoji, or its name, of 1 to 32 characters on one line",
    ),
    (
        "response:\n  reactions: [\"a\\nb\"]\n",
        "2:15: response.reactions is \"a\\nb\", but it must be an emoji, or its name, of 1 to 32 characters on one line",
    ),
    ("response:\n  max_share: 2\n", "2:14: response.max_share is 2, but it must be from 0 to 1"),
    (
        "response:\n  cooldown_seconds: never\n",
        "2:21: response.cooldown_seconds is \"never\", but it must be a number",
    ),
    (
        "response:\n  min_wait_seconds: 60\n  max_wait_seconds: 0\n",
        "3:21: response.max_wait_seconds must be at least response.min_wait_seconds, which is how long a conversation rests before it is judged",
    ),
    (
        "facilitator:\n  rest_seconds: 10\n  max_rest_seconds: 5\n",
        "3:21: facilitator.max_rest_seconds must be at least rest_seconds, which is 5 unless it is set",
    ),
    (
        "facilitator:\n  rest_seconds: 31\n",
        "2:17: facilitator.rest_seconds must be at most max_rest_seconds, which is 30 unless it is set",
    ),
    (
        "facilitator:\n  max_rest_seconds: 60\nchannels:\n  '#a':\n    facilitator: {rest_seconds: 61}\n",
        "5:33: channels.#a.facilitator.rest_seconds must be at most max_rest_seconds, which is 30 unless it is set",
    ),
    (
        "facilitator:\n  buffer_size: 2\n",
        "2:16: facilitator.buffer_size must be at least min_messages, which is 3 unless it is set",
    ),
    (
        "channels:\n  C1:\n    facilitator: {min_messages: 21}\n",
        "3:33: channels.C1.facilitator.min_messages must be at most buffer_size, which is 20 unless it is set",
    ),
    ("opted_out: U1\n", "1:12: opted_out is a text, but it must be a list, like [one, two]"),
    ("opted_out: ['']\n", "1:13: opted_out is \"\", but it must be the id of a person"),
    (
        "models:\n  currency: dollars\n",
        "2:13: models.currency is \"dollars\", but it must be three capital letters, like USD",
    ),
    (
        "models:\n  prices:\n    gpt-4o: {input: 1, output: 2}\n",
        "3:5: models.prices.gpt-4o cannot be used: it must be PROVIDER/MODEL, like openai/gpt-4o-mini, or the word builtin",
    ),
    (
        "models:\n  prices:\n    openai/gpt-4o: {input: 1}\n",
        "3:20: models.prices.openai/gpt-4o has no key \"output\", which it needs",
    ),
    (
        "models:\n  prices:\n    openai/gpt-4o: {input: -1, output: 2}\n",
        "3:28: models.prices.openai/gpt-4o.input is -1, but it must not be negative",
    ),
    (
        "models:\n  attempts: 0\n",
        "2:13: models.attempts is 0, but it must be a whole number from 1 to 11",
    ),
    (
        "agents:\n  response:\n    model_id: llama-9\n",
        "3:15: agents.response.model_id is \"llama-9\", but it must be PROVIDER/MODEL, like openai/gpt-4o-mini, or the word builtin",
    ),
    (
        "agents:\n  response:\n    model_id: cohere/command\n",
        "3:15: agents.response.model_id is \"cohere/command\", but its provider must be openai, anthropic, gemini, ollama, openrouter, deepseek, groq, mistral, xai, vertex, azure or bedrock; any other OpenAI-compatible server is openai/NAME with client_args.api_base",
    ),
    (
        "agents:\n  response:\n    model_id: openai/gpt-4o\n",
        "3:15: agents.response.model_id is a model of openai, which needs a key: set agents.response.client_args.api_key, or the variable OPENAI_API_KEY in the environment or in a .env file",
    ),
    (
        "agents:\n  response:\n    model_id: ollama/x\n  judgment:\n    model_id: anthropic/claude\n",
        "5:15: agents.judgment.model_id is a model of anthropic, which needs a key: set agents.judgment.client_args.api_key, or the variable ANTHROPIC_API_KEY in the environment or in a .env file",
    ),
    (
        "agents:\n  response:\n    model_id: ollama/x\n    fallback:\n      model_id: gemini/x\n",
        "5:17: agents.response.fallback.model_id is a model of gemini, which needs a key: set agents.response.fallback.client_args.api_key, or the variable GEMINI_API_KEY in the environment or in a .env file",
    ),
    (
        "agents:\n  response:\n    fallback:\n      params: {}\n",
        "4:7: agents.response.fallback has no key \"model_id\", which it needs",
    ),
    (
        "agents:\n  response:\n    params:\n      temperature: hot\n",
        "4:20: agents.response.params.temperature is \"hot\", but it must be a number",
    ),
    (
        "agents:\n  response:\n    params:\n      temperature: 3\n",
        "4:20: agents.response.params.temperature is 3, but it must be from 0 to 2",
    ),
    (
        "agents:\n  response:\n    params:\n      max_tokens: 0\n",
        "4:19: agents.response.params.max_tokens is 0, but it must be a whole number from 1 to 1000000",
    ),
    (
        "agents:\n  response:\n    params:\n      stop: {a: 1}\n",
        "4:13: agents.response.params.stop is a section with keys of its own, but it must be text, or a list of texts",
    ),
    (
        "agents:\n  response:\n    params:\n      reasoning_effort: huge\n",
        "4:25: agents.response.params.reasoning_effort is \"huge\", but it must be none, minimal, low, medium or high",
    ),
    (
        "agents:\n  response:\n    params: [1]\n",
        "3:13: agents.response.params is a list, but it must be a section with keys of its own",
    ),
    (
        "agents:\n  response:\n    params:\n      api_key: hunter2\n",
        "4:7: agents.response.params cannot be used: the key \"api_key\" belongs in client_args, not here",
    ),
    (
        "agents:\n  response:\n    client_args:\n      api_key: [hunter2]\n",
        "4:16: agents.response.client_args.api_key is a list, but it must be text",
    ),
    (
        "agents:\n  response:\n    client_args:\n      api_key: {hunter2: hunter2}\n",
        "4:16: agents.response.client_args.api_key is a section with keys of its own, but it must be text",
    ),
    (
        "agents:\n  response:\n    client_args:\n      api_base: localhost\n",
        "4:17: agents.response.client_args.api_base is \"localhost\", but it must be an address with http:// or https://, like https://example.com/v1",
    ),
    (
        "agents:\n  response:\n    client_args:\n      max_retries: 1\n      num_retries: 2\n",
        "4:7: agents.response.client_args cannot be used: its key \"max_retries\" is set twice, under two names",
    ),
    (
        "agents:\n  response:\n    client_args:\n      extra_headers: hunter2\n",
        "4:22: agents.response.client_args.extra_headers is a text, but it must be a section with keys of its own",
    ),
    (
        "agents:\n  response:\n    client_args:\n      extra_headers:\n        X-Key: [hunter2]\n",
        "5:16: agents.response.client_args.extra_headers.X-Key is a list, but it must be text",
    ),
    (
        "persona:\n  name: ${NOBODY}\n",
        "2:9: persona.name needs the variable NOBODY, which is set neither in the environment nor in a .env file",
    ),
    (
        "persona:\n  name: \"${NOBODY}\"\n",
        "2:9: persona.name needs the variable NOBODY, which is set neither in the environment nor in a .env file",
    ),
    (
        "persona:\n  name: ${NOBODY:?who is it}\n",
        "2:9: persona.name needs the variable NOBODY: who is it",
    ),
    (
        "persona:\n  name: ${}\n",
        "2:9: persona.name has a ${…} that names no variable: it must be ${NAME}, ${NAME:-default} or ${NAME:?message}; for a literal ${ write $${",
    ),
    (
        "persona:\n  name: ${NOBODY\n",
        "2:9: persona.name has a ${ that is never closed; for a literal ${ write $${, and put a value with spaces or special characters in quotes",
    ),
    (
        "response:\n  gates: ['${NOBODY}']\n",
        "2:11: response.gates needs the variable NOBODY, which is set neither in the environment nor in a .env file",
    ),
    (
        "response:\n  min_wait_seconds: ${HIDDEN}\n",
        "2:21: response.min_wait_seconds cannot be used: it must be a number",
    ),
    (
        "response:\n  wait: ${HIDDEN}\n",
        "2:9: response.wait cannot be used: it must be fixed or adaptive",
    ),
    (
        "persona:\n  name: ''\n  system_prompt: ${HIDDEN}\n",
        "2:9: persona.name is \"\", but it must be a name of 1 to 40 characters on one line",
    ),
];

#[test]
fn each_invalid_config_has_its_error() {
    assert!(BAD.len() >= 100);
    let mismatches: Vec<_> = BAD
        .iter()
        .map(|(text, expected)| (text, expected, error_for(text)))
        .filter(|(_, expected, output)| output != &format!("config.yaml:{expected}"))
        .map(|(text, _, output)| format!("{text:?}\n{output}\n"))
        .collect();
    assert!(mismatches.is_empty(), "\n{}", mismatches.join("\n"));
}

#[test]
fn files_that_would_exhaust_memory_are_rejected() {
    let deep = format!("a: {}", "[".repeat(100_000));
    let tens = |level: usize| {
        format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(10))
    };
    let wide = format!("a0: &a0 x\n{}", (1..12).map(tens).collect::<String>());
    for text in [deep, wide] {
        let output = error_for(&text);
        assert!(output.ends_with("too large or too deeply nested to be a config"), "{output}");
    }
}

#[test]
fn no_error_shows_a_secret_next_to_it() {
    for (text, _) in BAD {
        let [first, second] = if text.contains("discord") {
            ["slack:\n  bot_token", "tools:\n  web_search:\n    api_key"]
        } else {
            ["discord:\n  token", "tools:\n  web_search:\n    api_key"]
        };
        for secret in [KEY, WORD] {
            for config in [
                format!("# {secret}\n{text}# {secret}\n"),
                format!("{first}: {secret}\n{text}"),
                format!("{text}{first}: {secret}\n"),
                format!("{first}: {secret}\n{text}{second}: '{secret}'\n"),
                text.replacen(": ", &format!(": ${{HIDDEN}}{secret} "), 1),
            ] {
                let output = output_for(&config);
                let is_in_config = text.contains(secret);
                assert!(is_in_config || !output.contains(secret), "{config}\n{output}");
                assert!(!output.contains("between-you-and-me"), "{config}\n{output}");
            }
        }
    }
}

/// A user may put an API key under any config key by mistake, in any form.
#[test]
fn no_error_shows_a_misplaced_secret() {
    for path in keys() {
        for value in [
            KEY.to_owned(),
            format!("[{KEY}]"),
            format!("{{{KEY}: {KEY}}}"),
            format!("'{KEY} {KEY}'"),
            format!("{KEY}\n{}- {KEY}", "  ".repeat(path.len())),
            "${HIDDEN}".to_owned(),
            "'${HIDDEN}'".to_owned(),
            "{'${HIDDEN}': '${HIDDEN}'}".to_owned(),
            "['${HIDDEN}', '${HIDDEN}']".to_owned(),
        ] {
            let text = config_with(&path, &value);
            let output = output_for(&text);
            let hidden = [KEY, "between-you-and-me", "PelessLy"];
            assert!(!hidden.iter().any(|secret| output.contains(secret)), "{text}\n{output}");
        }
    }
    // A secret that resembles an ordinary word is hidden because of its config key.
    for path in keys().iter().filter(|path| path.iter().any(|key| is_secret_key(key))) {
        for value in [WORD.to_owned(), format!("[{WORD}]"), format!("{{{WORD}: 1}}")] {
            let output = output_for(&config_with(path, &value)).replace(&format!(".{WORD}"), "");
            assert!(!output.contains(WORD), "{path:?} {output}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pieces of configs in any order are accepted or rejected without a panic.
    #[test]
    fn no_input_panics(pieces in vec(select(PIECES), 0..24)) {
        let output = output_for(&pieces.concat());
        prop_assert!(!output.contains("between-you-and-me"), "{output}");
    }
}

const PIECES: &[&str] = &[
    "persona:", "response:", "agents:", "name", "model_id: ", "gates: ", "params: ", "\n", "\n  ",
    "\n    ", ": ", "- ", "[", "]", "{", "}", "'", "\"", "${HIDDEN}", "${", "$${", "}", "|", ">",
    "&a ", "*a", "<<: ", "#", "!x ", "!!int ", "\t", "---\n", "...\n", "? ", "0x1F", "1e999", "~",
    "é", "\u{0}", "\u{feff}", "%", "openai/x", ",", "builtin", "\r\n", "\\",
];

fn error_for(text: &str) -> String {
    let environment = environment(&[("HIDDEN", "between-you-and-me")], "");
    Config::read(text, "config.yaml", &environment)
        .map_or_else(|error| error.to_string(), |_| "fine".into())
}

/// Returns all errors and warnings about a config.
fn output_for(text: &str) -> String {
    let environment = environment(&[("HIDDEN", "between-you-and-me")], "");
    match Config::read(text, "config.yaml", &environment) {
        Ok(loaded) => loaded.warnings.join("\n"),
        Err(error) => format!("{error:#}"),
    }
}

/// Returns a config that sets one key.
fn config_with(path: &[String], value: &str) -> String {
    let mut text = String::new();
    for (depth, key) in path.iter().enumerate() {
        let key = if key == "*" { "openai/x" } else { key };
        text.push_str(&format!("{}{key}:\n", "  ".repeat(depth)));
    }
    format!("{} {value}\n", text.trim_end())
}
