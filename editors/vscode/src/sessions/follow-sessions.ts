import { setTimeout as delay } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { openConnection, userMessage } from "@devtool/cli/connection";
import { createSessionList, type SessionListSnapshot } from "@devtool/client";
import type { TaskSummary } from "@devtool/schema";
import type { Question } from "./question.ts";
import type { ServerAddress } from "./server-address.ts";
import { WaitingQuestions } from "./waiting-questions.ts";

/** Where sessions are shown. */
export interface SessionsDisplay {
  /** Shows the sessions, and the questions of each by its id. */
  show(
    sessions: readonly TaskSummary[],
    questions: ReadonlyMap<string, readonly Question[]>,
  ): void;
  /** Says how it stands with the server. Undefined: all is well. */
  say(text: string | undefined): void;
}

/** Pause before a server is looked for again, in milliseconds. */
const PAUSE_MS = 3_000;

/**
 * Shows the sessions of a server until the signal aborts, also after the server
 * was started again. Never rejects.
 */
export async function followSessions(
  { url, token }: ServerAddress,
  display: SessionsDisplay,
  signal: AbortSignal,
): Promise<void> {
  const options = {
    ...(url !== undefined && { url }),
    ...(token !== undefined && { token }),
  };
  while (!signal.aborted) {
    try {
      const { client } = await openConnection(
        options,
        { env: process.env },
        (text) => display.say(text),
        signal,
      );
      await follow(client, display, signal);
    } catch (reason) {
      if (!signal.aborted) display.say(problemOf(reason));
    }
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Shows a list, and reads the questions of one snapshot after the other. */
async function follow(
  client: Parameters<typeof createSessionList>[0],
  display: SessionsDisplay,
  signal: AbortSignal,
): Promise<void> {
  const list = createSessionList(client);
  const questions = new WaitingQuestions(client);
  let isReading = false;
  const show = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    let shown: SessionListSnapshot | undefined;
    while (!signal.aborted && shown !== list.snapshot()) {
      shown = list.snapshot();
      const { sessions, lost, isLoaded } = shown;
      // What cannot be read now is read after the next change.
      if (!lost) await questions.read(sessions, signal).catch(() => undefined);
      if (signal.aborted) break;
      display.show(sessions, questions.get());
      display.say(
        lost
          ? `Connection lost: ${userMessage(lost)}`
          : isLoaded
            ? undefined
            : "Connecting…",
      );
    }
    isReading = false;
  };
  const stop = list.subscribe(() => void show());
  try {
    await list.follow(signal);
  } finally {
    stop();
  }
}

function problemOf(reason: unknown): string {
  const isRefused =
    reason instanceof ConnectError && reason.code === Code.Unauthenticated;
  return isRefused
    ? 'The server refused the token: set it by the command "devtool: Set the Token of the Server"'
    : userMessage(reason);
}
