// Slack's own Node clients against our fake Slack. Usage: node client.mjs http://127.0.0.1:4010

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const load = createRequire(`${process.env.PEERS_NPM}/`);
const { WebClient, retryPolicies, ErrorCode } = load("@slack/web-api");
const { SocketModeClient } = load("@slack/socket-mode");

const base = process.argv[2].replace(/\/$/, "");
const slackApiUrl = `${base}/api/`;
const logLevel = "error";
const web = new WebClient("xoxb-dev", { slackApiUrl, logLevel });

async function order(verb, fields = {}) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(fields);
  const answer = await (await fetch(`${base}/control/${verb}`, { method: "POST", headers, body })).json();
  assert.ok(answer.ok, `${verb}: ${answer.error}`);
  return answer;
}

const state = async () => (await fetch(`${base}/control/state`)).json();

async function until(look) {
  const end = Date.now() + 30_000;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error("it did not come in time");
}

async function check(promise, test) {
  await test();
  console.log(`ok  ${promise}`);
}

async function refused(error, call) {
  await assert.rejects(call, (refusal) => refusal.data?.error === error);
}

const team = await state();
const bot = team.team.bot_user;
const mio = team.users.find((user) => user.profile.display_name === "Mio").id;
const general = team.channels.find((channel) => channel.name === "general").id;
const say = async (text, more = {}) => (await order("say", { channel: general, user: mio, text, ...more })).ts;

const heard = [];
let hellos = 0;
let acks = true;
const socket = new SocketModeClient({ appToken: "xapp-dev", clientOptions: { slackApiUrl } });
socket.on("slack_event", async ({ ack, type, body, retry_num, retry_reason }) => {
  heard.push({ type, body, event: body.event, retry_num, retry_reason });
  if (acks) await ack();
});
socket.on("connected", () => (hellos += 1));
const event = (type, fields = {}) =>
  until(() =>
    heard.find(
      ({ event }) => event?.type === type && Object.entries(fields).every(([name, value]) => event[name] === value),
    ),
  );

await check("auth.test tells the scopes", async () => {
  const answer = await web.auth.test();
  assert.equal(answer.user_id, bot);
  assert.ok(answer.response_metadata.scopes.includes("chat:write"));
});

await check("users and channels come in pages", async () => {
  const members = [];
  for await (const page of web.paginate("users.list", { limit: 2 })) members.push(...page.members);
  assert.equal(members.length, 5);
  const channels = [];
  for await (const page of web.paginate("users.conversations", { limit: 1 })) channels.push(...page.channels);
  assert.deepEqual(channels.map(({ name }) => name), ["general"]);
});

await check("a post with metadata is read back by history and replies", async () => {
  const metadata = { event_type: "aizuchi", event_payload: { key: "k2" } };
  const parent = await web.chat.postMessage({ channel: general, text: "first", metadata, unfurl_links: false });
  const thread_ts = parent.ts;
  await web.chat.postMessage({ channel: general, text: "reply", thread_ts, metadata, reply_broadcast: true });
  const history = await web.conversations.history({ channel: general, include_all_metadata: true });
  assert.deepEqual(history.messages.map(({ text }) => text), ["reply", "first"]);
  assert.deepEqual(history.messages[0].metadata, metadata);
  assert.equal(history.messages[0].subtype, "thread_broadcast");
  const replies = await web.conversations.replies({ channel: general, ts: thread_ts, include_all_metadata: true });
  assert.deepEqual(replies.messages.map(({ text }) => text), ["first", "reply"]);
  assert.deepEqual(replies.messages[1].metadata, metadata);
});

await check("histories and threads are paged by cursor", async () => {
  const parent = await say("parent");
  for (const text of ["1", "2", "3"]) await say(text, { thread: parent });
  const texts = [];
  const asked = { channel: general, ts: parent, limit: 2 };
  for await (const page of web.paginate("conversations.replies", asked)) texts.push(...page.messages.slice(1));
  assert.deepEqual(texts.map(({ text }) => text), ["1", "2", "3"]);
  const lines = [];
  for await (const page of web.paginate("conversations.history", { channel: general, limit: 1 })) {
    lines.push(...page.messages.map(({ text }) => text));
  }
  assert.deepEqual(lines.slice(0, 3), ["parent", "reply", "first"]);
});

