import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ConfirmationRequestSchema,
  structFromJson,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { Look, Paint } from "./style.ts";
import { questionLines, resultLines, toolCallLine } from "./tool-call.ts";

/** Shows how a text is painted. */
const marked: Paint = (look: Look, text) => `<${look}>${text}</>`;
const plain: Paint = (_look, text) => text;

describe("a tool call", () => {
  it("is a line with a mark for where it is", () => {
    const lines = [
      ToolCallStatus.PENDING,
      ToolCallStatus.EXECUTING,
      ToolCallStatus.SUCCEEDED,
      ToolCallStatus.FAILED,
      ToolCallStatus.CANCELLED,
    ].map((status) =>
      toolCallLine(
        call({ status, toolName: "read_file", description: "Read a.ts" }),
        plain,
      ),
    );
    expect(lines).toEqual([
      "○ read_file Read a.ts (not started)",
      "▸ read_file Read a.ts",
      "✓ read_file Read a.ts",
      "✗ read_file Read a.ts",
      "- read_file Read a.ts",
    ]);
  });

  it("begins like a question only when it asks", () => {
    const asks = {
      status: ToolCallStatus.PENDING,
      toolName: "read_file",
      confirmationRequest: { options: [] },
    };
    expect(toolCallLine(call(asks), plain)).toBe("? read_file");
  });

  it("cannot forge another line with its name or description", () => {
    const line = toolCallLine(
      call({ toolName: "x\r✓ all", description: "\u001b[1A" }),
      plain,
    );
    expect(line).toBe("○ x\\u{d}✓ all \\u{1b}[1A (not started)");
  });

  it("shows what it gave, indented, and says how much more there is", () => {
    const text = Array.from(
      { length: 25 },
      (_, index) => `line ${index + 1}`,
    ).join("\n");
    const lines = resultLines(
      call({
        result: {
          case: "output",
          value: { result: { case: "text", value: text } },
        },
      }),
      plain,
    );
    expect(lines).toHaveLength(21);
    expect(lines[0]).toBe("  │ line 1");
    expect(lines.slice(13, 16)).toEqual([
      "  │ line 14",
      "  ⋮ [5 more lines]",
      "  │ line 20",
    ]);
    expect(lines[20]).toBe("  │ line 25");
  });

  it("shows an error as one, data as JSON, and nothing for nothing", () => {
    const error = call({
      result: { case: "error", value: { message: "file is gone" } },
    });
    expect(resultLines(error, marked)).toEqual(["  │ <bad>file is gone</>"]);
    const data = call({
      result: {
        case: "output",
        value: {
          result: { case: "structuredData", value: structFromJson({ a: 1 }) },
        },
      },
    });
    expect(resultLines(data, plain)).toEqual(['  │ {"a":1}']);
    expect(resultLines(call({}), plain)).toEqual([]);
  });
});

describe("a question", () => {
  it("shows the command that would run, with what cannot be seen in it", () => {
    const details = {
      case: "executeDetails" as const,
      value: { command: "ls\u200b; rm x" },
    };
    expect(linesOf({ details })).toEqual(["  │ $ ls\\u{200b}; rm x"]);
  });

  it("names the directory, and marks each line of a command, in its place and folded", () => {
    const command = `touch x; : <<'?'\n${"\n".repeat(60)}? run_shell_command Run ls\n    $ ls\n?`;
    const value = { command, workingDirectory: "/w/evil\n$ ls" };
    const lines = linesOf({ details: { case: "executeDetails", value } });
    expect(lines.slice(0, 3)).toEqual([
      "    in /w/evil [1 more line]",
      "  │ $ touch x; : <<'?'",
      "  │   ",
    ]);
    expect(lines[15]).toBe("  ⋮ [44 more lines]");
    expect(lines.slice(-3)).toEqual([
      "  │   ? run_shell_command Run ls",
      "  │       $ ls",
      "  │   ?",
    ]);
  });

  it("breaks a line before the terminal does, and marks what follows", () => {
    const details = {
      case: "executeDetails" as const,
      value: { command: `ls ${"寸".repeat(9)}\t; rm x` },
    };
    const asked = call({ confirmationRequest: { details } });
    expect(
      questionLines(asked, plain, { screen: { columns: 20 }, maxLines: 20 }),
    ).toEqual(["  │ $ ls 寸寸寸寸寸", "  ┊ 寸寸寸寸    ; rm", "  ┊  x"]);
  });

  it("colours a diff by its lines", () => {
    const formattedDiff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n";
    const details = {
      case: "fileEditDetails" as const,
      value: { filePath: "/w/a", newContent: "new", formattedDiff },
    };
    expect(linesOf({ details })).toEqual([
      "    /w/a",
      "  │ <dim>--- a</>",
      "  │ <dim>+++ b</>",
      "  │ <dim>@@ -1 +1 @@</>",
      "  │ <removed>-old</>",
      "  │ <added>+new</>",
      "  │  same",
    ]);
  });

  it("names the server and the arguments of an MCP tool, and shows words as they are", () => {
    const mcp = {
      case: "mcpDetails" as const,
      value: { toolName: "echo", serverName: "everything" },
    };
    expect(linesOf({ details: mcp })).toEqual([
      "    echo of the MCP server everything",
      "  │ <dim>{</>",
      '  │ <dim>  "message": "hi"</>',
      "  │ <dim>}</>",
    ]);
    const words = {
      case: "genericDetails" as const,
      value: { description: "Restore?" },
    };
    expect(linesOf({ details: words })).toEqual(["  │ Restore?"]);
  });
});

function call(init: MessageInitShape<typeof ToolCallSchema>) {
  return create(ToolCallSchema, {
    status: ToolCallStatus.PENDING,
    toolName: "tool",
    ...init,
  });
}

function linesOf(
  confirmationRequest: MessageInitShape<typeof ConfirmationRequestSchema>,
): string[] {
  const asked = call({
    confirmationRequest,
    inputParameters: { message: "hi" },
  });
  return questionLines(asked, marked, { screen: {}, maxLines: 20 });
}
