import { toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { subscribeTask } from "@devtool/client";
import { visibleText } from "@devtool/internal/visible-text";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { VList } from "virtua";
import type { ConsoleClient } from "./console-client.ts";
import { type EventRow, eventRows, rowHas } from "./event-row.ts";
import { FrameList } from "./frame-list.tsx";
import { BINDINGS } from "./frames.ts";
import { problemText } from "./problem-text.ts";
import { type Asked, useAnswer } from "./use-answer.ts";
import { fillText, language, words } from "./words.ts";

interface TimelineProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** The sequence number of the last event that the session shows. */
  readonly head: bigint;
}

/**
 * A session on the wire: the events of its log, or the frames of another
 * binding.
 */
export function Timeline({ client, taskId, head }: TimelineProps): ReactNode {
  const [name, choose] = useState("");
  const binding = BINDINGS.find((one) => one.name === name);
  return (
    <div className="frames">
      <label>
        {words.binding}
        <select
          value={name}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value="">Connect</option>
          {BINDINGS.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
      </label>
      <p className="facts">{binding ? words.aboutFrames : words.aboutEvents}</p>
      {binding ? (
        <FrameList
          key={name}
          client={client}
          taskId={taskId}
          binding={binding}
        />
      ) : (
        <EventList client={client} taskId={taskId} head={head} />
      )}
    </div>
  );
}

/** The log of a session, event by event. */
function EventList({ client, taskId, head }: TimelineProps): ReactNode {
  const ask = useCallback(
    (asked: Asked<Events>) => readEvents(client, taskId, asked),
    [client, taskId],
  );
  const { value: events, error } = useAnswer(ask, head);
  const [sought, seek] = useState("");
  const rows = useMemo(() => eventRows(events ?? []), [events]);
  return (
    <>
      {error && <p role="alert">{problemText(error)}</p>}
      <input
        type="search"
        aria-label={words.findEvents}
        placeholder={words.findEvents}
        value={sought}
        onChange={({ currentTarget }) => seek(currentTarget.value)}
      />
      <VList className="timeline">
        {rows
          .filter((row) => rowHas(row, sought))
          .map((row) => (
            <Row key={String(row.event.sequence)} row={row} />
          ))}
      </VList>
    </>
  );
}

function Row({
  row: { event, kind, about, durationMs, bytes },
}: {
  readonly row: EventRow;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const measures = [
    durationMs !== undefined && `${durationMs.toLocaleString(language)} ms`,
    fillText(words.bytes, bytes.toLocaleString(language)),
  ];
  return (
    <details
      className="event"
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span className="line-number">{String(event.sequence)}</span>
        <time>
          {event.time && timestampDate(event.time).toLocaleTimeString(language)}
        </time>
        <code>{kind}</code>
        <span className="event-about">{visibleText(about)}</span>
        <span className="event-measures">
          {measures.filter(Boolean).join(" · ")}
        </span>
      </summary>
      {isOpen && (
        <pre className="output">
          {toJsonString(TaskEventSchema, event, { prettySpaces: 2 })}
        </pre>
      )}
    </details>
  );
}

type Events = readonly TaskEvent[];

/** Reads the events after those that are there, up to the last one. */
async function readEvents(
  client: ConsoleClient,
  taskId: string,
  { before = [], head, signal }: Asked<Events>,
): Promise<Events> {
  const afterSequence = before.at(-1)?.sequence ?? 0n;
  if (afterSequence >= head) return before;
  const events = [...before];
  for await (const event of subscribeTask(
    client,
    { taskId, afterSequence },
    signal,
  )) {
    events.push(event);
    if (event.sequence >= head) break;
  }
  return events;
}
