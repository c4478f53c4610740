import {
  createRegistry,
  type DescMessage,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import { type JsonCodec, runJsonSuite } from "@devtool/conformance";
import { jsonGoldens } from "@devtool/conformance/testing";
import {
  AgentSettingsSchema,
  DevelopmentToolEventSchema,
  decodeRfcJson,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  ToolCallConfirmationSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";

const FILES = [
  GetAllSlashCommandsResponseSchema,
  ToolCallConfirmationSchema,
  AgentSettingsSchema,
  ToolCallSchema,
  DevelopmentToolEventSchema,
].map(({ file }) => file);
const registry = createRegistry(...FILES);

function named(type: string): DescMessage {
  const found = registry.getMessage(type);
  if (!found) throw new Error(`${type} is not registered`);
  return found;
}

const ours: JsonCodec = {
  rewrite: (type, json) =>
    encodeRfcJson(named(type), decodeRfcJson(named(type), json)),
  toBinary: (type, json) =>
    toBinary(named(type), decodeRfcJson(named(type), json)),
  fromBinary: (type, binary) =>
    encodeRfcJson(named(type), fromBinary(named(type), binary)),
};

describe("the golden documents", () => {
  it("are read and written by @devtool/schema as they stand (JSON-1, JSON-2)", () => {
    expect(
      runJsonSuite(ours).filter(({ status }) => status !== "passed"),
    ).toEqual([]);
  });

  it("cover every message of the RFC", () => {
    const covered = new Set(jsonGoldens().goldens.map(({ type }) => type));
    const missing = FILES.flatMap(({ messages }) => messages).filter(
      ({ typeName }) => !covered.has(typeName),
    );
    expect(missing.map(({ typeName }) => typeName)).toEqual([]);
  });

  it("turn red for a codec that writes other names, another binary, or takes what is bad", () => {
    const camel: JsonCodec = {
      ...ours,
      rewrite: (type, json) =>
        JSON.parse(
          JSON.stringify(ours.rewrite(type, json)).replaceAll(
            "tool_call_id",
            "toolCallId",
          ),
        ),
    };
    const longer: JsonCodec = {
      ...ours,
      toBinary: (type, json) =>
        new Uint8Array([...ours.toBinary(type, json), 0]),
    };
    const lax: JsonCodec = {
      ...ours,
      rewrite: (type, json) => {
        try {
          return ours.rewrite(type, json);
        } catch {
          return {};
        }
      },
    };
    for (const broken of [camel, longer, lax]) {
      expect(
        runJsonSuite(broken).some(({ status }) => status === "failed"),
      ).toBe(true);
    }
  });
});
