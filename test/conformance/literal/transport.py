"""A2A 0.3 by the book: JSON-RPC and HTTP+JSON over raw HTTP, with nothing but Python's standard library."""

import http.client
import json
import re
import time
import uuid
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30


class Refused(Exception):
    """The error that an agent answers with."""

    def __init__(self, status, error):
        super().__init__(f"{status}: {json.dumps(error)}")
        self.status = status
        self.error = error


class JsonRpc:
    """The JSON-RPC binding: everything is a POST to the URL of the card."""

    def __init__(self, url, token):
        self.http = Http(url, token)

    def call(self, method, params):
        status, text = self.http.request("POST", "", self._body(method, params))
        return self._result(status, json.loads(text))

    def stream(self, method, params, last_event_id=None):
        headers = {"accept": "text/event-stream"}
        if last_event_id is not None:
            headers["last-event-id"] = str(last_event_id)
        for data in self.http.events("POST", "", self._body(method, params), headers):
            yield self._result(200, json.loads(data))

    def _body(self, method, params):
        return {"jsonrpc": "2.0", "id": str(uuid.uuid4()), "method": method, "params": params}

    def _result(self, status, answer):
        if "error" in answer:
            raise Refused(status, answer["error"])
        return answer["result"]


class HttpJson:
    """The HTTP+JSON binding: a path for each method (section 3.5.3), and ProtoJSON in the answers."""

    PATHS = {
        "message/send": ("POST", "/v1/message:send"),
        "message/stream": ("POST", "/v1/message:stream"),
        "tasks/get": ("GET", "/v1/tasks/{id}"),
        "tasks/cancel": ("POST", "/v1/tasks/{id}:cancel"),
        "tasks/resubscribe": ("POST", "/v1/tasks/{id}:subscribe"),
        "tasks/pushNotificationConfig/set": ("POST", "/v1/tasks/{taskId}/pushNotificationConfigs"),
        "commands/get": ("GET", "/v1/commands"),
        "command/execute": ("POST", "/v1/commands:execute"),
    }

    def __init__(self, url, token):
        self.http = Http(url.rstrip("/"), token)

    def call(self, method, params):
        verb, path = self._path(method, params)
        status, text = self.http.request(verb, path, self._body(verb, params))
        answer = json.loads(text)
        if status >= 400:
            raise Refused(status, answer)
        return from_proto_json(answer)

    def stream(self, method, params, last_event_id=None):
        verb, path = self._path(method, params)
        headers = {"accept": "text/event-stream"}
        if last_event_id is not None:
            headers["last-event-id"] = str(last_event_id)
        for data in self.http.events(verb, path, self._body(verb, params), headers):
            yield from_proto_json(json.loads(data))

    def _path(self, method, params):
        verb, template = self.PATHS[method]
        return verb, re.sub(r"\{(\w+)\}", lambda name: params[name.group(1)], template)

    def _body(self, verb, params):
        return None if verb == "GET" else params


class Http:
    """One connection for each request, so that the end of a stream is seen as what it is."""

    def __init__(self, url, token):
        self.parts = urlsplit(url)
        self.headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def request(self, verb, path, body):
        response = self._open(verb, path, body, {})
        return response.status, response.read().decode()

    def events(self, verb, path, body, headers):
        response = self._open(verb, path, body, headers)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            answer = json.loads(response.read() or "{}")
            raise Refused(response.status, answer.get("error", answer))
        # A stream that stays open goes on sending comments, so the time limit of the socket is not enough.
        deadline = time.monotonic() + TIMEOUT_SECONDS
        for line in response:
            if time.monotonic() > deadline:
                raise TimeoutError("the stream stays open")
            if line.startswith(b"data:"):
                yield line[len(b"data:") :].strip()

    def _open(self, verb, path, body, headers):
        connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=TIMEOUT_SECONDS)
        text = None if body is None else json.dumps(body)
        target = (self.parts.path.rstrip("/") + path) or "/"
        connection.request(verb, target, text, {**self.headers, **headers})
        return connection.getresponse()


STATES = {"cancelled": "canceled"}


def from_proto_json(value):
    """A task, an update or a message as the JSON-RPC binding writes it."""
    if not isinstance(value, dict):
        return value
    if "task" in value:
        return task_from_proto_json(value["task"])
    if "statusUpdate" in value:
        update = value["statusUpdate"]
        status = status_from_proto_json(update["status"])
        return {"final": False, **update, "kind": "status-update", "status": status}
    return task_from_proto_json(value) if "status" in value and "id" in value else value


def task_from_proto_json(task):
    history = [message_from_proto_json(message) for message in task.get("history", [])]
    return {**task, "kind": "task", "status": status_from_proto_json(task["status"]), "history": history}


def status_from_proto_json(status):
    name = status["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")
    message = status.get("message", status.get("update"))
    said = {} if message is None else {"message": message_from_proto_json(message)}
    return {"state": STATES.get(name, name), **said}


def message_from_proto_json(message):
    role = message["role"].removeprefix("ROLE_").lower()
    parts = [part_from_proto_json(part) for part in message.get("content", message.get("parts", []))]
    return {**message, "kind": "message", "role": role, "parts": parts}


def part_from_proto_json(part):
    if "data" in part:
        return {**part, "kind": "data", "data": part["data"]["data"]}
    return {**part, "kind": "text"} if "text" in part else part
