"""A client written by somebody who has read the RFC and A2A 0.3, and nothing of ours.

It names the extension once, by the AgentSettings in its first message, as the RFC says, and sends no header for it.
Each scenario prints its name: "ok" when all of it came as the RFC says, otherwise what did not.
"""

import argparse
import itertools
import json
import os
import traceback
import uuid

from transport import HttpJson, JsonRpc, Refused
from webhook import Webhook

EXT = "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md"


class Agent:
    """What the RFC's steps need, over one binding."""

    def __init__(self, wire, workspace):
        self.wire = wire
        self.workspace = workspace

    def begin(self, prompt, **params):
        """The first message of a session: AgentSettings in its metadata, keyed by the extension's URI."""
        settings = {"metadata": {EXT: {"workspace_path": self.workspace}}}
        return self.stream("message/stream", {"message": message([text(prompt)], **settings), **params})

    def say(self, task, parts):
        place = {"taskId": task["id"], "contextId": task["contextId"]}
        return self.stream("message/stream", {"message": message(parts, **place)})

    def answer(self, task, call, option, **details):
        confirmation = {"tool_call_id": call["tool_call_id"], "selected_option_id": option, **details}
        return self.say(task, [data(confirmation)])

    def stream(self, method, params, **options):
        """The frames of a stream, read to its end: whoever leaves it open is noticed by the time limit."""
        return list(self.wire.stream(method, params, **options))

    def get(self, task):
        return self.wire.call("tasks/get", {"id": task["id"]})


def message(parts, **more):
    return {"kind": "message", "role": "user", "messageId": str(uuid.uuid4()), "parts": parts, **more}


def text(value):
    return {"kind": "text", "text": value}


def data(value):
    return {"kind": "data", "data": value}


def kinds(frames):
    return [frame["metadata"][EXT]["kind"] for frame in updates(frames)]


def updates(frames):
    return [frame for frame in frames if frame.get("kind") == "status-update"]


def calls(frames):
    """The tool calls that a stream told of, in the order in which they changed."""
    told = [frame for frame in updates(frames) if frame["metadata"][EXT]["kind"] == "TOOL_CALL_UPDATE"]
    return [part["data"] for frame in told for part in frame["status"]["message"]["parts"]]


def asked(status):
    """The open questions, where A2A has what an agent wants from its user: in the message of the status."""
    assert status["state"] == "input-required", status
    found = [part["data"] for part in status["message"]["parts"] if part["kind"] == "data"]
    assert found and all("confirmation_request" in call for call in found), status
    return found


def said(frames):
    told = [frame for frame in updates(frames) if frame["metadata"][EXT]["kind"] == "TEXT_CONTENT"]
    return "".join(part["text"] for frame in told for part in frame["status"]["message"]["parts"])


def ends(frames, state):
    last = frames[-1]
    assert last["kind"] == "status-update" and last["final"] is True, last
    assert last["status"]["state"] == state, last
    assert [frame for frame in updates(frames) if frame["final"]] == [last], "only the last frame is final"


def refused(call, *words):
    try:
        call()
    except Refused as reason:
        missing = [word for word in words if word not in str(reason)]
        assert not missing, f"the error does not name {missing}: {reason}"
        return
    raise AssertionError("it was not refused")


def appendix_a(agent):
    """Appendix A: thoughts, text, a command that asks, an answer without any metadata, and what it did."""
    first = agent.begin("think\ntext I will run it.\nrun eval echo one\nnext\nrun eval echo two\ntext Both ran.")
    task = first[0]
    assert task["kind"] == "task" and task["status"]["state"] == "submitted", task
    assert kinds(first)[0] == "STATE_CHANGE" and "THOUGHT" in kinds(first) and "TEXT_CONTENT" in kinds(first), kinds(first)
    ends(first, "input-required")
    [question] = asked(first[-1]["status"])
    assert question["status"] == "PENDING", question
    assert question["confirmation_request"]["execute_details"]["command"] == "eval echo one", question
    assert all("model" in frame["metadata"][EXT] for frame in updates(first)[1:]), first

    second = agent.answer(task, question, "proceed_once")
    assert kinds(second)[0] == "TOOL_CALL_UPDATE" and calls(second)[0]["status"] == "EXECUTING", second[0]
    done = [call for call in calls(second) if call["status"] == "SUCCEEDED"]
    assert done[0]["output"]["text"] == "one\n", done
    ends(second, "input-required")

    third = agent.answer(task, asked(second[-1]["status"])[0], "proceed_once")
    assert said(third) == "Both ran.", third
    ends(third, "completed")
    assert not any(frame["status"].get("message", {}).get("role") == "user" for frame in updates(first + second + third))


