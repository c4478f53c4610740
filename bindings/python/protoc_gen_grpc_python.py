"""gRPC's generator for Python as a plugin: grpcio-tools ships it inside its protoc only."""

import pathlib
import subprocess
import sys
import tempfile

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet

request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
with_services = [file.name for file in request.proto_file if file.service]
wanted = [name for name in request.file_to_generate if name in with_services]

with tempfile.TemporaryDirectory() as scratch:
    descriptors = pathlib.Path(scratch, "descriptors.binpb")
    descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
    out = pathlib.Path(scratch, "out")
    out.mkdir()
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_in={descriptors}"]
    subprocess.run([*protoc, f"--grpc_python_out={out}", *wanted], check=True)
    for path in sorted(out.rglob("*.py")):
        response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text())

sys.stdout.buffer.write(response.SerializeToString())
