import type { Requirement } from "./requirement.ts";

/** What A2A 0.3 itself asks of a server, by ids of our own; the sections are those of its specification. */
export const A2A_03_REQUIREMENTS: Readonly<Record<string, Requirement>> = v03({
  "A2A03-CARD": { behaviour: "the card is at its well-known path and says what it must", source: "A2A 0.3 §5.3, §5.5" },
  "A2A03-AUTH": { behaviour: "who is not let in gets 401", source: "A2A 0.3 §4.4" },
  "A2A03-JSONRPC": { behaviour: "answers and errors are those of JSON-RPC 2.0", source: "A2A 0.3 §3.2.1, §8.1" },
  "A2A03-INVALID": { behaviour: "parameters that cannot be used are refused", source: "A2A 0.3 §8.1" },
  "A2A03-SEND": { behaviour: "a message is answered with its task when that has ended", source: "A2A 0.3 §7.1" },
  "A2A03-BLOCKING": { behaviour: "who does not want to wait gets the task at once", source: "A2A 0.3 §7.1.2" },
  "A2A03-STREAM": { behaviour: "a stream tells of the task to its end or its question", source: "A2A 0.3 §7.2" },
  "A2A03-GET": { behaviour: "a task can be read; one that is not there is an error", source: "A2A 0.3 §7.3, §8.2" },
  "A2A03-HISTORY": { behaviour: "the history is no longer than is asked for", source: "A2A 0.3 §7.3.1" },
  "A2A03-CANCEL": {
    behaviour: "a task at work can be canceled, one that has ended cannot",
    source: "A2A 0.3 §7.4, §8.2",
  },
  "A2A03-MULTI-TURN": {
    behaviour: "a message with its taskId continues a task that waits",
    source: "A2A 0.3 §6.4, §9.4",
  },
  "A2A03-RESUBSCRIBE": { behaviour: "the stream of a task can be joined again", source: "A2A 0.3 §7.9" },
  "A2A03-PUSH-CONFIG": {
    behaviour: "notification configs are set, read, listed and deleted",
    source: "A2A 0.3 §7.5–7.8",
  },
  "A2A03-NOT-OFFERED": {
    behaviour: "what the card does not claim is refused by name",
    source: "A2A 0.3 §8.2",
  },
  "A2A03-EXTENDED-CARD": { behaviour: "the extended card is had with credentials", source: "A2A 0.3 §7.10" },
});

