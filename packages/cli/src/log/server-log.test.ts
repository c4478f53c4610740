import { PassThrough, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { WireError } from "@devtool/schema";
import { Code, DevtoolError, type Operation } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { paintFor } from "../render/style.ts";
import { jsonText, type LineText, prettyText } from "./line-text.ts";
import type { Level } from "./log-lines.ts";
import { ServerLog } from "./server-log.ts";

const NO_OPERATION: Operation = {
  id: "1",
  parentId: "",
  kind: "request",
  name: "",
  binding: "",
  peer: "",
  principal: "",
  taskId: "",
  subjectId: "",
  contextId: "",
  agent: "",
};
const SUCCEEDED: OperationEnd = { outcome: "succeeded" };
/** Names of clients, agents and tools that would change a terminal or a log. */
const HOSTILE = `a\u001b]0;t\u0007\u009b2J\n{"level":"error"}\r\u202eb\ud800`;

/** A stream in memory, whose reader may stand still. */
class TestStream extends Writable {
  text = "";
  isStalled = false;
  #next: () => void = () => undefined;

  override _write(chunk: unknown, _encoding: string, next: () => void): void {
    this.text += String(chunk);
    this.#next = next;
    if (!this.isStalled) next();
  }

  /** Reads on, until nothing waits. */
  async resume(): Promise<void> {
    this.isStalled = false;
    this.#next();
    while (this.writableLength > 0) await setImmediate();
  }
}

/** A log in memory, with a clock that is set by hand. */
class TestLog {
  readonly stream = new TestStream();
  readonly log: ServerLog;
  nowMs = 0;
  #later: (() => void)[] = [];

  constructor(level: Level = "debug", text: LineText = jsonText) {
    this.log = new ServerLog({
      ...{ stream: this.stream, level, text },
      timers: {
        now: () => this.nowMs,
        after: (_ms, run) => this.#later.push(run),
      },
      elapsedMs: () => this.nowMs,
    });
  }

  /** Plays an operation that takes 12.34 milliseconds. */
  play(operation: Partial<Operation>, end: OperationEnd = SUCCEEDED): void {
    const ended = this.log.observer({ ...NO_OPERATION, ...operation });
    this.nowMs += 12.34;
    ended?.(end);
  }

  /** Lets the window of repeated lines end. */
  endWindow(): void {
    for (const run of this.#later.splice(0)) run();
  }

  /** Returns what was written since the last call. */
  written(): string {
    const { text } = this.stream;
    this.stream.text = "";
    return text;
  }

  /** Returns the lines since the last call, without their time. */
  lines(): unknown[] {
    return this.written()
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const { time, ...rest } = JSON.parse(line);
        expect(time).toMatch(/^1970-01-01T/);
        return rest;
      });
  }
}

const failed = (error: unknown): OperationEnd => ({ outcome: "failed", error });
const coded = (code: Code, text = "x"): OperationEnd =>
  failed(new DevtoolError(text, code));

