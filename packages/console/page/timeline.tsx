import { toJsonString } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { subscribeTask } from "@devtool/client";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import { VList } from "virtua";
import type { ConsoleClient } from "./console-client.ts";
import { FrameList } from "./frame-list.tsx";
import { BINDINGS } from "./frames.ts";
import { language, words } from "./words.ts";

export interface TimelineProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** The sequence number of the last event that the session shows. */
  readonly head: bigint;
}

/** A session on the wire: the events of its log, or the frames of another binding. */
export function Timeline({ client, taskId, head }: TimelineProps): ReactNode {
  const [name, choose] = useState("");
  const binding = BINDINGS.find((one) => one.name === name);
  return (
    <div className="frames">
      <label>
        {words.binding}
        <select value={name} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="">Connect</option>
          {BINDINGS.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
      </label>
      <p className="facts">{binding ? words.aboutFrames : words.aboutEvents}</p>
      {binding ? (
        <FrameList key={name} client={client} taskId={taskId} binding={binding} />
      ) : (
        <EventList client={client} taskId={taskId} head={head} />
      )}
    </div>
  );
}

/** The log of a session, event by event. */
function EventList({ client, taskId, head }: TimelineProps): ReactNode {
  const events = useEvents(client, taskId, head);
  return (
    <VList className="timeline">
      {events.map((event) => (
        <details key={String(event.sequence)} className="event">
          <summary>
            <span className="line-number">{String(event.sequence)}</span>
            <time>{event.time && timestampDate(event.time).toLocaleTimeString(language)}</time>
            <code>{event.payload.case ?? "–"}</code>
            <span>{TaskState[event.state]}</span>
          </summary>
          <pre className="output">{toJsonString(TaskEventSchema, event, { prettySpaces: 2 })}</pre>
        </details>
      ))}
    </VList>
  );
}

/** Reads the events of a task up to a sequence number. */
function useEvents(client: ConsoleClient, taskId: string, head: bigint): readonly TaskEvent[] {
  const [events, setEvents] = useState<readonly TaskEvent[]>([]);
  const last = events.at(-1)?.sequence ?? 0n;
  useEffect(() => {
    if (last >= head) return;
    const mounted = new AbortController();
    const read = async (): Promise<void> => {
      const more: TaskEvent[] = [];
      for await (const event of subscribeTask(client, { taskId, afterSequence: last }, mounted.signal)) {
        more.push(event);
        if (event.sequence >= head) break;
      }
      if (!mounted.signal.aborted) setEvents((before) => [...before, ...more]);
    };
    read().catch(() => undefined);
    return () => mounted.abort();
  }, [client, taskId, head, last]);
  return events;
}
