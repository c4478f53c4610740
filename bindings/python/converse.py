"""Starts a task, answers its questions as it is told to, and follows it."""

import uuid
from collections.abc import Iterable
from urllib.parse import urlsplit

import grpc
from devtool.a2a.v1alpha import tool_call_pb2
from devtool.conformance.v1alpha import program_pb2
from devtool.v1alpha import task_event_pb2, task_pb2, task_service_pb2
from devtool.v1alpha.task_service_pb2_grpc import TaskServiceStub


def converse(asked: program_pb2.Converse) -> program_pb2.Conversation:
    metadata = (("authorization", f"Bearer {asked.token}"),)
    answers = iter(asked.answers)
    seen = program_pb2.Conversation()
    with grpc.insecure_channel(urlsplit(asked.url).netloc) as channel:
        tasks = TaskServiceStub(channel)
        parts = [task_pb2.Part(text=asked.prompt)]
        task_id = ""
        while parts:
            message = task_pb2.Message(message_id=str(uuid.uuid4()), parts=parts)
            send = task_service_pb2.SendMessageRequest(message=message, task_id=task_id)
            stream = tasks.StreamMessage(task_service_pb2.StreamMessageRequest(request=send), metadata=metadata)
            seen.events.extend(response.event for response in stream)
            task_id = seen.events[0].task_id
            parts = [confirmation(call, next(answers)) for call in open_questions(seen.events)]
        got = tasks.GetTask(task_service_pb2.GetTaskRequest(task_id=task_id), metadata=metadata)
        seen.task.CopyFrom(got.task)
    return seen


def open_questions(events: Iterable[task_event_pb2.TaskEvent]) -> list[tool_call_pb2.ToolCall]:
    """The calls whose last form asks."""
    calls = {event.tool_call.tool_call_id: event.tool_call for event in events if event.HasField("tool_call")}
    return [
        call
        for call in calls.values()
        if call.status == tool_call_pb2.PENDING and call.HasField("confirmation_request")
    ]


def confirmation(call: tool_call_pb2.ToolCall, answer: program_pb2.Answer) -> task_pb2.Part:
    part = task_pb2.Part()
    part.confirmation.tool_call_id = call.tool_call_id
    part.confirmation.selected_option_id = answer.option_id
    if answer.HasField("new_content"):
        part.confirmation.file_details.SetInParent()
        part.confirmation.file_details.new_content = answer.new_content
    return part