/** What A2A 1.0 itself asks of a server, by ids of our own; the sections are those of its specification. */
export const A2A_1_REQUIREMENTS: Readonly<Record<string, Requirement>> = v1({
  "A2A1-CARD": {
    behaviour: "the card is at its well-known path and says what it must",
    source: "A2A 1.0 §4.4.1, §8.2",
  },
  "A2A1-CARD-CACHE": { behaviour: "the card can be kept: an age, an ETag, and 304", source: "A2A 1.0 §8.6 (should)" },
  "A2A1-AUTH": { behaviour: "who is not let in is told so before anything is looked at", source: "A2A 1.0 §3.3.2" },
  "A2A1-VERSION": {
    behaviour: "a version that is not spoken is refused; a patch does not count",
    source: "A2A 1.0 §3.6",
  },
  "A2A1-JSON": { behaviour: "JSON is ProtoJSON: camelCase, enum names, what is required", source: "A2A 1.0 §5.5" },
  "A2A1-JSON-READ": { behaviour: "fields that are not known are left out", source: "A2A 1.0 §3.3; ProtoJSON" },
  "A2A1-CONTENT-TYPE": { behaviour: "answers are JSON, streams are server-sent events", source: "A2A 1.0 §9.1, §11.1" },
  "A2A1-JSONRPC": { behaviour: "answers and errors are those of JSON-RPC 2.0", source: "A2A 1.0 §9" },
  "A2A1-ERROR-INFO": {
    behaviour: "an error with a name carries it in an ErrorInfo",
    source: "A2A 1.0 §5.4, §9.5, §10.6, §11.6",
  },
  "A2A1-HTTP-STATUS": {
    behaviour: "errors over HTTP+JSON have their status and AIP-193's form",
    source: "A2A 1.0 §5.4, §11.6",
  },
  "A2A1-GRPC-STATUS": { behaviour: "errors over gRPC have their status", source: "A2A 1.0 §5.4, §10.6" },
  "A2A1-INVALID": {
    behaviour: "requests without what they need, or of wrong types, are refused",
    source: "A2A 1.0 §3.3.2, §5.7",
  },
  "A2A1-SEND": { behaviour: "a message is answered with its task when that has ended", source: "A2A 1.0 §3.1.1" },
  "A2A1-RETURN-IMMEDIATELY": { behaviour: "who does not want to wait gets the task at once", source: "A2A 1.0 §3.2.2" },
  "A2A1-HISTORY": { behaviour: "the history is no longer than is asked for", source: "A2A 1.0 §3.2.4" },
  "A2A1-STREAM-ORDER": {
    behaviour: "a stream is one message, or a task and then its updates",
    source: "A2A 1.0 §3.1.2",
  },
  "A2A1-STREAM-END": {
    behaviour: "a stream ends when the task has ended or waits for its client",
    source: "A2A 1.0 §3.1.2, §11.7",
  },
  "A2A1-GET": { behaviour: "a task can be read; one that is not there is an error", source: "A2A 1.0 §3.1.3" },
  "A2A1-LIST": {
    behaviour: "tasks are listed, the latest first, by context, state and time",
    source: "A2A 1.0 §3.1.4",
  },
  "A2A1-LIST-PAGES": { behaviour: "a list comes in pages of 1 to 100, each behind a token", source: "A2A 1.0 §3.1.4" },
  "A2A1-CANCEL": { behaviour: "a task at work can be canceled, one that has ended cannot", source: "A2A 1.0 §3.1.5" },
  "A2A1-SUBSCRIBE": {
    behaviour: "a task at work is streamed from where it is, one that has ended is not",
    source: "A2A 1.0 §3.1.6",
  },
  "A2A1-MULTI-TURN": {
    behaviour: "a message with its taskId continues a task that waits, in its context",
    source: "A2A 1.0 §3.4",
  },
  "A2A1-ENDED-TASK": { behaviour: "a message to a task that has ended is refused", source: "A2A 1.0 §3.1.1" },
  "A2A1-PUSH-CONFIG": {
    behaviour: "notification configs are made, read, listed and deleted",
    source: "A2A 1.0 §3.1.7–3.1.10",
  },
  "A2A1-PUSH-DELIVERY": {
    behaviour: "each update of a task is posted to its configs as a StreamResponse",
    source: "A2A 1.0 §4.3.3",
    mode: "push",
    owed: "is shown by the push suite, with a receiver that the server may reach",
  },
  "A2A1-NOT-OFFERED": { behaviour: "what the card does not claim is refused by name", source: "A2A 1.0 §3.3.4" },
  "A2A1-EXTENDED-CARD": { behaviour: "the extended card is had with credentials", source: "A2A 1.0 §3.1.11" },
  "A2A1-TENANT": { behaviour: "a task is there under the tenant that it was made in", source: "A2A 1.0 §4.4.6" },
  "A2A1-TENANT-SCOPE": { behaviour: "a task is not there under another tenant", source: "own" },
});

type Unversioned = Readonly<Record<string, Omit<Requirement, "protocolVersion">>>;

function v03(requirements: Unversioned): Readonly<Record<string, Requirement>> {
  return withVersion(requirements, "0.3");
}

function v1(requirements: Unversioned): Readonly<Record<string, Requirement>> {
  return withVersion(requirements, "1.0");
}

function withVersion(requirements: Unversioned, protocolVersion: "0.3" | "1.0"): Readonly<Record<string, Requirement>> {
  const entries = Object.entries(requirements).map(([id, requirement]) => [id, { ...requirement, protocolVersion }]);
  return Object.fromEntries(entries);
}
