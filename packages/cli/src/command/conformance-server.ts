import { readFile } from "node:fs/promises";
import {
  type CaseResult,
  findSubject,
  runPushSuite,
  runServerSuite,
} from "@devtool/conformance";
import type {
  BindingName,
  ProtocolVersion,
} from "@devtool/conformance/testing";
import { defined } from "@devtool/internal/json";
import { findServer, trustIn } from "../connection/connection.ts";
import type { Io } from "../io.ts";
import type { Play } from "./conformance-play.ts";

/** Options for testing a server. */
export interface ServerOptions {
  readonly token?: string;
  readonly data?: string;
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
  {
    url,
    io,
    ...options
  }: ServerOptions & { readonly url: string; readonly io: Io },
  signal: AbortSignal,
): Promise<Play> {
  const { a2a: protocolVersion, binding, only, push } = options;
  const prompts =
    options.prompts === undefined
      ? undefined
      : parsePrompts(await readFile(options.prompts, "utf8"));
  const { token = "", certificate } =
    (await findServer({ ...options, url }, io, signal)) ?? {};
  const trust =
    certificate === undefined ? undefined : await trustIn(certificate);
  const subject = await findSubject(
    { url, token, ...defined({ trust, protocolVersion, binding }) },
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
