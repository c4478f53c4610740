import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

const PROGRAM = `
import base64
from a2a.types import a2a_pb2
print(base64.b64encode(a2a_pb2.DESCRIPTOR.serialized_pb).decode())
`;

/**
 * Returns the descriptor of A2A 1.0 in the official Python SDK; undefined where
 * no Python has the SDK.
 */
export function officialDescriptor(): FileDescriptorProto | undefined {
  for (const python of pythons()) {
    const { status, stdout } = spawnSync(python, ["-c", PROGRAM], {
      encoding: "utf8",
      timeout: 20_000,
    });
    if (status === 0) {
      return fromBinary(FileDescriptorProtoSchema, base64Decode(stdout.trim()));
    }
  }
  return undefined;
}

/**
 * The Pythons that may have the SDK: those of the interop tests, and that on
 * the path.
 */
function pythons(): string[] {
  const interop = fileURLToPath(new URL("..", import.meta.url));
  return [...environments(interop), "python3"];
}

function environments(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) =>
      name.startsWith(".venv"),
    );
    return names.map((name) => `${folder}${name}/bin/python`);
  } catch {
    return [];
  }
}
