// discord.js against our fake Discord. Usage: node client.mjs http://127.0.0.1:4011

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { base, bot, channel, check, general, guild, mio, order, say, state, token, until, user } from "./stage.mjs";

const load = createRequire(`${process.env.PEERS_NPM}/`);
const { ChannelType, Client, Events, GatewayIntentBits: Bits, MessageType, Partials, PermissionFlagsBits, PermissionsBitField } = load("discord.js");

const client = new Client({
  intents: [
    Bits.Guilds,
    Bits.GuildMembers,
    Bits.GuildMessages,
    Bits.GuildMessageReactions,
    Bits.GuildMessageTyping,
    Bits.DirectMessages,
    Bits.MessageContent,
  ],
  partials: [Partials.Channel, Partials.Message, Partials.Reaction],
  rest: { api: `${base}/api`, retries: 0 },
});
const heard = [];
for (const event of Object.values(Events)) client.on(event, (...told) => heard.push({ event, told }));
const event = async (name, is = () => true) =>
  (await until(() => heard.find((one) => one.event === name && is(...one.told)))).told;
const fetched = (id) => client.channels.fetch(id);
const refused = (code, call) => assert.rejects(call, (error) => error.code === code);

await check("it logs in, and knows its guild, channels and permissions", async () => {
  await client.login(token);
  await event(Events.ClientReady);
  assert.equal(client.user.id, bot);
  const server = client.guilds.cache.get(guild);
  assert.equal(server.name, "Dev Server");
  const names = server.channels.cache.map(({ name }) => name).sort();
  assert.deepEqual(names, ["board", "general", "plans", "questions"]);
  assert.equal(server.channels.cache.get(general).viewable, true);
  assert.equal(server.channels.cache.get(channel("board")).viewable, false, "hidden, but known");
  const mine = server.members.me.permissionsIn(general);
  assert.ok(mine.has(PermissionFlagsBits.SendMessages) && !mine.has(PermissionFlagsBits.ManageMessages));
});

await check("members are fetched: all, one, by name", async () => {
  const server = client.guilds.cache.get(guild);
  assert.equal((await server.members.fetch()).size, 5);
  assert.equal((await server.members.fetch(mio)).user.globalName, "Mio");
  assert.equal((await server.members.fetch({ query: "ke" })).size, 1);
  assert.equal((await server.members.list({ limit: 2 })).size, 2);
  assert.equal((await server.roles.fetch()).size, 2);
});

await check("a message, its edit, its preview, its deletion", async () => {
  const id = await say(`<@${bot}> tea?`);
  const [message] = await event(Events.MessageCreate, (one) => one.id === id);
  assert.ok(message.mentions.has(client.user));
  assert.equal(message.member.user.id, mio);
  assert.equal(message.author.bot, false);
  await order("edit", { channel: general, message: id, text: "tea!" });
  const [, after] = await event(Events.MessageUpdate, (_, one) => one.id === id);
  assert.equal(after.content, "tea!");
  assert.ok(after.editedTimestamp);
  await order("embed", { channel: general, message: id });
  await event(Events.MessageUpdate, (_, one) => one.id === id && one.embeds.length === 1);
  await order("delete", { channel: general, message: id });
  await event(Events.MessageDelete, (one) => one.id === id);
});

await check("several messages go at once", async () => {
  const messages = [await say("a"), await say("b")];
  await order("delete_bulk", { channel: general, messages });
  const [gone] = await event(Events.MessageBulkDelete);
  assert.deepEqual([...gone.keys()].sort(), messages.sort());
});

await check("files, stickers, replies, other bots, webhooks", async () => {
  const attachments = [{ id: "9", filename: "tea.png", size: 7, url: "https://cdn.example/tea.png", proxy_url: "https://cdn.example/tea.png", content_type: "image/png" }];
  const stickers = [{ id: "8", name: "steam", format_type: 1 }];
  const first = await say("look", { attachments, stickers });
  const [message] = await event(Events.MessageCreate, ({ id }) => id === first);
  assert.equal(message.attachments.first().name, "tea.png");
  assert.equal(message.stickers.first().name, "steam");
  const second = await say("nice", { reply_to: first });
  const [reply] = await event(Events.MessageCreate, ({ id }) => id === second);
  assert.equal(reply.type, MessageType.Reply);
  assert.equal(reply.reference.messageId, first);
  assert.equal((await reply.fetchReference()).content, "look");
  assert.ok(reply.mentions.users.has(mio), "a reply pings");
  const third = await order("say", { channel: general, user: user("Weather"), text: "rain" });
  assert.equal((await event(Events.MessageCreate, ({ id }) => id === third))[0].author.bot, true);
  const fourth = await say("merged", { webhook: "Forge" });
  const [hook] = await event(Events.MessageCreate, ({ id }) => id === fourth);
  assert.equal(hook.author.username, "Forge");
  assert.ok(hook.webhookId);
});

