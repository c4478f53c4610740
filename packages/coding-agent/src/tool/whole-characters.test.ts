import { create, type JsonObject } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createPolicyEngine } from "@devtool/policy";
import {
  ApprovalMode,
  OPTION_PROCEED_ONCE,
  TaskSchema,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
} from "@devtool/schema";
import { Code, Confirmations, DevtoolError } from "@devtool/server/agent";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { roundsOf } from "../../../../test/depth.ts";
import { globTool } from "./builtin/glob.ts";
import { listDirectoryTool } from "./builtin/list-directory.ts";
import { LiveOutput } from "./builtin/live-output.ts";
import { multiEditTool } from "./builtin/multi-edit.ts";
import { readFileTool } from "./builtin/read-file.ts";
import { readManyFilesTool } from "./builtin/read-many-files.ts";
import { replaceTool } from "./builtin/replace.ts";
import { saveMemoryTool } from "./builtin/save-memory.ts";
import { searchFileContentTool } from "./builtin/search-file-content.ts";
import { readableText } from "./builtin/web-fetch-text.ts";
import { writeFileTool } from "./builtin/write-file.ts";
import { newToolCall } from "./run-tools.ts";
import { runNewCalls, type SchedulerContext } from "./scheduler.ts";
import type { Tool } from "./tool.ts";
import { textResult } from "./tool-result.ts";
import { Workspace } from "./workspace.ts";

const ROUNDS = roundsOf("DEVTOOL_WHOLE_CHARACTERS", {
  quick: 40,
  ci: 200,
  deep: 10_000,
});
const { signal } = new AbortController();

describe("what tools say", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDirectory();
  });

  it(`B3: has no half of a character, for ${ROUNDS} random files and calls`, {
    timeout: 600_000 + 100 * ROUNDS,
  }, async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(text(), call(), async (content, wanted) => {
        using workspace = new Workspace(root);
        putFile(root, "a😀.txt", content);
        const notices: string[] = [];
        const calls = [newToolCall("a", wanted)];
        const scheduler = context(workspace, notices);
        for await (const batch of runNewCalls(calls, scheduler, signal)) {
          for (const { call, detail } of batch) {
            // A guarded file asks in each mode.
            if (call.confirmationRequest) {
              scheduler.confirmations.answer(allowed(call));
            }
            expect(halves([call, detail])).toEqual([]);
            statuses.add(call.status);
          }
        }
        expect(halves(notices)).toEqual([]);
      }),
      { numRuns: ROUNDS },
    );
    expect(statuses.size).toBeGreaterThanOrEqual(4);
  });

  it("B3: has none in output that is cut, however it comes in pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 30 })),
        fc.integer({ min: 1, max: 40 }),
        (pieces, maxLength) => {
          const output = new LiveOutput(maxLength);
          for (const piece of pieces) {
            output.push(piece);
            expect(halves(output.text)).toEqual([]);
          }
        },
      ),
      { numRuns: ROUNDS },
    );
    const page = "<title>x&#xd83d;</title><p>&#xdc00; <b>&#x1f600;</b>";
    expect(halves(textResult(readableText(page, "https://a.test/")))).toEqual(
      [],
    );
  });
});

function allowed({ toolCallId }: ToolCall): ToolCallConfirmation {
  const selectedOptionId = OPTION_PROCEED_ONCE;
  return create(ToolCallConfirmationSchema, { toolCallId, selectedOptionId });
}

/** Lists the texts in a value that have half of a surrogate pair. */
function halves(value: unknown): string[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  if (ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap((entry) => entry.flatMap(halves));
}

/** A text with pairs at and around the places where tools cut. */
function text(): fc.Arbitrary<string> {
  const line = fc
    .tuple(
      fc.nat({ max: 3 }),
      fc.constantFrom("😀", "é😀", "𝒳a", "\ud83d", "x"),
      fc.constantFrom(1, 20, 150, 300, 1000, 2000),
    )
    .map(([before, unit, times]) => "a".repeat(before) + unit.repeat(times));
  return fc.array(line, { maxLength: 4 }).map((lines) => lines.join("\n"));
}

function call(): fc.Arbitrary<{
  readonly name: string;
  readonly args: JsonObject;
}> {
  const path = fc.constantFrom("a😀.txt", ".", "*", "a\ud83d.txt", "😀\udc00/");
  const piece = fc.oneof(
    text(),
    fc.constantFrom("😀", "\ud83d", ".", "a", "[😀", "{😀"),
  );
  const args: Record<string, fc.Arbitrary<JsonObject>> = {
    read_file: fc.record({ file_path: path, offset: fc.nat(3) }),
    read_many_files: fc.record({ paths: fc.array(path) }),
    list_directory: fc.record({ path }),
    glob: fc.record({ pattern: fc.oneof(path, piece), path }),
    search_file_content: fc.record({ pattern: piece, include: path }),
    write_file: fc.record({ file_path: path, content: piece }),
    replace: fc.record({
      file_path: path,
      old_string: piece,
      new_string: piece,
    }),
    multi_edit: fc.record({
      file_path: path,
      edits: fc.array(fc.record({ old_string: piece, new_string: piece })),
    }),
    save_memory: fc.record({ fact: piece }),
    broken: fc.record({ text: piece }),
    "none\ud83d": fc.record({ "\ud83d": piece }),
  };
  return fc.oneof(
    ...Object.entries(args).map(([name, some]) =>
      some.map((given) => ({ name, args: given })),
    ),
  );
}

/** A tool of somebody else, whose results have halves. */
const BROKEN: Tool = {
  declaration: { name: "broken", description: "", parameters: {} },
  prepare: async (args) => ({
    args,
    description: "x\ud83d",
    execute: async function* () {
      yield { case: "live", value: "x\ud83d" };
      throw new DevtoolError("y\udc00", Code.Unavailable);
    },
  }),
};

function context(workspace: Workspace, notices: string[]): SchedulerContext {
  const tools = [
    globTool,
    listDirectoryTool,
    multiEditTool,
    readFileTool,
    readManyFilesTool,
    replaceTool,
    saveMemoryTool,
    searchFileContentTool,
    writeFileTool,
  ].map((createTool) => createTool(workspace));
  return {
    tools: new Map(
      [...tools, BROKEN].map((tool) => [tool.declaration.name, tool]),
    ),
    policy: createPolicyEngine({
      mode: ApprovalMode.YOLO,
      workspace: workspace.root,
      shellConfinement: "none",
    }),
    confirmations: new Confirmations(),
    nextId: () => "question",
    onNotice: (notice) => notices.push(notice),
    task: create(TaskSchema),
    settle: () => "unknown",
  };
}
