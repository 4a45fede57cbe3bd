"""The program as a client of the reference servers of the Model Context Protocol. `PEERS_NPM` is where they are installed,
`NODE` runs them."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "models")]

from program import Home, check, until
from stand_in import StandIn, calls, reads_result, says

NODE = os.environ["NODE"]
SERVERS = Path(os.environ["PEERS_NPM"]) / "@modelcontextprotocol"

MEMORY_TOOLS = ["create_entities", "read_graph"]
PUMP = {"name": "pump", "entityType": "thing", "observations": ["It squeaks."]}

stand_in = StandIn()


def script(name):
    return str(SERVERS / f"server-{name}" / "dist/index.js")


def program(name, *arguments, **more):
    return {"command": NODE, "args": [script(name), *arguments], **more}


def with_servers(**servers):
    client = {"api_base": f"{stand_in.base}/openai/v1", "api_key": "key", "max_retries": 0}
    response = {"model_id": "openai/gpt-4o", "client_args": client}
    return Home(agents={"response": response}, tools={"mcp": {"servers": servers}})


class Conversation:
    """With the program, whose model is the stand-in. Each question is somebody else's: answers to one person are limited."""

    def __init__(self, running):
        self.running = running
        self.said = 0

    def say(self, text):
        """Says something, and returns the answer."""
        self.said += 1
        self.running.say(f"@Aizuchi {text}", user=f"guest{self.said}")
        return self.running.wait_for_posts(self.said)[self.said - 1]

    def offered(self, *tools):
        """What the model is offered, once these are: servers are connected in the background."""

        def are_offered():
            stand_in.requests.clear()
            self.say("hello?")
            names = stand_in.requests[0].names()
            return set(tools) <= set(names) and names

        names = until(are_offered, f"the tools {tools}")
        stand_in.requests.clear()
        return names

    def ask(self, tool, arguments, expected):
        """Has the model call a tool, and returns what it reads of it, which has what is expected."""
        stand_in.script = [calls(tool, **arguments), reads_result(expected, "I have read that.")]
        assert self.say("look that up") == "I have read that.", stand_in.violations
        last = stand_in.verify()[-1]
        return last.api.tool_turn(last.provider, last.body)


def is_answered(talk):
    """Whether the model gets an answer of the tool, if it is offered."""
    call = calls("web__echo", message=f"again {talk.said}")
    stand_in.requests.clear()
    stand_in.script = [lambda request: call(request) if "web__echo" in request.names() else request.text("It is gone.")]
    talk.say("look that up")
    return f"Echo: again {talk.said - 1}" in json.dumps(stand_in.requests[-1].body)


