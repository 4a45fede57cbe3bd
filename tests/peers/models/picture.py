"""A Slack in which a picture is shared: the project's stand-in, with a host of files in front of it."""

import base64
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from program import AIZUCHI, request, until

PICTURE = b"\x89PNG\r\n\x1a\n"
PICTURE_URL = "data:image/png;base64," + base64.b64encode(PICTURE).decode()


class SlackWithPicture:
    def __enter__(self):
        command = [AIZUCHI, "dev", "slack", "--listen", "127.0.0.1:0"]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.slack = self.child.stdout.readline().split()[-1]
        # It writes more, and stops when nobody reads it.
        threading.Thread(target=self.child.stdout.read, daemon=True).start()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), front_of(self.slack))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self.settings = {"api_base": f"{self.base}/api", "bot_token": "xoxb-dev", "app_token": "xapp-dev"}
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=30)
        self.server.shutdown()

    def state(self):
        return request("GET", f"{self.slack}/control/state")[1]

    def show(self, text):
        """Asks about a picture in a channel, once somebody listens."""
        state = until(lambda: (it := self.state())["connections"]["open"] and it, "a connection")
        people = {user["profile"]["display_name"]: user["id"] for user in state["users"]}
        channels = {channel.get("name"): channel["id"] for channel in state["channels"]}
        url = f"{self.base}/files-pri/T1-F1/plan.png"
        file = {"id": "F1", "name": "plan.png", "mimetype": "image/png", "mode": "hosted", "size": len(PICTURE), "url_private": url}
        text = f"<@{state['team']['bot_user']}> {text}"
        body = {"channel": channels["general"], "user": people["Mio"], "text": text, "files": [file]}
        status, answer = request("POST", f"{self.slack}/control/say", body)
        assert status == 200, answer

    def wait_for_post(self, text):
        until(lambda: any(post["text"] == text for post in self.state()["posts"]), "a post")


def front_of(slack):
    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            is_file = self.path.startswith("/files-pri/")
            is_allowed = self.headers.get("authorization") == "Bearer xoxb-dev"
            if is_file:
                self.send(200 if is_allowed else 403, "image/png", PICTURE if is_allowed else b"")
            else:
                self.forward(None)

        def do_POST(self):
            self.forward(self.rfile.read(int(self.headers.get("content-length", 0))))

        def forward(self, body):
            headers = {name: value for name, value in self.headers.items() if name.lower() in ("authorization", "content-type")}
            forwarded = urllib.request.Request(slack + self.path, body, headers, method=self.command)
            try:
                with urllib.request.urlopen(forwarded) as answer:
                    self.send(answer.status, answer.headers["content-type"], answer.read(), answer.headers.get("x-oauth-scopes"))
            except urllib.error.HTTPError as error:
                self.send(error.code, error.headers["content-type"], error.read())

        def send(self, status, kind, body, scopes=None):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if scopes:
                self.send_header("x-oauth-scopes", scopes)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Front
