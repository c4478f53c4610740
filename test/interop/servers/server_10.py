"""An agent on the official Python SDK for A2A 1.0, in all its bindings, with its bridge to 0.3."""

import asyncio
import json
import os
import socket
import sys
import uuid
from datetime import datetime, timezone

import grpc
import uvicorn

from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import a2a_pb2 as a2a
from a2a.types import a2a_pb2_grpc
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

EXTENSION = os.environ['INTEROP_EXTENSION']
CLAIMS = os.environ.get('INTEROP_CLAIMS', 'streaming push extension').split()
with open(os.environ['INTEROP_SCRIPT'], encoding='utf-8') as script:
    SCRIPTS = json.load(script)


def now():
    return datetime.now(timezone.utc).isoformat().replace('+00:00', 'Z')


def status_of(step):
    state = 'TASK_STATE_' + step['state'].replace('-', '_').upper()
    parts = [{name: step[name]} for name in ('text', 'data') if name in step]
    said = {'messageId': str(uuid.uuid4()), 'role': 'ROLE_AGENT', 'parts': parts}
    return {'state': state, 'timestamp': now(), **({'message': said} if parts else {})}


class Player(AgentExecutor):
    async def execute(self, context, queue):
        place = {'taskId': context.task_id, 'contextId': context.context_id}
        part = context.message.parts[0]
        steps = SCRIPTS.get(part.text if part.HasField('text') else 'answer') or SCRIPTS['*']
        if 'message' in steps[0]:
            said = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_AGENT, context_id=context.context_id)
            said.parts.add(text=steps[0]['message'])
            await queue.enqueue_event(said)
            return
        if not context.current_task:
            opened = a2a.Task(id=context.task_id, context_id=context.context_id, history=[context.message])
            opened.status.state = a2a.TASK_STATE_SUBMITTED
            await queue.enqueue_event(opened)
        for step in steps:
            if step.get('hold'):
                await asyncio.sleep(3600)
            elif 'waitMs' in step:
                await asyncio.sleep(step['waitMs'] / 1000)
            elif 'artifact' in step:
                made = {'artifactId': str(uuid.uuid4()), 'parts': [{'text': step['artifact']}]}
                event = {**place, 'artifact': made, 'lastChunk': True}
                await queue.enqueue_event(ParseDict(event, a2a.TaskArtifactUpdateEvent()))
            else:
                metadata = {EXTENSION: {'kind': step['kind'], 'model': 'interop'}} if 'kind' in step else {}
                event = {**place, 'status': status_of(step), 'metadata': metadata}
                await queue.enqueue_event(ParseDict(event, a2a.TaskStatusUpdateEvent()))

    async def cancel(self, context, queue):
        event = a2a.TaskStatusUpdateEvent(task_id=context.task_id, context_id=context.context_id)
        event.status.state = a2a.TASK_STATE_CANCELED
        await queue.enqueue_event(event)


async def main():
    listener = socket.create_server(('127.0.0.1', 0))
    url = f'http://127.0.0.1:{listener.getsockname()[1]}'
    rpc_server = grpc.aio.server()
    rpc_address = f'127.0.0.1:{rpc_server.add_insecure_port("127.0.0.1:0")}'
    offers = [
        (f'{url}/', 'JSONRPC', '1.0'),
        (f'{url}/', 'JSONRPC', '0.3'),
        (f'{url}/rest', 'HTTP+JSON', '1.0'),
        (f'{url}/rest', 'HTTP+JSON', '0.3'),
        (rpc_address, 'GRPC', '1.0'),
    ]
    card = a2a.AgentCard(
        name='interop',
        description='Plays what the interop tests ask for.',
        version='1.0.0',
        supported_interfaces=[
            a2a.AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
            for address, binding, version in offers
        ],
        capabilities=a2a.AgentCapabilities(
            streaming='streaming' in CLAIMS,
            push_notifications='push' in CLAIMS,
            extensions=[a2a.AgentExtension(uri=EXTENSION)] if 'extension' in CLAIMS else [],
        ),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
    )
    handler = DefaultRequestHandler(
        agent_executor=Player(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore() if 'push' in CLAIMS else None,
    )
    rpc = create_jsonrpc_routes(handler, '/', enable_v0_3_compat=True)
    rest = create_rest_routes(handler, path_prefix='/rest', enable_v0_3_compat=True)
    app = Starlette(routes=[*create_agent_card_routes(card), *rest, *rpc])
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc_server)
    await rpc_server.start()
    # By default, it closes connections that a slow client of the tests is about to use again.
    server = uvicorn.Server(uvicorn.Config(app, log_level='error', timeout_keep_alive=120))
    print(url, flush=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    server.force_exit = True
    await rpc_server.stop(None)
    await serving


asyncio.run(main())
