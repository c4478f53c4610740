import { timestampMs } from "@bufbuild/protobuf/wkt";
import { oneLine } from "@devtool/internal/visible-text";
import { TaskState, type TaskSummary, ToolCallStatus } from "@devtool/schema";
import stringWidth from "string-width";
import type { Rates } from "../session-rates.ts";
import { shortTaskId } from "../task-id.ts";
import { taskStateName } from "../task-state-name.ts";
import { ageOf } from "./age.ts";
import type { LineStyle } from "./style.ts";

/** What `devtool top` shows. */
interface TopView {
  /** The sessions, of which several may be versions of one. */
  readonly sessions: readonly TaskSummary[];
  /** Whether there are older sessions. */
  readonly hasMore: boolean;
  /** Whether the connection was lost. */
  readonly isLost: boolean;
  /** Undefined where nothing was watched. */
  readonly rates: Rates | undefined;
}

/** The columns before the title, with their widths. */
const COLUMNS: readonly (readonly [name: string, width: number])[] = [
  ["TASK", 10],
  ["STATE", 15],
  ["WAITS FOR", 28],
  ["AGENT", 12],
  ["CHANGED", 10],
];

/** The column of whose a session is, where those of all callers are shown. */
const CALLER = ["CALLER", 24] as const;

/** The maximum length of a title in characters. */
const MAX_TITLE = 80;

/** Returns the lines of `devtool top`, those of sessions that wait first. */
export function topLines(
  { sessions, hasMore, isLost, rates }: TopView,
  { nowMs, columns, paint }: LineStyle & { readonly nowMs: number },
): readonly string[] {
  const rows = newestOf(sessions).sort(
    (one, other) => rankOf(one) - rankOf(other) || timeOf(other) - timeOf(one),
  );
  const count = (rank: number): number =>
    rows.filter((row) => rankOf(row) === rank).length;
  const isAll = rows.some(({ principal }) => principal !== "");
  const columnsShown = isAll ? [...COLUMNS, CALLER] : COLUMNS;
  const head = [
    `${count(1)} work`,
    `${count(0)} wait for ${isAll ? "users" : "you"}`,
    `${rows.length}${hasMore ? "+" : ""} sessions`,
    ...(rates
      ? [`${rates.events.toFixed(1)} events/s`, `${rates.turns} turns/min`]
      : []),
    ...(isLost ? ["connection lost, connecting again"] : []),
  ].join(" · ");
  const widths = columnsShown.map(([, width]) => width);
  const titles = [...columnsShown.map(([name]) => name), "TITLE"];
  return [
    paint("heading", cut(head, columns)),
    paint("dim", rowOf(titles, widths, columns)),
    ...rows.map((row) =>
      paint(lookOf(row), rowOf(cellsOf(row, nowMs), widths, columns)),
    ),
  ];
}

function cellsOf(task: TaskSummary, nowMs: number): readonly string[] {
  const { id, lastEvent, agent, principal, title } = task;
  const state = lastEvent?.state ?? TaskState.UNSPECIFIED;
  return [
    shortTaskId(id),
    taskStateName(state),
    awaited(task),
    agent,
    ageOf(lastEvent?.time, nowMs),
    // Without the issuer, which most have in common.
    ...(principal === "" ? [] : [principal.slice(principal.indexOf("#") + 1)]),
    title,
  ];
}

/** Returns whom or what a session waits for; empty for one that has ended. */
function awaited({ lastEvent, principal }: TaskSummary): string {
  if (!lastEvent) return "";
  const { state, payload, model } = lastEvent;
  switch (state) {
    case TaskState.INPUT_REQUIRED: {
      const calls =
        payload.case === "stateChange" ? payload.value.openCalls : [];
      const tools = calls.map(({ toolName }) => toolName).join(", ");
      const user = principal === "" ? "you" : "its user";
      return tools === "" ? user : `${user}: ${tools}`;
    }
    case TaskState.SUBMITTED:
      return "its agent";
    case TaskState.WORKING: {
      const call = payload.case === "toolCall" ? payload.value : undefined;
      if (call?.status === ToolCallStatus.EXECUTING) {
        return `tool ${call.toolName}`;
      }
      return model === "" ? "its agent" : `model ${model}`;
    }
    default:
      return "";
  }
}

/** 0 for a session that waits for the user, 1 for one that works, or else 2. */
function rankOf({ lastEvent }: TaskSummary): number {
  switch (lastEvent?.state) {
    case TaskState.INPUT_REQUIRED:
      return 0;
    case TaskState.SUBMITTED:
    case TaskState.WORKING:
      return 1;
    default:
      return 2;
  }
}

function lookOf(task: TaskSummary): "warning" | "good" | "dim" {
  return (["warning", "good", "dim"] as const)[rankOf(task)] ?? "dim";
}

function timeOf({ lastEvent }: TaskSummary): number {
  return lastEvent?.time ? timestampMs(lastEvent.time) : 0;
}

/** Returns each session once, as it is now. */
function newestOf(sessions: readonly TaskSummary[]): TaskSummary[] {
  const newest = new Map<string, TaskSummary>();
  for (const session of sessions) {
    const known = newest.get(session.id)?.lastEvent?.sequence ?? -1n;
    if ((session.lastEvent?.sequence ?? 0n) > known) {
      newest.set(session.id, session);
    }
  }
  return [...newest.values()];
}

function rowOf(
  cells: readonly string[],
  widths: readonly number[],
  columns: number,
): string {
  const padded = widths.map((width, index) => {
    const cell = cut(oneLine(cells[index] ?? "", width), width - 1);
    return cell + " ".repeat(width - stringWidth(cell));
  });
  const title = oneLine(cells[widths.length] ?? "", MAX_TITLE);
  return cut([...padded, title].join(""), columns).trimEnd();
}

/** Returns the beginning of a text that is at most as wide. */
function cut(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > columns) break;
    kept += segment;
  }
  return kept;
}
