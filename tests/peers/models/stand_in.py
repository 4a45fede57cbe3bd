"""A server on loopback that takes the requests of every provider, holds them against the official SDKs, and answers with
what the SDKs read. The first part of a path names the provider."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic_api
import gemini_api
import openai_api

# A verdict that says yes, and what else is asked for.
JUDGMENT = {
    "should_respond": True,
    "reason": "Nobody else will know.",
    "confidence": 0.9,
    "delay_seconds": None,
    "about": None,
    "look_again_seconds": None,
    "conversation_state": "active",
}


class Request:
    def __init__(self, provider, path, headers, body):
        self.provider, self.path, self.headers, self.body = provider, path, headers, body

    @property
    def api(self):
        if self.provider == "anthropic":
            return anthropic_api
        return gemini_api if self.provider in ("gemini", "vertex") else openai_api

    def text(self, words):
        return 200, self.api.text(self.body, words)

    def is_for_schema(self):
        config = [self.body.get("response_format"), self.body.get("output_config"), self.body.get("generationConfig")]
        return "schema" in json.dumps(config).lower()

    def names(self):
        """The tools that it offers."""
        # Google takes both spellings.
        tools = gemini_api.comparable(self.body.get("tools", []))
        flat = [it for tool in tools for it in tool.get("functionDeclarations", [tool])]
        return [it.get("name") or it["function"]["name"] for it in flat]


def violations(request):
    """What the official SDK would not have sent."""
    try:
        found = request.api.violations(request.provider, request.path, request.headers, request.body)
    except Exception as error:
        found = [f"the SDK fails on that: {error!r}"]
    return [f"{request.provider} {request.path}: {it}" for it in found]


class StandIn:
    def __init__(self, validate=violations):
        self.validate = validate
        self.requests = []
        self.violations = []
        # What answers instead, first come, first served: a function of a request.
        self.script = []
        # The list of models, which Ollama's are looked up in.
        self.models = []
        self.lock = threading.Lock()
        stand_in = self

        class Receiver(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider, _, path = self.path.lstrip("/").partition("/")
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send(*stand_in.take(Request(provider, f"/{path}", headers, body)))

            def do_GET(self):
                self.send(200, {"object": "list", "data": [{"id": name} for name in stand_in.models]})

            def send(self, status, answer):
                answer = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{server.server_port}"

    def take(self, request):
        if request.provider == "ollama" and request.path.startswith("/api/"):
            # Its own API, which no SDK of these has.
            return 404, {"error": "not found"}
        with self.lock:
            self.requests.append(request)
            self.violations += self.validate(request)
            try:
                answers = self.script.pop(0) if self.script else default
                return answers(request)
            except Exception as error:
                self.violations.append(f"{request.provider}: {error!r}")
                return 400, {"error": {"message": "the peer has failed"}}

    def verify(self):
        """Nothing that was sent is wrong; begins anew."""
        assert not self.violations, "\n".join(self.violations)
        assert not self.script, "less was asked than expected"
        requests, self.requests = self.requests, []
        assert requests, "nothing was asked"
        return requests


def default(request):
    """What a model says that was told nothing else."""
    return request.text(json.dumps(JUDGMENT) if request.is_for_schema() else "ACTIVE")


def says(words):
    return lambda request: request.text(words)


def calls(tool, **arguments):
    """Calls a tool, which has to be offered."""

    def answer(request):
        assert tool in request.names(), f"{tool} is not offered"
        return 200, request.api.tool_call(request.provider, request.body, tool, json.dumps(arguments))

    return answer


def reads_result(expected, words):
    """Holds what came back of a call against it, and answers."""

    def answer(request):
        result = request.api.tool_turn(request.provider, request.body)
        assert expected in result, result
        return request.text(words)

    return answer


def refuses(parameter):
    return lambda request: request.api.refusal(parameter)


def is_cut(request):
    """A model that has thought until nothing was left."""
    return 200, request.api.cut(request.body)
