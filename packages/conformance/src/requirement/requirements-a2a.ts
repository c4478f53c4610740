import type { ProtocolVersion } from "../binding/binding.ts";
import { Level } from "../protos.ts";
import type { Requirement } from "./requirement.ts";

/**
 * What A2A 0.3 itself requires of a server. The ids are the kit's own; the
 * sections are those of the specification.
 */
export const A2A_03_REQUIREMENTS: Readonly<Record<string, Requirement>> =
  withVersion("0.3", {
    "A2A03-CARD": {
      behaviour:
        "the card is at its well-known path and has the required fields",
      source: "A2A 0.3 §5.3, §5.5",
    },
    "A2A03-AUTH": {
      behaviour: "a request without valid credentials is refused",
      source: "A2A 0.3 §4.4",
    },
    "A2A03-AUTH-CHALLENGE": {
      behaviour: "a request without credentials gets 401",
      source: "A2A 0.3 §4.4",
      level: Level.SHOULD,
    },
    "A2A03-JSONRPC": {
      behaviour: "answers and errors have the form of JSON-RPC 2.0",
      source: "A2A 0.3 §3.2.1, §8.1",
    },
    "A2A03-CONTENT-TYPE": {
      behaviour: "answers are JSON, streams are server-sent events",
      source: "A2A 0.3 §3.2.1, §3.3",
    },
    "A2A03-JSON": {
      behaviour:
        "answers have the required fields, in the names of this version",
      source: "A2A 0.3 §6",
    },
    "A2A03-CONTEXT": {
      behaviour: "a message with a contextId is answered in that context",
      source: "A2A 0.3 §6.1, §6.4",
      level: Level.SHOULD,
    },
    "A2A03-INVALID": {
      behaviour: "invalid parameters are refused",
      source: "A2A 0.3 §8.1",
    },
    "A2A03-SEND": {
      behaviour:
        "a message is answered with a message, or with its task once that has ended",
      source: "A2A 0.3 §7.1",
    },
    "A2A03-BLOCKING": {
      behaviour: "a client that does not want to wait gets the task at once",
      source: "A2A 0.3 §7.1.2",
    },
    "A2A03-STREAM": {
      behaviour:
        "a stream follows the task until it ends or waits for the client",
      source: "A2A 0.3 §7.2",
    },
    "A2A03-GET": {
      behaviour: "a task can be read; an unknown one is an error",
      source: "A2A 0.3 §7.3, §8.2",
    },
    "A2A03-HISTORY": {
      behaviour: "the history is no longer than requested",
      source: "A2A 0.3 §7.3.1",
    },
    "A2A03-CANCEL": {
      behaviour: "a running task can be canceled, an ended one cannot",
      source: "A2A 0.3 §7.4, §8.2",
    },
    "A2A03-MULTI-TURN": {
      behaviour: "a message with its taskId continues a task that waits",
      source: "A2A 0.3 §6.4, §9.4",
    },
    "A2A03-RESUBSCRIBE": {
      behaviour: "a client can subscribe again to the stream of a task",
      source: "A2A 0.3 §7.9",
    },
    "A2A03-PUSH-CONFIG": {
      behaviour: "notification configs are set, read, listed and deleted",
      source: "A2A 0.3 §7.5–7.8",
    },
    "A2A03-NOT-OFFERED": {
      behaviour:
        "a method that the card does not claim is refused with the named error",
      source: "A2A 0.3 §8.2",
    },
    "A2A03-EXTENDED-CARD": {
      behaviour: "the extended card is served to authenticated clients",
      source: "A2A 0.3 §7.10",
    },
  });

/**
 * What A2A 1.0 itself requires of a server. The ids are the kit's own; the
 * sections are those of the specification.
 */
