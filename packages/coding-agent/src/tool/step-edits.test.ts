import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createPolicyEngine } from "@devtool/policy";
import {
  ApprovalMode,
  awaitedToolCalls,
  findToolCall,
  MessageSchema,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ONCE,
  openToolCalls,
  Role,
  reduceTask,
  structFromJson,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { type CallUpdate, Confirmations } from "@devtool/server/agent";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { roundsOf } from "../../../../test/depth.ts";
import { settleEdit } from "./builtin/file-edit.ts";
import { multiEditTool } from "./builtin/multi-edit.ts";
import { replaceTool } from "./builtin/replace.ts";
import { saveMemoryTool } from "./builtin/save-memory.ts";
import { writeFileTool } from "./builtin/write-file.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "./scheduler.ts";
import { Workspace } from "./workspace.ts";

const ROUNDS = roundsOf("DEVTOOL_STEP_EDITS", {
  quick: 150,
  ci: 200,
  deep: 10_000,
});
const FILE = "a.txt";
const { signal } = new AbortController();

describe("edits of one file in one step", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDirectory();
  });

  it.each([
    ["yolo", ApprovalMode.YOLO],
    ["default", ApprovalMode.DEFAULT],
  ])(
    "B7: build on each other in mode %s, and each shows what it does",
    async (_name, mode) => {
      const step = new Step(root, "one\ntwo\nthree\n", mode);
      await step.run([
        replace("one", "1"),
        replace("two", "2"),
        { name: "multi_edit", args: multi("three", "3", "2", "II") },
        {
          name: "write_file",
          args: { file_path: `./${FILE}`, content: "4\n" },
        },
        replace("4", "5"),
      ]);
      expect(step.statuses).toEqual(Array(5).fill("SUCCEEDED"));
      expect(step.content).toBe("5\n");
      if (mode === ApprovalMode.DEFAULT) {
        expect(step.shown.map(([, before, after]) => [before, after])).toEqual([
          ["one\ntwo\nthree\n", "1\ntwo\nthree\n"],
          ["1\ntwo\nthree\n", "1\n2\nthree\n"],
          ["1\n2\nthree\n", "1\nII\n3\n"],
          ["1\nII\n3\n", "4\n"],
          ["4\n", "5\n"],
        ]);
      }
    },
  );

  it("B7: also of a file that the step creates, and of the memory file", async () => {
    const step = new Step(root, undefined, ApprovalMode.YOLO);
    await step.run([
      { name: "write_file", args: { file_path: FILE, content: "one\n" } },
      replace("one", "1"),
      { name: "save_memory", args: { fact: "tea" } },
      { name: "save_memory", args: { fact: "milk" } },
    ]);
    expect(step.statuses).toEqual(Array(4).fill("SUCCEEDED"));
    expect(step.content).toBe("1\n");
    expect(fileText(root, "AGENTS.md")).toContain("- tea\n- milk\n");
  });

  it("B7: a declined edit leaves the next one on the file as it is, which asks again", async () => {
    const step = new Step(root, "one\ntwo\n", ApprovalMode.DEFAULT, {
      c0: [OPTION_CANCEL],
    });
    await step.run([replace("one", "1"), replace("two", "2")]);
    expect(step.statuses).toEqual(["CANCELLED", "SUCCEEDED"]);
    expect(step.content).toBe("one\n2\n");
    expect(step.shown.filter(([id]) => id === "c1")).toEqual([
      ["c1", "1\ntwo\n", "1\n2\n"],
      ["c1", "one\ntwo\n", "one\n2\n"],
    ]);
  });

  it("B7: an edit that needs a declined one fails with the reason", async () => {
    const step = new Step(root, "one\n", ApprovalMode.DEFAULT, {
      c0: [OPTION_CANCEL],
    });
    await step.run([replace("one", "1"), replace("1", "I")]);
    expect(step.statuses).toEqual(["CANCELLED", "FAILED"]);
    expect(step.content).toBe("one\n");
    expect(JSON.stringify(step.call("c1").result)).toContain("occurs 0 times");
  });

  it("B7: the next edit asks again on top of content that the user wrote", async () => {
    const step = new Step(root, "one\ntwo\n", ApprovalMode.DEFAULT, {
      c0: ["uno\ntwo\n", OPTION_PROCEED_ONCE],
    });
    await step.run([replace("one", "1"), replace("two", "2")]);
    expect(step.content).toBe("uno\n2\n");
    expect(step.shown.at(-1)).toEqual(["c1", "uno\ntwo\n", "uno\n2\n"]);
  });

  it.each([
    ["yolo", ApprovalMode.YOLO],
    ["default", ApprovalMode.DEFAULT],
  ])(
    "never overwrites what somebody else wrote meanwhile, in mode %s",
    async (_name, mode) => {
      for (const at of [1, 2, 3, 4]) {
        const step = new Step(root, "one\n", mode);
        step.onUpdate = (count) => {
          if (count === at) putFile(root, FILE, "theirs\n");
        };
        await step.run([
          replace("one", "1"),
          { name: "write_file", args: { file_path: FILE, content: "mine\n" } },
        ]);
        // What was theirs is gone only if the user saw that.
        const saw = step.shown.some(([, before]) => before === "theirs\n");
        expect(step.content === "theirs\n" || saw || at === 4).toBe(true);
        expect(step.unseen).toEqual([]);
      }
    },
  );

  it(`B7: are as if made one after the other, for ${ROUNDS} random steps`, {
    timeout: 600_000 + 50 * ROUNDS,
  }, async () => {
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit(), { minLength: 1, maxLength: 6 }),
        fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
        fc.constantFrom(ApprovalMode.YOLO, ApprovalMode.DEFAULT),
        fc.infiniteStream(fc.nat()),
        async (edits, approvals, mode, choices) => {
          const answers = Object.fromEntries(
            approvals.flatMap((approves, index) =>
              approves ? [] : [[`c${index}`, [OPTION_CANCEL]]],
            ),
          );
          const step = new Step(root, START, mode, answers);
          step.choose = (count) => (choices.next().value ?? 0) % count;
          await step.run(edits);
          const declined = (index: number): boolean =>
            mode === ApprovalMode.DEFAULT && approvals[index] === false;
          const expected = inOrder(edits, declined);
          expect(step.content).toBe(expected.content);
          expect(step.statuses).toEqual(expected.statuses);
          expect(step.unseen).toEqual([]);
          for (const status of step.statuses) outcomes.add(status);
        },
      ),
      { numRuns: ROUNDS },
    );
    expect([...outcomes].toSorted()).toEqual([
      "CANCELLED",
      "FAILED",
      "SUCCEEDED",
    ]);
  });

  it(`B7: and a restart at any moment changes nothing, for ${ROUNDS} random steps`, {
    timeout: 600_000 + 50 * ROUNDS,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit(), { minLength: 1, maxLength: 5 }),
        fc.nat({ max: 12 }),
        fc.constantFrom(ApprovalMode.YOLO, ApprovalMode.DEFAULT),
        async (edits, stopAfter, mode) => {
          const step = new Step(root, START, mode);
          await step.run(edits, stopAfter);
          await step.resume();
          const expected = inOrder(edits, () => false);
          expect(step.content).toBe(expected.content);
          expect(step.statuses).toEqual(expected.statuses);
          expect(step.unseen).toEqual([]);
        },
      ),
      { numRuns: ROUNDS },
    );
  });
});

