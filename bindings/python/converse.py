"""Starts a task, answers its questions as it is told to, and follows it."""

import time
import uuid
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import urlsplit

import grpc
from devtool.a2a.v1alpha import tool_call_pb2
from devtool.conformance.v1alpha import program_pb2
from devtool.v1alpha import task_event_pb2, task_pb2, task_service_pb2
from devtool.v1alpha.task_service_pb2_grpc import TaskServiceStub

T = TypeVar("T")

# A connection that could not be made is made anew after a tenth of a second; the default is a second.
CHANNEL_OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100)]


def converse(asked: program_pb2.Converse, tries: int) -> program_pb2.Conversation:
    """A connection that breaks is resumed, up to the maximum number of attempts."""
    answers = iter(asked.answers)
    with grpc.insecure_channel(urlsplit(asked.url).netloc, CHANNEL_OPTIONS) as channel:
        follower = Follower(channel, asked.token, tries)
        parts = [task_pb2.Part(text=asked.prompt)]
        while parts:
            follower.send(parts)
            parts = [confirmation(call, next(answers)) for call in open_questions(follower.events)]
        return program_pb2.Conversation(events=follower.events, task=follower.task())


class Follower:
    """Sends the messages of one task, and has all its events."""

    def __init__(self, channel: grpc.Channel, token: str, tries: int) -> None:
        self.events: list[task_event_pb2.TaskEvent] = []
        self._tasks = TaskServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._tries = tries

    def send(self, parts: list[task_pb2.Part]) -> None:
        """Sends a message, and adds the events of the exchange that it sets off."""
        # The same message under the same id is a retry, and starts nothing anew.
        message = task_pb2.Message(message_id=str(uuid.uuid4()), parts=parts)
        self._repeated(lambda: self._follow(message))

    def task(self) -> task_pb2.Task:
        """The task as the server gives it now."""
        request = task_service_pb2.GetTaskRequest(task_id=self._task_id())
        return self._repeated(lambda: self._tasks.GetTask(request, metadata=self._metadata)).task

    def _follow(self, message: task_pb2.Message) -> None:
        """Adds the events of an exchange: all of them, or those after the last that has come."""
        has_begun = self.events and not ends_exchange(self.events[-1])
        stream = (
            self._tasks.SubscribeTask(self._rest(), metadata=self._metadata)
            if has_begun
            else self._tasks.StreamMessage(self._sending(message), metadata=self._metadata)
        )
        for response in stream:
            self.events.append(response.event)
            if ends_exchange(response.event):
                stream.cancel()
                return

    def _sending(self, message: task_pb2.Message) -> task_service_pb2.StreamMessageRequest:
        request = task_service_pb2.SendMessageRequest(message=message, task_id=self._task_id())
        return task_service_pb2.StreamMessageRequest(request=request)

    def _rest(self) -> task_service_pb2.SubscribeTaskRequest:
        last = self.events[-1]
        return task_service_pb2.SubscribeTaskRequest(task_id=last.task_id, after_sequence=last.sequence)

    def _task_id(self) -> str:
        return self.events[0].task_id if self.events else ""

    def _repeated(self, run: Callable[[], T]) -> T:
        """Runs again what was broken off: after 2 ms, then eight times as long each time."""
        for attempt in range(self._tries - 1):
            try:
                return run()
            except grpc.RpcError:
                time.sleep(0.002 * 8**attempt)
        return run()


def ends_exchange(event: task_event_pb2.TaskEvent) -> bool:
    goes_on = event.state in (task_pb2.TASK_STATE_SUBMITTED, task_pb2.TASK_STATE_WORKING)
    return event.HasField("state_change") and not goes_on


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