await check("errors have Slack's names", async () => {
  await refused("channel_not_found", web.chat.postMessage({ channel: "C404", text: "x" }));
  await refused("no_text", web.chat.postMessage({ channel: general, text: "" }));
  await refused("invalid_cursor", web.conversations.history({ channel: general, cursor: "bogus" }));
  await refused("invalid_auth", new WebClient("xoxb-no", { slackApiUrl }).auth.test());
  const ts = await say("mine");
  await refused("cant_update_message", web.chat.update({ channel: general, ts, text: "ours" }));
  await web.reactions.add({ channel: general, timestamp: ts, name: "eyes" });
  await refused("already_reacted", web.reactions.add({ channel: general, timestamp: ts, name: "eyes" }));
});

await check("429 is obeyed by the client that retries, and told to the one that does not", async () => {
  await order("fault", { method: "auth.test", fault: { kind: "rate_limited", seconds: 1 } });
  const begun = Date.now();
  assert.ok((await web.auth.test()).ok);
  assert.ok(Date.now() - begun >= 1000);
  await order("fault", { method: "auth.test", fault: { kind: "rate_limited", seconds: 7 } });
  const hasty = new WebClient("xoxb-dev", { slackApiUrl, logLevel, rejectRateLimitedCalls: true });
  await assert.rejects(hasty.auth.test(), { code: ErrorCode.RateLimitedError, retryAfter: 7 });
});

await check("resets, 5xx and no JSON are no answers", async () => {
  const retryConfig = { ...retryPolicies.rapidRetryPolicy, retries: 0 };
  const hasty = new WebClient("xoxb-dev", { slackApiUrl, logLevel, retryConfig });
  for (const [kind, more, expected] of [
    ["reset_before", {}, 0],
    ["reset_after", {}, 1],
    ["status", { status: 503 }, 0],
    ["garbage", {}, 0],
  ]) {
    await order("fault", { method: "chat.postMessage", fault: { kind, ...more } });
    await assert.rejects(hasty.chat.postMessage({ channel: general, text: kind }), kind);
    const { posts } = await state();
    assert.equal(posts.filter(({ text }) => text === kind).length, expected, kind);
  }
});

await socket.start();

await check("hello, a message, its acknowledgment", async () => {
  await until(() => hellos === 1);
  await say("good morning");
  const { event: message } = await event("message", { text: "good morning" });
  assert.equal(message.channel_type, "channel");
  await until(async () => (await state()).deliveries.at(-1).receipt === "acked");
});

await check("what is not acknowledged comes again, marked", async () => {
  acks = false;
  await say("hello?");
  await until(() => heard.some(({ event }) => event?.text === "hello?"));
  acks = true;
  await order("redeliver");
  const again = await until(() => heard.find(({ retry_num }) => retry_num === 1));
  assert.equal(again.retry_reason, "timeout");
  assert.equal(again.event.text, "hello?");
});

await check("mentions, edits, deletions and reactions", async () => {
  const ts = await say(`<@${bot}> tea?`);
  await event("app_mention", { ts });
  await order("edit", { channel: general, ts, text: "tea!" });
  assert.equal((await event("message", { subtype: "message_changed" })).event.message.text, "tea!");
  await order("react", { channel: general, ts, user: mio, name: "tada" });
  await event("reaction_added", { reaction: "tada" });
  await order("delete", { channel: general, ts });
  await event("message", { subtype: "message_deleted", deleted_ts: ts });
});

await check("slash commands and buttons", async () => {
  await order("command", { channel: general, user: mio, command: "/aizuchi", text: "mute" });
  await until(() => heard.find(({ type }) => type === "slash_commands"));
  await order("interact", { payload: { type: "block_actions", actions: [] } });
  await until(() => heard.find(({ type }) => type === "interactive"));
});

for (const [number, reason] of ["warning", "refresh_requested"].entries()) {
  await check(`after ${reason} it connects anew`, async () => {
    await order("disconnect", { reason });
    await until(() => hellos === number + 2);
    await say(`after ${reason}`);
    await event("message", { text: `after ${reason}` });
  });
}

await check("after a cut it connects anew, and hears what was said meanwhile", async () => {
  await order("cut");
  await until(async () => (await state()).connections.open === 0);
  await say("meanwhile");
  await until(() => hellos === 4);
  await order("redeliver");
  await event("message", { text: "meanwhile" });
});

await check("a socket that never says hello is given up", async () => {
  await order("greet", { greeting: "silence" });
  await order("cut");
  await until(async () => (await state()).connections.open === 1);
  await order("greet", { greeting: "hello" });
  await order("cut");
  await until(() => hellos === 5);
});

await socket.disconnect();
console.log("@slack/web-api and @slack/socket-mode: all as expected");
process.exit(0);
