import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { createParser } from "eventsource-parser";
import {
  endOfSubscription,
  openedSubscription,
  type Subscription,
} from "./task-subscriptions.ts";

/**
 * Serves a subscription: `notify` sends a message to its host. `ended` aborts
 * when nobody hears it any more. Rejects when the subscription cannot be served,
 * which ends the response.
 */
type Serve = (
  subscription: Subscription,
  notify: (message: JsonObject) => void,
  ended: AbortSignal,
) => Promise<void>;

/**
 * Returns the response to a `subscriptions/listen` with the notifications of
 * its subscription, which `serve` sends once the SDK has opened it.
 */
export function withNotifications(response: Response, serve: Serve): Response {
  const { body, status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream");
  if (!body || !isStream) return response;
  const ended = new AbortController();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let feed: (chunk: Uint8Array) => void = () => undefined;
  const served = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => {
      const send = (frame: string): void => {
        if (!ended.signal.aborted) controller.enqueue(encoder.encode(frame));
      };
      const notify = (message: JsonObject): void =>
        send(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      const parser = createParser({
        // It keeps the connection alive.
        onComment: (text) => send(`: ${text}\n\n`),
        onEvent: ({ data }) => {
          const message = parseJsonOrUndefined(data);
          if (!isObject(message)) return;
          const subscription = openedSubscription(message);
          notify(subscription?.acknowledged ?? message);
          if (!subscription) return;
          serve(subscription, notify, ended.signal).catch((reason: unknown) => {
            if (ended.signal.aborted) return;
            notify(endOfSubscription(subscription, reason));
            ended.abort();
            controller.terminate();
          });
        },
      });
      feed = (chunk) => parser.feed(decoder.decode(chunk, { stream: true }));
    },
    transform: (chunk) => feed(chunk),
    flush: () => ended.abort(),
  });
  // Also ends when the host is gone, which flushes nothing.
  const copied = body.pipeTo(served.writable);
  void copied.catch(() => undefined).finally(() => ended.abort());
  return new Response(served.readable, { status, headers });
}
