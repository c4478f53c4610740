"""An agent on the official Python SDK for A2A 0.3, in its bindings."""

import asyncio
import json
import os
import socket
import sys
import uuid

import uvicorn

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    Artifact,
    DataPart,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
    TextPart,
)

EXTENSION = os.environ['INTEROP_EXTENSION']
CLAIMS = os.environ.get('INTEROP_CLAIMS', 'streaming push extension').split()
with open(os.environ['INTEROP_SCRIPT'], encoding='utf-8') as script:
    SCRIPTS = json.load(script)


def message_of(step):
    parts = [TextPart(text=step['text'])] if 'text' in step else []
    parts += [DataPart(data=step['data'])] if 'data' in step else []
    said = [Part(root=part) for part in parts]
    return Message(message_id=str(uuid.uuid4()), role=Role.agent, parts=said) if said else None


class Player(AgentExecutor):
    async def execute(self, context, queue):
        place = {'task_id': context.task_id, 'context_id': context.context_id}
        part = context.message.parts[0].root
        steps = SCRIPTS.get(part.text if isinstance(part, TextPart) else 'answer') or SCRIPTS['*']
        if 'message' in steps[0]:
            said = message_of({'text': steps[0]['message']})
            said.context_id = context.context_id
            await queue.enqueue_event(said)
            return
        if not context.current_task:
            status = TaskStatus(state=TaskState.submitted)
            await queue.enqueue_event(
                Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            )
        for step in steps:
            if step.get('hold'):
                await asyncio.sleep(3600)
            elif 'waitMs' in step:
                await asyncio.sleep(step['waitMs'] / 1000)
            elif 'artifact' in step:
                made = Artifact(artifact_id=str(uuid.uuid4()), parts=[Part(root=TextPart(text=step['artifact']))])
                await queue.enqueue_event(TaskArtifactUpdateEvent(artifact=made, last_chunk=True, **place))
            else:
                metadata = {EXTENSION: {'kind': step['kind'], 'model': 'interop'}} if 'kind' in step else None
                status = TaskStatus(state=TaskState(step['state']), message=message_of(step))
                final = step['state'] != 'working'
                await queue.enqueue_event(
                    TaskStatusUpdateEvent(status=status, final=final, metadata=metadata, **place)
                )

    async def cancel(self, context, queue):
        status = TaskStatus(state=TaskState.canceled)
        await queue.enqueue_event(
            TaskStatusUpdateEvent(
                task_id=context.task_id, context_id=context.context_id, status=status, final=True
            )
        )


async def main():
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}'
    card = AgentCard(
        name='interop',
        description='Plays what the interop tests ask for.',
        version='1.0.0',
        url=f'{url}/',
        additional_interfaces=[AgentInterface(url=f'{url}/rest', transport='HTTP+JSON')],
        capabilities=AgentCapabilities(
            streaming='streaming' in CLAIMS,
            push_notifications='push' in CLAIMS,
            extensions=[AgentExtension(uri=EXTENSION)] if 'extension' in CLAIMS else None,
        ),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[],
    )
    handler = DefaultRequestHandler(
        agent_executor=Player(),
        task_store=InMemoryTaskStore(),
        push_config_store=InMemoryPushNotificationConfigStore() if 'push' in CLAIMS else None,
    )
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    app.mount('/rest', A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build())
    # By default, it closes connections that a slow client of the tests is about to use again.
    server = uvicorn.Server(uvicorn.Config(app, log_level='error', timeout_keep_alive=120))
    print(url, flush=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    server.force_exit = True
    await serving


asyncio.run(main())
