import type { JsonObject } from "@bufbuild/protobuf";
import type { DevtoolServer } from "@devtool/server";
import { postJson } from "../post-json.ts";

/** What a server answered to a run. */
export interface RunResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The events of the run. */
  readonly events: readonly JsonObject[];
  /** The body of the response. */
  readonly body: string;
}

/**
 * The body of a run without a message: what clients send when they have
 * nothing.
 */
export function bareRun(threadId: string): JsonObject {
  return {
    threadId,
    runId: crypto.randomUUID(),
    messages: [],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  };
}

/** Posts a run as a client that is not the official one might. */
export async function postRun(
  { url, token }: Pick<DevtoolServer, "url" | "token">,
  run: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<RunResponse> {
  const response = await postJson({ url, token }, "/ag-ui", run, headers);
  const body = await response.text();
  const events = [...body.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) =>
    JSON.parse(json),
  );
  return { status: response.status, headers: response.headers, events, body };
}
