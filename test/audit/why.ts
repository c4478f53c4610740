import {
  AuditAction,
  type AuditRecord,
  type TaskEvent,
  type ToolCall,
  type ToolCallDetail,
  ToolCallStage,
} from "@devtool/schema";

/** A move of a tool call to a stage, as an event of its task's log has it. */
interface Move {
  readonly event: TaskEvent;
  readonly call: ToolCall;
  readonly detail: ToolCallDetail;
}

/**
 * Says what an audit log does not explain of the logs of all tasks, each in
 * order, and what it explains that is not there.
 */
export function unexplained(
  events: readonly TaskEvent[],
  records: readonly AuditRecord[],
): string[] {
  const moves = movesOf(events);
  const explained = Map.groupBy(records, placeOf);
  const places = new Set(
    moves.map(({ event, call }) => place(event, call.toolCallId)),
  );
  return [
    ...moves.flatMap((move) =>
      problemsOf(
        move,
        explained.get(place(move.event, move.call.toolCallId)) ?? [],
        records,
      ),
    ),
    ...records
      .filter((record) => !places.has(placeOf(record)))
      .map((record) => `no event: ${nameOf(record)}`),
  ];
}

/**
 * The files among those that exist which some call was to write and whose start
 * no record tells.
 */
export function unannounced(
  files: readonly string[],
  events: readonly TaskEvent[],
  records: readonly AuditRecord[],
): string[] {
  const started = new Set(
    records
      .filter(({ action }) => action === STARTED)
      .map(({ toolCallId }) => toolCallId),
  );
  const announced = movesOf(events).filter(({ call }) =>
    started.has(call.toolCallId),
  );
  const paths = new Set(
    announced.map(({ call }) => call.inputParameters?.file_path),
  );
  return files.filter((file) => !paths.has(file));
}

/**
 * The events by which a call came to a stage that somebody decided, or was
 * asked anew; not what it shows while it runs.
 */
export function movesOf(events: readonly TaskEvent[]): Move[] {
  const stages = new Map<string, ToolCallStage>();
  return events.flatMap((event) => {
    const { payload, toolCallDetail: detail } = event;
    if (payload.case !== "toolCall" || !detail) return [];
    const call = payload.value;
    const before = stages.get(`${event.taskId} ${call.toolCallId}`);
    stages.set(`${event.taskId} ${call.toolCallId}`, detail.stage);
    const asked = detail.stage === ToolCallStage.AWAITING_APPROVAL;
    const moved =
      detail.stage !== before && detail.stage !== ToolCallStage.VALIDATING;
    return asked || moved ? [{ event, call, detail }] : [];
  });
}

const {
  ALLOWED,
  APPROVED,
  ASKED,
  CANCELLED,
  DECLINED,
  DENIED,
  FAILED,
  STARTED,
  SUCCEEDED,
} = AuditAction;

const EXPLANATIONS: Readonly<Record<ToolCallStage, readonly AuditAction[]>> = {
  [ToolCallStage.UNSPECIFIED]: [],
  [ToolCallStage.VALIDATING]: [],
  [ToolCallStage.AWAITING_APPROVAL]: [ASKED],
  [ToolCallStage.SCHEDULED]: [ALLOWED, APPROVED],
  [ToolCallStage.EXECUTING]: [STARTED],
  [ToolCallStage.SUCCEEDED]: [SUCCEEDED],
  [ToolCallStage.FAILED]: [FAILED, DENIED],
  [ToolCallStage.CANCELLED]: [CANCELLED, DECLINED],
};

function problemsOf(
  move: Move,
  beside: readonly AuditRecord[],
  records: readonly AuditRecord[],
): string[] {
  const { call, detail, event } = move;
  const name = `${call.toolName} ${place(event, call.toolCallId)} ${ToolCallStage[detail.stage]}`;
  const why = beside.find(({ action }) =>
    EXPLANATIONS[detail.stage].includes(action),
  );
  if (!why) return [`no record: ${name}`];
  if (detail.stage !== ToolCallStage.EXECUTING) return [];
  const earlier = records.filter(
    ({ number, toolCallId }) =>
      number < why.number && toolCallId === call.toolCallId,
  );
  const same = earlier.filter(({ digest }) => isEqual(digest, detail.digest));
  return [
    ...(isEqual(why.digest, detail.digest)
      ? []
      : [`another digest is started: ${name}`]),
    ...(same.some(({ action }) => action === ALLOWED || action === APPROVED)
      ? []
      : [`nobody decided: ${name}`]),
    ...(same.some(({ shown }) => shown !== "") ? [] : [`not shown: ${name}`]),
    ...(detail.digest.length === 32 || detail.parentToolCallId !== ""
      ? []
      : [`no digest: ${name}`]),
  ];
}

function placeOf(record: AuditRecord): string {
  return place(record, record.toolCallId);
}

function place(
  { taskId, sequence }: { readonly taskId: string; readonly sequence: bigint },
  callId: string,
): string {
  return `${taskId}:${sequence}:${callId}`;
}

function nameOf(record: AuditRecord): string {
  return `${AuditAction[record.action]} ${record.toolName} ${placeOf(record)}`;
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
