"""Slack's own Python client against our fake Slack. Usage: client.py http://127.0.0.1:4010"""

import sys
import time

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

from fake import Fake, Hook, check, until

fake = Fake(sys.argv[1])
web = WebClient(token="xoxb-dev", base_url=fake.base + "/api/")

team = fake.state()
bot = team["team"]["bot_user"]
people = {user["profile"]["display_name"]: user["id"] for user in team["users"]}
rooms = {channel.get("name"): channel["id"] for channel in team["channels"]}
mio, general = people["Mio"], rooms["general"]


def refused(error, call, **arguments):
    try:
        call(**arguments)
    except SlackApiError as refusal:
        assert refusal.response["error"] == error, refusal.response.data
        return refusal.response
    raise AssertionError(f"{error} was expected")


class Socket:
    """A client that keeps what it hears, and acknowledges what it is told to."""

    def __init__(self):
        self.heard = []
        self.acks = True
        self.client = SocketModeClient(app_token="xapp-dev", web_client=web, ping_interval=1)
        self.hellos = 0
        self.client.on_message_listeners.append(self.note)
        self.client.socket_mode_request_listeners.append(self.hear)
        self.client.connect()

    def note(self, message):
        self.hellos += '"type":"hello"' in message.replace(" ", "")

    def hear(self, client, request):
        self.heard.append(request)
        if self.acks:
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    def next(self, is_it):
        return until(lambda: next((one for one in self.heard if is_it(one)), None))

    def event(self, kind, **fields):
        def is_it(request):
            event = request.payload.get("event", {})
            return event.get("type") == kind and all(
                event.get(name) == value for name, value in fields.items()
            )

        return self.next(is_it).payload["event"]


@check("auth.test names the bot, and the header its scopes")
def _():
    answer = web.auth_test()
    assert answer["user_id"] == bot and answer["bot_id"].startswith("B")
    assert "chat:write" in answer.headers["x-oauth-scopes"]


@check("users.list comes in pages, with names")
def _():
    names, pages = [], 0
    for page in web.users_list(limit=2):
        pages += 1
        names += [user["profile"]["display_name"] or user["real_name"] for user in page["members"]]
    assert pages == 3 and {"Mio", "Ken", "Emma", "Weather"} <= set(names), names
    assert web.users_info(user=mio)["user"]["real_name"] == "Mio Tanaka"
    assert refused("user_not_found", web.users_info, user="U404")


@check("channels are listed as far as the bot may know of them")
def _():
    types = "public_channel,private_channel,im,mpim"
    listed = [one["id"] for page in web.conversations_list(types=types, limit=1) for one in page["channels"]]
    assert rooms["random"] in listed and rooms["plans"] in listed and rooms["board"] not in listed
    own = [one["id"] for one in web.users_conversations(types=types)["channels"]]
    assert general in own and rooms["random"] not in own
    assert web.conversations_info(channel=general, include_num_members=True)["channel"]["num_members"] == 5
    assert set(web.conversations_members(channel=general, limit=500)["members"]) >= {mio, bot}
    refused("channel_not_found", web.conversations_info, channel=rooms["board"])


@check("what is posted with metadata is read back by history and replies")
def _():
    metadata = {"event_type": "aizuchi", "event_payload": {"key": "k1"}}
    first = web.chat_postMessage(channel=general, text="first", metadata=metadata, unfurl_links=False)
    reply = web.chat_postMessage(channel=general, text="reply", thread_ts=first["ts"], metadata=metadata)
    history = web.conversations_history(channel=general, include_all_metadata=True)
    assert history["messages"][0]["metadata"] == metadata
    assert history["messages"][0]["reply_count"] == 1
    replies = web.conversations_replies(channel=general, ts=first["ts"], include_all_metadata=True)
    assert [one["text"] for one in replies["messages"]] == ["first", "reply"]
    assert replies["messages"][1]["metadata"] == metadata
    assert "event_payload" not in web.conversations_history(channel=general)["messages"][0]["metadata"]
    assert "thread_ts=" in web.chat_getPermalink(channel=general, message_ts=reply["ts"])["permalink"]


