import {
  create,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  ConfirmationRequestSchema,
  ToolCallSchema,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { structFromJson } from "../rfc-json.ts";
import { encodeConfirmationDetails } from "./confirmation-details.ts";

describe("a confirmation request in Gemini CLI's dialect", () => {
  it("shows an ordinary command unchanged", () => {
    const details = {
      case: "executeDetails",
      value: { command: "npm test" },
    } as const;
    expect(encoded("Run npm test", { details })).toMatchObject({
      title: "Run npm test",
      command: "npm test",
    });
    expect(encoded("", { details })).toMatchObject({
      title: "Run a shell command",
      command: "npm test",
    });
  });

  it("differs if the same command runs elsewhere, in the background or without a sandbox", () => {
    const details = {
      case: "executeDetails",
      value: { command: "npm test" },
    } as const;
    for (const special of [
      'Run npm test (in "evil")',
      "Run npm test (in the background)",
      "Run npm test (without a sandbox)",
      "Run npm test, again and with no sandbox: it can do what you can do",
    ]) {
      const question = encoded(special, { details });
      expect(question).toMatchObject({
        title: special,
        command: `# ${special}\nnpm test`,
        rootCommand: "npm",
      });
    }
  });

  it("shows invisible characters of a command, and its length", () => {
    const details = {
      case: "executeDetails",
      value: { command: "rm \u200bx\nls" },
    } as const;
    const command = "# Run rm \\u{200b}x [1 more line]\nrm \u200bx\nls";
    expect(
      encoded("Run rm \\u{200b}x [1 more line]", { details }),
    ).toMatchObject({ command });
  });

  it("keeps a description inside its comment, whatever it contains", () => {
    const details = {
      case: "executeDetails",
      value: { command: "ls" },
    } as const;
    expect(encoded("Lists\nrm x\r\u0085", { details }).command).toBe(
      "# Lists [1 more line]\nls",
    );
  });

  it("shows the arguments of an MCP tool, up to a limit", () => {
    const details = {
      case: "mcpDetails",
      value: { serverName: "shop", toolName: "buy" },
    } as const;
    expect(encoded("", { details }, { count: 3 })).toMatchObject({
      title: 'Call buy with {"count":3} of shop',
      toolName: "buy",
      toolDisplayName: 'buy with {"count":3}',
    });
    expect(
      encoded("", { details }, { note: "x".repeat(9000) }).toolDisplayName
        .length,
    ).toBeLessThan(1100);
  });
});

function encoded(
  description: string,
  asked: MessageInitShape<typeof ConfirmationRequestSchema>,
  args: JsonObject = {},
) {
  const request = create(ConfirmationRequestSchema, asked);
  const call = create(ToolCallSchema, {
    toolName: "tool",
    description,
    inputParameters: structFromJson(args),
  });
  return encodeConfirmationDetails(call, request);
}
