"""Asks an agent to write a file and allows it, with asyncio."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

sys.path.insert(0, "gen")

import grpc
from devtool.a2a.v1alpha import confirmation_pb2, tool_call_pb2
from devtool.v1alpha import task_event_pb2, task_pb2, task_service_pb2
from devtool.v1alpha.task_service_pb2_grpc import TaskServiceStub

if TYPE_CHECKING:
    # The stub has one class at run time, whose type the kind of channel decides.
    from devtool.v1alpha.task_service_pb2_grpc import TaskServiceAsyncStub

URL = os.environ.get("DEVTOOL_URL", "http://127.0.0.1:41242")
METADATA = (("authorization", f"Bearer {os.environ.get('DEVTOOL_TOKEN', '')}"),)


async def main() -> None:
    async with grpc.aio.insecure_channel(urlsplit(URL).netloc) as channel:
        tasks: TaskServiceAsyncStub = TaskServiceStub(channel)
        questions: list[tool_call_pb2.ToolCall] = []
        task_id = ""
        prompt = task_pb2.Part(text="write hello-python.txt Hello from Python\ntext Written.")
        # A timeout ends the stream and not the task: subscribe to it later (resume.py).
        async with asyncio.timeout(60):
            async for event in send(tasks, [prompt]):
                task_id = event.task_id
                if event.tool_call.HasField("confirmation_request"):
                    questions.append(event.tool_call)

        async for event in send(tasks, [allow(call) for call in questions], task_id):
            match event.WhichOneof("payload"):
                case "text":
                    print(event.text.text)
                case "state_change":
                    print(task_pb2.TaskState.Name(event.state))


async def send(
    tasks: TaskServiceAsyncStub, parts: list[task_pb2.Part], task_id: str = ""
) -> AsyncIterator[task_event_pb2.TaskEvent]:
    """Sends a message and yields the events of its exchange."""
    message = task_pb2.Message(message_id=str(uuid.uuid4()), parts=parts)
    request = task_service_pb2.SendMessageRequest(message=message, task_id=task_id)
    async for response in tasks.StreamMessage(
        task_service_pb2.StreamMessageRequest(request=request), metadata=METADATA
    ):
        yield response.event


def allow(call: tool_call_pb2.ToolCall) -> task_pb2.Part:
    """Answers a question: the call may run once."""
    return task_pb2.Part(
        confirmation=confirmation_pb2.ToolCallConfirmation(
            tool_call_id=call.tool_call_id, selected_option_id="proceed_once"
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