/** A call of a step. */
interface Edit {
  readonly name: string;
  readonly args: JsonObject;
}

const START = "abc\nbca\n";

function replace(from: string, to: string): Edit {
  const args = { file_path: FILE, old_string: from, new_string: to };
  return { name: "replace", args };
}

function multi(...texts: string[]): JsonObject {
  const edits: JsonObject[] = [];
  for (let index = 0; index + 1 < texts.length; index += 2) {
    edits.push({
      old_string: texts[index] ?? "",
      new_string: texts[index + 1] ?? "",
    });
  }
  return { file_path: FILE, edits };
}

function edit(): fc.Arbitrary<Edit> {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "c", "\n"),
    minLength: 1,
    maxLength: 3,
  });
  return fc.oneof(
    fc.tuple(text, text).map(([from, to]) => replace(from, to)),
    fc.tuple(text, text, text, text).map((texts) => ({
      name: "multi_edit",
      args: multi(...texts),
    })),
    text.map((content) => ({
      name: "write_file",
      args: { file_path: FILE, content },
    })),
  );
}

/** Makes an edit as the tools describe it; undefined if it does not fit. */
function applyEdit(before: string, { name, args }: Edit): string | undefined {
  if (name === "write_file") return String(args.content);
  const list = Array.isArray(args.edits) ? args.edits : [args];
  let content = before;
  for (const one of list) {
    if (typeof one !== "object" || one === null || Array.isArray(one)) continue;
    const pieces = content.split(String(one.old_string));
    if (pieces.length !== 2) return undefined;
    content = pieces.join(String(one.new_string));
  }
  return content === before ? undefined : content;
}

