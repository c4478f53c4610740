import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { defined } from "@devtool/internal/json";
import { assertOnly } from "../play/skip-reason.ts";
import { PlainClient } from "../program/plain-client.ts";
import { agentCaseIds, playAgents } from "../runner/run-agent-suite.ts";
import type { Play } from "./play.ts";
import { limitMs, type ServerOptions } from "./play-server.ts";

/**
 * Prepares the agent suite for a client that is a command. Throws if there is
 * no such program.
 */
export async function playClient(
  command: string,
  options: Pick<ServerOptions, "a2a" | "only" | "timeout">,
  signal: AbortSignal,
): Promise<Play> {
  const words = wordsOf(command);
  await assertProgram(words[0] ?? "");
  const { a2a: protocolVersion, only = "" } = options;
  assertOnly(only, agentCaseIds());
  return {
    suite: "A2A client",
    subject: { name: command, agent: "", agentVersion: "" },
    notes: [
      `the kit plays the agent, and runs ${command} URL PROMPT for each conversation: it must print what it receives as JSON of A2A`,
    ],
    results: playAgents(
      (recording) => new PlainClient(words, recording),
      signal,
      { only, ...defined({ protocolVersion, timeoutMs: limitMs(options) }) },
    ),
  };
}

/** Splits a command at spaces, but not within quotes. There is no shell. */
function wordsOf(command: string): string[] {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

async function assertProgram(name: string): Promise<void> {
  const { PATH = "" } = process.env;
  const places = name.includes("/")
    ? [name]
    : PATH.split(delimiter).map((directory) => join(directory, name));
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere && name !== "") return;
  }
  throw new Error(
    `client "${name}" cannot be run: there is no such program: name one with its arguments, such as --client "python3 client.py"`,
  );
}
