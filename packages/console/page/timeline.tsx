import { toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { subscribeTask } from "@devtool/client";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { type ReactNode, useCallback, useState } from "react";
import { VList } from "virtua";
import type { ConsoleClient } from "./console-client.ts";
import { FrameList } from "./frame-list.tsx";
import { BINDINGS } from "./frames.ts";
import { problemText } from "./problem-text.ts";
import { type Asked, useAnswer } from "./use-answer.ts";
import { language, words } from "./words.ts";

export interface TimelineProps {
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
  const { value: events = [], error } = useAnswer(ask, head);
  return (
    <>
      {error && <p role="alert">{problemText(error)}</p>}
      <VList className="timeline">
        {events.map((event) => (
          <details key={String(event.sequence)} className="event">
            <summary>
              <span className="line-number">{String(event.sequence)}</span>
              <time>
                {event.time &&
                  timestampDate(event.time).toLocaleTimeString(language)}
              </time>
              <code>{event.payload.case ?? "–"}</code>
              <span>{TaskState[event.state]}</span>
            </summary>
            <pre className="output">
              {toJsonString(TaskEventSchema, event, { prettySpaces: 2 })}
            </pre>
          </details>
        ))}
      </VList>
    </>
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