@check("server-everything over stdio: tools that only read are offered, and what they answer is read")
def _():
    os.environ["A_SECRET_OF_OURS"] = "sk-not-for-you"
    with with_servers(all=program("everything", env={"GIVEN": "given-to-it"})) as running:
        talk = Conversation(running)
        names = talk.offered("all__echo")
        external = sorted(name for name in names if name.startswith("all__"))
        writing = ["gzip-file-as-resource", "toggle-simulated-logging", "toggle-subscriber-updates"]
        assert not {f"all__{name}" for name in writing} & set(external), external
        for tool, arguments, expected in [
            ("all__echo", {"message": "roses"}, "Echo: roses"),
            ("all__get-sum", {"a": 2, "b": 3}, "5"),
            ("all__get-tiny-image", {}, "[image/png]"),
            ("all__get-structured-content", {"location": "New York"}, "temperature"),
            ("all__get-annotated-message", {"messageType": "error"}, "Error"),
            ("all__get-resource-links", {"count": 2}, "demo://resource"),
            ("all__get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "demo://resource"),
            ("all__get-env", {}, "given-to-it"),
            # What the server refuses is told.
            ("all__get-sum", {"a": "two"}, "nvalid"),
        ]:
            read = talk.ask(tool, arguments, expected)
            assert "sk-not-for-you" not in read, "it has a secret of ours"


@check("server-everything over stdio: a call that takes too long ends, and the model is told")
def _():
    with with_servers(all=program("everything", timeout_seconds=1)) as running:
        talk = Conversation(running)
        talk.offered("all__trigger-long-running-operation")
        talk.ask("all__trigger-long-running-operation", {"duration": 30, "steps": 3}, "in time")


@check("server-filesystem: reads what it may, and the refusal of the rest is told")
def _():
    shelf = Path(tempfile.mkdtemp(prefix="aizuchi-peer-shelf-"))
    (shelf / "open").mkdir()
    (shelf / "open/roses.txt").write_text("Roses bloom in June.")
    (shelf / "secret.txt").write_text("nothing to see")
    with with_servers(files=program("filesystem", str(shelf / "open"))) as running:
        talk = Conversation(running)
        names = talk.offered("files__read_text_file", "files__list_directory")
        assert not {"files__write_file", "files__edit_file", "files__move_file"} & set(names), names
        talk.ask("files__read_text_file", {"path": str(shelf / "open/roses.txt")}, "Roses bloom in June.")
        talk.ask("files__list_directory", {"path": str(shelf / "open")}, "roses.txt")
        read = talk.ask("files__read_text_file", {"path": str(shelf / "secret.txt")}, "denied")
        assert "nothing to see" not in read, read


def with_memory(kept, **more):
    """The program with a server that may write to the file, of which it names two tools."""
    memory = program("memory", env={"MEMORY_FILE_PATH": str(kept)}, tools=MEMORY_TOOLS, **more)
    return with_servers(graph=memory)


def offered_of_memory(talk):
    names = talk.offered("graph__create_entities")
    assert sorted(name for name in names if name.startswith("graph__")) == sorted(f"graph__{name}" for name in MEMORY_TOOLS)


@check("server-memory: writes freely where the tool is named as one that needs no consent")
def _():
    kept = Path(tempfile.mkdtemp(prefix="aizuchi-peer-memory-")) / "memory.jsonl"
    with with_memory(kept, without_consent=["create_entities"]) as running:
        talk = Conversation(running)
        offered_of_memory(talk)
        talk.ask("graph__create_entities", {"entities": [PUMP]}, "squeaks")
        talk.ask("graph__read_graph", {}, "squeaks")
    assert "squeaks" in kept.read_text()


@check("server-memory: a call that writes is made once somebody has allowed it, and told")
def _():
    kept = Path(tempfile.mkdtemp(prefix="aizuchi-peer-memory-")) / "memory.jsonl"
    with with_memory(kept) as running:
        talk = Conversation(running)
        offered_of_memory(talk)
        talk.ask("graph__create_entities", {"entities": [PUMP]}, "allow")
        assert not kept.exists() or "squeaks" not in kept.read_text(), "it was called before anybody allowed it"
        [call] = running.get("/api/calls")["calls"]
        assert call["tool"].endswith("create_entities"), call
        posts = len(running.posts())
        stand_in.script = [says("The pump is noted.")]
        running.post(f"/api/calls/{call['id']}", {"choice": "allow_once"})
        assert running.wait_for_posts(posts + 1)[-1] == "The pump is noted."
        assert "squeaks" in json.dumps(stand_in.verify()[-1].body), "the model was not told what the tool answered"
        until(lambda: kept.exists() and "squeaks" in kept.read_text(), "what was allowed")


@check("`aizuchi check` tells of each server, and of one that cannot be started")
def _():
    servers = {"all": program("everything"), "graph": program("memory", tools=["read_graph"]), "gone": {"command": "/no/such/program"}}
    ended = with_servers(**servers).run("check")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    told = ended.stdout
    assert "echo" in told and "read_graph" in told and "cannot be started" in told, told


@check("server-everything over streamable HTTP: used, and used again after the server was started anew")
def _():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    def serve():
        environment = {**os.environ, "PORT": str(port)}
        command = [NODE, script("everything"), "streamableHttp"]
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if "listening" in line.lower():
                break
        return child

    server = serve()
    try:
        with with_servers(web={"url": f"http://127.0.0.1:{port}/mcp", "timeout_seconds": 2}) as running:
            talk = Conversation(running)
            talk.offered("web__echo")
            talk.ask("web__echo", {"message": "roses"}, "Echo: roses")
            server.kill()
            server.wait()
            server = serve()
            # Its sessions are gone. A call fails, and then it is connected again.
            until(lambda: is_answered(talk), "an answer of the server that was started anew")
    finally:
        server.kill()