await check("a post with a nonce, read back by history, changed and deleted", async () => {
  const place = await fetched(general);
  const sent = await place.send({ content: "hello", nonce: "p-1", enforceNonce: true, allowedMentions: { parse: [] } });
  const again = await place.send({ content: "hello", nonce: "p-1", enforceNonce: true, allowedMentions: { parse: [] } });
  assert.equal(again.id, sent.id);
  assert.equal(sent.nonce, "p-1");
  await event(Events.MessageCreate, ({ id, nonce }) => id === sent.id && nonce === "p-1");
  const [found] = (await place.messages.fetch({ limit: 1, cache: false })).values();
  assert.equal(found.content, "hello");
  assert.equal((await sent.edit("hello!")).content, "hello!");
  await sent.delete();
  await refused(10008, place.messages.fetch({ message: sent.id, force: true }));
});

await check("a reply references, and pings whom it may", async () => {
  const place = await fetched(general);
  const asked = await place.messages.fetch(await say("who?"));
  const loud = await asked.reply({ content: "me", allowedMentions: { repliedUser: true } });
  assert.equal(loud.reference.messageId, asked.id);
  assert.ok(loud.mentions.users.has(mio));
  const quiet = await asked.reply({ content: `<@${mio}> me @everyone`, allowedMentions: { parse: [], repliedUser: false } });
  assert.equal(quiet.mentions.users.size, 0);
  assert.equal(quiet.mentions.everyone, false);
  await refused(50035, place.send({ content: "?", reply: { messageReference: "5" } }));
});

await check("history in pages: before, after, around", async () => {
  const place = await fetched(await order("add_channel", { name: "history" }));
  const ids = [];
  for (const text of ["0", "1", "2", "3", "4"]) ids.push(await order("say", { channel: place.id, user: mio, text }));
  const texts = async (asked) => (await place.messages.fetch({ cache: false, ...asked })).map(({ content }) => content).join("");
  assert.equal(await texts({}), "43210");
  assert.equal(await texts({ after: ids[1], limit: 2 }), "32");
  assert.equal(await texts({ before: ids[2], limit: 1 }), "1");
  assert.equal(await texts({ around: ids[2], limit: 3 }), "321");
});

await check("reactions, ours and theirs", async () => {
  const place = await fetched(general);
  const id = await say("cake");
  const message = await place.messages.fetch(id);
  await message.react("🍰");
  await order("react", { channel: general, message: id, user: mio, emoji: "🍰" });
  const [reaction] = await event(Events.MessageReactionAdd, (_, by) => by.id === mio);
  assert.equal(reaction.emoji.name, "🍰");
  assert.equal((await reaction.users.fetch()).size, 2);
  await order("unreact", { channel: general, message: id, user: mio, emoji: "🍰" });
  await event(Events.MessageReactionRemove, (_, by) => by.id === mio);
  await reaction.users.remove(client.user);
  await event(Events.MessageReactionRemove, (_, by) => by.id === bot);
  // Its own reaction count is wrong, so the history is fetched directly.
  assert.equal((await client.rest.get(`/channels/${general}/messages/${id}`)).reactions, undefined);
});

await check("typing, both ways", async () => {
  await (await fetched(general)).sendTyping();
  await order("type", { channel: general, user: mio });
  await event(Events.TypingStart, ({ user }) => user.id === mio);
});

