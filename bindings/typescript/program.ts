/** The program under test: see docs/test-kits.md. */
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  sizeDelimitedDecodeStream,
  sizeDelimitedEncode,
} from "@bufbuild/protobuf/wire";
import { converse } from "./converse.ts";
import { file_devtool_a2a_v1alpha_command } from "./gen/devtool/a2a/v1alpha/command_pb.js";
import { file_devtool_a2a_v1alpha_confirmation } from "./gen/devtool/a2a/v1alpha/confirmation_pb.js";
import { file_devtool_a2a_v1alpha_event } from "./gen/devtool/a2a/v1alpha/event_pb.js";
import { file_devtool_a2a_v1alpha_settings } from "./gen/devtool/a2a/v1alpha/settings_pb.js";
import { file_devtool_a2a_v1alpha_tool_call } from "./gen/devtool/a2a/v1alpha/tool_call_pb.js";
import {
  type ProgramRequest,
  ProgramRequestSchema,
  type ProgramResponse,
  ProgramResponseSchema,
} from "./gen/devtool/conformance/v1alpha/program_pb.js";

const registry = createRegistry(
  file_devtool_a2a_v1alpha_command,
  file_devtool_a2a_v1alpha_confirmation,
  file_devtool_a2a_v1alpha_event,
  file_devtool_a2a_v1alpha_settings,
  file_devtool_a2a_v1alpha_tool_call,
);

function named(type: string): DescMessage {
  const found = registry.getMessage(type);
  if (!found) throw new Error(`type ${JSON.stringify(type)} is not known`);
  return found;
}

async function answer({
  work,
}: ProgramRequest): Promise<ProgramResponse["outcome"]> {
  switch (work.case) {
    case "readJson": {
      const type = named(work.value.type);
      const message = fromJsonString(type, work.value.json, {
        ignoreUnknownFields: true,
      });
      return { case: "binary", value: toBinary(type, message) };
    }
    case "readBinary": {
      const type = named(work.value.type);
      return {
        case: "json",
        value: toJsonString(type, fromBinary(type, work.value.binary)),
      };
    }
    case "converse":
      return { case: "conversation", value: await converse(work.value, 1) };
    case "resume":
      return { case: "conversation", value: await converse(work.value, 5) };
    default:
      return {
        case: "unsupported",
        value: "a kind of work that this program does not know",
      };
  }
}

for await (const request of sizeDelimitedDecodeStream(
  ProgramRequestSchema,
  process.stdin,
)) {
  const outcome = await answer(request).catch((reason: unknown) => ({
    case: "refused" as const,
    value: String(reason),
  }));
  process.stdout.write(
    sizeDelimitedEncode(
      ProgramResponseSchema,
      create(ProgramResponseSchema, { outcome }),
    ),
  );
}
