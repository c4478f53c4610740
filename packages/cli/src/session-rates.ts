import type { TaskSummary } from "@devtool/schema";

/** How much happens in sessions. */
export interface Rates {
  /** Events a second, over ten seconds. */
  readonly events: number;
  /** Turns that began in the last minute. */
  readonly turns: number;
}

/** The time in milliseconds over which events are counted. */
const EVENTS_MS = 10_000;

/** The time in milliseconds over which turns are counted. */
const TURNS_MS = 60_000;

/** Counts what changes in a list of sessions. */
export class SessionRates {
  /** The events and messages of each session, as they were last. */
  readonly #known = new Map<string, { events: number; messages: number }>();
  #changes: { atMs: number; events: number; turns: number }[] = [];
  #beganMs: number | undefined;

  /** Notes the sessions as they are. What there is at first does not count. */
  note(sessions: readonly TaskSummary[], nowMs: number): void {
    let [events, turns] = [0, 0];
    for (const { id, lastEvent, messageCount } of sessions) {
      const sequence = Number(lastEvent?.sequence ?? 0n);
      const known = this.#known.get(id);
      if (known) {
        events += Math.max(0, sequence - known.events);
        turns += Math.max(0, messageCount - known.messages);
      } else if (this.#beganMs !== undefined && messageCount <= 1) {
        // A session that is new, and not an old one that came into the list.
        events += sequence;
        turns += messageCount;
      }
      const last = Math.max(sequence, known?.events ?? 0);
      const count = Math.max(messageCount, known?.messages ?? 0);
      this.#known.set(id, { events: last, messages: count });
    }
    this.#beganMs ??= nowMs;
    this.#changes.push({ atMs: nowMs, events, turns });
    this.#changes = this.#changes.filter(({ atMs }) => atMs > nowMs - TURNS_MS);
  }

  read(nowMs: number): Rates {
    const elapsedMs = Math.max(1000, nowMs - (this.#beganMs ?? nowMs));
    const seconds = Math.min(EVENTS_MS, elapsedMs) / 1000;
    let [events, turns] = [0, 0];
    for (const change of this.#changes) {
      turns += change.turns;
      if (change.atMs > nowMs - EVENTS_MS) events += change.events;
    }
    return { events: events / seconds, turns };
  }
}
