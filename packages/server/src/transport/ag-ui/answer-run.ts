import type { KeyedQueue } from "@devtool/internal/keyed-queue";
import { decodeRunInput } from "@devtool/schema/ag-ui";
import { quoted } from "../../errors.ts";
import { callKeys } from "../../handler/caller.ts";
import type { DialectServices } from "../dialect.ts";
import { streamFrames } from "../http/answer.ts";
import { assertJson, readBody } from "../http/body.ts";
import { HttpFailure } from "../http/failure.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { errorEvent } from "./errors.ts";
import { runFrames } from "./run.ts";

/** Starts a run, and answers with its events as server-sent events. */
export async function answerRun(
  { request, response, context }: RoutedCall,
  services: DialectServices,
  turns: KeyedQueue,
): Promise<void> {
  context.values.set(callKeys.binding, "ag-ui");
  assertJson(request);
  const accept = request.headers.accept ?? "";
  // A client that names no media type takes all of them.
  if (accept !== "" && !/text\/event-stream|text\/\*|\*\/\*/i.test(accept)) {
    throw new HttpFailure(
      `accept ${quoted(accept)} names no form of a run: accept text/event-stream`,
      406,
    );
  }
  const { handler, maxRequestBytes, onError } = services;
  const input = decodeRunInput(await readBody(request, maxRequestBytes));
  await streamFrames(
    response,
    runFrames({ handler, onError, turns, context, input }),
    () => ({}),
    {
      endpoint: services,
      wrap: (result) => result,
      error: (reason) => JSON.stringify(errorEvent(reason, onError)),
    },
  );
}