@check("histories are paged by cursor, newest first, with both ends")
def _():
    stamps = [fake.say(general, mio, f"line {number}") for number in range(7)]
    after = {"channel": general, "limit": 3, "oldest": stamps[0]}
    pages = [page["messages"] for page in web.conversations_history(**after, latest="9999999999.000000")]
    got = [message["ts"] for page in pages for message in page]
    assert got == list(reversed(stamps[1:])) and len(pages) == 2
    # Without `latest`, the pages go forward.
    pages = [page["messages"] for page in web.conversations_history(**after)]
    got = [[message["ts"] for message in page] for page in pages]
    assert got == [list(reversed(stamps[1:4])), list(reversed(stamps[4:]))]
    span = {"channel": general, "oldest": stamps[1], "latest": stamps[3]}
    assert len(web.conversations_history(**span)["messages"]) == 1
    assert len(web.conversations_history(**span, inclusive=True)["messages"]) == 3
    refused("invalid_cursor", web.conversations_history, channel=general, cursor="bogus")


@check("a thread is paged oldest first, its parent with each page")
def _():
    parent = fake.say(general, mio, "parent")
    replies = [fake.say(general, mio, f"reply {number}", thread=parent) for number in range(4)]
    got = []
    for page in web.conversations_replies(channel=general, ts=parent, limit=3):
        assert page["messages"][0]["ts"] == parent
        got += [message["ts"] for message in page["messages"][1:]]
    assert got == replies
    assert all(one["ts"] not in replies for one in web.conversations_history(channel=general)["messages"])


@check("its own posts can be changed and deleted, others' not")
def _():
    own = web.chat_postMessage(channel=general, text="tpyo")["ts"]
    assert web.chat_update(channel=general, ts=own, text="typo")["text"] == "typo"
    assert "edited" in web.conversations_history(channel=general, limit=1)["messages"][0]
    web.chat_delete(channel=general, ts=own)
    refused("message_not_found", web.chat_delete, channel=general, ts=own)
    other = fake.say(general, mio, "mine")
    refused("cant_update_message", web.chat_update, channel=general, ts=other, text="ours")
    refused("cant_delete_message", web.chat_delete, channel=general, ts=other)


@check("reactions are added once, read and removed")
def _():
    ts = fake.say(general, mio, "like this")
    web.reactions_add(channel=general, timestamp=ts, name="thumbsup")
    refused("already_reacted", web.reactions_add, channel=general, timestamp=ts, name="thumbsup")
    seen = web.reactions_get(channel=general, timestamp=ts)["message"]["reactions"]
    assert seen == [{"name": "thumbsup", "users": [bot], "count": 1}]
    web.reactions_remove(channel=general, timestamp=ts, name="thumbsup")
    refused("no_reaction", web.reactions_remove, channel=general, timestamp=ts, name="thumbsup")


@check("an ephemeral message is seen by one person and by no history")
def _():
    ts = web.chat_postEphemeral(channel=general, user=mio, text="psst")["message_ts"]
    assert [one["text"] for one in fake.state()["ephemeral"] if one["ts"] == ts] == ["psst"]
    assert all(one["text"] != "psst" for one in web.conversations_history(channel=general)["messages"])


@check("a direct message is opened once")
def _():
    first = web.conversations_open(users=mio)["channel"]["id"]
    again = web.conversations_open(users=mio)
    assert again["channel"]["id"] == first and again["already_open"]
    assert web.chat_postMessage(channel=mio, text="hello")["channel"] == first


@check("refusals have Slack's names")
def _():
    post = web.chat_postMessage
    refused("channel_not_found", post, channel="C404", text="x")
    refused("channel_not_found", post, channel=rooms["board"], text="x")
    refused("not_in_channel", post, channel=rooms["random"], text="x")
    refused("no_text", post, channel=general, text="")
    refused("thread_not_found", post, channel=general, text="x", thread_ts="1.000001")
    refused("thread_not_found", web.conversations_replies, channel=general, ts="1.000001")
    refused("invalid_auth", WebClient(token="xoxb-no", base_url=web.base_url).auth_test)
    refused("not_authed", WebClient(base_url=web.base_url).auth_test)
    refused("unknown_method", web.api_call, api_method="no.such")
    long = web.chat_postMessage(channel=general, text="x" * 40_001)
    assert len(long["message"]["text"]) == 40_000 and long["warning"] == "message_truncated"
    fake.order("fault", method="chat.postMessage", fault={"kind": "error", "error": "restricted_action"})
    refused("restricted_action", post, channel=general, text="x")
    fake.order("archive", channel=rooms["random"], user=mio)
    refused("is_archived", web.conversations_join, channel=rooms["random"])
    fake.order("unarchive", channel=rooms["random"], user=mio)


