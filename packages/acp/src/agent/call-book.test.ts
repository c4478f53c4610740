import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ConfirmationOptionSchema,
  findToolCall,
  findToolCallDetail,
  ToolCallStage,
  visibleCall,
} from "@devtool/schema";
import { ANSWERED, CANCELLED, type CallUpdate } from "@devtool/server/agent";
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

  /** Asks the user about a call. */
  function ask(id: string): CallUpdate[] {
    const call = book.call(id);
    return call.asking(call.request(OPTIONS));
  }

  /** Takes a piece of call c1 and gives its id in the task. */
  function announce(piece: JsonObject, toolCallId = "c1"): string {
    return (
      book.announce({ toolCallId, ...piece }) ??
      expect.fail("the piece was not taken")
    );
  }

  describe("as an agent describes them in pieces", () => {
    it("keep what a piece leaves out, and replace content and places as a whole", () => {
      const id = announce({
        title: "Read",
        kind: "read",
        rawInput: { path: "a" },
        content: [text("one"), text("two")],
      });
      announce({ locations: [{ path: "/w/a" }, { line: 3 }] });
      announce({
        title: "",
        content: [text("three")],
        locations: [{ path: "/w/b" }],
      });
      expect([
        book.call(id).described.title,
        book.call(id).described.kind,
        book.call(id).described.input,
        book.call(id).described.paths,
      ]).toEqual(["Read", "read", { path: "a" }, ["/w/b"]]);
      log.record(book.call(id).executing());
      expect(findToolCall(log.task, id)?.liveContent).toBe("three");
    });

    it("have no id without one of the agent", () => {
      expect(book.announce({ title: "Read" })).toBeUndefined();
    });

    it("have an id of bounded length", () => {
      expect(announce({}, "x".repeat(201))).toMatch(/^[0-9a-f]{64}$/);
      expect(announce({}, "y".repeat(200))).toBe("y".repeat(200));
    });

    it("that an earlier turn ended are not continued by a late word, and are another call when they are new", () => {
      log.record(book.call(announce({ title: "Read" })).succeeded());
      book = newBook();
      expect(
        book.update({ toolCallId: "c1", status: "completed" }),
      ).toBeUndefined();
      expect(book.announce({ toolCallId: "c1" })).toBe("c1~2");
    });

    it("are told apart from those that the client makes for the agent", () => {
      const id = book.begin({ name: "write_text_file", title: "a" });
      expect(announce({ title: "b" }, id)).toBe(`${id}~2`);
      expect(book.call(id).described.title).toBe("a");
    });

    it("have arguments that are an object, whatever the agent sends", () => {
      const values = [{ a: 1 }, [1], "x", 7].map(
        (rawInput, index) =>
          book.call(announce({ rawInput }, `c${index}`)).described.input,
      );
      expect(values).toEqual([
        { a: 1 },
        { value: [1] },
        { value: "x" },
        { value: 7 },
      ]);
      expect(
        book.call(announce({ rawInput: null }, "none")).described.input,
      ).toEqual({});
    });

    it("are named by the agent, by Claude's field, by their kind, or not at all", () => {
      const names = [
        { name: "grep" },
        { _meta: { claudeCode: { toolName: "Grep" } } },
        { kind: "search" },
        {},
      ];
      expect(
        names.map(
          (piece, index) =>
            book.call(announce(piece, `c${index}`)).described.toolName,
        ),
      ).toEqual(["grep", "Grep", "search", "other"]);
    });
  });

  describe("in the log", () => {
    it("begin, run and end by their statuses", () => {
      const id = announce({ title: "Read" });
      expect(log.record(book.call(id).withStatus("pending"))).toEqual([
        "PENDING",
      ]);
      expect(log.record(book.call(id).withStatus("in_progress"))).toEqual([
        "PENDING",
        "EXECUTING",
      ]);
      expect(log.record(book.call(id).withStatus("completed"))).toEqual([
        "SUCCEEDED",
      ]);
      expect(findToolCallDetail(log.task, id)?.rule).toBe("agent");
    });

    it("have all stages when the agent tells their end alone", () => {
      expect(
        log.record(
          book.call(announce({ title: "Read" })).withStatus("completed"),
        ),
      ).toEqual(["PENDING", "EXECUTING", "SUCCEEDED"]);
      expect(
        log.record(
          book.call(announce({ title: "Read" }, "c2")).withStatus("failed"),
        ),
      ).toEqual(["PENDING", "FAILED"]);
    });

    it.each(["pending", "in_progress", "completed", "failed"])(
      "stay as they ended when the agent says %s later",
      (status) => {
        const id = announce({ title: "Read" });
        log.record(book.call(id).failed("execution_failed", "no"));
        expect(book.call(id).withStatus(status)).toEqual([]);
      },
    );

    it("are not written again while nothing has changed", () => {
      const id = announce({ title: "Read", content: [text("one")] });
      log.record(book.call(id).executing());
      expect(book.call(id).executing()).toEqual([]);
      announce({ content: [text("two")] });
      expect(log.record(book.call(id).executing())).toEqual(["EXECUTING"]);
    });

    it("fail when the agent runs one about which it has asked, without an answer", () => {
      const id = announce({ title: "make", kind: "execute" });
      log.record(ask(id));
      expect(log.record(book.call(id).withStatus("completed"))).toEqual([
        "FAILED",
      ]);
      expect(findToolCall(log.task, id)?.result).toMatchObject({
        case: "error",
        value: {
          message: "the agent ran the call without waiting for the answer",
        },
      });
    });

    it("run once they are approved", () => {
      const id = announce({ title: "make", kind: "execute" });
      log.record(ask(id));
      log.approve(id);
      expect(log.record(book.call(id).executing())).toEqual(["EXECUTING"]);
      expect(ask(id)).toEqual([]);
    });

    it("ask by a call of their own when they run already, and end it with the answer", () => {
      const id = announce({ title: "make", kind: "execute" });
      log.record(book.call(id).executing());
      const call = book.call(id);
      log.record(call.askingApart("question", call.request(OPTIONS)));
      expect(findToolCallDetail(log.task, "question")?.parentToolCallId).toBe(
        id,
      );
      log.approve("question");
      expect(log.record(book.call("question").ended(ANSWERED))).toEqual([
        "EXECUTING",
        "SUCCEEDED",
      ]);
    });

    it("are cancelled while they are open", () => {
      const id = announce({ title: "make", kind: "execute" });
      log.record(ask(id));
      expect(book.open().map((call) => call.id)).toEqual([id]);
      expect(log.record(book.call(id).ended(CANCELLED))).toEqual(["CANCELLED"]);
      expect([book.call(id).ended(CANCELLED), book.open()]).toEqual([[], []]);
    });

    it("go on under the id of an earlier run that asked the same", () => {
      const id = announce({ title: "make", kind: "execute" }, "new");
      book.adopt(id, "old");
      expect(log.record(book.call("old").executing())).toEqual([
        "PENDING",
        "EXECUTING",
      ]);
      expect(announce({}, "new")).toBe("old");
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
      const id = announce({ title: "Run", ...piece });
      log.record(book.call(id).succeeded());
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
      const id = announce({ title: "make", ...piece });
      log.record(book.call(id).failed("execution_failed", "no"));
      expect(findToolCall(log.task, id)?.result).toMatchObject({
        case: "error",
        value: { statusCode },
      });
    });

    it("keep the end of what a terminal of the agent's own prints", () => {
      const id = announce({ title: "make", kind: "execute" });
      const print = (data: string): void =>
        book.appendOutput(id, { _meta: { terminal_output_delta: { data } } });
      print("x".repeat(300_000));
      print("the end");
      log.record(book.call(id).executing());
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
      const id = announce({
        title: "Build",
        kind: "execute",
        rawInput: { command: ["make", "all"], cwd: "/w/src" },
      });
      expect(book.call(id).described.details).toMatchObject({
        case: "executeDetails",
        value: { command: "make all", workingDirectory: "/w/src" },
      });
    });

    it.each<readonly [JsonObject, string]>([
      [
        { kind: "execute", rawInput: { command: ["sh", "-c", "curl a|sh"] } },
        "sh -c 'curl a|sh'",
      ],
      [
        { kind: "execute", rawInput: { command: "sh", args: ["-c", "x; y"] } },
        "sh -c 'x; y'",
      ],
      [{ kind: "execute", rawInput: { cmd: "curl a|sh" } }, "curl a|sh"],
      [{ kind: "read", rawInput: { command: "curl a|sh" } }, "curl a|sh"],
      [{ rawInput: { command: ["rm", "a b"] } }, "rm 'a b'"],
      [{ kind: "execute" }, "Read README.md"],
    ])(
      "S1: show the command that %j has, as a shell takes it",
      (call, command) => {
        const { described } = book.call(
          announce({ title: "Read README.md", ...call }),
        );
        expect([described.kind, described.details]).toMatchObject([
          "execute",
          { case: "executeDetails", value: { command } },
        ]);
      },
    );

    it.each<readonly [JsonObject, string]>([
      [{ kind: "read", rawInput: { path: "/etc/passwd" } }, "/etc/passwd"],
      [{ kind: "think", rawInput: "curl a|sh" }, "curl a|sh"],
      [{ kind: "edit", rawInput: { command: "view", at: "/x" } }, "/x"],
      [{ kind: "execute", rawInput: { code: "import os" } }, "import os"],
      [
        {
          kind: "edit",
          rawInput: { command: "curl a|sh" },
          content: [diff("/w/a", "x")],
        },
        "Runs: curl a|sh",
      ],
    ])("S1: show the arguments of %j beside the title", (call, shown) => {
      const { details } = book.call(
        announce({ title: "Look", ...call }),
      ).described;
      expect(details).toMatchObject({
        case: "genericDetails",
        value: { description: expect.stringContaining(shown) },
      });
    });

    it.each<readonly [JsonObject, readonly string[]]>([
      [{ command: "ls", cmd: "curl a|sh" }, ["ls", "curl a|sh"]],
      [{ script: "curl a|sh", command: "ls" }, ["ls", "curl a|sh"]],
      [{ command: "", cmd: "curl a|sh" }, ["curl a|sh"]],
      [{ command: "ls", args: "; curl a|sh" }, ["ls", "; curl a|sh"]],
      [{ command: "ls", env: { PAGER: "curl a|sh" } }, ["ls", "curl a|sh"]],
      [{ command: "ls", cwd: "/etc", workdir: "/x" }, ["/etc", "/x"]],
      [{ command: "ls", shell: "/tmp/evil" }, ["ls", "/tmp/evil"]],
      [{ command: "view", cmd: "curl a|sh" }, ["curl a|sh", "view"]],
    ])("R1: show all that %j would run", (rawInput, shown) => {
      for (const content of [[], [diff("/w/a", "x")]]) {
        const id = `c${content.length}`;
        const call = { title: "Look", kind: "execute", rawInput, content };
        log.record(ask(announce(call, id)));
        const recorded = findToolCall(log.task, id);
        const text = JSON.stringify(
          recorded && visibleCall(recorded).confirmationRequest?.details.value,
        );
        for (const words of shown) expect(text).toContain(words);
      }
    });

    it("R1: are decided about by each command that they have, and as a whole", () => {
      const claims = (rawInput: JsonObject): unknown[] =>
        book
          .call(
            announce({ kind: "execute", rawInput }, JSON.stringify(rawInput)),
          )
          .described.claims.map(({ case: kind, value }) =>
            kind === "executeDetails" ? value.command : kind,
          );
      expect(claims({ command: "git status", timeout: 5 })).toEqual([
        "git status",
      ]);
      expect(claims({ command: "git status", cmd: "rm -r x" })).toEqual([
        "git status",
        "rm -r x",
        "git status",
        "genericDetails",
      ]);
      expect(claims({ command: "git status", env: { A: "1" } })).toEqual([
        "git status",
        "git status",
        "genericDetails",
      ]);
    });

    it("R1: show the files beside those whose change they show", () => {
      const { details } = book.call(
        announce({
          title: "Edit",
          kind: "edit",
          content: [diff("/w/a", "x")],
          locations: [{ path: "a" }, { path: "/w/b" }],
        }),
      ).described;
      expect(details).toMatchObject({
        case: "genericDetails",
        value: { description: expect.stringMatching(/^Edit\n\/w\/b\n/) },
      });
    });

    it("show one change as a change, and several as words", () => {
      expect(
        book.call(announce({ content: [diff("/w/a", "x")] })).described.details,
      ).toMatchObject({
        case: "fileEditDetails",
        value: { fileName: "a", filePath: "/w/a", newContent: "x" },
      });
      const both = announce(
        { title: "Edit", content: [diff("/w/a", "x"), diff("/w/b", "y")] },
        "c2",
      );
      expect(book.call(both).described.details).toMatchObject({
        case: "genericDetails",
        value: { description: expect.stringMatching(/\/w\/a[\s\S]*\/w\/b/) },
      });
    });

    it("show the tool of an MCP server", () => {
      expect(
        book.call(announce({ name: "mcp__files__read_all" })).described.details,
      ).toMatchObject({
        case: "mcpDetails",
        value: { serverName: "files", toolName: "read_all" },
      });
    });

    it("show the files that are deleted or moved, on a line each", () => {
      const id = announce({
        title: "Delete",
        kind: "delete",
        locations: [{ path: "/w/a\nb" }],
      });
      expect(book.call(id).described.details).toMatchObject({
        value: { description: "Delete\n/w/a\\nb" },
      });
    });

    it("show deceptive characters of a command, escaped, in place of the agent's title", () => {
      const id = announce({
        title: "Harmless",
        kind: "execute",
        rawInput: { command: "rm \u202efdp.x" },
      });
      log.record(book.call(id).announced());
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
      const digestOf = (id: string, options = OPTIONS): string =>
        hex(book.call(id).digest(book.call(id).request(options)));
      const digest = digestOf(announce(call));
      const same = announce(call, "c2");
      expect(digestOf(same)).toBe(digest);
      // S1: the answers are part of what is shown.
      expect(digestOf(same, [])).not.toBe(digest);
      for (const other of [
        { title: "Other" },
        { rawInput: { command: "make all" } },
        { kind: "read" },
      ]) {
        expect(
          digestOf(announce({ ...call, ...other }, JSON.stringify(other))),
        ).not.toBe(digest);
      }
      log.record(ask("c1"));
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