/** The oracle: makes the edits that were approved one after the other. */
function inOrder(
  edits: readonly Edit[],
  isDeclined: (index: number) => boolean,
): { readonly content: string; readonly statuses: string[] } {
  let content = START;
  let shown = START;
  const statuses = edits.map((one, index) => {
    const proposed = applyEdit(shown, one);
    if (proposed === undefined) return "FAILED";
    const isStale = shown !== content;
    shown = proposed;
    if (isDeclined(index)) return "CANCELLED";
    const next = isStale ? applyEdit(content, one) : proposed;
    if (next === undefined) return "FAILED";
    content = next;
    return "SUCCEEDED";
  });
  return { content, statuses };
}

/** A step in a workspace, with its log and a user who answers questions. */
class Step {
  readonly #root: string;
  readonly #mode: ApprovalMode;
  readonly #answers: Readonly<Record<string, readonly string[]>>;
  readonly #taken = new Map<string, number>();
  #task: Task = create(TaskSchema);
  #confirmations = new Confirmations();
  #updates = 0;
  /** The content of the file when the running call began. */
  #begunOn = "";
  /** What each question showed: its call, the content before and after. */
  readonly shown: (readonly [id: string, before: string, after: string])[] = [];
  /** Approved calls that did something else than they had shown. */
  readonly unseen: string[] = [];
  /** Called when an update of a call comes, with their number. */
  onUpdate: (count: number) => void = () => undefined;
  /** Chooses which of the open questions is answered next. */
  choose: (count: number) => number = (count) => count - 1;

  /**
   * `answers` has the answers to each call in order: the id of an option, or
   * content in place of the proposed one. Default: approves.
   */
  constructor(
    root: string,
    content: string | undefined,
    mode: ApprovalMode,
    answers: Readonly<Record<string, readonly string[]>> = {},
  ) {
    this.#root = root;
    this.#mode = mode;
    this.#answers = answers;
    if (content !== undefined) putFile(root, FILE, content);
  }

  get content(): string {
    const path = join(this.#root, FILE);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  get statuses(): string[] {
    const calls = this.#task.history.flatMap(({ parts }) =>
      parts.flatMap(({ content }) =>
        content.case === "toolCall" ? [content.value] : [],
      ),
    );
    return calls.map(({ status }) => ToolCallStatus[status]);
  }

