// The same calls to our fake Slack and to `emulate`: their answers must have the same keys and types,
// except for known differences. Usage: node compare.mjs OURS THEIRS

const [ours, theirs] = process.argv.slice(2).map((base) => base.replace(/\/$/, ""));

/** The type of each value, by its path; lists count as one of their elements. */
function shape(value, path = "", found = {}) {
  if (Array.isArray(value)) {
    found[path] = "list";
    for (const one of value) shape(one, `${path}[]`, found);
  } else if (value !== null && typeof value === "object") {
    found[path] = "object";
    for (const [name, one] of Object.entries(value)) shape(one, `${path}.${name}`, found);
  } else {
    found[path] = value === null ? "null" : typeof value;
  }
  return found;
}

/** Makes the calls, and keeps the answers. */
async function calls(base) {
  const answers = {};
  const call = async (method, fields = {}, name = method) => {
    const headers = { "content-type": "application/json", authorization: "Bearer xoxb-dev" };
    const body = JSON.stringify(fields);
    const answer = await (await fetch(`${base}/api/${method}`, { method: "POST", headers, body })).json();
    answers[name] ??= answer;
    return answer;
  };
  await call("auth.test");
  await call("team.info");
  const { members } = await call("users.list");
  const mio = members.find(({ name }) => name === "mio").id;
  await call("users.info", { user: mio });
  await call("users.info", { user: "U404" }, "users.info: nobody");
  const { channels } = await call("conversations.list");
  const channel = channels.find(({ name }) => name === "general").id;
  await call("conversations.join", { channel });
  await call("conversations.info", { channel });
  await call("conversations.info", { channel: "C404" }, "conversations.info: nowhere");
  await call("conversations.members", { channel });
  const metadata = { event_type: "said", event_payload: { key: "k" } };
  const { ts } = await call("chat.postMessage", { channel, text: "hello", metadata });
  await call("chat.postMessage", { channel, text: "" }, "chat.postMessage: nothing");
  await call("chat.postMessage", { channel, text: "x".repeat(40_001) }, "chat.postMessage: too long");
  await call("chat.postMessage", { channel, text: "reply", thread_ts: ts }, "chat.postMessage: reply");
  await call("reactions.add", { channel, timestamp: ts, name: "eyes" });
  await call("reactions.add", { channel, timestamp: ts, name: "eyes" }, "reactions.add: again");
  await call("reactions.get", { channel, timestamp: ts });
  await call("conversations.history", { channel, limit: 1 }, "conversations.history: page");
  await call("conversations.history", { channel, include_all_metadata: true });
  await call("conversations.replies", { channel, ts });
  await call("reactions.remove", { channel, timestamp: ts, name: "eyes" });
  await call("reactions.remove", { channel, timestamp: ts, name: "eyes" }, "reactions.remove: again");
  await call("chat.getPermalink", { channel, message_ts: ts });
  await call("chat.update", { channel, ts, text: "hello again" });
  await call("chat.postEphemeral", { channel, user: mio, text: "psst" });
  const other = await call("chat.postMessage", { channel, text: "gone soon" }, "again");
  await call("chat.delete", { channel, ts: other.ts });
  await call("chat.delete", { channel, ts: other.ts }, "chat.delete: again");
  const ken = members.find(({ name }) => name === "ken").id;
  await call("conversations.open", { users: ken });
  return answers;
}

/** The error too must be the same. */
const facts = (answer) => ({ ...shape(answer), error: answer.error ?? "" });

/** What differs for a reason (README.md tells them): paths that are only here, and only there. */
const ONLY_HERE = [
  // Slack documents these; `emulate` omits them.
  /^auth\.test \.(bot_id|is_enterprise_install)$/,
  /^team\.info \.team\./,
  /^users\.(list|info) \.(members\[\]|user)\./,
  /^users\.list \.cache_ts$/,
  /^conversations\.(list|join|info|open) \.channels?(\[\])?\./,
  /^conversations\.history.* \.(pin_count|channel_actions_ts|channel_actions_count)$/,
  /^conversations\.open \.(no_op|already_open)$/,
  /^reactions\.get \.(channel|message\.permalink)$/,
  /\.(thread_ts|reply_users_count|latest_reply|is_locked|subscribed|parent_user_id)$/,
  // There the token's owner posts as a user, and texts get no blocks.
  / \.messages?(\[\])?\.(bot_id|app_id|team|bot_profile|blocks)\b/,
  // Our bot is already in the channel.
  /^conversations\.join \.(warning|response_metadata)/,
];
const ONLY_THERE = [
  // Requires the scope users:read.email, which our app does not request.
  /\.profile\.email$/,
  // Slack returns these for users' tokens, or for direct messages.
  /^conversations\.(list|join|info) \.channels?(\[\])?\.(is_open|last_read)$/,
  // Slack counts members in lists, and elsewhere only on request.
  /^conversations\.(join|info) \.channel\.num_members$/,
  // Slack may omit it at the end of a history; clients must tolerate that, so ours does.
  /^conversations\.(history|replies) \.response_metadata/,
  // Reading metadata requires `include_all_metadata`, which these methods do not have or did not get.
  /^(reactions\.get|conversations\.replies) \.messages?(\[\])?\.metadata/,
];

const [own, other] = await Promise.all([calls(ours), calls(theirs)]);
const differences = [];
let alike = 0;
for (const [name, answer] of Object.entries(own)) {
  const [here, there] = [facts(answer), facts(other[name])];
  for (const path of new Set([...Object.keys(here), ...Object.keys(there)])) {
    const known = there[path] === undefined ? ONLY_HERE : here[path] === undefined ? ONLY_THERE : [];
    if (here[path] === there[path]) {
      alike += 1;
    } else if (!known.some((pattern) => pattern.test(`${name} ${path}`))) {
      differences.push(`${name} ${path}: ${here[path] ?? "absent"}, there ${there[path] ?? "absent"}`);
    }
  }
}
if (differences.length > 0) {
  console.error(differences.join("\n"));
  process.exit(1);
}
console.log(`emulate: ${Object.keys(own).length} answers, ${alike} keys alike, the rest differs for reasons`);
