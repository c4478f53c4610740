import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import {
  ApprovalMode,
  isInterrupted,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Conversation } from "../scenarios/conversation.ts";
import { clientOf, Ground } from "../scenarios/ground.ts";
import { commandDigests } from "./histories/command-digests.ts";
import {
  DIRECTORY,
  foldOf,
  type History,
  historyNames,
  plainEvents,
  plainTask,
  readHistory,
  readKept,
} from "./histories/history.ts";
import {
  carriedByA2a,
  servedEvents,
  storeHistory,
  throughA2a,
} from "./histories/replay.ts";
import { SCENARIOS } from "./histories/scenarios.ts";

const WORKSPACE = "/somewhere";

describe("the histories that are kept", () => {
  it("are those of the scenarios, ten and more, and name no place of the machine they come from", async () => {
    expect(historyNames()).toEqual(SCENARIOS.map(({ name }) => name).sort());
    expect(historyNames().length).toBeGreaterThanOrEqual(10);
    for (const name of historyNames()) {
      const text = await readFile(new URL(`${name}.jsonl`, DIRECTORY), "utf8");
      expect(text).not.toMatch(/\/(tmp|home|root|var|work)\//);
    }
  });

  it("bind approvals of commands to digests that this version computes as well (S13)", async () => {
    const digests = (await Promise.all(historyNames().map(readKept))).flatMap(
      (log) => commandDigests(log, String),
    );
    expect(digests.length).toBeGreaterThan(2);
    expect(digests.filter(({ kept, computed }) => kept !== computed)).toEqual(
      [],
    );
  });

  it("hold every kind of event there is", async () => {
    const histories = await Promise.all(
      historyNames().map((name) => readHistory(name, WORKSPACE)),
    );
    const kinds = new Set(
      histories.flatMap(({ events }) =>
        events.map(({ payload }) => payload.case),
      ),
    );
    const { oneofs } = TaskEventSchema;
    expect([...kinds].sort()).toEqual(
      oneofs
        .flatMap(({ fields }) => fields.map(({ localName }) => localName))
        .sort(),
    );
  });
});

describe.each(SCENARIOS)(
  "the history $name",
  ({ name, files, options, gemini }) => {
    it("makes the task that it made when it was written", async () => {
      const { events, task } = await readHistory(name, WORKSPACE);
      expect(plainTask(foldOf(events))).toEqual(plainTask(task));
    });

    it("makes it through A2A 0.3 as well", async () => {
      const { events } = await readHistory(name, WORKSPACE);
      const carried = events.map(carriedByA2a);
      const through = events.map(throughA2a);
      expect(plainEvents(through)).toEqual(plainEvents(carried));
      expect(plainTask(foldOf(through))).toEqual(plainTask(foldOf(carried)));
    });

    it("is served by this version as it was written", async () => {
      await using ground = await Ground.prepare(files);
      const history = await storedIn(ground, name);
      await using server = await ground.serve(options, gemini);
      const client = clientOf(server, "Connect");
      const { task } = await client.tasks.getTask({ taskId: history.task.id });
      const { approvalLimit } = history.task;
      expect(task && plainTask({ ...task, approvalLimit })).toEqual(
        plainTask(history.task),
      );
      // A task of an older log asks, whatever the operator allows by now.
      expect([approvalLimit, ApprovalMode.DEFAULT]).toContain(
        task?.approvalLimit,
      );
      const signal = AbortSignal.timeout(300_000);
      expect(await servedEvents(client, history, signal)).toEqual(
        plainEvents(history.events),
      );
      const a2a = await servedEvents(
        clientOf(server, "A2A 0.3"),
        history,
        signal,
      );
      expect(a2a).toEqual(plainEvents(history.events.map(carriedByA2a)));
    });

    it("goes on with this version: open questions are answered once and for all, and ended talk is taken up", async () => {
      await using ground = await Ground.prepare(files);
      const { task } = await storedIn(ground, name);
      await using server = await ground.serve(options, gemini);
      const talk = new Conversation(clientOf(server, "Connect"), {}, task);
      if (isInterrupted(task.state)) {
        await talk.answer(() => "proceed_once");
      } else {
        await talk.say("text And on.");
      }
      expect(TaskState[talk.task.state]).toBe("COMPLETED");
      const statuses = talk.outcomes.map((outcome) => outcome.split(" ")[1]);
      expect(
        statuses.filter(
          (status) => status === "PENDING" || status === "EXECUTING",
        ),
      ).toEqual([]);
      // A question about a command that did not say "(without a sandbox)" was
      // no approval to run it without one.
      const ended = talk.calls
        .filter(({ result: { value } }) => !isOutdated(value))
        .map(({ status }) => status);
      if (isInterrupted(task.state)) {
        expect(new Set(ended)).toEqual(new Set([ToolCallStatus.SUCCEEDED]));
      } else if (talk.task.workflowRun) {
        // A run takes no messages, and says again what it has come to.
        expect(talk.text).toBe("I try.I try.");
      } else {
        expect(talk.text).toMatch(/And on\.$/);
      }
    });
  },
);

function isOutdated(result: ToolCall["result"]["value"]): boolean {
  return (
    result?.$typeName === "devtool.a2a.v1alpha.ErrorDetails" &&
    result.type === "approval_outdated"
  );
}

describe("a version that would break them (sabotage)", () => {
  const breaks: Readonly<Record<string, (event: TaskEvent) => TaskEvent>> = {
    "that forgets what was said about calls": ({
      toolCallDetail: _forgotten,
      ...event
    }) => event,
    "that cuts texts": (event) =>
      event.payload.case === "text"
        ? {
            ...event,
            payload: {
              case: "text",
              value: { ...event.payload.value, text: "" },
            },
          }
        : event,
    "that loses a state": (event) =>
      event.state === TaskState.INPUT_REQUIRED
        ? { ...event, state: TaskState.WORKING }
        : event,
    "that counts nothing": (event) =>
      event.payload.case === "usage"
        ? { ...event, payload: { case: undefined } }
        : event,
  };

  it.each(Object.entries(breaks))(
    "is noticed: one %s",
    async (_what, broken) => {
      const differing: string[] = [];
      for (const name of historyNames()) {
        const { events, task } = await readHistory(name, WORKSPACE);
        if (
          !isDeepStrictEqual(
            plainTask(foldOf(events.map(broken))),
            plainTask(task),
          )
        ) {
          differing.push(name);
        }
      }
      expect(differing).not.toEqual([]);
    },
  );

  it("is noticed: one that serves another event than it stored", async () => {
    await using ground = await Ground.prepare();
    const { events } = await storedIn(ground, "edits", (event) => ({
      ...event,
      model: "another",
    }));
    await using server = await ground.serve();
    const served = await servedEvents(
      clientOf(server, "Connect"),
      { events },
      AbortSignal.timeout(60_000),
    );
    expect(served).not.toEqual(plainEvents(events));
  });

  it("is noticed: one that asks anew what was decided, since it would do something else", async () => {
    await using ground = await Ground.prepare({
      "b.txt": "old, and changed since\n",
    });
    const { task } = await storedIn(ground, "open-questions");
    await using server = await ground.serve();
    const talk = new Conversation(clientOf(server, "Connect"), {}, task);
    await talk.answer(() => "proceed_once");
    expect(
      new Set(talk.outcomes.map((outcome) => outcome.split(" ")[1])),
    ).not.toEqual(new Set(["SUCCEEDED"]));
  });
});

/**
 * Puts a history into the data directory of a ground, with its events changed
 * where that is wanted.
 */
async function storedIn(
  ground: Ground,
  name: string,
  change: (event: TaskEvent) => TaskEvent = (event) => event,
): Promise<History> {
  const history = await readHistory(name, ground.workspace);
  await storeHistory(
    { events: history.events.map(change) },
    ground.dataDirectory,
  );
  return history;
}