  call(id: string): ToolCall {
    const call = findToolCall(this.#task, id);
    if (!call) throw new Error(`no call ${id}`);
    return call;
  }

  /** Runs a step; without `stopAfter`, to its end. */
  async run(
    edits: readonly Edit[],
    stopAfter = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const updates = edits.map(
      ({ name, args }, index): CallUpdate => ({
        call: create(ToolCallSchema, {
          toolCallId: `c${index}`,
          toolName: name,
          status: ToolCallStatus.PENDING,
          inputParameters: structFromJson(args),
        }),
      }),
    );
    using workspace = new Workspace(this.#root);
    const batches = runNewCalls(updates, this.#context(workspace), signal);
    await this.#follow(batches, stopAfter);
  }

  /** Goes on after a restart, until no call is open. */
  async resume(): Promise<void> {
    using workspace = new Workspace(this.#root);
    this.#confirmations = new Confirmations();
    const open = openToolCalls(this.#task);
    const batches = runOpenCalls(open, this.#context(workspace), signal);
    // The questions of before the restart can be answered at once.
    setImmediate(() => this.#answerNext());
    await this.#follow(batches, Number.POSITIVE_INFINITY);
  }

  #context(workspace: Workspace): SchedulerContext {
    const task = (): Task => this.#task;
    const tools = [multiEditTool, replaceTool, saveMemoryTool, writeFileTool];
    return {
      tools: new Map(
        tools
          .map((createTool) => createTool(workspace))
          .map((tool) => [tool.declaration.name, tool]),
      ),
      policy: createPolicyEngine({
        mode: this.#mode,
        workspace: this.#root,
        shellConfinement: "none",
      }),
      confirmations: this.#confirmations,
      nextId: () => "question",
      onNotice: (text) => {
        throw new Error(text);
      },
      settle: (record) => settleEdit(workspace, record),
      get task() {
        return task();
      },
    };
  }

  async #follow(
    batches: AsyncIterable<readonly CallUpdate[]>,
    stopAfter: number,
  ): Promise<void> {
    let count = 0;
    for await (const batch of batches) {
      for (const { call, detail } of batch) {
        this.#check(call);
        this.onUpdate(++this.#updates);
        this.#append({
          payload: { case: "toolCall", value: call },
          ...(detail && { toolCallDetail: detail }),
        });
      }
      if (count++ >= stopAfter) return;
      setImmediate(() => this.#answerNext());
    }
  }

  /** Answers one of the open questions, then the next one. */
  #answerNext(): void {
    const open = awaitedToolCalls(this.#task);
    const call = open[this.choose(open.length)];
    if (!call) return;
    const answer = this.#answerTo(call.toolCallId);
    const content = { case: "confirmation", value: answer } as const;
    const message = { role: Role.USER, parts: [{ content }] };
    this.#append({
      payload: { case: "message", value: create(MessageSchema, message) },
    });
    this.#confirmations.answer(answer);
    setImmediate(() => this.#answerNext());
  }

  #answerTo(toolCallId: string): ToolCallConfirmation {
    const taken = this.#taken.get(toolCallId) ?? 0;
    this.#taken.set(toolCallId, taken + 1);
    const answer = this.#answers[toolCallId]?.[taken] ?? OPTION_PROCEED_ONCE;
    const isOption = answer === OPTION_CANCEL || answer === OPTION_PROCEED_ONCE;
    if (isOption) {
      const chosen = { toolCallId, selectedOptionId: answer };
      return create(ToolCallConfirmationSchema, chosen);
    }
    return create(ToolCallConfirmationSchema, {
      toolCallId,
      selectedOptionId: OPTION_MODIFY_WITH_EDITOR,
      modifiedDetails: { case: "fileDetails", value: { newContent: answer } },
    });
  }

  #check({ toolCallId, status, confirmationRequest }: ToolCall): void {
    const details = confirmationRequest?.details;
    if (details?.case === "fileEditDetails") {
      const { oldContent = "", newContent } = details.value;
      this.shown.push([toolCallId, oldContent, newContent]);
      return;
    }
    const [, before, after] =
      this.shown.findLast(([id]) => id === toolCallId) ?? [];
    if (before === undefined) return;
    if (status === ToolCallStatus.EXECUTING) this.#begunOn = this.content;
    if (status !== ToolCallStatus.SUCCEEDED) return;
    const isShown = this.#begunOn === before || this.#begunOn === after;
    if (!isShown || this.content !== after) this.unseen.push(toolCallId);
  }

  #append(event: Omit<Parameters<typeof newEvent>[0], "sequence">): void {
    this.#task = reduceTask(this.#task, newEvent(event));
  }
}

let sequence = 0n;

function newEvent(
  event: Partial<Pick<TaskEvent, "payload" | "toolCallDetail">>,
): TaskEvent {
  return create(TaskEventSchema, { ...event, sequence: ++sequence });
}
