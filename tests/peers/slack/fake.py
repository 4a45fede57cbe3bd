"""Steers a fake Slack, and hears what it sends over HTTP."""

import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE_SECONDS = 30


def until(look):
    """Looks until there is something, and returns it."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come in time")


def check(promise):
    """Runs what follows, and says that it holds."""

    def run(test):
        test()
        print(f"ok  {promise}", flush=True)

    return run


class Fake:
    def __init__(self, base):
        self.base = base.rstrip("/")

    def order(self, verb, **fields):
        request = urllib.request.Request(
            f"{self.base}/control/{verb}",
            data=json.dumps(fields).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def say(self, channel, user, text, **more):
        return self.order("say", channel=channel, user=user, text=text, **more)["ts"]

    def state(self):
        with urllib.request.urlopen(f"{self.base}/control/state") as answer:
            return json.load(answer)

    def receipts(self):
        return [delivery["receipt"] for delivery in self.state()["deliveries"]]


class Hook:
    """An address for events, that answers with what it is told to."""

    def __init__(self):
        self.requests = []
        self.statuses = []
        hook = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                hook.requests.append({"headers": headers, "body": body, "json": json.loads(body)})
                is_challenge = "challenge" in json.loads(body)
                status = 200 if is_challenge or not hook.statuses else hook.statuses.pop(0)
                answer = json.loads(body).get("challenge", "").encode()
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/events"

    def next(self):
        return until(lambda: self.requests and self.requests[0]["json"])

    def of(self, text):
        is_it = lambda one: one["json"].get("event", {}).get("text") == text
        events = [one for one in self.requests if is_it(one)]
        first = events[0]["json"]["event_id"] if events else None
        return [one for one in events if one["json"]["event_id"] == first]

    def said(self, ts):
        """Whether a line that was just said comes here."""
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if any(one["json"].get("event", {}).get("ts") == ts for one in self.requests):
                return ts
            time.sleep(0.01)
        return None
