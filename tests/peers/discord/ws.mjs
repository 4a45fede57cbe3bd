// @discordjs/ws and @discordjs/rest against our fake Discord. Usage: node ws.mjs http://127.0.0.1:4011

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { base, check, general, guild, mio, order, say, state, token, until } from "./stage.mjs";

const load = createRequire(`${process.env.PEERS_NPM}/`);
const { WebSocketManager, WebSocketShardEvents, CompressionMethod, CloseCodes } = load("@discordjs/ws");
const { REST } = load("@discordjs/rest");
const { GatewayIntentBits: Bits } = load("discord-api-types/v10");

const rest = new REST({ api: `${base}/api`, version: "10", retries: 0 }).setToken(token);
const usual = Bits.Guilds | Bits.GuildMessages | Bits.MessageContent | Bits.DirectMessages;

// Creates a manager that records all received events.
function manager(more = {}) {
  const heard = [];
  const made = new WebSocketManager({
    token,
    intents: usual,
    rest,
    ...more,
  });
  for (const kind of Object.values(WebSocketShardEvents)) {
    made.on(kind, (...told) => heard.push({ kind, told: told[0] }));
  }
  const dispatches = () => heard.filter(({ kind }) => kind === WebSocketShardEvents.Dispatch).map(({ told }) => told.data ?? told);
  const event = (name, is = () => true) => until(() => dispatches().find(({ t, d }) => t === name && is(d)));
  const count = (kind) => heard.filter((one) => one.kind === kind).length;
  return { made, heard, dispatches, event, count };
}

const { made, dispatches, event, count } = manager({ compression: CompressionMethod.ZlibNative });
const { Ready, Resumed, HeartbeatComplete, Closed } = WebSocketShardEvents;
const identifies = async () => (await state()).said.filter(({ op }) => op === 2).length;
const resumes = async () => (await state()).said.filter(({ op }) => op === 6).length;

await check("it identifies, and hears READY and its guilds, packed by zlib", async () => {
  await made.connect();
  await until(() => count(Ready) === 1);
  const told = await event("GUILD_CREATE");
  assert.equal(told.d.id, guild);
  assert.ok(told.d.channels.some(({ name }) => name === "general"));
});

await check("its heartbeats are answered", async () => {
  await until(() => count(HeartbeatComplete) >= 1);
});

await check("a message with its content", async () => {
  await say("good morning");
  const { d } = await event("MESSAGE_CREATE", ({ content }) => content === "good morning");
  assert.equal(d.author.id, mio);
  assert.equal(d.guild_id, guild);
});

await check("after a cut it resumes, and hears what it missed in order", async () => {
  await order("greet", { greeting: "refusal" });
  await order("cut");
  await until(async () => (await state()).connections === 0);
  for (const text of ["one", "two", "three"]) await say(text);
  await order("greet", { greeting: "hello" });
  await until(() => count(Resumed) === 1);
  await event("MESSAGE_CREATE", ({ content }) => content === "three");
  const texts = dispatches().filter(({ t }) => t === "MESSAGE_CREATE").map(({ d }) => d.content);
  assert.deepEqual(texts, ["good morning", "one", "two", "three"]);
  assert.equal(await identifies(), 1);
});

await check("op 7: it reconnects and resumes", async () => {
  await order("reconnect");
  await until(() => count(Resumed) === 2);
  assert.equal(await identifies(), 1);
});

await check("op 9 that is resumable: it resumes", async () => {
  await order("invalidate", { refused: "resumable" });
  await until(() => count(Resumed) === 3);
  assert.equal(await identifies(), 1);
});

await check("op 9 that is not: it identifies anew, and the old session is over", async () => {
  await order("invalidate", { refused: "invalid" });
  await until(() => count(Ready) === 2);
  assert.equal(await identifies(), 2);
});

for (const code of [4000, 4001, 4002]) {
  await check(`closed with ${code}: it resumes`, async () => {
    const before = count(Resumed);
    await order("close", { code });
    await until(() => count(Resumed) === before + 1);
  });
}

for (const code of [4005, 4007, 4008]) {
  await check(`closed with ${code}: it identifies anew`, async () => {
    const before = count(Ready);
    await order("close", { code });
    await until(() => count(Ready) === before + 1);
  });
}

await check("closed with 4009: it tries to resume, is refused by op 9, and identifies anew", async () => {
  const [ready, tried] = [count(Ready), await resumes()];
  await order("close", { code: 4009 });
  await until(() => count(Ready) === ready + 1);
  assert.equal(await resumes(), tried + 1);
});

await check("a session that nobody resumed for long is gone: op 9, and a new one", async () => {
  const [ready, before] = [count(Ready), await resumes()];
  await order("greet", { greeting: "refusal" });
  await order("cut");
  await until(async () => (await state()).connections === 0);
  await order("expire_sessions");
  await order("greet", { greeting: "hello" });
  await until(() => count(Ready) === ready + 1);
  assert.equal(await resumes(), before + 1);
});

await check("the token and the intents are judged", async () => {
  const refused = async (more, words) => {
    const { made: other } = manager(more);
    const failed = new Promise((done) => other.on(WebSocketShardEvents.Error, (told) => done(told.error ?? told)));
    const thrown = other.connect().then(() => failed, (error) => error);
    const error = await thrown;
    assert.match(String(error.message ?? error), words);
    await other.destroy().catch(() => {});
  };
  await refused({ token: "no" }, /token|4004|Authentication/i);
  await order("rule_intent", { rule: "deny", intents: Bits.MessageContent });
  await refused({}, /intents|4014/i);
  await order("rule_intent", { rule: "allow", intents: Bits.MessageContent });
  await refused({ intents: 1 << 30 }, /intents|4013/i);
});

await check("gateway/bot counts the sessions", async () => {
  const told = await rest.get("/gateway/bot");
  assert.equal(told.session_start_limit.total, 1000);
  assert.ok(told.session_start_limit.remaining < 1000);
});

await check("a nonce that is enforced makes one message", async () => {
  const route = `/channels/${general}/messages`;
  const body = { content: "once", nonce: "peer-1", enforce_nonce: true };
  const first = await rest.post(route, { body });
  assert.equal(first.nonce, "peer-1");
  const again = await rest.post(route, { body });
  assert.equal(again.id, first.id);
  await rest.delete(`${route}/${first.id}`);
  await assert.rejects(rest.post(route, { body }), { code: 10008, status: 404 });
});

await check("429 is obeyed: by bucket, and for all", async () => {
  await order("fault", { method: "get_me", fault: { kind: "rate_limited", seconds: 1, scope: "global" } });
  const begun = Date.now();
  assert.equal((await rest.get("/users/@me")).bot, true);
  assert.ok(Date.now() - begun >= 1000);
  const limited = [];
  rest.on("rateLimited", (told) => limited.push(told));
  const route = `/channels/${general}/messages`;
  await Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => rest.post(route, { body: { content: `${n}` } })));
  assert.ok(limited.some(({ limit, global }) => limit === 5 && !global));
  assert.ok(!(await state()).calls.some(({ path, status }) => path.startsWith("channels") && status === 429));
});

await check("a goodbye with 1000 is heard", async () => {
  await made.destroy({ code: CloseCodes.Normal });
  await until(async () => (await state()).closes.at(-1) === 1000);
});

console.log("@discordjs/ws and @discordjs/rest: all as expected");
process.exit(0);
