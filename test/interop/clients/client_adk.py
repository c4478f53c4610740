"""Drives an agent as Google's ADK does: through RemoteA2aAgent, alone and as the tool of an orchestrating agent, and tells a line of JSON for each scenario."""

import asyncio
import json
import logging
import os
import sys
import warnings

warnings.filterwarnings('ignore')
logging.disable(logging.CRITICAL)

import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

URL = os.environ['INTEROP_URL']
TOKEN = os.environ['INTEROP_TOKEN']
BINDING = os.environ['INTEROP_BINDING']
PROTOCOL = os.environ['INTEROP_PROTOCOL']
FILE = os.environ['INTEROP_FILE']
EXTENSION = os.environ['INTEROP_EXTENSION']
CARD = f'{URL}/.well-known/agent-card.json'
SAID = 'text part one\nread none.txt\nnext\ntext part two'
ANSWER = 'part one\n\npart two'


class Orchestrator(BaseLlm):
    """A model that passes the user's words to its only tool, and repeats what that returns."""

    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=json.dumps(last.function_response.response))
        else:
            part = types.Part(function_call=types.FunctionCall(name='remote', args={'request': last.text}))
        yield LlmResponse(content=types.Content(role='model', parts=[part]))


class Talk:
    """A conversation with an agent of the ADK."""

    def __init__(self, agent):
        self.runner = InMemoryRunner(agent=agent)
        self.session = None

    async def say(self, text):
        """Says something, and gives the events of the answer."""
        service = self.runner.session_service
        self.session = self.session or await service.create_session(app_name=self.runner.app_name, user_id='user')
        message = types.Content(role='user', parts=[types.Part(text=text)])
        events = self.runner.run_async(user_id='user', session_id=self.session.id, new_message=message)
        return [event async for event in events]


def answer_of(events):
    """What a client shows as the answer: the texts that are no thoughts, of whole events."""
    errors = [event.error_message for event in events if event.error_message]
    assert not errors, errors
    parts = [part for event in events if not event.partial and event.content for part in event.content.parts or []]
    return ''.join(part.text for part in parts if part.text and not part.thought)


class Scenarios:
    def __init__(self, http):
        self.http = http
        self.card = None

    def remote(self, card, streaming):
        """An agent for a card, or for the address of one."""
        config = ClientConfig(httpx_client=self.http, streaming=streaming, supported_protocol_bindings=[BINDING])
        return RemoteA2aAgent('remote', card, httpx_client=self.http, a2a_client_factory=ClientFactory(config))

    async def do_card(self):
        assert answer_of(await Talk(self.remote(CARD, False)).say('text found')) == 'found'
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
        for streaming in [False, True]:
            answer = answer_of(await Talk(self.remote(self.card, streaming)).say(SAID))
            assert answer == ANSWER, (streaming, answer)
            tool = AgentTool(self.remote(self.card, streaming))
            orchestrator = LlmAgent(name='orchestrator', model=Orchestrator(model='fake'), tools=[tool])
            answer = answer_of(await Talk(orchestrator).say(SAID))
            assert json.loads(answer) == {'result': ANSWER}, (streaming, answer)

    async def do_continued(self):
        for streaming in [False, True]:
            talk = Talk(self.remote(self.card, streaming))
            assert answer_of(await talk.say('text one')) == 'one'
            asked = await talk.say(f'write {FILE} made\ntext two')
            calls = [call.args for event in asked for call in event.get_function_calls()]
            assert 'proceed_once' in calls[-1]['input_required'], calls
            assert answer_of(await talk.say('yes')) == 'two'


async def main():
    async with httpx.AsyncClient(headers={'Authorization': f'Bearer {TOKEN}'}, timeout=20) as http:
        scenarios = Scenarios(http)
        for name in ['card', *sys.argv[1:]]:
            run = getattr(scenarios, f'do_{name}', None)
            if run is None:
                continue
            try:
                await asyncio.wait_for(run(), 30)
                result = {'scenario': name, 'ok': True}
            except Exception as error:
                result = {'scenario': name, 'ok': False, 'reason': f'{type(error).__name__}: {error}'[:400]}
            print(json.dumps(result), flush=True)


asyncio.run(main())