def reconnects(agent):
    """A client that lost its stream at a question finds the question again, by each way that A2A has."""
    task = agent.begin("run eval echo asked")[0]
    shown = agent.get(task)
    [question] = asked(shown["status"])
    assert question["tool_call_id"] not in json.dumps(shown["history"]), "history repeats the question"
    again = agent.stream("tasks/resubscribe", {"id": task["id"]})
    assert again[0]["kind"] == "task" and asked(again[0]["status"]) == [question], again
    ends(again, "input-required")
    assert asked(again[-1]["status"]) == [question], again
    ends(agent.answer(task, question, "cancel"), "completed")
    ended = agent.stream("tasks/resubscribe", {"id": task["id"]})
    ends(ended, "completed")


def blocks(agent):
    """message/send answers with the question, and takes the answer."""
    settings = {"metadata": {EXT: {"workspace_path": agent.workspace}}}
    waits = {"configuration": {"blocking": True}}
    task = agent.wire.call("message/send", {"message": message([text("run eval echo asked")], **settings), **waits})
    [question] = asked(task["status"])
    confirmation = data({"tool_call_id": question["tool_call_id"], "selected_option_id": "proceed_once"})
    place = {"taskId": task["id"], "contextId": task["contextId"]}
    done = agent.wire.call("message/send", {"message": message([confirmation], **place), **waits})
    assert done["status"]["state"] == "completed", done


def edits(agent):
    """A file is shown whole, changed by its user, and written as the user wants it; a mistake writes nothing."""
    path = os.path.join(agent.workspace, f"edited-{uuid.uuid4()}.txt")
    with open(path, "w") as file:
        file.write("before\n")
    task = agent.begin(f"write {os.path.basename(path)} MODEL\\n")[0]
    [question] = asked(agent.get(task)["status"])
    details = question["confirmation_request"]["file_edit_details"]
    assert details["file_path"] == path and details["old_content"] == "before\n", details
    wrapped = {"modified_details": {"file_details": {"new_content": "USER\n"}}}
    for mistake in [wrapped, {"file_details": {"content": "USER\n"}}, {"file_details": {}}, {"new_content": "USER\n"}]:
        refused(lambda mistake=mistake: agent.answer(task, question, "proceed_once", **mistake), *mistake)
        assert content(path) == "before\n", "a refused answer changed the file"
    frames = agent.answer(task, question, "proceed_once", file_details={"new_content": "USER\n"})
    ends(frames, "completed")
    assert content(path) == "USER\n", content(path)
    diff = calls(frames)[-1]["output"]["diff"]
    assert diff["file_path"] == path and diff["formatted_diff"].startswith(("---", "diff", "@@", "Index")), diff


def content(path):
    with open(path) as file:
        return file.read()


def is_notified(agent):
    """A webhook that is set on its own gets every event of the conversation with its payload."""
    task = agent.begin("run eval echo asked")[0]
    webhook = Webhook()
    config = {"taskId": task["id"], "pushNotificationConfig": {"url": webhook.url}}
    agent.wire.call("tasks/pushNotificationConfig/set", config)
    frames = agent.answer(task, asked(agent.get(task)["status"])[0], "proceed_once")
    webhook.wait_for(lambda post: post.get("final") is True)
    assert kinds(webhook.posts) == kinds(frames), (kinds(webhook.posts), kinds(frames))


def runs_commands(agent):
    """Slash commands: listed whole, run, asked about, and told of to their end."""
    listed = agent.wire.call("commands/get", {})["commands"]
    for command in walk(listed):
        assert isinstance(command["name"], str) and command["description"] != "", command
        assert isinstance(command["arguments"], list) and isinstance(command["sub_commands"], list), command
        assert all(isinstance(argument["is_required"], bool) for argument in command["arguments"]), command
    started = agent.wire.call("command/execute", {"command_path": ["shell"], "args": "eval echo from a command"})
    assert started["status"] == "AWAITING_SHELL_CONFIRMATION" and started["message"] != "", started
    task = agent.wire.call("tasks/get", {"id": started["execution_id"]})
    [question] = asked(task["status"])
    frames = agent.answer(task, question, "proceed_once")
    assert "from a command" in json.dumps(calls(frames)[-1]["output"]), frames
    ends(frames, "completed")
    assert all(frame["metadata"][EXT].get("model") for frame in updates(frames)), frames
    streamed = agent.stream("command/execute", {"command_path": ["shell"], "args": "eval echo streamed"})
    assert streamed[0]["status"] == "AWAITING_SHELL_CONFIRMATION", streamed
    ends(streamed, "input-required")
    missing = agent.wire.call("command/execute", {"command_path": ["restore"], "args": "nosuch"})
    assert missing["status"] == "FAILED_TO_START" and "nosuch" in missing["message"], missing


