import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  ConfirmationRequestSchema,
  ToolCallSchema,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { visibleCall } from "./visible-call.ts";

const FORGED = "Run ls\u001b[2K\u202e\n? forged";
const VISIBLE = "Run ls\\u{1b}[2K\\u{202e} [1 more line]";

describe("a call for a person", () => {
  it("has no deceiving characters and no further lines in its tool, description and options", () => {
    const options = [{ id: FORGED, name: FORGED, description: FORGED }];
    const call = create(ToolCallSchema, {
      toolName: FORGED,
      description: FORGED,
      confirmationRequest: create(ConfirmationRequestSchema, { options }),
    });
    expect(visibleCall(call)).toMatchObject({
      toolName: VISIBLE,
      description: VISIBLE,
      confirmationRequest: {
        options: [{ id: FORGED, name: VISIBLE, description: VISIBLE }],
      },
    });
  });

  it("keeps the lines of what it asks in words, without deceiving characters", () => {
    const details = {
      case: "genericDetails" as const,
      value: { description: FORGED },
    };
    const call = create(ToolCallSchema, {
      confirmationRequest: create(ConfirmationRequestSchema, { details }),
    });
    expect(visibleCall(call).confirmationRequest?.details).toMatchObject({
      value: { description: "Run ls\\u{1b}[2K\\u{202e}\n? forged" },
    });
  });

  it("names no tool of an MCP server in a deceiving way", () => {
    const details = {
      case: "mcpDetails" as const,
      value: { serverName: FORGED, toolName: FORGED },
    };
    const call = create(ToolCallSchema, {
      confirmationRequest: create(ConfirmationRequestSchema, { details }),
    });
    expect(visibleCall(call).confirmationRequest?.details).toMatchObject({
      value: { serverName: VISIBLE, toolName: VISIBLE },
    });
  });

  it("keeps commands and changes of files exactly, since they are what runs", () => {
    for (const details of [
      { case: "executeDetails" as const, value: { command: FORGED } },
      {
        case: "fileEditDetails" as const,
        value: { fileName: FORGED, newContent: FORGED },
      },
    ]) {
      const call = create(ToolCallSchema, {
        confirmationRequest: create(ConfirmationRequestSchema, { details }),
      });
      expect(visibleCall(call)).toEqual(call);
    }
  });

  it("is the same call when nothing deceives, also a second time", () => {
    const call = create(ToolCallSchema, {
      toolName: "read",
      description: `a  b ${"x".repeat(2000)}`,
    });
    expect(visibleCall(call)).toEqual(call);
    const forged = visibleCall(
      create(ToolCallSchema, { description: FORGED.repeat(500) }),
    );
    expect(visibleCall(forged)).toEqual(forged);
  });
});
