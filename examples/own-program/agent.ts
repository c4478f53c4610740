/**
 * An agent that is a program with tools of its own: it asks before it runs one,
 * and the program waits for the answer.
 */
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Agent, Code, DevtoolError, type Turn } from "@devtool/server";
import {
  type AgentEvent,
  inheritedEnvironment,
  LineReader,
  StdioProcess,
  turnDirectory,
} from "@devtool/server/agent";

const MAX_LINE_BYTES = 1024 * 1024;

export const agent: Agent = {
  about: { name: "Publisher", description: "Publishes what it is told." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn, signal) {
        const program = new StdioProcess({
          command: process.execPath,
          args: [join(import.meta.dirname, "program.mjs")],
          workingDirectory: turnDirectory(turn.task, turn.prompt),
          environment: inheritedEnvironment(process.env),
        });
        signal.addEventListener("abort", () => program.kill());
        try {
          yield* work({
            turn,
            program,
            messages: readMessages(program),
            signal,
          });
        } finally {
          await program[Symbol.asyncDispose]();
        }
        signal.throwIfAborted();
      },
    }),
  }),
};

interface Work {
  readonly turn: Turn;
  readonly program: StdioProcess;
  readonly messages: AsyncIterableIterator<JsonObject>;
  readonly signal: AbortSignal;
}

async function* work(parts: Work): AsyncIterable<AgentEvent> {
  const { turn, program, messages } = parts;
  send(program, { prompt: promptOf(turn) });
  for await (const message of messages) {
    const { say, call } = message;
    if (typeof say === "string") yield* turn.say(say);
    if (typeof call === "string") yield* makeCall(message, parts);
  }
}

/**
 * Makes a call of the program: asks, tells the program whether it may run it,
 * and waits for the result.
 *
 * After a restart the program begins again and makes the call again, which is
 * then the one that the task has: nobody is asked twice, and what has run does
 * not run again.
 */
async function* makeCall(
  { call, args, ask }: JsonObject,
  { turn, program, messages, signal }: Work,
): AsyncIterable<AgentEvent> {
  let isTold = false;
  const outcome = yield* turn.call(
    {
      toolName: String(call),
      args: isObject(args) ? args : {},
      ask: typeof ask === "string" ? ask : undefined,
      run: async () => {
        isTold = send(program, { run: true });
        const { value } = await messages.next();
        if (typeof value?.result === "string") return value.result;
        throw new DevtoolError("the program gave no result", Code.Unknown);
      },
    },
    signal,
  );
  if (isTold) return;
  const result = outcome.case === "succeeded" ? outcome.output : "";
  send(program, { run: false, result });
}

/** Yields what the program writes. Throws when it ends badly. */
async function* readMessages(
  program: StdioProcess,
): AsyncGenerator<JsonObject, undefined> {
  const reader = new LineReader(MAX_LINE_BYTES);
  for await (const chunk of program.output) {
    for (const line of reader.push(chunk)) yield parse(line);
  }
  const ended = await program.ended;
  if (ended === "it ended with exit code 0") return;
  throw new DevtoolError(
    `the program: ${ended}: ${program.lastWords}`,
    Code.Unknown,
  );
}

function parse(line: string): JsonObject {
  try {
    const message: unknown = JSON.parse(line);
    if (isObject(message)) return message;
  } catch {
    // Named below.
  }
  throw new DevtoolError(
    `the program wrote no JSON object: ${JSON.stringify(line.slice(0, 100))}`,
    Code.Unknown,
  );
}

function send(program: StdioProcess, message: JsonObject): boolean {
  return program.write(`${JSON.stringify(message)}\n`);
}

function promptOf({ prompt }: Turn): string {
  const content = prompt?.parts[0]?.content;
  if (content?.case === "text") return content.value;
  throw new DevtoolError("the message has no text", Code.InvalidArgument);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
