"""What the program asks of every provider, held against the official SDKs."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

import anthropic_api
import gemini_api
from picture import PICTURE_URL, SlackWithPicture
from program import Home, check
from stand_in import JUDGMENT, StandIn, calls, is_cut, reads_result, refuses, says
from strict import problems

stand_in = StandIn()

# The base of each provider's API, below the stand-in's address, and a model that does not think unless told to.
PROVIDERS = {
    "openai": ("/openai/v1", "gpt-4o"),
    "anthropic": ("/anthropic/v1", "claude-haiku-4-5"),
    "gemini": ("/gemini/v1beta", "gemini-2.0-flash"),
    "vertex": ("/vertex/v1/publishers/google", "gemini-2.0-flash"),
    "vertex of a project": (
        "/vertex/v1/projects/garden-1/locations/europe-west4/publishers/google",
        "gemini-2.0-flash",
    ),
    "ollama": ("/ollama/v1", "llama3.3:70b"),
    "openrouter": ("/openrouter/api/v1", "meta-llama/llama-3.3-70b"),
    "deepseek": ("/deepseek/v1", "deepseek-chat"),
    "groq": ("/groq/openai/v1", "llama-3.3-70b"),
    "mistral": ("/mistral/v1", "mistral-small-latest"),
    "xai": ("/xai/v1", "grok-3"),
    "azure": ("/azure/openai/v1", "our-gpt"),
    "bedrock": ("/bedrock/openai/v1", "openai.gpt-oss-120b-1:0"),
}
stand_in.models = [name for _, name in PROVIDERS.values()]
# Everything that `params` knows.
EVERYTHING = {"temperature": 0.5, "max_tokens": 300, "top_p": 0.9, "stop": ["END"], "seed": 7}
# Models that think, and how they are told to.
THINKING = [
    ("openai", "gpt-5", {}),
    ("openai", "o4-mini", {"reasoning_effort": "high"}),
    ("openai", "gpt-5.1", {"reasoning_effort": "none"}),
    ("anthropic", "claude-opus-5", {}),
    ("anthropic", "claude-haiku-4-5", {"reasoning_effort": "low"}),
    ("anthropic", "claude-haiku-4-5", {"reasoning_effort": "high"}),
    ("anthropic", "claude-opus-5", {"reasoning_effort": "high"}),
    ("anthropic", "claude-sonnet-5", {"reasoning_effort": "none"}),
    ("gemini", "gemini-2.5-flash", {"reasoning_effort": "none"}),
    ("gemini", "gemini-2.5-pro", {"reasoning_effort": "none"}),
    ("gemini", "gemini-3-pro-preview", {"reasoning_effort": "high"}),
    ("vertex", "gemini-2.5-flash", {"reasoning_effort": "low"}),
    ("openrouter", "openai/gpt-5", {"reasoning_effort": "minimal"}),
    ("deepseek", "deepseek-chat", {"reasoning_effort": "high"}),
    ("mistral", "magistral-small", {}),
    ("xai", "grok-4", {}),
    ("groq", "qwen3-32b", {"reasoning_effort": "none"}),
]
CASE = {
    "id": "d-1",
    "label": "SPEAK",
    "kind": "SPEAK",
    "decide_at": 1772476200.0,
    "language": "en",
    "context": [{"t": -700.5, "author": "Dov", "text": "does anybody know when the pump was last oiled?"}],
}


def model(provider, name=None, **params):
    path, usual = PROVIDERS[provider]
    arguments = {"api_base": stand_in.base + path, "api_key": "key", "max_retries": 0}
    return {"model_id": f"{provider.split()[0]}/{name or usual}", "client_args": arguments, "params": params}


def home(agent, **more):
    return Home(**{"agents": {"response": agent, "state": agent}, "decision": {"state": "separate"}, **more})


def evaluate(home, cases):
    """The calls that an evaluation has made."""
    file = home.folder / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    ended = home.run("eval", str(file), "--mind", "model", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr + "\n".join(stand_in.violations)
    return json.loads(ended.stdout)


@check("every provider: a judge with structured output, with every parameter")
def _():
    for provider in PROVIDERS:
        evaluate(home(model(provider, **EVERYTHING)), [CASE])
        (asked,) = stand_in.verify()
        assert asked.is_for_schema(), (provider, asked.body)


@check("models that think: what they may think leaves room for the answer")
def _():
    for provider, name, params in THINKING:
        evaluate(home(model(provider, name, **params)), [CASE])
        (asked,) = stand_in.verify()
        limits = {**asked.body, **asked.body.get("generationConfig", {})}
        limit = limits.get("max_tokens") or limits.get("max_completion_tokens") or limits["maxOutputTokens"]
        thinks = params.get("reasoning_effort") != "none"
        assert (limit > 10_000) == thinks, (provider, name, params, limit)


@check("a reply that uses a tool: the turn goes back as the model made it")
def _():
    providers = {**PROVIDERS, "gateway": None}
    for provider in providers:
        response = model("openai" if provider == "gateway" else provider)
        if provider == "gateway":
            response["client_args"]["api_base"] = stand_in.base + "/gateway/v1"
        with home(response) as running:
            stand_in.script = [
                calls("add_memo", name="pump", content="It squeaks.", priority=3),
                reads_result("pump", "I will remember that."),
            ]
            running.say("@Aizuchi keep in mind that the pump squeaks")
            assert running.wait_for_posts(1) == ["I will remember that."], provider
        assert len(stand_in.verify()) == 2, provider


@check("Anthropic: what was sent twice within minutes is marked for the cache, the rest is not")
def _():
    persona = {"name": "Aizuchi", "system_prompt": "You are kind. " * 500}
    with home(model("anthropic"), persona=persona) as running:
        for number in range(1, 4):
            stand_in.script = [says(f"Answer {number}.")]
            running.say(f"@Aizuchi question {number}?")
            running.wait_for_posts(number)
    marks = [request.api.count_marks(request.body) for request in stand_in.verify()]
    assert marks[0] == 0 and marks[1] >= 1 and marks[2] >= 1, marks


@check("a parameter that is refused is left out, once and for all")
def _():
    for provider, refused in (("openai", "temperature"), ("anthropic", "temperature"), ("gemini", "topP"), ("mistral", "random_seed")):
        with home(model(provider, **EVERYTHING)) as running:
            stand_in.script = [refuses(refused), says("One."), says("Two.")]
            for number in (1, 2):
                running.say(f"@Aizuchi question {number}?")
                running.wait_for_posts(number)
        bodies = [{**request.body, **request.body.get("generationConfig", {})} for request in stand_in.verify()]
        assert [refused in body for body in bodies] == [True, False, False], provider


@check("a model that thought until nothing was left is allowed more, and then answers")
def _():
    with home(model("openai", "large-1")) as running:
        stand_in.script = [is_cut, says("Now.")]
        running.say("@Aizuchi when do the roses bloom?")
        assert running.wait_for_posts(1) == ["Now."]
    first, second = [request.body["max_tokens"] for request in stand_in.verify()]
    assert second > first + 10_000, (first, second)


@check("it speaks unasked where the model's verdict says so")
def _():
    response = {"wait": "fixed", "min_wait_seconds": 0.2, "jitter_ratio": 0, "announce": False}
    for provider in ("openai", "anthropic", "gemini"):
        with home(model(provider), response=response, decision={"state": "fused"}) as running:
            # Until a verdict is asked for, and then for the words.
            stand_in.script = [says(json.dumps(JUDGMENT)), says("In March, by Dov.")]
            running.say("does anybody know when the pump was last oiled?")
            assert running.wait_for_posts(1) == ["In March, by Dov."], provider
        judge, reply = stand_in.verify()
        assert judge.is_for_schema() and not reply.is_for_schema(), provider


@check("a picture is shown to a model that sees, as the provider wants it")
def _():
    for provider in ("openai", "anthropic", "gemini", "vertex", "vertex of a project"):
        with SlackWithPicture() as slack:
            agents = {"response": model(provider), "vision": {}}
            with Home(agents=agents, slack=slack.settings) as running:
                stand_in.script = [says("A boat with red sails."), says("A fine boat.")]
                slack.show("what is this?")
                slack.wait_for_post("A fine boat.")
        shown, asked = stand_in.verify()
        assert shown.api.picture(shown.body) == PICTURE_URL, provider
        assert "A boat with red sails." in json.dumps(asked.body), provider


@check("the stand-in notices what is wrong")
def _():
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
    wrong = [
        ({**body, "max_tokens": "many"}, "max_tokens"),
        ({**body, "temprature": 1}, "temprature"),
        ({**body, "messages": [{"role": "user", "text": "Hello."}]}, "messages[].content is missing"),
        ({**body, "messages": [{"role": "stranger", "content": "Hello."}]}, "stranger"),
        ({"model": "m"}, "messages is missing"),
    ]
    for body, expected in wrong:
        found = problems(body, CompletionCreateParamsNonStreaming)
        assert any(expected in it for it in found), (expected, found)
    message = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]}
    contents = {"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}
    wrong = [
        (anthropic_api, {**message, "thinking": {"type": "enabled", "budget": 5}}, "thinking.budget_tokens is missing"),
        (anthropic_api, {**message, "thinking": {"type": "enabled", "budget_tokens": 9}}, "leaves none for the answer"),
        (gemini_api, {**contents, "generationConfig": {"topX": 1}}, "topX"),
        (gemini_api, {**contents, "generation": {}}, "generation is no part"),
    ]
    for api, body, expected in wrong:
        found = api.violations("gemini", "/v1beta/models/m:generateContent", {}, body)
        assert any(expected in it for it in found), (expected, found)


print(f"{len(PROVIDERS)} providers")
