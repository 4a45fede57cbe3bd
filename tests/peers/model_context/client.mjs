// The program's own MCP server, called by the protocol's TypeScript client.
// Usage: client.mjs http://127.0.0.1:8080, for a program that requires no token.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.PEERS_NPM}/`);
const load = async (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}.js`)).href);
const { Client } = await load("index");
const { StreamableHTTPClientTransport } = await load("streamableHttp");

const base = process.argv[2];
const post = await fetch(`${base}/api/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ channel: "general", user: "alice", text: "@Aizuchi when do the roses bloom?" }),
});
const { id } = await post.json();

const client = new Client({ name: "peer", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`)));

async function check(promise, run) {
    await run();
    console.log(`ok  ${promise}`);
}

await check("TypeScript client: the five tools are listed", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ["search_messages", "recall", "why", "decisions", "status"]);
    assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
});

await check("TypeScript client: each of them answers", async () => {
    const questions = [
        ["search_messages", { query: "roses" }, "messages"],
        ["recall", {}, "places"],
        ["why", { message: id, channel: "general" }, "messages"],
        ["decisions", { channel: "general" }, "decisions"],
        ["status", {}, "workspaces"],
    ];
    for (const [name, given, key] of questions) {
        const answer = await client.callTool({ name, arguments: given });
        assert.ok(!answer.isError, JSON.stringify(answer));
        assert.ok(Array.isArray(answer.structuredContent[key]), JSON.stringify(answer));
    }
});

await check("TypeScript client: an unknown tool, and an unknown channel, are told in a sentence", async () => {
    await assert.rejects(client.callTool({ name: "post_message", arguments: {} }), /There is no tool/);
    const answer = await client.callTool({ name: "decisions", arguments: { channel: "attic" } });
    assert.ok(answer.isError && answer.content[0].text.includes("attic"), JSON.stringify(answer));
});

await client.close();
