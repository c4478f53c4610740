import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  TaskEventSchema,
  TaskState,
  type TaskSummary,
  TaskSummarySchema,
  ToolCallStatus,
} from "@devtool/schema";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { SessionRates } from "../session-rates.ts";
import { topLines } from "./top-lines.ts";

type Event = Exclude<
  MessageInitShape<typeof TaskEventSchema>,
  { $typeName: string }
>;

const session = (
  id: string,
  event: Event,
  more: Partial<
    Pick<TaskSummary, "agent" | "title" | "messageCount" | "principal">
  > = {},
): TaskSummary => {
  const time = timestampFromMs(0);
  return create(TaskSummarySchema, {
    ...{ id, agent: "devtool", title: `title of ${id}`, messageCount: 1 },
    ...more,
    lastEvent: create(TaskEventSchema, { sequence: 1n, time, ...event }),
  });
};

const asking = session("asks", {
  state: TaskState.INPUT_REQUIRED,
  payload: {
    case: "stateChange",
    value: { openCalls: [{ toolName: "write_file" }] },
  },
});
const running = session("runs", {
  state: TaskState.WORKING,
  payload: {
    case: "toolCall",
    value: { toolName: "shell", status: ToolCallStatus.EXECUTING },
  },
});
const thinking = session("thinks", { state: TaskState.WORKING, model: "m-1" });
const done = session("done", { state: TaskState.COMPLETED });

const shown = (
  sessions: readonly TaskSummary[],
  columns = 100,
): readonly string[] =>
  topLines(
    { sessions, hasMore: false, isLost: false, rates: undefined },
    { nowMs: 300_000, columns, paint: (_look, text) => text },
  );

describe("the lines of `devtool top`", () => {
  it("say who waits for whom, those that wait for the user first", () => {
    // A list may have an older version of a session than another one.
    const newer = session("thinks", {
      ...{ sequence: 2n, state: TaskState.WORKING, model: "m-1" },
      time: timestampFromMs(60_000),
    });
    expect(shown([done, running, thinking, asking, newer])).toEqual([
      "2 work · 1 wait for you · 4 sessions",
      "TASK      STATE          WAITS FOR                   AGENT       CHANGED   TITLE",
      "asks      input-required you: write_file             devtool     5m ago    title of asks",
      "thinks    working        model m-1                   devtool     4m ago    title of thinks",
      "runs      working        tool shell                  devtool     5m ago    title of runs",
      "done      completed                                  devtool     5m ago    title of done",
    ]);
  });

  it("say whose each session is where those of all callers are shown", () => {
    const [of, other] = [asking, thinking].map((each) => ({
      ...each,
      principal: `https://login.example#${each.id}`,
    }));
    expect(of && other && shown([of, other], 120)).toEqual([
      "1 work · 1 wait for users · 2 sessions",
      "TASK      STATE          WAITS FOR                   AGENT       CHANGED   CALLER                  TITLE",
      "asks      input-required its user: write_file        devtool     5m ago    asks                    title of asks",
      "thinks    working        model m-1                   devtool     5m ago    thinks                  title of thinks",
    ]);
  });

  it("are no wider than the terminal, and cannot control it", () => {
    const hostile = "\u001b[2J\u009b\r\n\u202e漢字".repeat(50);
    const lines = shown(
      [
        session(
          hostile,
          {
            state: TaskState.INPUT_REQUIRED,
            payload: {
              case: "stateChange",
              value: { openCalls: [{ toolName: hostile }] },
            },
          },
          { agent: hostile, title: hostile },
        ),
        session(
          "漢字".repeat(9),
          { state: TaskState.WORKING, model: hostile },
          { title: hostile },
        ),
      ],
      80,
    );
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(stringWidth(line)).toBeLessThanOrEqual(80);
    }
  });
});

describe("the rates of sessions", () => {
  it("count what happens since the first look, and not what there was", () => {
    const rates = new SessionRates();
    const at = (id: string, sequence: bigint, messageCount: number) =>
      session(id, { sequence }, { messageCount });
    rates.note([at("a", 1000n, 5)], 0);
    expect(rates.read(0)).toEqual({ events: 0, turns: 0 });
    // A turn of 20 events, a new session of 10, and an old one that was renamed.
    rates.note([at("a", 1020n, 6), at("b", 10n, 1), at("c", 500n, 9)], 5000);
    expect(rates.read(5000)).toEqual({ events: 6, turns: 2 });
    expect(rates.read(20_000)).toEqual({ events: 0, turns: 2 });
    rates.note([at("a", 1020n, 6)], 66_000);
    expect(rates.read(66_000)).toEqual({ events: 0, turns: 0 });
  });
});
