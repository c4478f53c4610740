import {
  create,
  createRegistry,
  equals,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ApprovalMode,
  GoalState,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { decodeRow, encodeRow } from "./event-row.ts";

type Fields = MessageInitShape<typeof TaskEventSchema>;

/** Another value for each field that two pieces of a text may not share. */
const OTHERS: Readonly<Record<string, Fields>> = {
  taskId: { taskId: "t2" },
  contextId: { contextId: "c2" },
  time: { time: timestampFromMs(2) },
  state: { state: TaskState.SUBMITTED },
  model: { model: "m2" },
  toolCallDetail: { toolCallDetail: { selectedOptionId: "x" } },
  extensionActive: { extensionActive: true },
  agentSessionId: { agentSessionId: "s2" },
  approvalMode: { approvalMode: ApprovalMode.YOLO },
  userTier: { userTier: "paid" },
  mcpServersAdded: { mcpServersAdded: true },
  goalState: { goalState: GoalState.ACTIVE },
};

describe("a row of the log", () => {
  it.each(
    TaskEventSchema.fields.filter(
      ({ oneof, localName }) => !oneof && localName !== "sequence",
    ),
  )("keeps $localName of each piece of a text", ({ localName }) => {
    const other = OTHERS[localName];
    expect(other).toBeDefined();
    assertKept([piece(1n), piece(2n), piece(3n, other), piece(4n)]);
  });

  it("keeps fields of newer releases", () => {
    const unknown = [{ no: 1000, wireType: 0, data: new Uint8Array([1]) }];
    const event = { ...piece(2n), $unknown: unknown };
    const text = piece(3n);
    if (text.payload.case === "text") text.payload.value.$unknown = unknown;
    assertKept([piece(1n), event, text, piece(4n)]);
  });

  it("keeps other events, and texts that are empty or not ASCII", () => {
    const payload = { case: "notice", value: { text: "n" } } as const;
    const empty = { case: "text", value: { text: "" } } as const;
    const wide = { case: "text", value: { text: "né 👍" } } as const;
    assertKept([
      piece(1n, { payload }),
      piece(2n, { payload: empty }),
      piece(3n, { payload: wide }),
      create(TaskEventSchema, { sequence: 4n }),
    ]);
  });
});

function assertKept(events: readonly TaskEvent[]): void {
  const kept = decodeRow(encodeRow(events));
  expect(kept).toHaveLength(events.length);
  for (const [index, event] of events.entries()) {
    const read = kept[index] ?? create(TaskEventSchema);
    expect(
      equals(TaskEventSchema, read, event, {
        registry: createRegistry(),
        unknown: true,
      }),
    ).toBe(true);
  }
}

const time = timestampFromMs(1);

function piece(sequence: bigint, fields: Fields = {}): TaskEvent {
  return create(TaskEventSchema, {
    sequence,
    taskId: "t",
    contextId: "c",
    time,
    state: TaskState.WORKING,
    model: "m",
    payload: { case: "text", value: { text: `piece ${sequence}` } },
    ...fields,
  });
}
