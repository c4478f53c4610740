"""Talks to an agent with the official SDK for A2A: talk.py WORDS... sends each as a message, and prints each state with what was said."""

import asyncio
import json
import pathlib
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a


async def main():
    server = json.loads((pathlib.Path.home() / ".devtool/server.json").read_text())
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {server['token']}"}, timeout=60) as http:
        card = await A2ACardResolver(http, server["url"]).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=True)).create(card)
        task = a2a.Task()
        for words in sys.argv[1:]:
            parts = [a2a.Part(text=words)]
            message = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=parts, task_id=task.id)
            said = []
            async for event in client.send_message(a2a.SendMessageRequest(message=message)):
                if event.HasField("task"):
                    task = event.task
                    continue
                state = event.status_update.status.state
                said += [part.text for part in event.status_update.status.message.parts]
            print(a2a.TaskState.Name(state).removeprefix("TASK_STATE_"), "".join(said).replace("\n", " "))


asyncio.run(main())