@check("429 is told with Retry-After, which the client obeys")
def _():
    fake.order("fault", method="auth.test", fault={"kind": "rate_limited", "seconds": 1})
    limited = refused("ratelimited", web.auth_test)
    assert limited.status_code == 429 and limited.headers["retry-after"] == "1"
    patient = WebClient(token="xoxb-dev", base_url=web.base_url)
    patient.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    fake.order("fault", method="auth.test", fault={"kind": "rate_limited", "seconds": 1})
    begun = time.monotonic()
    assert patient.auth_test()["ok"] and time.monotonic() - begun >= 1


@check("an answer is lost before or after the post; 5xx and no JSON are no answers either")
def _():
    def posts(text):
        return sum(post["text"] == text for post in fake.state()["posts"])

    hasty = WebClient(token="xoxb-dev", base_url=web.base_url, retry_handlers=[], timeout=1)
    for kind, more, expected in [
        ("reset_before", {}, 0),
        ("reset_after", {}, 1),
        ("status", {"status": 503}, 0),
        ("status_after", {"status": 500}, 1),
        ("garbage", {}, 0),
        ("hang_after", {}, 1),
        ("commit_later", {"milliseconds": 1500}, 0),
    ]:
        fake.order("fault", method="chat.postMessage", fault={"kind": kind, **more})
        try:
            hasty.chat_postMessage(channel=general, text=kind)
            raise AssertionError(f"{kind} was answered")
        except AssertionError:
            raise
        except Exception:
            assert posts(kind) == expected, kind
    until(lambda: posts("commit_later") == 1)


@check("a capped history holds 15 lines, once a minute")
def _():
    for number in range(20):
        fake.say(general, mio, f"many {number}")
    fake.order("cap_history", objects=15, seconds=60)
    capped = web.conversations_history(channel=general, limit=200)
    assert len(capped["messages"]) == 15 and capped["has_more"]
    assert refused("ratelimited", web.conversations_history, channel=general).headers["retry-after"] == "60"
    fake.order("uncap_history")


socket = Socket()


@check("hello, and a message, acknowledged")
def _():
    until(lambda: socket.hellos == 1)
    fake.say(general, mio, "good morning")
    event = socket.event("message", text="good morning")
    assert event["user"] == mio and event["channel_type"] == "channel" and event["client_msg_id"]
    until(lambda: fake.receipts()[-1] == "acked")


@check("what is not acknowledged comes again, marked")
def _():
    socket.acks = False
    fake.say(general, mio, "are you there?")
    first = socket.next(lambda one: one.payload.get("event", {}).get("text") == "are you there?")
    assert first.retry_attempt == 0
    fake.order("redeliver")
    again = socket.next(lambda one: one.retry_attempt == 1)
    assert again.payload["event_id"] == first.payload["event_id"] and again.retry_reason == "timeout"
    assert again.envelope_id != first.envelope_id
    socket.acks = True
    fake.order("redeliver")
    fake.order("redeliver")
    until(lambda: fake.receipts()[-1] == "acked")


@check("a mention is told twice, with one ts")
def _():
    ts = fake.say(general, mio, f"<@{bot}> tea?")
    assert socket.event("app_mention", ts=ts)["text"] == socket.event("message", ts=ts)["text"]


@check("an edit, an unfurled link and a deletion")
def _():
    ts = fake.say(general, mio, "teh")
    fake.order("edit", channel=general, ts=ts, text="the")
    edited = socket.event("message", subtype="message_changed")
    assert (edited["previous_message"]["text"], edited["message"]["text"]) == ("teh", "the")
    socket.heard.clear()
    fake.order("unfurl", channel=general, ts=ts)
    unfurled = socket.event("message", subtype="message_changed")
    assert unfurled["previous_message"]["text"] == unfurled["message"]["text"]
    fake.order("delete", channel=general, ts=ts)
    assert socket.event("message", subtype="message_deleted")["deleted_ts"] == ts


