import type { JsonObject } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordedCalls } from "../testing/recorded-calls.ts";
import { Approvals } from "./approvals.ts";
import { CallBook } from "./call-book.ts";
import type { ClientAction } from "./client-action.ts";

const write = (
  path: string,
  content: string,
  oldContent?: string,
): ClientAction => ({
  case: "write",
  path,
  content,
  oldContent,
  isHidden: false,
});
const run = (
  command: string,
  directory = "/w",
  script = command,
): ClientAction => ({
  case: "run",
  command,
  directory,
  script,
});
const change = (
  path: string,
  newText: string,
  oldText?: string,
): JsonObject => ({
  content: [
    { type: "diff", path, newText, ...(oldText !== undefined && { oldText }) },
  ],
});

describe("an approved call", () => {
  let log: RecordedCalls;
  let book: CallBook;
  let approvals: Approvals;
  beforeEach(() => {
    log = new RecordedCalls();
    book = new CallBook({
      task: () => log.task,
      terminalOutput: () => undefined,
    });
    approvals = new Approvals(book, "/w");
  });

  /** Approves a call, which is recorded as running. */
  function approve(call: JsonObject, toolCallId = "c1"): string {
    const id = book.announce({ toolCallId, title: "call", ...call }) ?? "";
    approvals.add(approvals.show(id));
    log.record(book.call(id).executing());
    return id;
  }

  it("covers the change that was shown, once", () => {
    approve(change("/w/a", "new"));
    expect([
      approvals.use(write("/w/a", "new")),
      approvals.use(write("/w/a", "new")),
    ]).toEqual([true, false]);
  });

  it("covers no other file and no other content", () => {
    approve(change("/w/a", "new"));
    expect(
      [write("/w/b", "new"), write("/w/a", "other")].map((action) =>
        approvals.use(action),
      ),
    ).toEqual([false, false]);
    expect(approvals.use(write("/w/a", "new"))).toBe(true);
  });

  it("covers the change with the line ends of the file", () => {
    approve(change("/w/a", "one\ntwo\n"));
    expect(approvals.use(write("/w/a", "one\r\ntwo\r\n"))).toBe(true);
  });

  it("covers no change of a file that has other content than was shown as its old one", () => {
    // The diff shows one new line. The other one would be written unseen.
    approve(change("/w/a", "evil\nnew\n", "evil\n"));
    expect(
      [undefined, "", "old\n"].map((old) =>
        approvals.use(write("/w/a", "evil\nnew\n", old)),
      ),
    ).toEqual([false, false, false]);
    expect(approvals.use(write("/w/a", "evil\nnew\n", "evil\r\n"))).toBe(true);
  });

  it("covers no change of a file that was shown as a new one, unless it is empty", () => {
    approve(change("/w/a", "new"));
    expect(
      [write("/w/a", "new", "old"), write("/w/a", "new", "")].map((action) =>
        approvals.use(action),
      ),
    ).toEqual([false, true]);
  });

  it("covers no change of a file whose content cannot be shown", () => {
    approve(change("/w/a", "new"));
    const replace: ClientAction = {
      case: "write",
      path: "/w/a",
      content: "new",
      oldContent: undefined,
      isHidden: true,
    };
    expect(approvals.use(replace)).toBe(false);
  });

  it("covers each of several changes", () => {
    const content = [change("/w/a", "1"), change("/w/b", "2")].flatMap(
      ({ content: list }) => (Array.isArray(list) ? list : []),
    );
    approve({ content });
    expect(
      [write("/w/b", "2"), write("/w/a", "1"), write("/w/a", "1")].map(
        (action) => approvals.use(action),
      ),
    ).toEqual([true, true, false]);
  });

  it("covers what was shown when it was approved, not what the agent says later", () => {
    approve(change("/w/a", "new"));
    book.update({ toolCallId: "c1", ...change("/w/secret", "new") });
    expect([
      approvals.use(write("/w/secret", "new")),
      approvals.use(write("/w/a", "new")),
    ]).toEqual([false, true]);
  });

  it("covers no write that was shown only by its path, or without the content", () => {
    approve({ kind: "edit", locations: [{ path: "/w/a" }] });
    approve(
      { kind: "edit", name: "mcp__notes__add", locations: [{ path: "/w/b" }] },
      "c2",
    );
    approve({ kind: "delete", locations: [{ path: "/w/c" }] }, "c3");
    const written = ["a", "b", "c"].map((name) =>
      approvals.use(write(`/w/${name}`, "any")),
    );
    expect(written).toEqual([false, false, false]);
  });

  it("covers the command that was shown, in its directory", () => {
    approve({ kind: "execute", rawInput: { command: "make" } });
    const actions = [run("make all"), run("make", "/w/src"), run("make")];
    expect(actions.map((action) => approvals.use(action))).toEqual([
      false,
      false,
      true,
    ]);
    approve(
      { kind: "execute", rawInput: { command: "ls", cwd: "/w/src" } },
      "c2",
    );
    expect(
      [run("ls"), run("sh -c ls", "/w/src", "ls")].map((action) =>
        approvals.use(action),
      ),
    ).toEqual([false, true]);
  });

  it("covers no command by a change, no change by a command, and reads nothing", () => {
    approve({ kind: "execute", rawInput: { command: "/w/a" } });
    approve(change("/w/b", "new"), "c2");
    const actions: ClientAction[] = [
      write("/w/a", ""),
      run("/w/b"),
      { case: "read", path: "/w/b" },
    ];
    expect(actions.map((action) => approvals.use(action))).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("covers nothing any more once it has ended", () => {
    const id = approve(change("/w/a", "new"));
    log.record(book.call(id).succeeded());
    expect(approvals.use(write("/w/a", "new"))).toBe(false);
  });
});
