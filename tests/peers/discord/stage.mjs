// Shared by both Discord peers: the fake's control API over HTTP, and assertions that are reported.

import assert from "node:assert/strict";

export const base = process.argv[2].replace(/\/$/, "");
export const token = "dev-discord-token";

export async function order(verb, fields = {}) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(fields);
  const answer = await (await fetch(`${base}/control/${verb}`, { method: "POST", headers, body })).json();
  assert.ok(answer.ok, `${verb}: ${answer.error}`);
  return answer.id;
}

export const state = async () => (await fetch(`${base}/control/state`)).json();

export async function until(look) {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error("it did not come in time");
}

export async function check(promise, test) {
  await test();
  console.log(`ok  ${promise}`);
}

export const seen = await state();
export const bot = seen.bot;
export const guild = seen.guilds[0].id;
export const user = (name) => seen.users.find(({ global_name }) => global_name === name).id;
export const channel = (name) => seen.channels.find((one) => one.name === name).id;
export const mio = user("Mio");
export const general = channel("general");
export const say = (text, more = {}) => order("say", { channel: general, user: mio, text, ...more });