def walk(commands):
    return itertools.chain(*([command, *walk(command["sub_commands"])] for command in commands))


def speaks_of_a_conversation(agent):
    """A command that speaks of a conversation is told which by context_id, in the RFC's spelling."""
    task = agent.begin("text hello")[0]
    started = agent.wire.call("command/execute", {"command_path": ["stats"], "context_id": task["contextId"]})
    told = agent.stream("tasks/resubscribe", {"id": started["execution_id"]}, last_event_id=0)
    assert "no conversation" not in said(told).lower(), said(told)


def is_restricted(agent):
    """The RFC lets AgentSettings hold allowed tools: one that is not among them does not run."""
    settings = {"workspace_path": agent.workspace, "allowed_tools": ["list_directory"]}
    prompt = text("run eval echo no\ncall list_directory {\"path\":\".\"}")
    frames = agent.stream("message/stream", {"message": message([prompt], metadata={EXT: settings})})
    ended = {call["tool_name"]: call["status"] for call in calls(frames)}
    assert ended == {"run_shell_command": "FAILED", "list_directory": "SUCCEEDED"}, ended


def keeps_what_was_sent(agent):
    """History has the client's message with its metadata as it was sent."""
    sent = message([text("text hello")], metadata={EXT: {"workspace_path": agent.workspace}, "https://example.org/m": {"a": [1]}})
    task = agent.stream("message/stream", {"message": sent})[0]
    [first, *_] = agent.get(task)["history"]
    assert first["metadata"] == sent["metadata"] and first["messageId"] == sent["messageId"], first


def waits_its_turn(agent):
    """A message that comes while the agent waits for an answer is kept, and taken after it."""
    task = agent.begin("run eval echo asked")[0]
    [question] = asked(agent.get(task)["status"])
    kept = agent.say(task, [text("text And then this.")])
    ends(kept, "input-required")
    assert asked(kept[-1]["status"]) == [question], kept
    frames = agent.answer(task, question, "proceed_once")
    assert "And then this." in said(frames), frames
    ends(frames, "completed")


def errs(agent):
    """What is wrong is said at once, in the client's own words."""
    def begin(metadata):
        return agent.stream("message/stream", {"message": message([text("text hi")], metadata=metadata)})

    refused(lambda: begin({EXT: "/tmp"}), "workspace_path")
    refused(lambda: begin({EXT: {"AgentSettings": {"workspace_path": agent.workspace}}}), "AgentSettings")
    refused(lambda: begin({"workspace_path": agent.workspace}), "workspace_path")
    refused(lambda: begin({EXT: {"workspace_path": ""}}), "workspace_path")
    refused(lambda: begin({EXT: {"workspace_path": 5}}), "workspace_path", "5")
    refused(lambda: begin({EXT: {"workspace_path": agent.workspace, "bogus": 1}}), "bogus")
    refused(lambda: begin({EXT.replace("/v0/", "/v7/"): {"workspace_path": agent.workspace}}), "7.0.0")
    orphan = data({"tool_call_id": "nobody", "selected_option_id": "proceed_once"})
    refused(lambda: agent.stream("message/stream", {"message": message([orphan])}), "nobody")
    nameless = {"kind": "message", "role": "user", "parts": [text("hi")]}
    refused(lambda: agent.wire.call("message/send", {"message": nameless}), "messageId")
    refused(lambda: agent.wire.call("message/send", {"message": {**message([text("hi")]), "role": "agent"}}), "agent")


def main():
    options = argparse.ArgumentParser()
    for name in ["url", "token", "workspace", "binding"]:
        options.add_argument(f"--{name}", required=True)
    options.add_argument("scenarios", nargs="+", help="the names of the scenarios, which are functions here")
    chosen = options.parse_args()
    wire = {"JSONRPC": JsonRpc, "HTTP+JSON": HttpJson}[chosen.binding](chosen.url, chosen.token)
    agent = Agent(wire, chosen.workspace)
    for name in chosen.scenarios:
        try:
            globals()[name](agent)
            print(f"ok {name}", flush=True)
        except Exception:
            print(f"FAILED {name}\n{traceback.format_exc(limit=-4)}", flush=True)


if __name__ == "__main__":
    main()
