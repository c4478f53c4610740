"""The program under test: see docs/test-kits.md."""

import sys
from io import BytesIO
from typing import cast

sys.path.insert(0, "gen")

from devtool.a2a.v1alpha import command_pb2, confirmation_pb2, event_pb2, settings_pb2, tool_call_pb2
from devtool.conformance.v1alpha import program_pb2
from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.proto import parse_length_prefixed, serialize_length_prefixed

from converse import converse

FILES = [command_pb2, confirmation_pb2, event_pb2, settings_pb2, tool_call_pb2]
TYPES = {
    message.full_name: GetMessageClass(message)
    for file in FILES
    for message in file.DESCRIPTOR.message_types_by_name.values()
}


def answer(request: program_pb2.ProgramRequest) -> program_pb2.ProgramResponse:
    match request.WhichOneof("work"):
        case "read_json":
            message: Message = TYPES[request.read_json.type]()
            json_format.Parse(request.read_json.json, message, ignore_unknown_fields=True)
            return program_pb2.ProgramResponse(binary=message.SerializeToString(deterministic=True))
        case "read_binary":
            message = TYPES[request.read_binary.type].FromString(request.read_binary.binary)
            return program_pb2.ProgramResponse(json=json_format.MessageToJson(message))
        case "converse":
            return program_pb2.ProgramResponse(conversation=converse(request.converse, tries=1))
        case "resume":
            return program_pb2.ProgramResponse(conversation=converse(request.resume, tries=5))
        case _:
            return program_pb2.ProgramResponse(unsupported="a kind of work that this program does not know")


# Any binary stream will do; the stubs ask for BytesIO.
stdin = cast(BytesIO, sys.stdin.buffer)
stdout = cast(BytesIO, sys.stdout.buffer)
while (request := parse_length_prefixed(program_pb2.ProgramRequest, stdin)) is not None:
    try:
        response = answer(request)
    except Exception as reason:  # Whatever it is, it is the answer.
        response = program_pb2.ProgramResponse(refused=repr(reason))
    serialize_length_prefixed(response, stdout)
    stdout.flush()