export const A2A_1_REQUIREMENTS: Readonly<Record<string, Requirement>> =
  withVersion("1.0", {
    "A2A1-CARD": {
      behaviour:
        "the card is at its well-known path and has the required fields",
      source: "A2A 1.0 §4.4.1, §8.2",
    },
    "A2A1-CARD-CACHE": {
      behaviour: "the card can be cached: max-age, ETag and 304",
      source: "A2A 1.0 §8.6.1",
      level: Level.SHOULD,
    },
    "A2A1-AUTH": {
      behaviour: "a request without valid credentials is refused",
      source: "A2A 1.0 §3.3.2, §7.4",
    },
    "A2A1-AUTH-CHALLENGE": {
      behaviour:
        "a request without credentials gets the status for it, before anything else is checked, and over HTTP a challenge",
      source: "A2A 1.0 §3.3.2, §7.4",
      level: Level.SHOULD,
    },
    "A2A1-VERSION": {
      behaviour:
        "an unsupported version is refused; the patch version is ignored",
      source: "A2A 1.0 §3.6",
    },
    "A2A1-JSON": {
      behaviour: "JSON is ProtoJSON: camelCase, enum names, required fields",
      source: "A2A 1.0 §5.5",
    },
    "A2A1-JSON-READ": {
      behaviour: "unknown fields are ignored",
      source: "A2A 1.0 §5.7",
      level: Level.SHOULD,
    },
    "A2A1-CONTENT-TYPE": {
      behaviour: "answers are JSON, streams are server-sent events",
      source: "A2A 1.0 §9.1, §11.1",
    },
    "A2A1-JSONRPC": {
      behaviour: "answers and errors have the form of JSON-RPC 2.0",
      source: "A2A 1.0 §9",
    },
    "A2A1-ERROR-INFO": {
      behaviour: "a named error carries its name in an ErrorInfo",
      source: "A2A 1.0 §5.4, §9.5, §10.6, §11.6",
      levelOver: { JSONRPC: Level.SHOULD },
    },
    "A2A1-HTTP-STATUS": {
      behaviour:
        "errors over HTTP+JSON have the right status and the form of AIP-193",
      source: "A2A 1.0 §5.4, §11.6",
    },
    "A2A1-GRPC-STATUS": {
      behaviour: "errors over gRPC have the right status",
      source: "A2A 1.0 §5.4, §10.6",
    },
    "A2A1-INVALID": {
      behaviour: "requests with wrongly typed fields are refused",
      source: "A2A 1.0 §3.3.2",
    },
    "A2A1-REQUIRED": {
      behaviour: "requests without required fields are refused",
      source: "A2A 1.0 §5.7",
      level: Level.SHOULD,
    },
    "A2A1-SEND": {
      behaviour:
        "a message is answered with a message, or with its task once that has ended or waits",
      source: "A2A 1.0 §3.1.1, §3.2.2",
    },
    "A2A1-RETURN-IMMEDIATELY": {
      behaviour: "a client that does not want to wait gets the task at once",
      source: "A2A 1.0 §3.2.2",
    },
    "A2A1-HISTORY": {
      behaviour: "the history is no longer than requested",
      source: "A2A 1.0 §3.2.4, a2a.proto",
    },
    "A2A1-STREAM-ORDER": {
      behaviour: "a stream is one message, or a task and then its updates",
      source: "A2A 1.0 §3.1.2",
    },
    "A2A1-STREAM-END": {
      behaviour: "a stream ends when the task has ended",
      source: "A2A 1.0 §3.1.2",
    },
    "A2A1-STREAM-PAUSE": {
      behaviour: "a stream ends when the task waits for the client",
      source: "A2A 1.0 §11.7",
      level: Level.SHOULD,
    },
    "A2A1-GET": {
      behaviour: "a task can be read; an unknown one is an error",
      source: "A2A 1.0 §3.1.3",
    },
    "A2A1-LIST": {
      behaviour:
        "tasks are listed, newest first, and filtered by context, state and time",
      source: "A2A 1.0 §3.1.4",
    },
    "A2A1-LIST-PAGES": {
      behaviour: "a list has pages of 1 to 100 tasks with page tokens",
      source: "A2A 1.0 §3.1.4",
    },
    "A2A1-CANCEL": {
      behaviour: "a running task can be canceled, an ended one cannot",
      source: "A2A 1.0 §3.1.5",
    },
    "A2A1-SUBSCRIBE": {
      behaviour: "a running task can be subscribed to, an ended one cannot",
      source: "A2A 1.0 §3.1.6",
    },
    "A2A1-MULTI-TURN": {
      behaviour:
        "a message with its taskId continues a task that waits, in its context",
      source: "A2A 1.0 §3.4",
    },
    "A2A1-CONTEXT": {
      behaviour: "a message with a contextId is answered in that context",
      source: "A2A 1.0 §3.4.1",
    },
    "A2A1-ENDED-TASK": {
      behaviour: "a message to a task that has ended is refused",
      source: "A2A 1.0 §3.1.1",
    },
    "A2A1-PUSH-CONFIG": {
      behaviour: "notification configs are created, read, listed and deleted",
      source: "A2A 1.0 §3.1.7–3.1.10",
    },
    "A2A1-PUSH-DELIVERY": {
      behaviour:
        "each update of a task is posted to its configs as a StreamResponse",
      source: "A2A 1.0 §4.3.3",
      mode: "push",
      untestedBecause:
        "the push suite tests it, with a receiver that the server can reach",
    },
    "A2A1-NOT-OFFERED": {
      behaviour:
        "a method that the card does not claim is refused with the named error",
      source: "A2A 1.0 §3.3.4",
    },
    "A2A1-EXTENDED-CARD": {
      behaviour: "the extended card is served to authenticated clients",
      source: "A2A 1.0 §3.1.11",
    },
    "A2A1-TENANT": {
      behaviour: "a task is found under the tenant that it was created in",
      source: "A2A 1.0 §4.4.6",
    },
    "A2A1-TENANT-SCOPE": {
      behaviour: "a task is not found under another tenant",
      source: "own",
    },
  });

function withVersion(
  protocolVersion: ProtocolVersion,
  requirements: Readonly<Record<string, Omit<Requirement, "protocolVersion">>>,
): Readonly<Record<string, Requirement>> {
  const entries = Object.entries(requirements).map(([id, requirement]) => [
    id,
    { ...requirement, protocolVersion },
  ]);
  return Object.fromEntries(entries);
}