describe("the log of a server", () => {
  const OURS = { principal: "local", taskId: "t" };
  it.each([
    [
      "a request",
      { name: "SendMessage", binding: "grpc", ...OURS, subjectId: "m" },
      SUCCEEDED,
      [
        "info request",
        { method: "SendMessage", binding: "grpc", ...OURS, messageId: "m" },
      ],
    ],
    [
      "a request that reads",
      { name: "ListTasks", binding: "connect" },
      SUCCEEDED,
      ["debug request", { method: "ListTasks", binding: "connect" }],
    ],
    [
      "a probe that fails",
      { name: "GET /readyz", binding: "http", peer: "::1" },
      coded(Code.Unavailable),
      [
        "debug request",
        { method: "GET /readyz", binding: "http", peer: "::1" },
        { code: "unavailable", problem: "x" },
      ],
    ],
    [
      "a request without credentials",
      { name: "POST /", binding: "http", peer: "10.0.0.9" },
      coded(Code.Unauthenticated),
      [
        "warn refused",
        { method: "POST /", binding: "http", peer: "10.0.0.9" },
        { code: "unauthenticated", problem: "x" },
      ],
    ],
    [
      "a request without the right",
      { name: "ReadAudit", binding: "connect", principal: "i#s" },
      coded(Code.PermissionDenied),
      [
        "warn refused",
        { method: "ReadAudit", binding: "connect", principal: "i#s" },
        { code: "permission_denied", problem: "x" },
      ],
    ],
    [
      "a mistake of a client, without the value",
      { name: "SendMessage", binding: "connect" },
      failed(new WireError("parts", "my secret", "is not one")),
      [
        "info request",
        { method: "SendMessage", binding: "connect" },
        { code: "invalid_argument", problem: 'parts "…" is not one' },
      ],
    ],
    [
      "an unexpected error, without its text",
      { name: "CancelTask", binding: "connect" },
      failed(new TypeError("my secret")),
      [
        "warn request",
        { method: "CancelTask", binding: "connect" },
        { code: "internal", problem: "internal error" },
      ],
    ],
    [
      "the turn of a model that fails, without what its API says",
      { kind: "turn", name: "devtool", ...OURS, subjectId: "m" },
      coded(Code.Unavailable, "status 500 (your prompt: my secret)"),
      [
        "warn turn ends",
        { agent: "devtool", ...OURS, messageId: "m" },
        { code: "unavailable", problem: "status 500 (…)" },
      ],
    ],
    [
      "a call that fails, without its result",
      { kind: "call", name: "read_file", ...OURS, subjectId: "c" },
      failed("my secret"),
      ["debug call", { tool: "read_file", ...OURS, callId: "c" }],
    ],
    [
      "a step",
      { kind: "step", name: "gemini", ...OURS },
      SUCCEEDED,
      ["debug step", { model: "gemini", ...OURS }],
    ],
    [
      "a notification that fails",
      { kind: "post", name: "https://x.example", ...OURS, subjectId: "h" },
      failed("status 500"),
      [
        "warn post",
        { webhook: "https://x.example", ...OURS },
        { problem: "status 500" },
      ],
    ],
    [
      "a takeover",
      { kind: "takeover", taskId: "t" },
      SUCCEEDED,
      ["info takeover", { taskId: "t" }],
    ],
  ] as const)("has %s", (_name, operation, end, [head, subject, failure]) => {
    const log = new TestLog();
    log.play(operation, end);
    const [level, ...event] = head.split(" ");
    const { outcome } = end;
    const line = { level, event: event.join(" "), ...subject, outcome };
    expect(log.lines().at(-1)).toEqual({
      ...{ ...line, durationMs: 12.3 },
      ...failure,
    });
  });

  it("says of a request that names no task which one its turn has made", () => {
    const log = new TestLog("info");
    const ended = log.log.observer({ ...NO_OPERATION, name: "SendMessage" });
    log.play({
      kind: "turn",
      id: "2",
      parentId: "1",
      name: "own",
      taskId: "t",
    });
    ended?.(SUCCEEDED);
    expect(log.lines()).toEqual([
      expect.objectContaining({ event: "turn begins", taskId: "t" }),
      expect.objectContaining({ event: "turn ends", taskId: "t" }),
      expect.objectContaining({ event: "request", taskId: "t" }),
    ]);
  });

  it("says when the server accepts no work, and when it does again", () => {
    const log = new TestLog("info");
    log.play({ kind: "outage", name: "the disk is full" });
    expect(log.lines()).toEqual([
      { level: "error", event: "not ready", problem: "the disk is full" },
      { level: "info", event: "ready", durationMs: 12.3 },
    ]);
  });

  it("hears nothing of appends, and of what its level leaves out", () => {
    const { observer } = new TestLog("debug").log;
    const quiet = new TestLog("info").log;
    expect(observer({ ...NO_OPERATION, kind: "append" })).toBeUndefined();
    for (const kind of ["append", "step", "call", "question"] as const) {
      expect(quiet.observer({ ...NO_OPERATION, kind })).toBeUndefined();
    }
    expect(quiet.observer({ ...NO_OPERATION })).toBeDefined();
  });

  it("has a turn that fails and an outage also at the level of warnings", () => {
    const log = new TestLog("warn");
    log.play({ kind: "turn", name: "own" });
    log.play({ kind: "turn", name: "own" }, failed("broken"));
    log.play({ kind: "outage", name: "the disk is full" });
    expect(log.lines()).toEqual([
      expect.objectContaining({ level: "warn", event: "turn ends" }),
      expect.objectContaining({ level: "error", event: "not ready" }),
    ]);
  });

  it("counts refusals and faults that are repeated", () => {
    const log = new TestLog("info");
    const away = () => coded(Code.Unavailable, "the store is away");
    for (let count = 0; count < 43; count++) {
      log.play({ name: "SendMessage", taskId: `t${count}` }, away());
      log.log.onError(new Error(`connection ${count} of "db" was lost`));
      log.log.onNotice("a notice");
    }
    expect(log.lines()).toEqual([
      expect.objectContaining({ event: "request", taskId: "t0" }),
      expect.objectContaining({ event: "fault" }),
      expect.objectContaining({ event: "notice", problem: "a notice" }),
    ]);
    log.endWindow();
    expect(log.lines()).toEqual([
      expect.objectContaining({
        ...{ event: "request", problem: "the store is away" },
        ...{ code: "unavailable", repeated: 42 },
      }),
      expect.objectContaining({ event: "fault", repeated: 42 }),
      expect.objectContaining({ event: "notice", repeated: 42 }),
    ]);
    // A window without any: the next one is a line of its own again.
    log.endWindow();
    log.play({ name: "SendMessage" }, away());
    expect(log.lines()).toEqual([
      expect.not.objectContaining({ repeated: expect.anything() }),
    ]);
  });

  it("counts at most 256 different lines apart", () => {
    const log = new TestLog();
    for (let count = 0; count < 1000; count++) log.log.onNotice(`n ${count}`);
    expect(log.lines()).toHaveLength(257);
    log.endWindow();
    expect(log.lines()).toEqual([expect.objectContaining({ repeated: 743 })]);
  });

  it("has the stack of a fault once, without the texts in quotes", () => {
    const log = new TestLog();
    const cause = new SyntaxError('"my secret" is not valid JSON');
    log.log.onError(new Error("broken", { cause }));
    log.log.onError(new Error("broken", { cause }));
    expect(log.lines()).toEqual([
      expect.objectContaining({
        ...{ level: "error", event: "fault", code: "internal" },
        problem: 'Error: broken, because of SyntaxError: "…" is not valid JSON',
        stack: expect.arrayContaining([expect.stringMatching(/^at /)]),
      }),
    ]);
  });

  it("drops lines that nobody reads, and counts them", async () => {
    const log = new TestLog();
    log.stream.isStalled = true;
    const long = "x".repeat(2000);
    for (let count = 0; count < 2000; count++) {
      log.log.write({ event: "notice", level: "warn", problem: long });
    }
    expect(log.stream.writableLength).toBeLessThan(1024 * 1024 + 4000);
    await log.stream.resume();
    const before = log.lines().length;
    log.log.write({ event: "notice", level: "warn" });
    const [dropped] = log.lines();
    const repeated = 2000 - before;
    expect(dropped).toEqual({
      level: "warn",
      event: "lines dropped",
      repeated,
    });
  });

  it.each([
    ["JSON", jsonText],
    ["words", prettyText((_look, text) => text)],
  ])("keeps hostile names on one line of %s", (_form, text) => {
    const log = new TestLog("debug", text);
    const names = [HOSTILE, HOSTILE.repeat(50_000)];
    for (const name of names) {
      const hostile = { name, binding: name, peer: name, principal: name };
      const ids = { taskId: name, subjectId: name };
      for (const kind of ["request", "turn", "call", "step"] as const) {
        log.play({ ...hostile, ...ids, kind }, coded(Code.NotFound, name));
      }
      log.log.onNotice(name);
      log.log.onError(new DevtoolError(name, Code.Internal));
    }
    const written = log.written();
    const lines = written.trimEnd().split("\n");
    expect(written.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    const own = lines.filter((line) => !/^ {4}at /.test(line));
    // Of each name: four ends, a begin, a notice and a fault.
    expect(own).toHaveLength(2 * 7);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(12_000);
  });

  it("colours what a terminal shows, and marks words that would be fields", () => {
    const io = { stdout: new PassThrough(), env: {} };
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const log = new TestLog("info", prettyText(paintFor(io, terminal)));
    log.play({ kind: "turn", name: "own level=error", taskId: "t" });
    const [, ends = ""] = log.written().trimEnd().split("\n");
    expect(ends).toContain("\u001b[2m");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    expect(ends.replaceAll(/\u001b\[\d+m/g, "")).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} info {2}turn ends task_id=t agent="own level=error" outcome=succeeded duration_ms=12\.3$/,
    );
  });
});
