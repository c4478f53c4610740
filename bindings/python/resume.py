"""Follows a task over connections that break: nothing is left out, and nothing comes twice."""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

sys.path.insert(0, "gen")

import grpc
from devtool.v1alpha import task_event_pb2, task_pb2, task_service_pb2
from devtool.v1alpha.task_service_pb2_grpc import TaskServiceStub

URL = os.environ.get("DEVTOOL_URL", "http://127.0.0.1:41242")
METADATA = (("authorization", f"Bearer {os.environ.get('DEVTOOL_TOKEN', '')}"),)
ATTEMPTS = 5
# A connection that could not be made is made anew after a tenth of a second; the default is a second.
CHANNEL_OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100)]
AT_WORK = {task_pb2.TASK_STATE_SUBMITTED, task_pb2.TASK_STATE_WORKING}


def send(
    tasks: TaskServiceStub, parts: list[task_pb2.Part], task_id: str = ""
) -> Iterator[task_event_pb2.TaskEvent]:
    """Sends a message and yields the events of its exchange, also over connections that break."""
    # The same message under the same id is a retry: the server starts nothing twice.
    message = task_pb2.Message(message_id=str(uuid.uuid4()), parts=parts)
    request = task_service_pb2.SendMessageRequest(message=message, task_id=task_id)
    last: task_event_pb2.TaskEvent | None = None
    failures = 0
    while True:
        try:
            for event in open_stream(tasks, request, last):
                yield event
                last, failures = event, 0
                if ends_exchange(event):
                    return
        except grpc.RpcError as reason:
            if not is_transient(reason) or failures == ATTEMPTS:
                raise
        failures += 1
        time.sleep(min(0.1 * 2**failures, 5))


def open_stream(
    tasks: TaskServiceStub,
    request: task_service_pb2.SendMessageRequest,
    last: task_event_pb2.TaskEvent | None,
) -> Iterator[task_event_pb2.TaskEvent]:
    """Sends the message while no event of it has come; afterwards subscribes to the events after the last one."""
    if last is None:
        stream = task_service_pb2.StreamMessageRequest(request=request)
        for sent in tasks.StreamMessage(stream, metadata=METADATA):
            yield sent.event
        return
    after = task_service_pb2.SubscribeTaskRequest(task_id=last.task_id, after_sequence=last.sequence)
    for followed in tasks.SubscribeTask(after, metadata=METADATA):
        yield followed.event


def ends_exchange(event: task_event_pb2.TaskEvent) -> bool:
    """Whether an event is the last of its exchange: the task waits for its user, or has ended."""
    return event.HasField("state_change") and event.state not in AT_WORK


def is_transient(reason: grpc.RpcError) -> bool:
    """Whether trying again can help. A wrong token or a bad request stays wrong."""
    transient = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL}
    return isinstance(reason, grpc.Call) and reason.code() in transient


def main() -> None:
    with grpc.insecure_channel(urlsplit(URL).netloc, CHANNEL_OPTIONS) as channel:
        tasks = TaskServiceStub(channel)
        sequences = []
        for event in send(tasks, [task_pb2.Part(text="say 150\nwait 5\nsay 150")]):
            sequences.append(event.sequence)
        assert sequences == list(range(1, len(sequences) + 1)), sequences
        print("none left out, none twice")


if __name__ == "__main__":
    main()