await check("a thread from a message, talk in it, archive, the talk opens it again", async () => {
  const place = await fetched(general);
  const seed = await place.messages.fetch(await say("which tea?"));
  const thread = await seed.startThread({ name: "which tea", autoArchiveDuration: 1440 });
  assert.equal(thread.id, seed.id);
  assert.equal(thread.parentId, general);
  await event(Events.ThreadCreate, (one) => one.id === thread.id);
  await refused(160004, seed.startThread({ name: "again" }));
  const line = await order("say", { channel: thread.id, user: mio, text: "green" });
  const [heardLine] = await event(Events.MessageCreate, ({ id }) => id === line);
  assert.ok(heardLine.channel.isThread());
  assert.equal((await thread.send("oolong")).channelId, thread.id);
  assert.equal((await thread.members.fetch()).size, 2);
  const active = await client.guilds.cache.get(guild).channels.fetchActiveThreads();
  assert.ok(active.threads.has(thread.id));
  await order("archive", { channel: thread.id });
  await event(Events.ThreadUpdate, (_, one) => one.id === thread.id && one.archived);
  const rests = await place.threads.fetchArchived();
  assert.ok(rests.threads.has(thread.id));
  await order("say", { channel: thread.id, user: mio, text: "or black" });
  await event(Events.ThreadUpdate, (before, one) => one.id === thread.id && before.archived && !one.archived);
  await order("lock", { channel: thread.id });
  await refused(160005, thread.send("?"));
  await order("delete_channel", { channel: thread.id });
  await event(Events.ThreadDelete, (one) => one.id === thread.id);
});

await check("posts in a forum, theirs and ours", async () => {
  const forum = channel("questions");
  const post = await order("post_in_forum", { channel: forum, user: mio, name: "Milk?", text: "first or last?" });
  const [thread] = await event(Events.ThreadCreate, (one) => one.id === post);
  assert.equal(thread.parent.type, ChannelType.GuildForum);
  assert.equal((await thread.fetchStarterMessage()).content, "first or last?");
  const mine = await (await fetched(forum)).threads.create({ name: "Sugar", message: { content: "one lump" } });
  assert.equal((await mine.fetchStarterMessage()).content, "one lump");
});

await check("direct messages, unless the person wants none", async () => {
  const channelId = await order("open_direct", { user: mio });
  const line = await order("say", { channel: channelId, user: mio, text: "psst" });
  const [message] = await event(Events.MessageCreate, ({ id }) => id === line);
  assert.equal(message.guild, null);
  assert.equal((await message.reply("yes?")).channelId, channelId);
  const ken = await client.users.fetch(user("Ken"));
  assert.ok((await ken.send("hello")).id);
  await order("close_direct", { user: ken.id });
  await refused(50007, ken.send("hello?"));
});

await check("members and channels change", async () => {
  const emma = user("Emma");
  await order("set_nick", { guild, user: emma, nick: "Em" });
  await event(Events.GuildMemberUpdate, (_, one) => one.id === emma && one.nickname === "Em");
  await order("remove_member", { guild, user: emma });
  await event(Events.GuildMemberRemove, ({ id }) => id === emma);
  await order("add_member", { guild, user: emma });
  await event(Events.GuildMemberAdd, ({ id }) => id === emma);
  const room = await order("add_channel", { name: "short-lived" });
  await event(Events.ChannelCreate, ({ id }) => id === room);
  await order("rename_channel", { channel: room, name: "renamed" });
  await event(Events.ChannelUpdate, (_, one) => one.id === room && one.name === "renamed");
  await order("delete_channel", { channel: room });
  await event(Events.ChannelDelete, ({ id }) => id === room);
});

await check("what is forbidden is refused by its number", async () => {
  const place = await fetched(general);
  const rule = (kind, bits) => order("rule", { channel: general, rule: kind, permissions: new PermissionsBitField(bits).bitfield.toString() });
  const bits = PermissionFlagsBits;
  const theirs = await place.messages.fetch(await say("theirs"));
  await refused(50005, theirs.edit("ours"));
  await refused(50013, theirs.delete());
  await refused(50035, place.send("x".repeat(2001)));
  await refused(50006, place.send({ content: " " }));
  await refused(50001, fetched(channel("board")).then((one) => one.messages.fetch()));
  await refused(10003, client.rest.get("/channels/5"));
  await rule("deny", bits.SendMessages);
  await refused(50013, place.send("?"));
  await rule("allow", bits.SendMessages);
  await rule("deny", bits.ReadMessageHistory);
  assert.equal((await place.messages.fetch({ cache: false })).size, 0);
  await rule("allow", bits.ReadMessageHistory);
});

