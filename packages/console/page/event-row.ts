import { toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";

/** An event of a log as one row of the timeline. */
export interface EventRow {
  readonly event: TaskEvent;
  /** The kind of the event, as its field in the log is called. */
  readonly kind: string;
  /** What the event is about: a tool and its status, a state, or a text. */
  readonly about: string;
  /**
   * The time in milliseconds since the first event of the same tool call;
   * undefined for other events, and for that first one.
   */
  readonly durationMs: number | undefined;
  /** The size of the event in the log, in bytes. */
  readonly bytes: number;
}

/** The maximum length of a text in a row, in characters. */
const MAX_TEXT = 120;

/** Returns the rows of a log, in its order. */
export function eventRows(events: readonly TaskEvent[]): readonly EventRow[] {
  const begun = new Map<string, number>();
  return events.map((event) => {
    const { payload, time } = event;
    const nowMs = time ? timestampMs(time) : 0;
    const callId = payload.case === "toolCall" ? payload.value.toolCallId : "";
    const sinceMs = begun.get(callId);
    if (callId !== "" && sinceMs === undefined) begun.set(callId, nowMs);
    return {
      event,
      kind: payload.case ?? "–",
      about: aboutOf(event),
      durationMs: sinceMs === undefined ? undefined : nowMs - sinceMs,
      bytes: toBinary(TaskEventSchema, event).length,
    };
  });
}

function aboutOf({ payload, state }: TaskEvent): string {
  switch (payload.case) {
    case "toolCall": {
      const { toolName, status } = payload.value;
      return `${toolName} ${ToolCallStatus[status] ?? status}`;
    }
    case "text":
    case "notice":
      return payload.value.text.slice(0, MAX_TEXT);
    case "thought":
      return payload.value.subject;
    default:
      return TaskState[state] ?? String(state);
  }
}

/** Whether a row has a text, whatever the case of its letters. */
export function rowHas({ kind, about }: EventRow, text: string): boolean {
  return `${kind} ${about}`.toLowerCase().includes(text.toLowerCase());
}
