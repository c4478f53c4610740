import { create, type JsonObject } from "@bufbuild/protobuf";
import { createPolicyEngine, type ToolFacts } from "@devtool/policy";
import {
  ApprovalMode,
  FileDiffSchema,
  MessageSchema,
  OPTION_PROCEED_ONCE,
  openToolCalls,
  Role,
  reduceTask,
  structFromJson,
  type Task,
  TaskEventSchema,
  TaskSchema,
  ToolCallConfirmationSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  Confirmations,
  changedDetail,
} from "@devtool/server/agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundsOf } from "../../../../test/depth.ts";
import { callDigest } from "./call-digest.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "./scheduler.ts";
import type { Tool, ToolInvocation } from "./tool.ts";
import { textResult } from "./tool-result.ts";

/**
 * The effect of a call that writes: its arguments, and the current content of
 * the file.
 */
interface Proposal {
  readonly args: { readonly path: string; readonly content: string };
  readonly current: string;
  /** Facts about the tool's definition. */
  readonly facts?: ToolFacts;
}

const CHANGES = roundsOf("DEVTOOL_APPROVAL_CHANGES", {
  quick: 1_000,
  ci: 10_000,
  deep: 100_000,
});

describe("an approval (S13)", () => {
  const proposal = fc.record({
    args: fc.record({
      path: fc.string({ minLength: 1 }),
      content: fc.string(),
    }),
    current: fc.string(),
  });

  it(`lets only the effect run that the user saw, for ${CHANGES} random changes`, async () => {
    let changed = 0;
    const property = fc.asyncProperty(
      proposal,
      proposal,
      async (shown, started) => {
        const ran = await runAfterApproval(shown, started);
        const same = JSON.stringify(shown) === JSON.stringify(started);
        if (!same) changed++;
        expect(ran).toEqual(same ? [started.args] : []);
      },
    );
    await fc.assert(property, { numRuns: CHANGES });
    expect(changed).toBeGreaterThan(CHANGES * 0.9);
  });

  it("holds for an MCP tool only with the definition that the user saw (rug pull)", async () => {
    const shown = {
      args: { path: "a", content: "x" },
      current: "",
      facts: { mcpServer: "notes", mcpServerHash: "aa", definitionHash: "aa" },
    };
    expect(await runAfterApproval(shown, shown)).toEqual([shown.args]);
    expect(
      await runAfterApproval(shown, {
        ...shown,
        facts: { mcpServer: "notes", definitionHash: "bb" },
      }),
    ).toEqual([]);
    expect(
      await runAfterApproval(shown, {
        ...shown,
        facts: { mcpServer: "mail", definitionHash: "aa" },
      }),
    ).toEqual([]);
    expect(
      await runAfterApproval(shown, {
        ...shown,
        facts: { ...shown.facts, mcpServerHash: "bb" },
      }),
    ).toEqual([]);
  });

  it("is broken if digests are not compared (sabotage)", async () => {
    const shown = { args: { path: "a", content: "good" }, current: "" };
    const started = { args: { path: "a", content: "evil" }, current: "" };
    const ran = await runAfterApproval(shown, started, (update) =>
      relabelled(update, started),
    );
    expect(ran).toEqual([started.args]);
  });
});

/**
 * Asks for approval of one effect, restarts with another, and returns the
 * arguments that ran.
 */
async function runAfterApproval(
  shown: Proposal,
  started: Proposal,
  tamper: (update: CallUpdate) => CallUpdate = (update) => update,
): Promise<JsonObject[]> {
  const { signal } = new AbortController();
  const ran: JsonObject[] = [];
  const call = create(ToolCallSchema, {
    toolCallId: "c",
    toolName: "write",
    status: ToolCallStatus.PENDING,
    inputParameters: structFromJson(shown.args),
  });
  const asked = await first(
    runNewCalls([{ call }], context(shown, ran), signal),
  );
  const task = approved(tamper(asked), started);
  for await (const _update of runOpenCalls(
    openToolCalls(task),
    context(started, ran, task),
    signal,
  )) {
  }
  return ran;
}

/**
 * Returns the call that the user saw with the digest of another effect, as if
 * digests were not compared.
 */
function relabelled(
  { call, detail }: CallUpdate,
  started: Proposal,
): CallUpdate {
  return {
    call,
    detail: changedDetail(detail, {
      digest: callDigest(call, invocationOf(started, [])),
    }),
  };
}

/**
 * Creates a task whose user approved the call. The arguments were changed in
 * the log since.
 */
function approved({ call, detail }: CallUpdate, { args }: Proposal): Task {
  const changed = { ...call, inputParameters: structFromJson(args) };
  const part = {
    content: { case: "toolCall", value: changed } as const,
    ...(detail && { toolCallDetail: detail }),
  };
  const asking = create(TaskSchema, {
    history: [create(MessageSchema, { role: Role.AGENT, parts: [part] })],
  });
  const confirmation = create(ToolCallConfirmationSchema, {
    toolCallId: "c",
    selectedOptionId: OPTION_PROCEED_ONCE,
  });
  const answer = create(MessageSchema, {
    role: Role.USER,
    parts: [{ content: { case: "confirmation", value: confirmation } }],
  });
  return reduceTask(
    asking,
    create(TaskEventSchema, {
      sequence: 1n,
      payload: { case: "message", value: answer },
    }),
  );
}

function context(
  proposal: Proposal,
  ran: JsonObject[],
  task: Task = create(TaskSchema),
): SchedulerContext {
  const tool: Tool = {
    declaration: { name: "write", description: "", parameters: {} },
    prepare: async () => invocationOf(proposal, ran),
  };
  return {
    tools: new Map([["write", tool]]),
    policy: createPolicyEngine({
      mode: ApprovalMode.DEFAULT,
      workspace: "/w",
      shellConfinement: "none",
    }),
    confirmations: new Confirmations(),
    nextId: () => "question",
    settle: () => "unknown",
    onNotice: () => undefined,
    task,
  };
}

function invocationOf(
  { args, current, facts }: Proposal,
  ran: JsonObject[],
): ToolInvocation {
  const diff = create(FileDiffSchema, {
    filePath: args.path,
    oldContent: current,
    newContent: args.content,
  });
  return {
    args,
    ...(facts && { facts }),
    description: "Write",
    confirmation: { case: "fileEditDetails", value: diff },
    async *execute() {
      ran.push(args);
      yield textResult("written");
    },
  };
}

async function first(
  batches: AsyncIterable<readonly CallUpdate[]>,
): Promise<CallUpdate> {
  for await (const [update] of batches) if (update) return update;
  throw new Error("no call was published");
}
