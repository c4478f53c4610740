"""Asks an agent to write a file, looks at what it wants to do, and allows it."""

import os
import sys
import uuid
from urllib.parse import urlsplit

sys.path.insert(0, "gen")

import grpc
from devtool.a2a.v1alpha import confirmation_pb2, tool_call_pb2
from devtool.v1alpha import task_pb2, task_service_pb2
from devtool.v1alpha.task_service_pb2_grpc import TaskServiceStub

URL = os.environ.get("DEVTOOL_URL", "http://127.0.0.1:41242")
METADATA = (("authorization", f"Bearer {os.environ.get('DEVTOOL_TOKEN', '')}"),)


def request(parts: list[task_pb2.Part], task_id: str = "") -> task_service_pb2.StreamMessageRequest:
    message = task_pb2.Message(message_id=str(uuid.uuid4()), parts=parts)
    send = task_service_pb2.SendMessageRequest(message=message, task_id=task_id)
    return task_service_pb2.StreamMessageRequest(request=send)


def main() -> None:
    with grpc.insecure_channel(urlsplit(URL).netloc) as channel:
        tasks = TaskServiceStub(channel)

        task_id = ""
        questions: list[tool_call_pb2.ToolCall] = []
        prompt = task_pb2.Part(text="write hello-python.txt Hello from Python\ntext Written.")
        for response in tasks.StreamMessage(request([prompt]), metadata=METADATA):
            task_id = response.event.task_id
            call = response.event.tool_call
            if call.status == tool_call_pb2.PENDING and call.HasField("confirmation_request"):
                questions.append(call)

        for call in questions:
            edit = call.confirmation_request.file_edit_details
            print(f"{call.tool_name} wants to write {edit.file_name}: {edit.new_content}")

        answers = [
            task_pb2.Part(
                confirmation=confirmation_pb2.ToolCallConfirmation(
                    tool_call_id=call.tool_call_id, selected_option_id="proceed_once"
                )
            )
            for call in questions
        ]
        for response in tasks.StreamMessage(request(answers, task_id), metadata=METADATA):
            match response.event.WhichOneof("payload"):
                case "text":
                    print(response.event.text.text)
                case "state_change":
                    print(task_pb2.TaskState.Name(response.event.state))


try:
    main()
except grpc.RpcError as error:
    sys.exit(f"{URL}: {error.code().name}: {error.details()}")
