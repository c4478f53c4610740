"""A receiver of push notifications."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Webhook:
    def __init__(self):
        self.posts = []
        self._changed = threading.Condition()
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.end_headers()
                webhook.receive(json.loads(body))

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    def receive(self, post):
        with self._changed:
            self.posts.append(post)
            self._changed.notify_all()

    def wait_for(self, holds, timeout_seconds=30):
        with self._changed:
            if not self._changed.wait_for(lambda: any(map(holds, self.posts)), timeout_seconds):
                raise AssertionError(f"no such post came: {json.dumps(self.posts)}")
