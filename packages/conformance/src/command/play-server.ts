import { readFile } from "node:fs/promises";
import { defined } from "@devtool/internal/json";
import type { BindingName, ProtocolVersion } from "../binding/binding.ts";
import type { CaseResult } from "../play/case-result.ts";
import { runPushSuite } from "../runner/run-push-suite.ts";
import { runServerSuite } from "../runner/run-server-suite.ts";
import { findSubject } from "../subject/find-subject.ts";
import type { Host } from "./host.ts";
import type { Play } from "./play.ts";

/** Options for testing a server. */
export interface ServerOptions {
  /**
   * The `host:port` that receives notifications. Without it they are not
   * tested.
   */
  readonly push?: string;
  /** The version of A2A to speak. */
  readonly a2a?: ProtocolVersion;
  /** The binding to speak. */
  readonly binding?: BindingName;
  /** A JSON file with the prompt for each behavior. */
  readonly prompts?: string;
  /** The prefix of the ids of the cases to run. */
  readonly only?: string;
}

/**
 * Connects to a server and prepares the server suite and, with a receiver, the
 * push suite.
 */
export async function playServer(
  url: string,
  options: ServerOptions,
  host: Host,
  signal: AbortSignal,
): Promise<Play> {
  const { a2a: protocolVersion, binding, only, push } = options;
  const prompts =
    options.prompts === undefined
      ? undefined
      : parsePrompts(await readFile(options.prompts, "utf8"));
  const access = await host.findAccess(url, signal);
  const subject = await findSubject(
    { url, ...access, ...defined({ protocolVersion, binding }) },
    signal,
  );
  const choice = defined({ prompts, only });
  async function* results(): AsyncIterable<CaseResult> {
    yield* runServerSuite(subject, signal, choice);
    if (push !== undefined) {
      yield* runPushSuite(subject, signal, { receiver: push, ...choice });
    }
  }
  return {
    suite: `A2A ${subject.binding.protocolVersion} server`,
    subject: { ...subject, name: url },
    results: results(),
  };
}

/** Parses a JSON object of prompts by the name of their behavior. */
function parsePrompts(text: string): Readonly<Record<string, string>> {
  const entries = Object.entries(JSON.parse(text)).map(
    ([name, prompt]): [string, string] => {
      if (typeof prompt !== "string") {
        throw new Error(`prompt "${name}" must be a string`);
      }
      return [name, prompt];
    },
  );
  return Object.fromEntries(entries);
}
