import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ConfirmationOptionSchema,
  findToolCall,
  findToolCallDetail,
  ToolCallStage,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordedCalls } from "../testing/recorded-calls.ts";
import { CallBook } from "./call-book.ts";

const OPTIONS = [create(ConfirmationOptionSchema, { id: "yes", name: "Yes" })];
const text = (value: string): JsonObject => ({
  type: "content",
  content: { type: "text", text: value },
});
const diff = (path: string, newText: string): JsonObject => ({
  type: "diff",
  path,
  newText,
});

describe("the calls of an ACP turn", () => {
  let log: RecordedCalls;
  let book: CallBook;
  beforeEach(() => {
    log = new RecordedCalls();
    book = newBook();
  });

  function newBook(): CallBook {
    const terminals = new Map([["t1", "printed"]]);
    return new CallBook({
      task: () => log.task,
      terminalOutput: (id) => terminals.get(id),
    });
  }

  /** Takes a piece of call c1 and gives its id in the task. */
  function merge(piece: JsonObject, toolCallId = "c1"): string {
    return (
      book.merge({ toolCallId, ...piece }, true) ??
      expect.fail("the piece was not taken")
    );
  }

  describe("as an agent describes them in pieces", () => {
    it("keep what a piece leaves out, and replace content and places as a whole", () => {
      const id = merge({
        title: "Read",
        kind: "read",
        rawInput: { path: "a" },
        content: [text("one"), text("two")],
      });
      merge({ locations: [{ path: "/w/a" }, { line: 3 }] });
      merge({
        title: "",
        content: [text("three")],
        locations: [{ path: "/w/b" }],
      });
      expect([
        book.title(id),
        book.kind(id),
        book.input(id),
        book.paths(id),
      ]).toEqual(["Read", "read", { path: "a" }, ["/w/b"]]);
      log.record(book.executing(id));
      expect(findToolCall(log.task, id)?.liveContent).toBe("three");
    });

    it("have no id without one of the agent", () => {
      expect(book.merge({ title: "Read" }, true)).toBeUndefined();
    });

    it("have an id of bounded length", () => {
      expect(merge({}, "x".repeat(201))).toMatch(/^[0-9a-f]{64}$/);
      expect(merge({}, "y".repeat(200))).toBe("y".repeat(200));
    });

    it("that an earlier turn ended are not continued by a late word, and are another call when they are new", () => {
      log.record(book.succeeded(merge({ title: "Read" })));
      book = newBook();
      expect(
        book.merge({ toolCallId: "c1", status: "completed" }, false),
      ).toBeUndefined();
      expect(book.merge({ toolCallId: "c1" }, true)).toBe("c1~2");
    });

    it("are told apart from those that the client makes for the agent", () => {
      const id = book.begin({ name: "write_text_file", title: "a" });
      expect(merge({ title: "b" }, id)).toBe(`${id}~2`);
      expect(book.title(id)).toBe("a");
    });

    it("have arguments that are an object, whatever the agent sends", () => {
      const values = [{ a: 1 }, [1], "x", 7].map((rawInput, index) =>
        book.input(merge({ rawInput }, `c${index}`)),
      );
      expect(values).toEqual([
        { a: 1 },
        { value: [1] },
        { value: "x" },
        { value: 7 },
      ]);
      expect(book.input(merge({ rawInput: null }, "none"))).toEqual({});
    });

    it("are named by the agent, by Claude's field, by their kind, or not at all", () => {
      const names = [
        { name: "grep" },
        { _meta: { claudeCode: { toolName: "Grep" } } },
        { kind: "search" },
        {},
      ];
      expect(
        names.map((piece, index) => book.toolName(merge(piece, `c${index}`))),
      ).toEqual(["grep", "Grep", "search", "other"]);
    });
  });

  describe("in the log", () => {
    it("begin, run and end by their statuses", () => {
      const id = merge({ title: "Read" });
      expect(log.record(book.withStatus(id, "pending"))).toEqual(["PENDING"]);
      expect(log.record(book.withStatus(id, "in_progress"))).toEqual([
        "PENDING",
        "EXECUTING",
      ]);
      expect(log.record(book.withStatus(id, "completed"))).toEqual([
        "SUCCEEDED",
      ]);
      expect(findToolCallDetail(log.task, id)?.rule).toBe("agent");
    });

    it("have all stages when the agent tells their end alone", () => {
      expect(
        log.record(book.withStatus(merge({ title: "Read" }), "completed")),
      ).toEqual(["PENDING", "EXECUTING", "SUCCEEDED"]);
      expect(
        log.record(book.withStatus(merge({ title: "Read" }, "c2"), "failed")),
      ).toEqual(["PENDING", "FAILED"]);
    });

    it.each(["pending", "in_progress", "completed", "failed"])(
      "stay as they ended when the agent says %s later",
      (status) => {
        const id = merge({ title: "Read" });
        log.record(book.failed(id, "execution_failed", "no"));
        expect(book.withStatus(id, status)).toEqual([]);
      },
    );

    it("are not written again while nothing has changed", () => {
      const id = merge({ title: "Read", content: [text("one")] });
      log.record(book.executing(id));
      expect(book.executing(id)).toEqual([]);
      merge({ content: [text("two")] });
      expect(log.record(book.executing(id))).toEqual(["EXECUTING"]);
    });

    it("fail when the agent runs one about which it has asked, without an answer", () => {
      const id = merge({ title: "make", kind: "execute" });
      log.record(book.asking(id, OPTIONS));
      expect(log.record(book.withStatus(id, "completed"))).toEqual(["FAILED"]);
      expect(findToolCall(log.task, id)?.result).toMatchObject({
        case: "error",
        value: {
          message: "the agent ran the call without waiting for the answer",
        },
      });
    });

    it("run once they are approved", () => {
      const id = merge({ title: "make", kind: "execute" });
      log.record(book.asking(id, OPTIONS));
      log.approve(id);
      expect(log.record(book.executing(id))).toEqual(["EXECUTING"]);
      expect(book.asking(id, OPTIONS)).toEqual([]);
    });

    it("ask by a call of their own when they run already, and end it with the answer", () => {
      const id = merge({ title: "make", kind: "execute" });
      log.record(book.executing(id));
      log.record([book.askingWhileRunning(id, "question", OPTIONS)]);
      expect(findToolCallDetail(log.task, "question")?.parentToolCallId).toBe(
        id,
      );
      expect(book.endQuestion("question")).toEqual([]);
      log.approve("question");
      expect(log.record(book.endQuestion("question"))).toEqual([
        "EXECUTING",
        "SUCCEEDED",
      ]);
    });

    it("are cancelled while they are open", () => {
      const id = merge({ title: "make", kind: "execute" });
      log.record(book.asking(id, OPTIONS));
      expect(book.open()).toEqual([id]);
      expect(log.record(book.cancelled(id))).toEqual(["CANCELLED"]);
      expect([book.cancelled(id), book.open()]).toEqual([[], []]);
    });

    it("go on under the id of an earlier run that asked the same", () => {
      const id = merge({ title: "make", kind: "execute" }, "new");
      book.adopt(id, "old");
      expect(log.record(book.executing("old"))).toEqual([
        "PENDING",
        "EXECUTING",
      ]);
      expect(merge({}, "new")).toBe("old");
    });
  });

  describe("with their results", () => {
    it.each<[string, JsonObject, unknown]>([
      [
        "text",
        { content: [text("a"), text("b")] },
        { case: "text", value: "a\nb" },
      ],
      [
        "the output of a terminal",
        { content: [{ type: "terminal", terminalId: "t1" }] },
        { case: "text", value: "printed" },
      ],
      [
        "one change",
        { content: [diff("/w/a", "x")] },
        { case: "diff", value: { filePath: "/w/a", newContent: "x" } },
      ],
      [
        "changes",
        { content: [diff("/w/a", "x\n"), diff("/w/b", "y\n")] },
        {
          value:
            "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,1 @@\n+x\n--- /dev/null\n+++ /w/b\n@@ -0,0 +1,1 @@\n+y\n",
        },
      ],
      ["an object", { rawOutput: { count: 2 } }, { case: "structuredData" }],
      ["a value", { rawOutput: [1, 2] }, { case: "text", value: "[1,2]" }],
      ["nothing", {}, { case: undefined }],
    ])("give %s", (_what, piece, result) => {
      const id = merge({ title: "Run", ...piece });
      log.record(book.succeeded(id));
      expect(findToolCall(log.task, id)?.result).toMatchObject({
        case: "output",
        value: { result },
      });
    });

    it.each<[JsonObject, number]>([
      [{ rawOutput: { exitCode: 3 } }, 3],
      [{ rawOutput: { exit_code: 4 } }, 4],
      [{ _meta: { terminal_exit: { exit_code: 5 } } }, 5],
    ])("have the exit code of %j", (piece, statusCode) => {
      const id = merge({ title: "make", ...piece });
      log.record(book.failed(id, "execution_failed", "no"));
      expect(findToolCall(log.task, id)?.result).toMatchObject({
        case: "error",
        value: { statusCode },
      });
    });

    it("keep the end of what a terminal of the agent's own prints", () => {
      const id = merge({ title: "make", kind: "execute" });
      const print = (data: string): void =>
        book.appendOutput(id, { _meta: { terminal_output_delta: { data } } });
      print("x".repeat(300_000));
      print("the end");
      log.record(book.executing(id));
      const { liveContent = "" } = findToolCall(log.task, id) ?? {};
      expect(liveContent).toHaveLength(256 * 1024);
      expect([
        liveContent.startsWith("[the beginning was cut off]\n"),
        liveContent.endsWith("xthe end"),
      ]).toEqual([true, true]);
    });
  });

  describe("as the user is asked about them", () => {
    it("show a command, with its directory", () => {
      const id = merge({
        title: "Build",
        kind: "execute",
        rawInput: { command: ["make", "all"], cwd: "/w/src" },
      });
      expect(book.detailsOf(id)).toMatchObject({
        case: "executeDetails",
        value: { command: "make all", workingDirectory: "/w/src" },
      });
    });

    it("show one change as a change, and several as words", () => {
      expect(
        book.detailsOf(merge({ content: [diff("/w/a", "x")] })),
      ).toMatchObject({
        case: "fileEditDetails",
        value: { fileName: "a", filePath: "/w/a", newContent: "x" },
      });
      const both = book.detailsOf(
        merge(
          { title: "Edit", content: [diff("/w/a", "x"), diff("/w/b", "y")] },
          "c2",
        ),
      );
      expect(both).toMatchObject({
        case: "genericDetails",
        value: { description: expect.stringMatching(/\/w\/a[\s\S]*\/w\/b/) },
      });
    });

    it("show the tool of an MCP server", () => {
      expect(
        book.detailsOf(merge({ name: "mcp__files__read_all" })),
      ).toMatchObject({
        case: "mcpDetails",
        value: { serverName: "files", toolName: "read_all" },
      });
    });

    it("show the files that are deleted or moved, on a line each", () => {
      const id = merge({
        title: "Delete",
        kind: "delete",
        locations: [{ path: "/w/a\nb" }],
      });
      expect(book.detailsOf(id)).toMatchObject({
        value: { description: "Delete\n/w/a\\nb" },
      });
    });

    it("show deceptive characters of a command, escaped, in place of the agent's title", () => {
      const id = merge({
        title: "Harmless",
        kind: "execute",
        rawInput: { command: "rm \u202efdp.x" },
      });
      log.record(book.pending(id));
      expect(findToolCall(log.task, id)?.description).toMatch(
        /^Run rm [^\u202e]*$/,
      );
    });

    it("have a digest of just what is shown", () => {
      const call = {
        title: "Build",
        kind: "execute",
        rawInput: { command: "make" },
      };
      const digest = hex(book.digestOf(merge(call)));
      expect(hex(book.digestOf(merge(call, "c2")))).toBe(digest);
      for (const other of [
        { title: "Other" },
        { rawInput: { command: "make all" } },
        { kind: "read" },
      ]) {
        expect(
          hex(
            book.digestOf(merge({ ...call, ...other }, JSON.stringify(other))),
          ),
        ).not.toBe(digest);
      }
      log.record(book.asking("c1", OPTIONS));
      const detail = findToolCallDetail(log.task, "c1");
      expect([hex(detail?.digest), detail?.stage]).toEqual([
        digest,
        ToolCallStage.AWAITING_APPROVAL,
      ]);
    });
  });
});

function hex(bytes: Uint8Array = new Uint8Array()): string {
  return Buffer.from(bytes).toString("hex");
}
