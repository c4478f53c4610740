"""Drives an agent with the official Python SDK for A2A 0.3, and tells a line of JSON for each scenario."""

import asyncio
import json
import os
import sys
import uuid

import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    DataPart,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)

URL = os.environ['INTEROP_URL']
TOKEN = os.environ['INTEROP_TOKEN']
BINDING = os.environ['INTEROP_BINDING']
FILE = os.environ['INTEROP_FILE']
EXTENSION = os.environ['INTEROP_EXTENSION']
PUSH_URL = 'https://93.184.215.14/hook'
HEADERS = {'Authorization': f'Bearer {TOKEN}'}


def message(*parts, task=None):
    place = {'task_id': task.id, 'context_id': task.context_id} if task else {}
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=part) for part in parts], **place)


def text(said, task=None):
    return message(TextPart(text=said), task=task)


def calls_in(update):
    if update is None or not getattr(update, 'status', None) or not update.status.message:
        return []
    parts = [part.root for part in update.status.message.parts]
    return [part.data for part in parts if isinstance(part, DataPart) and 'tool_name' in part.data]


def texts_in(task):
    return ''.join(
        part.root.text
        for said in task.history or []
        if said.role == Role.agent
        for part in said.parts
        if isinstance(part.root, TextPart)
    )


class Scenarios:
    def __init__(self, http):
        self.http = http
        self.card = None

    def client(self, streaming=True, extensions=()):
        config = ClientConfig(
            httpx_client=self.http,
            supported_transports=[BINDING],
            streaming=streaming,
            use_client_preference=True,
            extensions=list(extensions),
        )
        return ClientFactory(config).create(self.card)

    async def say(self, said, streaming=False, extensions=(), task=None):
        """Sends one message; gives the task as it is at the end, and all updates."""
        updates = []
        seen = None
        asked = said if isinstance(said, Message) else text(said, task)
        async for event in self.client(streaming, extensions).send_message(asked):
            assert isinstance(event, tuple), event
            seen, update = event
            updates.append(update)
        return seen, updates

    async def read(self, task):
        return await self.client().get_task(TaskQueryParams(id=task.id))

    async def do_card(self):
        self.card = await A2ACardResolver(self.http, URL).get_agent_card()
        uris = [extension.uri for extension in self.card.capabilities.extensions or []]
        assert EXTENSION in uris, uris
        assert self.card.capabilities.streaming

    async def do_message(self):
        task, _ = await self.say('text hello there')
        assert task.status.state == TaskState.completed, task.status
        assert texts_in(await self.read(task)) == 'hello there'

    async def do_appendix_a(self):
        with_extension = {'streaming': True, 'extensions': [EXTENSION]}
        task, updates = await self.say(f'think\nwrite {FILE} made\ntext Done.', **with_extension)
        kinds = [(update.metadata or {}).get(EXTENSION, {}).get('kind') for update in updates if update]
        assert 'THOUGHT' in kinds and 'TOOL_CALL_UPDATE' in kinds, kinds
        asked = [call for update in updates for call in calls_in(update) if call.get('confirmation_request')]
        assert task.status.state == TaskState.input_required and updates[-1].final, task.status
        answer = {'tool_call_id': asked[-1]['tool_call_id'], 'selected_option_id': 'proceed_once'}
        done, updates = await self.say(message(DataPart(data=answer), task=task), **with_extension)
        assert done.status.state == TaskState.completed, done.status
        statuses = [call['status'] for update in updates for call in calls_in(update)]
        assert statuses[-1] == 'SUCCEEDED', statuses

    async def do_continued(self):
        first, _ = await self.say('text one')
        again, _ = await self.say('text two', task=first)
        assert again.id == first.id and again.status.state == TaskState.completed, again.status
        asked, _ = await self.say(f'write {FILE}-no nothing')
        assert asked.status.state == TaskState.input_required, asked.status
        declined, _ = await self.say('no', task=asked)
        assert declined.id == asked.id and declined.status.state == TaskState.completed, declined.status

    async def start(self, said):
        """Starts a task that stays at work."""
        async for event in self.client(streaming=True).send_message(text(said)):
            return event[0]

    async def do_cancel(self):
        task = await self.start('wait 60000')
        canceled = await self.client().cancel_task(TaskIdParams(id=task.id))
        assert canceled.status.state == TaskState.canceled, canceled.status
        assert (await self.read(task)).status.state == TaskState.canceled

    async def do_resume(self):
        task = await self.start('wait 2000\ntext late')
        last = None
        async for event in self.client().resubscribe(TaskIdParams(id=task.id)):
            last = event[0]
        assert last.status.state == TaskState.completed, last.status
        assert texts_in(await self.read(task)) == 'late'

    async def do_errors(self):
        missing = TaskQueryParams(id=str(uuid.uuid4()))
        await self.fails(self.client().get_task(missing), -32001, 404)
        done, _ = await self.say('text done')
        await self.fails(self.client().cancel_task(TaskIdParams(id=done.id)), -32002, 409)
        await self.fails(self.say(message()), -32602, 400)

    async def fails(self, waiting, code, status):
        try:
            await waiting
        except A2AClientJSONRPCError as error:
            assert error.error.code == code, error.error
        except A2AClientHTTPError as error:
            assert BINDING == 'HTTP+JSON' and error.status_code == status, error
        else:
            raise AssertionError(f'no error {code}')

    async def do_extended_card(self):
        card = await self.client().get_card()
        assert '/help' in [skill.name for skill in card.skills], card.skills

    async def do_push(self):
        """This SDK's client has no calls to list and to delete."""
        task, _ = await self.say('text done')
        config = PushNotificationConfig(id='hook', url=PUSH_URL, token='t')
        asked = TaskPushNotificationConfig(task_id=task.id, push_notification_config=config)
        given = await self.client().set_task_callback(asked)
        assert given.push_notification_config.url == PUSH_URL, given
        named = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id='hook')
        read = await self.client().get_task_callback(named)
        assert read.push_notification_config.token == '[hidden]', read


async def main():
    async with httpx.AsyncClient(headers=HEADERS, timeout=20) as http:
        scenarios = Scenarios(http)
        for name in ['card', *sys.argv[1:]]:
            run = getattr(scenarios, f'do_{name}', None)
            if run is None or (name == 'push' and not scenarios.card.capabilities.push_notifications):
                continue
            try:
                await asyncio.wait_for(run(), 15)
                result = {'scenario': name, 'ok': True}
            except Exception as error:
                result = {'scenario': name, 'ok': False, 'reason': f'{type(error).__name__}: {error}'[:400]}
            print(json.dumps(result), flush=True)


asyncio.run(main())
