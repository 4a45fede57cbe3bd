"""Runs the program that `AIZUCHI` names, in a folder of its own."""

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

AIZUCHI = os.environ["AIZUCHI"]
PATIENCE_SECONDS = 60
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")


def until(look, what="it", patience=PATIENCE_SECONDS):
    """Looks until there is something, and returns it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come in time")


def check(promise):
    """Runs what follows, and says that it holds."""

    def run(test):
        test()
        print(f"ok  {promise}", flush=True)

    return run


def request(method, url, body=None, token=None):
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


class Home:
    """A folder with a config. Settings are JSON, which is YAML."""

    def __init__(self, **settings):
        self.folder = Path(tempfile.mkdtemp(prefix="aizuchi-peer-"))
        plain = {
            "storage": {"url": f"sqlite://{self.folder}/room.db"},
            "http": {"listen": "127.0.0.1:0"},
            "timezone": "UTC",
            "discover": False,
            "response": {"min_wait_seconds": 1000, "announce": False},
        }
        self.config = self.folder / "config.yaml"
        self.config.write_text(json.dumps({**plain, **settings}))
        self.config.chmod(0o600)
        self.child = None

    def environment(self):
        # No key of this machine's may get anywhere.
        return {name: os.environ[name] for name in (*PASSED_ON, "A_SECRET_OF_OURS") if name in os.environ}

    def run(self, *arguments):
        """Runs a command to its end."""
        command = [AIZUCHI, "--config", str(self.config), *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=300)

    def start(self):
        """Runs the program until `stop`; `address` is where its pages are."""
        self.errors = open(self.folder / "log", "w")
        command = [AIZUCHI, "--config", str(self.config)]
        self.child = subprocess.Popen(
            command, cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        first = self.child.stdout.readline()
        assert "http://" in first, f"{first!r}\n{self.log()}"
        self.address = first.split()[-1].rstrip("/")
        return self

    def stop(self):
        self.child.terminate()
        code = self.child.wait(timeout=30)
        self.errors.close()
        assert code == 0, f"it ended with {code}\n{self.log()}"

    def log(self):
        return (self.folder / "log").read_text()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.log(), flush=True)
            self.child.kill()
            return
        self.stop()

    def say(self, text, user="alice", channel="general"):
        """Says something in the local room, and returns the message's id."""
        body = {"channel": channel, "user": user, "text": text}
        status, answer = request("POST", f"{self.address}/api/messages", body)
        assert status == 201, answer
        return answer["id"]

    def posts(self, channel="general"):
        """What the program has said, oldest first."""
        _, answer = request("GET", f"{self.address}/api/messages?channel={channel}")
        return [message["text"] for message in answer["messages"] if message["user"] == "Aizuchi"]

    def wait_for_posts(self, count):
        return until(lambda: len(self.posts()) >= count and self.posts(), "an answer")

    def get(self, path):
        status, answer = request("GET", self.address + path)
        assert status == 200, answer
        return answer

    def post(self, path, body):
        status, answer = request("POST", self.address + path, body)
        assert status in (200, 201, 204), answer
        return answer
