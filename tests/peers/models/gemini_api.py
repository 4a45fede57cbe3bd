"""Google's API, of Gemini and of Vertex AI, as the SDK `google-genai` types it: what may be sent, and what is answered."""

import json
import re

import httpx2 as httpx
from google import genai
from google.auth.credentials import AnonymousCredentials
from google.genai import types

from openai_api import other_address

# The parts of a request, and their types. All of these forbid what they do not name.
PARTS = {
    "systemInstruction": types.Content,
    "toolConfig": types.ToolConfig,
    "generationConfig": types.GenerationConfig,
}
LISTS = {"contents": types.Content, "tools": types.Tool, "safetySettings": types.SafetySetting}
ID = "fc-abc123"
SIGNATURE = "c2lnbmVk"
# Vertex AI's address of a project: the SDK puts it together from the project and the location.
PROJECT = re.compile(r"(?P<base>.*)/(?P<version>v1|v1beta1)/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)$")


def violations(provider, path, headers, body):
    found = [f"{key} is no part of a request" for key in body if key not in PARTS | LISTS]
    for key, kind in PARTS.items():
        if key in body:
            found += wrong_in(body[key], kind, key)
    for key, kind in LISTS.items():
        found += [it for item in body.get(key, []) for it in wrong_in(item, kind, f"{key}[]")]
    return found or unlike_the_sdk(provider, path, headers, body)


def wrong_in(value, kind, where):
    try:
        kind.model_validate(value)
    except ValueError as error:
        return [f"{where}: {error}"]
    return []


def unlike_the_sdk(provider, path, headers, body):
    """What differs if the SDK itself asks for the same."""
    sent = []

    def answer(request):
        sent.append(request)
        return httpx.Response(200, json=text(body, "ok"))

    place, _, model = path.removesuffix(":generateContent").rpartition("/models/")
    place = place.removesuffix("/publishers/google")
    in_project = PROJECT.fullmatch(place)
    base, version = in_project.group("base", "version") if in_project else place.rsplit("/", 1)
    client = httpx.Client(transport=httpx.MockTransport(answer))
    options = types.HttpOptions(base_url=f"http://peer{base}", api_version=version, httpx_client=client)
    sdk = sdk_client(provider == "vertex", in_project, options)
    settings = {key: body[key] for key in PARTS | LISTS if key in body and key not in ("contents", "generationConfig")}
    config = types.GenerateContentConfig.model_validate({**body.get("generationConfig", {}), **settings})
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    try:
        sdk.models.generate_content(model=model, contents=contents, config=config)
    except ValueError as error:
        return [f"the SDK refuses that: {error}"]
    theirs, ours = comparable(json.loads(sent[0].content)), comparable(body)
    different = [key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key)]
    found = [f"the SDK sends {key}: {theirs.get(key)!r}, not {ours.get(key)!r}" for key in different]
    if in_project:
        # There the SDK takes application default credentials and no key, so only the address is its own.
        key = headers.get("x-goog-api-key")
        found += [] if key == "key" else [f"another x-goog-api-key: {key!r}"]
        return found + other_address(sent[0], path, {}, "x-goog-api-key")
    return found + other_address(sent[0], path, headers, "x-goog-api-key")


def sdk_client(is_vertex, in_project, options):
    if not in_project:
        return genai.Client(api_key="key", vertexai=is_vertex, http_options=options)
    project, location = in_project.group("project", "location")
    return genai.Client(vertexai=True, project=project, location=location, credentials=SignedIn(), http_options=options)


class SignedIn(AnonymousCredentials):
    """Credentials that no server has to make new."""

    def __init__(self):
        super().__init__()
        self.token = "peer"


# Below these are names of ours.
OPAQUE = {"responseJsonSchema", "responseSchema", "parametersJsonSchema", "parameters", "args", "response"}


def comparable(value):
    """With keys in one spelling: the SDK has some as the API's proto has them, and the API takes both."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if not isinstance(value, dict):
        return value
    words = {key: key.split("_") for key in value}
    named = {first + "".join(map(str.capitalize, rest)): value[key] for key, (first, *rest) in words.items()}
    return {key: item if key in OPAQUE else comparable(item) for key, item in named.items()}


def response(body, parts, reason="STOP"):
    candidate = types.Candidate(content=types.Content(role="model", parts=parts), finish_reason=reason, index=0)
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=1200, candidates_token_count=20, thoughts_token_count=5, total_token_count=1225, cached_content_token_count=1024
    )
    answer = types.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version="peer")
    return json.loads(answer.model_dump_json(by_alias=True, exclude_none=True))


def text(body, words):
    return response(body, [types.Part(text=words)])


def cut(body):
    return response(body, [], "MAX_TOKENS")


def tool_call(_provider, body, name, arguments):
    call = types.FunctionCall(id=ID, name=name, args=json.loads(arguments))
    answer = response(body, [types.Part(function_call=call)])
    answer["candidates"][0]["content"]["parts"][0]["thoughtSignature"] = SIGNATURE
    return answer


def tool_turn(_provider, body):
    contents = comparable(body["contents"])
    said = next(content for content in contents if content["role"] == "model")
    assert [part.get("thoughtSignature") for part in said["parts"] if "functionCall" in part] == [SIGNATURE], said
    result = next(part["functionResponse"] for part in contents[-1]["parts"] if "functionResponse" in part)
    # LiteLLM leaves the id out; without one, the name is what counts.
    assert result.get("id", ID) == ID and result["name"], result
    return json.dumps(result["response"])


def picture(body):
    parts = [part for content in comparable(body["contents"]) for part in content["parts"]]
    data = next((part["inlineData"] for part in parts if "inlineData" in part), None)
    return data and f"data:{data['mimeType']};base64,{data['data']}"


def refusal(parameter):
    message = f"Invalid JSON payload received. Unknown name \"{parameter}\" at 'generation_config': Cannot find field."
    return 400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
