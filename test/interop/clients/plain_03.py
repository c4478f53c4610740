import asyncio
import sys

from a2a.client import ClientFactory, create_text_message_object
from a2a.types import Message


async def main(url, prompt):
    client = await ClientFactory.connect(url)
    async for event in client.send_message(create_text_message_object(content=prompt)):
        shown = event if isinstance(event, Message) else event[0]
        print(shown.model_dump_json(exclude_none=True))


asyncio.run(main(*sys.argv[1:]))
