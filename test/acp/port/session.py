"""Plays one scenario with the official SDK: session.py SCENARIO DIRECTORY COMMAND..., and prints what it saw as JSON."""

import asyncio
import json
import sys

import acp
from acp import spawn_agent_process, text_block

scenario, directory, *command = sys.argv[1:]


class Editor(acp.Client):
    """Declines each call, and keeps what it is shown."""

    def __init__(self):
        self.text = []
        self.statuses = []
        self.heard = asyncio.Event()

    async def request_permission(self, options, session_id, tool_call, **rest):
        option = next(option for option in options if option.kind == "reject_once")
        return acp.RequestPermissionResponse(outcome={"outcome": "selected", "optionId": option.option_id})

    async def session_update(self, session_id, update, **rest):
        if update.session_update == "agent_message_chunk":
            self.text.append(update.content.text)
            self.heard.set()
        if update.session_update in ("tool_call", "tool_call_update"):
            self.statuses.append(update.status)


async def connect(play):
    """Starts the agent and plays with it; the agent ends with it."""
    editor = Editor()
    async with spawn_agent_process(editor, *command) as (agent, _process):
        await agent.initialize(protocol_version=1)
        return await play(editor, agent)


async def prompt(editor, agent, session_id, text):
    editor.heard.clear()
    answer = await agent.prompt(session_id=session_id, prompt=[text_block(text)])
    await editor.heard.wait()
    return {"stop": answer.stop_reason, "text": "".join(editor.text), "statuses": editor.statuses}


async def open_and_say(text, editor, agent):
    session = await agent.new_session(cwd=directory, mcp_servers=[])
    return session.session_id, await prompt(editor, agent, session.session_id, text)


async def deny():
    _id, seen = await connect(lambda *to: open_and_say("write denied.txt no\ntext Not written.", *to))
    return seen


async def cancel():
    async def play(editor, agent):
        session = await agent.new_session(cwd=directory, mcp_servers=[])
        prompting = asyncio.create_task(prompt(editor, agent, session.session_id, "text Working.\nwait 600000"))
        while not editor.text:
            await asyncio.sleep(0.01)
        await agent.cancel(session_id=session.session_id)
        return await prompting

    return await connect(play)


async def load():
    session_id, _seen = await connect(lambda *to: open_and_say("text One.", *to))

    async def play(editor, agent):
        await agent.load_session(cwd=directory, session_id=session_id, mcp_servers=[])
        await editor.heard.wait()
        replayed = "".join(editor.text)
        editor.text.clear()
        return {"replayed": replayed, **await prompt(editor, agent, session_id, "text Two.")}

    return await connect(play)


async def resume():
    session_id, _seen = await connect(lambda *to: open_and_say("text One.", *to))

    async def play(editor, agent):
        await agent.resume_session(cwd=directory, session_id=session_id, mcp_servers=[])
        return await prompt(editor, agent, session_id, "text Two.")

    return await connect(play)


print(json.dumps(asyncio.run({"deny": deny, "cancel": cancel, "load": load, "resume": resume}[scenario]())))
