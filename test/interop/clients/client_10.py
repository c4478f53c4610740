"""Drives an agent with the official Python SDK for A2A 1.0, in 1.0 or over its bridge to 0.3, and tells a line of JSON for each scenario."""

import asyncio
import json
import os
import queue
import sys
import threading
import uuid

from http.server import BaseHTTPRequestHandler, HTTPServer

import grpc
import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.client.interceptors import ClientCallInterceptor
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import a2a_pb2 as a2a
from google.protobuf.json_format import MessageToDict, Parse, ParseDict

URL = os.environ['INTEROP_URL']
TOKEN = os.environ['INTEROP_TOKEN']
BINDING = os.environ['INTEROP_BINDING']
PROTOCOL = os.environ['INTEROP_PROTOCOL']
FILE = os.environ['INTEROP_FILE']
HOOK = os.environ['INTEROP_HOOK']
EXTENSION = os.environ['INTEROP_EXTENSION']
PUSH_URL = 'https://93.184.215.14/hook'
HEADERS = {'Authorization': f'Bearer {TOKEN}'}
STATE = a2a.TaskState.Value


def message(*parts, task=None):
    said = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=list(parts))
    if task:
        said.task_id, said.context_id = task.id, task.context_id
    return said


def text(said, task=None):
    return message(a2a.Part(text=said), task=task)


def data(value, task):
    part = a2a.Part()
    ParseDict(value, part.data.struct_value)
    return message(part, task=task)


def calls_in(update):
    parts = [MessageToDict(part) for part in update.status.message.parts]
    return [part['data'] for part in parts if 'tool_name' in part.get('data', {})]


def texts_in(task):
    agents = [said for said in task.history if said.role == a2a.ROLE_AGENT]
    return ''.join(part.text for said in agents for part in said.parts)


def state_in(event):
    return event.task.status.state if event.HasField('task') else event.status_update.status.state


class Bearer(ClientCallInterceptor):
    """Sends the token with each call, also where it is none of HTTP."""

    async def before(self, args):
        args.context = args.context or ClientCallContext()
        args.context.service_parameters = {**(args.context.service_parameters or {}), **HEADERS}

    async def after(self, args):
        pass


