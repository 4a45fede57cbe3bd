"""Anthropic's API as the SDK `anthropic` types it: what may be sent, and what is answered."""

import json

import httpx2 as httpx
import anthropic
from anthropic._constants import ANTHROPIC_API_VERSION
from anthropic.lib._parse._transform import transform_schema
from anthropic.types import Message, RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from openai_api import differences
from strict import problems

# The newest models refuse these, and the SDK has dropped them; the others still take them.
OLDER_MODELS = {"temperature", "top_p"}
ID = "toolu_abc123"
THINKING = ThinkingBlock(type="thinking", thinking="Which memos are there?", signature="c2lnbmVk")
REDACTED = RedactedThinkingBlock(type="redacted_thinking", data="c2VhbGVk")


def violations(_provider, path, headers, body):
    found = problems(body, MessageCreateParamsNonStreaming, "", OLDER_MODELS)
    # The types are those of one version of the API.
    if headers.get("anthropic-version") != ANTHROPIC_API_VERSION:
        found.append(f"it speaks the API's version {headers.get('anthropic-version')}, the SDK {ANTHROPIC_API_VERSION}")
    schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    if schema is not None and transform_schema(schema) != schema:
        found.append(f"structured output wants another schema: {transform_schema(schema)}")
    budget = body.get("thinking", {}).get("budget_tokens", 0)
    if budget >= body["max_tokens"]:
        found.append(f"it may think {budget} of {body['max_tokens']} tokens, which leaves none for the answer")
    marks = count_marks(body)
    if marks > 4:
        found.append(f"{marks} cache marks, and the API takes four")
    return found + unlike_the_sdk(path, headers, body)


def unlike_the_sdk(path, headers, body):
    sent = []

    def answer(request):
        sent.append(request)
        return httpx.Response(200, json=text(body, "ok"))

    base, _, _ = path.rpartition("/v1/messages")
    client = httpx.Client(transport=httpx.MockTransport(answer))
    sdk = anthropic.Anthropic(api_key="key", base_url=f"http://peer{base}", http_client=client, max_retries=0)
    older = {key: body[key] for key in OLDER_MODELS if key in body}
    # More than some tokens are only streamed, unless a timeout is set.
    known = {key: value for key, value in body.items() if key not in older}
    sdk.messages.create(**known, extra_body=older, timeout=60)
    return differences(sent[0], path, headers, body, "x-api-key")


def count_marks(body):
    system = body["system"] if isinstance(body.get("system"), list) else []
    return sum("cache_control" in part for part in system)


def message(body, content, reason):
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_input_tokens=1000, cache_creation_input_tokens=100)
    answer = Message(
        id="msg_1",
        content=content,
        model=body["model"],
        role="assistant",
        stop_reason=reason,
        stop_sequence=None,
        type="message",
        usage=usage,
    )
    return answer.model_dump(mode="json", exclude_unset=True)


def text(body, words):
    return message(body, [TextBlock(type="text", text=words, citations=None)], "end_turn")


def cut(body):
    return message(body, [THINKING], "max_tokens")


def tool_call(_provider, body, name, arguments):
    call = ToolUseBlock(type="tool_use", id=ID, name=name, input=json.loads(arguments))
    return message(body, [THINKING, REDACTED, call], "tool_use")


def tool_turn(_provider, body):
    said = next(message for message in body["messages"] if message["role"] == "assistant")
    # The API refuses a turn whose thoughts have changed, or stand elsewhere.
    sealed = [(part["type"], part.get("signature") or part.get("data") or part.get("id")) for part in said["content"]]
    expected = [("thinking", THINKING.signature), ("redacted_thinking", REDACTED.data), ("tool_use", ID)]
    assert sealed == expected, said
    assert said["content"][0]["thinking"] == THINKING.thinking, said
    result = body["messages"][-1]["content"][0]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", ID), result
    return result["content"] if isinstance(result["content"], str) else result["content"][0]["text"]


def picture(body):
    parts = [part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]]
    source = next((part["source"] for part in parts if part["type"] == "image"), None)
    return source and f"data:{source['media_type']};base64,{source['data']}"


def refusal(parameter):
    error = {"type": "invalid_request_error", "message": f"{parameter}: Extra inputs are not permitted"}
    return 400, {"type": "error", "error": error}
