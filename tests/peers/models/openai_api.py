"""OpenAI's API as the SDK `openai` types it: what may be sent, and what is answered."""

import copy
import json

import httpx2 as httpx
import openai
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message_function_tool_call import ChatCompletionMessageFunctionToolCall, Function
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from strict import problems

# What others that are compatible with OpenAI take besides, by provider.
EXTENSIONS = {
    "mistral": {"random_seed"},
    "openrouter": {"messages[].reasoning_details"},
    "deepseek": {"messages[].reasoning_content", "thinking"},
    # Gemini behind OpenAI's API signs its calls there.
    "gateway": {"messages[].tool_calls[].extra_content"},
}
# What OpenRouter wants back as it was.
REASONING_DETAILS = [{"type": "reasoning.encrypted", "data": "c2VhbGVk", "format": "x-v1", "id": "r1", "index": 0}]
SIGNATURE = {"google": {"thought_signature": "c2lnbmVk"}}
ID = "call_abc123"


def violations(provider, path, headers, body):
    """What the official SDK would not have sent."""
    allowed = EXTENSIONS.get(provider, set())
    found = problems(body, CompletionCreateParamsNonStreaming, "", allowed)
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema is not None and _ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=schema) != schema:
        found.append("the schema is not as strict as structured output wants it")
    for tool in body.get("tools", []):
        if tool["function"].get("strict") and "additionalProperties" not in tool["function"]["parameters"]:
            found.append(f"the tool {tool['function']['name']} is not strict")
    return found + unlike_the_sdk(path, headers, body, {key for key in body if key in allowed})


def unlike_the_sdk(path, headers, body, extra):
    """What differs if the SDK itself sends this body."""
    sent = []

    def answer(request):
        sent.append(request)
        return httpx.Response(200, json=text(body, "ok"))

    base, _, _ = path.rpartition("/chat/completions")
    client = httpx.Client(transport=httpx.MockTransport(answer))
    sdk = openai.OpenAI(api_key="key", base_url=f"http://peer{base}", http_client=client, max_retries=0)
    known = {key: value for key, value in body.items() if key not in extra}
    sdk.chat.completions.create(**known, extra_body={key: body[key] for key in extra})
    return differences(sent[0], path, headers, body, "authorization")


def differences(request, path, headers, body, key_header):
    """What a request of the SDK has that differs from the program's."""
    found = other_address(request, path, headers, key_header)
    if json.loads(request.content) != body:
        found.append(f"the SDK sends another body: {request.content.decode()[-800:]}")
    return found


def other_address(request, path, headers, key_header):
    found = []
    if request.url.path != path:
        found.append(f"the SDK calls {request.url.path}, not {path}")
    if request.headers.get(key_header) != headers.get(key_header):
        found.append(f"the SDK sends another {key_header}, among {sorted(request.headers)}")
    return found


def completion(body, message, reason, thought=0):
    usage = CompletionUsage.model_validate(
        {
            "prompt_tokens": 1200,
            "completion_tokens": 20 + thought,
            "total_tokens": 1220 + thought,
            "prompt_tokens_details": {"cached_tokens": 1024},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    )
    choice = Choice(finish_reason=reason, index=0, message=message, logprobs=None)
    answer = ChatCompletion(
        id="chatcmpl-1", choices=[choice], created=1, model=body["model"], object="chat.completion", usage=usage
    )
    return answer.model_dump(mode="json", exclude_unset=True)


def text(body, words):
    return completion(body, ChatCompletionMessage(role="assistant", content=words, refusal=None), "stop")


def cut(body):
    """A model that spent all its tokens on thoughts."""
    return completion(body, ChatCompletionMessage(role="assistant", content="", refusal=None), "length", 4000)


def tool_call(provider, body, name, arguments):
    call = ChatCompletionMessageFunctionToolCall(id=ID, type="function", function=Function(name=name, arguments=arguments))
    message = ChatCompletionMessage(role="assistant", content=None, refusal=None, tool_calls=[call])
    answer = completion(body, message, "tool_calls")
    said = answer["choices"][0]["message"]
    if provider == "openrouter":
        said["reasoning_details"] = REASONING_DETAILS
    if provider == "gateway":
        said["tool_calls"][0]["extra_content"] = SIGNATURE
    return answer


def tool_turn(provider, body):
    """The text of the tool's result, once the turn before it has come back as it was."""
    said = next(message for message in body["messages"] if message["role"] == "assistant")
    (call,) = said["tool_calls"]
    assert call["id"] == ID, call
    if provider == "openrouter":
        assert said["reasoning_details"] == REASONING_DETAILS, said
    if provider == "gateway":
        assert call["extra_content"] == SIGNATURE, call
    result = next(message for message in body["messages"] if message["role"] == "tool")
    assert result["tool_call_id"] == ID, result
    return result["content"]


def picture(body):
    """The address of the picture that it is shown."""
    parts = [part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]]
    return next((part["image_url"]["url"] for part in parts if part["type"] == "image_url"), None)


def refusal(parameter):
    error = {
        "message": f"Unsupported parameter: '{parameter}' is not supported with this model.",
        "type": "invalid_request_error",
        "param": parameter,
        "code": "unsupported_parameter",
    }
    return 400, {"error": error}
