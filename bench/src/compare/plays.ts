import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { catchUp, prompt, type Seen, stream, taskIdOf } from "../client.ts";
import type { Subject } from "../subject.ts";

/** Work that both servers do, by the unit that its row counts. */
export interface Play {
  readonly row: string;
  /** Units in a block. */
  readonly units: number;
  /** Does a block of it in a task; blocks of the servers take turns. */
  readonly run: (server: Subject, taskId: string) => Promise<void>;
}

const CHUNKS = 2500;
const FILE = "file.txt";

/** The plays of a round, each warmed up by a block that does not count. */
export const PLAYS: readonly Play[] = [
  turns("text-turn.cpu-us", 40, "text hello"),
  turns("read-turn.cpu-us", 20, `read ${FILE}`),
  {
    row: "stream-event.cpu-us",
    units: CHUNKS,
    run: async (server) => {
      await sayChunks(server);
    },
  },
  {
    row: "catch-up-event.cpu-us",
    units: 6 * CHUNKS,
    run: async (server, taskId) => {
      for (let time = 0; time < 6; time++) {
        assertWhole(await catchUp(server, taskId));
      }
    },
  },
];

/** Begins the task in which the plays of a server happen, with a long log. */
export async function beginTask(server: Subject): Promise<string> {
  writeFileSync(join(server.workspace, FILE), "content\n");
  return taskIdOf(await sayChunks(server));
}

async function sayChunks(server: Subject): Promise<Seen> {
  const seen = await stream(server, prompt(`say ${CHUNKS}`));
  assertWhole(seen);
  return seen;
}

/** The count of events lacks those that chunks of the network divide. */
function assertWhole({ events }: Seen): void {
  if (events < 0.9 * CHUNKS) {
    throw new Error(`a stream has ${events} events: ${CHUNKS} are said`);
  }
}

/** Turns one after the other, in a task of their own for each block. */
function turns(row: string, units: number, text: string): Play {
  return {
    row,
    units,
    run: async (server) => {
      const taskId = taskIdOf(await stream(server, prompt(text)));
      for (let turn = 1; turn < units; turn++) {
        await stream(server, { ...prompt(text), taskId });
      }
    },
  };
}
