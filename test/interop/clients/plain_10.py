import asyncio
import sys
import uuid

from a2a.client import create_client
from a2a.types import Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import MessageToJson


async def main(url, prompt):
    client = await create_client(url)
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=prompt)])
    async for event in client.send_message(SendMessageRequest(message=message)):
        print(MessageToJson(event))


asyncio.run(main(*sys.argv[1:]))