class Hook(BaseHTTPRequestHandler):
    """Keeps the notifications that come in."""

    posts = queue.Queue()

    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length']))
        self.posts.put((self.headers['x-a2a-notification-token'], body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Scenarios:
    def __init__(self, http):
        self.http = http
        self.card = None

    def client(self, streaming=False):
        config = ClientConfig(
            httpx_client=self.http,
            supported_protocol_bindings=[BINDING],
            streaming=streaming,
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        return ClientFactory(config).create(self.card, [Bearer()])

    async def send(self, said, streaming, extension):
        """Sends one message; gives all that comes back."""
        parameters = ServiceParametersFactory.create([with_a2a_extensions([EXTENSION] if extension else [])])
        context = ClientCallContext(service_parameters=parameters)
        request = a2a.SendMessageRequest(message=said)
        return [event async for event in self.client(streaming).send_message(request, context=context)]

    async def say(self, said, streaming=False, extension=False, task=None):
        """Sends one message; gives the ids of its task, the last state and all updates."""
        events = await self.send(said if isinstance(said, a2a.Message) else text(said, task), streaming, extension)
        first = events[0].task if events[0].HasField('task') else task
        updates = [event.status_update for event in events if event.HasField('status_update')]
        return a2a.Task(id=first.id, context_id=first.context_id), state_in(events[-1]), updates

    async def read(self, task):
        return await self.client().get_task(a2a.GetTaskRequest(id=task.id))

    async def do_card(self):
        self.card = await A2ACardResolver(self.http, URL).get_agent_card()
        assert EXTENSION in [extension.uri for extension in self.card.capabilities.extensions]
        fitting = [
            interface
            for interface in self.card.supported_interfaces
            if interface.protocol_binding == BINDING and interface.protocol_version.startswith(PROTOCOL)
        ]
        assert fitting, self.card.supported_interfaces
        del self.card.supported_interfaces[:]
        self.card.supported_interfaces.extend(fitting)

    async def do_message(self):
        task, state, _ = await self.say('text hello there')
        assert state == STATE('TASK_STATE_COMPLETED'), state
        assert texts_in(await self.read(task)) == 'hello there'

    async def do_appendix_a(self):
        with_extension = {'streaming': True, 'extension': True}
        task, state, updates = await self.say(f'think\nwrite {FILE} made\ntext Done.', **with_extension)
        kinds = [MessageToDict(update.metadata).get(EXTENSION, {}).get('kind') for update in updates]
        assert 'THOUGHT' in kinds and 'TOOL_CALL_UPDATE' in kinds, kinds
        assert state == STATE('TASK_STATE_INPUT_REQUIRED'), state
        asked = [call for update in updates for call in calls_in(update) if call.get('confirmation_request')]
        answer = {'tool_call_id': asked[-1]['tool_call_id'], 'selected_option_id': 'proceed_once'}
        _, state, updates = await self.say(data(answer, task), task=task, **with_extension)
        statuses = [call['status'] for update in updates for call in calls_in(update)]
        assert statuses[-1] == 'SUCCEEDED' and state == STATE('TASK_STATE_COMPLETED'), (statuses, state)

    async def do_continued(self):
        first, _, _ = await self.say('text one')
        again, state, _ = await self.say('text two', task=first)
        assert again.context_id == first.context_id and state == STATE('TASK_STATE_COMPLETED'), state
        assert (again.id == first.id) == (PROTOCOL == '0.3'), (again.id, first.id)
        asked, state, _ = await self.say(f'write {FILE}-no nothing')
        assert state == STATE('TASK_STATE_INPUT_REQUIRED'), state
        declined, state, _ = await self.say('no', task=asked)
        assert declined.id == asked.id and state == STATE('TASK_STATE_COMPLETED'), state

    async def start(self, said):
        """Starts a task that stays at work."""
        async for event in self.client(True).send_message(a2a.SendMessageRequest(message=text(said))):
            return event.task

    async def do_cancel(self):
        task = await self.start('wait 60000')
        canceled = await self.client().cancel_task(a2a.CancelTaskRequest(id=task.id))
        assert canceled.status.state == STATE('TASK_STATE_CANCELED'), canceled.status
        assert (await self.read(task)).status.state == STATE('TASK_STATE_CANCELED')

    async def do_resume(self):
        task = await self.start('wait 2000\ntext late')
        subscription = self.client(True).subscribe(a2a.SubscribeToTaskRequest(id=task.id))
        events = [event async for event in subscription]
        assert state_in(events[-1]) == STATE('TASK_STATE_COMPLETED'), events[-1]
        assert texts_in(await self.read(task)) == 'late'

    async def do_errors(self):
        await self.fails(self.client().get_task(a2a.GetTaskRequest(id=str(uuid.uuid4()))), 'TaskNotFoundError')
        done, _, _ = await self.say('text done')
        await self.fails(self.client().cancel_task(a2a.CancelTaskRequest(id=done.id)), 'TaskNotCancelableError')
        await self.fails(self.say(message()), 'InvalidParamsError')

    async def fails(self, waiting, name):
        try:
            await waiting
        except Exception as error:
            assert type(error).__name__ == name, f'{type(error).__name__}: {error}'
        else:
            raise AssertionError(f'no {name}')

    async def do_extended_card(self):
        card = await self.client().get_extended_agent_card(a2a.GetExtendedAgentCardRequest())
        assert '/help' in [skill.name for skill in card.skills], card.skills

    async def do_push(self):
        task, _, _ = await self.say('text done')
        client = self.client()
        config = a2a.TaskPushNotificationConfig(task_id=task.id, id='hook', url=PUSH_URL, token='t')
        assert (await client.create_task_push_notification_config(config)).url == PUSH_URL
        named = a2a.GetTaskPushNotificationConfigRequest(task_id=task.id, id='hook')
        assert (await client.get_task_push_notification_config(named)).token == '[hidden]'
        if PROTOCOL == '0.3' and BINDING == 'HTTP+JSON':
            return  # its bridge has no calls to list and to delete in this binding
        all_of = a2a.ListTaskPushNotificationConfigsRequest(task_id=task.id)
        assert len((await client.list_task_push_notification_configs(all_of)).configs) == 1
        await client.delete_task_push_notification_config(
            a2a.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id='hook')
        )
        assert len((await client.list_task_push_notification_configs(all_of)).configs) == 0

    async def do_notified(self):
        host, port = HOOK.split(':')
        with HTTPServer((host, int(port)), Hook) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                await self.follow_hook()
            finally:
                server.shutdown()

    async def follow_hook(self):
        request = a2a.SendMessageRequest(message=text('text told'))
        request.configuration.task_push_notification_config.url = f'http://{HOOK}/'
        request.configuration.task_push_notification_config.token = 't'
        answers = [answer async for answer in self.client().send_message(request)]
        state = None
        while state != STATE('TASK_STATE_COMPLETED'):
            token, body = await asyncio.to_thread(Hook.posts.get, timeout=10)
            event = Parse(body, a2a.StreamResponse())
            assert token == 't', token
            task_id = event.task.id if event.HasField('task') else event.status_update.task_id
            assert task_id == answers[0].task.id, event
            state = state_in(event)


async def main():
    async with httpx.AsyncClient(headers=HEADERS, timeout=20) as http:
        scenarios = Scenarios(http)
        for name in ['card', *sys.argv[1:]]:
            run = getattr(scenarios, f'do_{name}', None)
            if run is None or (name == 'push' and not scenarios.card.capabilities.push_notifications):
                continue
            if name == 'notified' and PROTOCOL == '0.3':
                continue
            try:
                await asyncio.wait_for(run(), 15)
                result = {'scenario': name, 'ok': True}
            except Exception as error:
                result = {'scenario': name, 'ok': False, 'reason': f'{type(error).__name__}: {error}'[:400]}
            print(json.dumps(result), flush=True)


asyncio.run(main())