await check("slash commands: registered, used, answered; hidden and open; choices", async () => {
  const options = [
    { name: "why", description: "Why it spoke.", type: 1 },
    { name: "mode", description: "How it behaves.", type: 1, options: [{ name: "to", description: "The mode.", type: 3, autocomplete: true }] },
  ];
  await client.application.commands.set([{ name: "aizuchi", description: "Ask it.", options }]);
  assert.equal((await client.application.commands.fetch()).size, 1);
  const use = (fields) => order("use_app", { channel: general, user: mio, name: "aizuchi", ...fields });
  const found = async (id) => (await event(Events.InteractionCreate, (one) => one.id === id))[0];
  const answers = async (id) => (await state()).interactions.find((one) => one.id === id);

  let id = await use({ options: [{ name: "why", type: 1, options: [] }] });
  let interaction = await found(id);
  assert.equal(interaction.options.getSubcommand(), "why");
  assert.equal(interaction.member.user.id, mio);
  await interaction.reply({ content: "Because.", flags: 64 });
  await refused(40060, client.rest.post(`/interactions/${id}/${interaction.token}/callback`, { body: { type: 5 }, auth: false }));
  await interaction.editReply("Well, because.");
  assert.deepEqual((await answers(id)).answers, [{ text: "Well, because.", is_ephemeral: true }]);

  id = await use({ options: [{ name: "why", type: 1, options: [] }] });
  interaction = await found(id);
  await interaction.deferReply();
  await interaction.editReply("After some thought.");
  await interaction.followUp("And more.");
  assert.deepEqual((await answers(id)).answers.map(({ text }) => text), ["After some thought.", "And more."]);
  await interaction.deleteReply();

  id = await use({ options: [{ name: "why", type: 1, options: [] }] });
  interaction = await found(id);
  await interaction.deferReply({ flags: 64 });
  await interaction.editReply({ content: "For you alone.", flags: 4 });
  assert.deepEqual((await answers(id)).answers, [{ text: "For you alone.", is_ephemeral: true }]);

  const { commands } = client.application;
  await commands.set([{ name: "chat", description: "Talk." }], guild);
  assert.equal((await commands.fetch({ guildId: guild })).size, 1);
  await commands.set([], guild);
  assert.equal((await commands.fetch({ guildId: guild })).size, 0);
  assert.equal((await commands.fetch()).size, 1);

  id = await use({ kind: 4, options: [{ name: "mode", type: 1, options: [{ name: "to", type: 3, value: "qu", focused: true }] }] });
  interaction = await found(id);
  assert.equal(interaction.options.getFocused(), "qu");
  await interaction.respond([{ name: "quiet", value: "quiet" }]);
  assert.equal((await answers(id)).choices[0].name, "quiet");
});

await check("an answer that is lost, before or after the post; 5xx; no JSON", async () => {
  const place = await fetched(general);
  for (const [kind, more, expected] of [
    ["reset_before", {}, 0],
    ["reset_after", {}, 1],
    ["status", { status: 503 }, 0],
    ["status_after", { status: 502 }, 1],
  ]) {
    await order("fault", { method: "create_message", fault: { kind, ...more } });
    await assert.rejects(place.send({ content: kind, enforceNonce: false }), kind);
    const { posts } = await state();
    assert.equal(posts.filter(({ text }) => text === kind).length, expected, kind);
  }
});

await check("after a cut it resumes, and hears what was said meanwhile", async () => {
  await order("greet", { greeting: "refusal" });
  await order("cut");
  await until(async () => (await state()).connections === 0);
  const id = await say("meanwhile");
  await order("greet", { greeting: "hello" });
  await event(Events.ShardResume);
  await event(Events.MessageCreate, (one) => one.id === id);
});

await check("being thrown out of the guild", async () => {
  await order("remove_member", { guild, user: bot });
  await event(Events.GuildDelete, (one) => one.id === guild);
  await refused(10004, client.rest.get(`/guilds/${guild}`));
});

await client.destroy();
console.log("discord.js: all as expected");
process.exit(0);
