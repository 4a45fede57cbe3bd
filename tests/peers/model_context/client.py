"""The program as a server of the Model Context Protocol, asked by the protocol's own Python client."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(Path(__file__).parent.parent))

from program import Home, check, request, until

TOOLS = ["search_messages", "recall", "why", "decisions", "status"]
OPERATOR, ADMIN = secrets.token_hex(16), secrets.token_hex(16)
# Of what the server has answered: the client does not tell.
statuses = []
PRIVATE = "The treasure is under the old oak."


def line(**more):
    return {"workspace": "T0123456789", "thread": None, "author": "dov", "name": "Dov", "ts": 1772476200.0, **more}


def home():
    """With the history of a Slack that has a private channel. The local room has none."""
    tokens = [{"name": "olga", "role": "operator", "token": OPERATOR}, {"name": "anna", "role": "admin", "token": ADMIN}]
    home = Home(http={"listen": "127.0.0.1:0", "tokens": tokens})
    recorded = [
        line(room="attic", room_name="attic", visibility="private", id="p1", text=PRIVATE),
        line(room="garden", room_name="garden", visibility="public", id="g1", text="The treasure of the garden is its roses."),
    ]
    file = home.folder / "history.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in recorded))
    ended = home.run("import", str(file))
    assert ended.returncode == 0, ended.stderr
    return home


def asked(running, token, questions, mode="auto"):
    """What the tools answer, in order, and the version that was agreed on."""

    async def ask():
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        hooks = {"response": [note_status]}
        async with httpx.AsyncClient(headers=headers, timeout=30, event_hooks=hooks) as http:
            transport = streamable_http_client(f"{running.address}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                tools = (await client.list_tools()).tools
                answers = [await client.call_tool(tool, arguments) for tool, arguments in questions]
                return client.protocol_version, tools, answers

    return asyncio.run(ask())


async def note_status(response):
    statuses.append(response.status_code)


def structured(answer):
    assert not answer.is_error, answer
    # Clients that read no structured content read the same.
    assert json.loads(answer.content[0].text) == answer.structured_content, answer
    return answer.structured_content


def sentence(answer):
    assert answer.is_error, answer
    return answer.content[0].text


def send(address, text):
    body = {"channel": "general", "user": "alice", "text": text}
    status, answer = request("POST", f"{address}/api/messages", body, ADMIN)
    assert status == 201, answer
    return answer["id"]


with home() as running:

    @check("Python client: the five tools are listed, each of which only reads")
    def _():
        for mode in ("auto", "legacy"):
            version, tools, _ = asked(running, ADMIN, [], mode)
            assert [tool.name for tool in tools] == TOOLS, tools
            assert all(tool.annotations.read_only_hint for tool in tools), tools
            assert all(tool.input_schema["type"] == "object" for tool in tools), tools
            print(f"    {mode}: protocol {version}")

    @check("Python client: each of the five tools answers")
    def _():
        message = send(running.address, "@Aizuchi when do the roses bloom?")
        questions = [
            ("search_messages", {"query": "treasure garden", "limit": 5}),
            ("recall", {"channel": "garden"}),
            ("why", {"message": message, "channel": "general"}),
            ("decisions", {"channel": "general"}),
            ("status", {"workspace": "local"}),
        ]

        def answers():
            _, _, answers = asked(running, ADMIN, questions)
            search, recall, why, decisions, status = map(structured, answers)
            return why["decisions"] and (search, recall, why, decisions, status)

        search, recall, why, decisions, status = until(answers, "a decision")
        assert "g1" in [message["id"] for message in search["messages"]], search
        assert recall["places"], recall
        assert why["messages"][0]["message"]["id"] == message, why
        assert decisions["decisions"], decisions
        assert status["workspaces"], status

    @check("Python client: what is wrong is said in a sentence")
    def _():
        _, _, answers = asked(running, ADMIN, [("search_messages", {"query": " "}), ("why", {})])
        assert sentence(answers[0]) == "Give words to search for.", answers
        assert sentence(answers[1]).startswith("Name a message or a decision."), answers

    @check("Python client: a private channel is shown to an admin, and to nobody else")
    def _():
        questions = [("search_messages", {"query": "treasure"}), ("decisions", {"channel": "attic"}), ("why", {"message": "p1", "channel": "attic"})]
        _, _, answers = asked(running, ADMIN, questions[:1])
        assert PRIVATE in json.dumps(structured(answers[0])), answers
        _, _, answers = asked(running, OPERATOR, questions)
        told = json.dumps([answer.model_dump(mode="json") for answer in answers])
        assert "old oak" not in told, told
        assert "g1" in [message["id"] for message in structured(answers[0])["messages"]], answers

    @check("Python client: a wrong token, and none, are refused")
    def _():
        for token in (secrets.token_hex(16), None):
            statuses.clear()
            try:
                asked(running, token, [])
            except Exception:
                assert set(statuses) == {401}, statuses
            else:
                raise AssertionError("it was let in")

# The TypeScript client, in the local room, where nobody needs a token.
with Home() as running:
    subprocess.run([os.environ["NODE"], str(Path(__file__).parent / "client.mjs"), running.address], check=True)