@check("reactions, members, names and other rooms' changes")
def _():
    ts = fake.say(general, mio, "nice")
    fake.order("react", channel=general, ts=ts, user=mio, name="tada")
    assert socket.event("reaction_added", reaction="tada")["item"]["ts"] == ts
    fake.order("unreact", channel=general, ts=ts, user=mio, name="tada")
    socket.event("reaction_removed", reaction="tada")
    new = fake.order("add_user", name="Nao")["user"]
    socket.event("team_join")
    fake.order("join", channel=general, user=new)
    socket.event("member_joined_channel", user=new)
    socket.event("message", subtype="channel_join", user=new)
    fake.order("rename_user", user=new, real_name="Nao Mori", display_name="nao")
    assert socket.event("user_change")["user"]["profile"]["display_name"] == "nao"
    fake.order("leave", channel=general, user=new)
    socket.event("member_left_channel", user=new)
    fake.order("rename_channel", channel=rooms["plans"], user=mio, name="ideas")
    assert socket.event("group_rename")["channel"]["name"] == "ideas"
    fake.order("leave", channel=rooms["plans"], user=bot)
    socket.event("group_left", channel=rooms["plans"])


@check("the bot's own posts are told, with its ids")
def _():
    ts = web.chat_postMessage(channel=general, text="own words")["ts"]
    event = socket.event("message", ts=ts)
    assert event["bot_id"] and event["app_id"] and event["user"] == bot


@check("slash commands and buttons")
def _():
    fake.order("command", channel=general, user=mio, command="/aizuchi", text="mute")
    assert socket.next(lambda one: one.type == "slash_commands").payload["text"] == "mute"
    fake.order("interact", payload={"type": "block_actions", "actions": []})
    socket.next(lambda one: one.type == "interactive")


@check("too much has happened: an event without an inner event")
def _():
    fake.order("limit_events")
    limited = socket.next(lambda one: one.payload.get("type") == "app_rate_limited")
    assert "event" not in limited.payload and limited.payload["minute_rate_limited"] % 60 == 0


@check("after refresh_requested it connects anew")
def _():
    fake.order("disconnect", reason="refresh_requested")
    until(lambda: socket.hellos == 2)
    fake.say(general, mio, "after the refresh")
    socket.event("message", text="after the refresh")


@check("after a cut it connects anew, and hears what was said meanwhile")
def _():
    fake.order("cut")
    until(lambda: fake.state()["connections"]["open"] == 0)
    fake.say(general, mio, "meanwhile")
    socket.client.connect_to_new_endpoint(force=True)
    until(lambda: socket.hellos == 3)
    fake.order("redeliver")
    socket.event("message", text="meanwhile")


@check("over HTTP: the address is asked, requests are signed, and come again")
def _():
    hook = Hook()
    fake.order("push", url=hook.url)
    challenge = hook.next()
    assert challenge["type"] == "url_verification"
    hook.statuses = [500, 200]
    # The address is taken when the answer has been read.
    ts = until(lambda: hook.said(fake.say(general, mio, "by post")))
    first, again = until(lambda: (found := hook.of("by post")) and len(found) >= 2 and found[:2])
    verifier = SignatureVerifier("dev-signing-secret")
    for request in (first, again):
        assert verifier.is_valid_request(request["body"], request["headers"])
    assert "x-slack-retry-num" not in first["headers"]
    assert again["headers"]["x-slack-retry-num"] == "1"
    assert again["headers"]["x-slack-retry-reason"] == "http_error"
    assert ts


@check("when the app is thrown out, its token is worth nothing")
def _():
    fake.order("uninstall")
    refused("token_revoked", web.auth_test)
    fake.order("standing", standing="inactive")
    refused("account_inactive", web.auth_test)
    fake.order("standing", standing="good")


socket.client.close()
print("slack_sdk: all as expected")
