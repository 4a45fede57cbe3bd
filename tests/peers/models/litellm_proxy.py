"""The program behind a LiteLLM proxy, which asks the stand-in in the words of each provider. `LITELLM` names the proxy's program."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from program import Home, check, until
from stand_in import JUDGMENT, StandIn, calls, reads_result, says

KEY = "sk-peer"
# The model that the proxy offers, and whom it asks for it. The last is asked in OpenAI's words by the program, and in
# Google's by the proxy.
BACKENDS = {
    "by-openai": ("openai/gpt-4o", "/openai/v1"),
    "by-anthropic": ("anthropic/claude-haiku-4-5", "/anthropic"),
    "by-gemini": ("gemini/gemini-2.0-flash", "/gemini/v1beta"),
}

# How the proxy says it is the proxy's business.
stand_in = StandIn(validate=lambda request: [])


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Proxy:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aizuchi-peer-litellm-"))
        parameters = {
            name: {"model": model, "api_base": stand_in.base + path, "api_key": "key"} for name, (model, path) in BACKENDS.items()
        }
        models = [{"model_name": name, "litellm_params": it} for name, it in parameters.items()]
        config = {"model_list": models, "general_settings": {"master_key": KEY}, "litellm_settings": {"num_retries": 0}}
        (self.folder / "config.yaml").write_text(json.dumps(config))
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        command = [os.environ["LITELLM"], "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        # Nothing is to leave this machine, not even for a list of prices.
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
        log = open(self.folder / "log", "w")
        self.child = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self):
        until(self.is_alive, "the proxy", patience=180)
        return self

    def is_alive(self):
        assert self.child.poll() is None, self.log()
        try:
            with urllib.request.urlopen(f"{self.base}/health/liveliness", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def log(self):
        return (self.folder / "log").read_text()

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.log()[-4000:], flush=True)
        self.child.terminate()
        self.child.wait(timeout=60)


def agent(proxy, name, **params):
    client = {"api_base": f"{proxy.base}/v1", "api_key": KEY, "max_retries": 0}
    return {"model_id": f"openai/{name}", "client_args": client, "params": params}


def answered():
    """What the stand-in was asked through the proxy."""
    return stand_in.verify()


def run(proxy):
    @check("LiteLLM: `aizuchi check` finds each model behind the proxy")
    def _():
        for name in BACKENDS:
            ended = Home(agents={"response": agent(proxy, name)}).run("check")
            assert ended.returncode == 0, ended.stdout + ended.stderr
            answered()

    @check("LiteLLM: it judges with structured output, and speaks")
    def _():
        response = {"wait": "fixed", "min_wait_seconds": 0.2, "jitter_ratio": 0, "announce": False}
        for name in BACKENDS:
            with Home(agents={"response": agent(proxy, name)}, response=response) as running:
                stand_in.script = [says(json.dumps(JUDGMENT)), says("In March, by Dov.")]
                running.say("does anybody know when the pump was last oiled?")
                assert running.wait_for_posts(1) == ["In March, by Dov."], name
            assert len(answered()) == 2, name

    @check("LiteLLM: a reply that uses a tool, with the signature that Google puts beside its call")
    def _():
        for name in ("by-openai", "by-gemini"):
            use_tool(proxy, name)

    @check("LiteLLM: the tokens and the cached share are those that the provider has reported")
    def _():
        with Home(agents={"response": agent(proxy, "by-openai")}) as running:
            stand_in.script = [says("Hello.")]
            message = running.say("@Aizuchi hello?")
            running.wait_for_posts(1)
            decision = running.get(f"/api/decisions?message={message}&channel=general")["decisions"][0]
            assert '"cached_tokens":1024' in json.dumps(decision, separators=(",", ":")), decision
        answered()

    @check("LiteLLM: what a model of Anthropic's has thought before it calls a tool goes back as it was")
    def _():
        use_tool(proxy, "by-anthropic")


def use_tool(proxy, name):
    with Home(agents={"response": agent(proxy, name)}) as running:
        stand_in.script = [
            calls("add_memo", name="pump", content="It squeaks.", priority=3),
            reads_result("pump", "I will remember that."),
        ]
        running.say("@Aizuchi keep in mind that the pump squeaks")
        assert running.wait_for_posts(1) == ["I will remember that."], (name, stand_in.violations)
    assert len(answered()) == 2, name


with Proxy() as proxy:
    run(proxy)
