import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import {
  createA2aTransport,
  createAgentTransport,
  fetchAgentCard,
} from "@devtool/client/a2a";
import {
  type CaseResult,
  REQUIREMENTS,
  runClientSuite,
} from "@devtool/conformance";
import type { ProgramResponse } from "@devtool/conformance/protos";
import {
  type A2aInterface,
  type ClientSuiteOptions,
  clientCases,
} from "@devtool/conformance/testing";
import type { SendMessageRequest } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { roundsOf, variantsOf } from "../depth.ts";
import {
  type Connecting,
  honestProgram,
} from "../interop/bindings/honest-program.ts";

const overConnect: Connecting = (baseUrl, token) =>
  createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [bearerInterceptor(token)],
  });
const overManyConnections: Connecting = (baseUrl, token) =>
  createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [bearerInterceptor(token)],
    nodeOptions: { agent: false },
  });
const overGrpc: Connecting = (baseUrl, token) =>
  createGrpcTransport({ baseUrl, interceptors: [bearerInterceptor(token)] });
const overA2a: Connecting = (url, token) => createA2aTransport({ url, token });

const V1 = { protocolVersion: "1.0", protocolBinding: "JSONRPC" } as const;
const V1_JSONRPC: A2aInterface = { protocolVersion: "1.0", binding: "JSONRPC" };
const V1_HTTP_JSON: A2aInterface = {
  protocolVersion: "1.0",
  binding: "HTTP+JSON",
};
const INTERFACES: readonly A2aInterface[] = [V1_JSONRPC, V1_HTTP_JSON];

/**
 * Connects over the interface that the card lists. The connection may break
 * before the card has arrived.
 */
const byCard: Connecting = async (url, token) => {
  const card = () => fetchAgentCard({ url }, AbortSignal.timeout(60_000));
  return createAgentTransport(await card().catch(card), { url, token });
};

const CUT_EVERY = roundsOf("DEVTOOL_CUT_EVERY", {
  quick: 7993,
  ci: 1999,
  deep: 97,
});
/**
 * For all conversations of a suite: the fewer bytes between two cuts, the more
 * there are.
 */
const LIMIT_MS = 600_000 + Math.round(200_000_000 / CUT_EVERY);

describe.concurrent("the client suite", { timeout: LIMIT_MS }, () => {
  it.each([
    ["Connect", overConnect],
    ["gRPC", overGrpc],
    ["A2A 0.3", overA2a],
  ])(
    `passes our client over %s, cut at every ${CUT_EVERY}th byte`,
    async (_name, connecting) => {
      const results = await play({ connecting, cutEvery: CUT_EVERY });
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(results).toHaveLength(2 * clientCases().cases.length);
    },
  );

  it.each(INTERFACES)(
    `passes our client over A2A 1.0 in $binding, cut at every ${CUT_EVERY}th byte`,
    async (over) => {
      let plays = 0;
      const connecting: Connecting = (url, token) => {
        plays++;
        return createA2aTransport({
          ...V1,
          url,
          token,
          protocolBinding: over.binding,
        });
      };
      const results = await play({ over, connecting, cutEvery: CUT_EVERY });
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(results).toHaveLength(2 * clientCases().cases.length);
      expect(results[0]?.id).toBe(
        `client/a2a-1.0-${over.binding.toLowerCase().replace("+", "-")}/appendix-a`,
      );
      // The streams are cut to their ends: the conversations have some 35,000
      // bytes together.
      expect(plays * CUT_EVERY).toBeGreaterThan(25_000);
    },
  );

  it.each(variantsOf("bindings found by the card", INTERFACES, 1))(
    "passes our client that finds A2A 1.0 in $binding by the card",
    async (over) => {
      const results = await play({ over, connecting: byCard, cutEvery: 9_999 });
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    },
  );

  const faults: readonly Fault[] = [
    {
      what: "sends no token",
      connecting: (baseUrl) =>
        createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      breaks: "client/failure",
      says: "the bearer token is missing or wrong",
    },
    {
      what: "chooses another option than it is told to",
      connecting: changeMessages((request) => ({
        ...request,
        message: chooseOption(request.message, "proceed_always"),
      })),
      breaks: "client/appendix-a",
      says: "the message must hold proceed_once for call-1: it holds proceed_always for call-1",
    },
    {
      what: "leaves out the user's content",
      connecting: changeMessages((request) => ({
        ...request,
        message: chooseOption(request.message, "proceed_once"),
      })),
      breaks: "client/edit-modified",
      says: "the message must hold",
    },
    {
      what: "answers outside the task",
      connecting: changeMessages((request) => ({ ...request, taskId: "" })),
      breaks: "client/asked-again",
      says: 'the message must name task "task-1": it names ""',
    },
    {
      what: "sends a message again under another id",
      connecting: changeMessages(({ message, ...request }) => ({
        ...request,
        ...(message && {
          message: { ...message, messageId: crypto.randomUUID() },
        }),
      })),
      breaks: "client/failure/cut",
      says: "cut after",
    },
    {
      what: "sends an answer again under another id, over a connection for each call",
      connecting: changeMessages(
        ({ message, ...request }) => ({
          ...request,
          ...(message && {
            message:
              request.taskId === ""
                ? message
                : { ...message, messageId: crypto.randomUUID() },
          }),
        }),
        overManyConnections,
      ),
      breaks: "client/asked-again/cut",
      says: "cut after",
    },
    {
      what: "resumes from the wrong place",
      connecting: changeAfterSequence((afterSequence) => afterSequence + 1n),
      breaks: "client/two-questions/cut",
      says: "cut after",
    },
    {
      what: "tells of an event twice",
      connecting: overConnect,
      spoil: changeEvents((events) => [
        ...events.slice(0, 3),
        ...events.slice(2),
      ]),
      breaks: "client/odd-text",
      says: "events[3].sequence must be",
    },
    {
      what: "loses the last event",
      connecting: overConnect,
      spoil: changeEvents((events) => events.slice(0, -1)),
      breaks: "client/failure",
      says: "events[3] must be",
    },
  ];
  it.each(variantsOf("faults of clients", faults, 3))(
    "fails one that $what (sabotage)",
    async ({ breaks, says, ...how }) => {
      const failed = await resultOf(breaks, {
        ...how,
        cutEvery: 499,
        timeoutMs: 20_000,
      });
      expect(failed).toMatchObject({
        status: "failed",
        reason: expect.stringContaining(says),
      });
    },
  );

  it("shows what was asked and answered, without the token, where a client fails", async () => {
    const results = await play({
      connecting: overConnect,
      cutEvery: 499,
      spoil: changeEvents((events) => events.slice(0, -1)),
    });
    const shown =
      results.find(({ id }) => id === "client/failure")?.exchanges ?? [];
    expect(shown).toMatchObject([
      { requestLine: "converse", status: "conversation" },
    ]);
    expect(JSON.parse(shown[0]?.requestBody ?? "")).toMatchObject({
      converse: { token: "[hidden]" },
    });
    expect(
      JSON.parse(shown[0]?.responseBody ?? "").conversation.events,
    ).toHaveLength(3);
  });

  const refusals: readonly Refusal[] = [
    {
      what: "sends no token",
      connecting: (url) => createA2aTransport({ ...V1, url }),
      says: "the bearer token is missing or wrong",
    },
    {
      what: "speaks Connect all the same",
      connecting: overConnect,
      says: "POST /devtool.v1alpha.TaskService/StreamMessage is not a call of A2A 1.0 over JSONRPC: its methods are posted to /",
    },
    {
      what: "speaks A2A 0.3",
      connecting: overA2a,
      says: 'POST / is not a call of A2A 1.0 over JSONRPC: method "message/stream" does not exist',
    },
    {
      what: "speaks another binding",
      connecting: (url, token) =>
        createA2aTransport({ ...V1, url, token, protocolBinding: "HTTP+JSON" }),
      says: "POST /message:stream is not a call of A2A 1.0 over JSONRPC: its methods are posted to /",
    },
    {
      what: "does not name the version",
      connecting: changeWire({
        headers: ({ "a2a-version": _left, ...headers }) => headers,
      }),
      says: 'the header A2A-Version must be 1.0: got ""',
    },
    {
      what: "names another version",
      connecting: changeWire({
        headers: (headers) => ({ ...headers, "a2a-version": "1.1" }),
      }),
      says: 'the header A2A-Version must be 1.0: got "1.1"',
    },
    {
      what: "does not activate the extension",
      connecting: changeWire({
        headers: ({ "a2a-extensions": _left, ...headers }) => headers,
      }),
      says: "the extension is not activated",
    },
    {
      what: "leaves out what is required",
      connecting: changeWire({
        body: (body) => body.replace(/"role":"ROLE_USER",?/, ""),
      }),
      says: "SendMessageRequest is not valid: message.role",
    },
    {
      what: "has roles as A2A 0.3 has them",
      connecting: changeWire({
        body: (body) => body.replace("ROLE_USER", "user"),
      }),
      says: "SendMessageRequest is not valid",
    },
    {
      what: "sends another text",
      connecting: changeWire({
        body: (body) => body.replace(/"text":"/, '"text":"Please. '),
      }),
      says: "the message must hold",
    },
    {
      what: "answers outside the task",
      connecting: changeWire({
        body: (body) => body.replace('"taskId":"task-1"', '"taskId":""'),
      }),
      breaks: "client/a2a-1.0-jsonrpc/asked-again",
      says: 'the message must name task "task-1": it names ""',
    },
    {
      what: "resumes from the wrong place",
      connecting: changeWire({
        headers: changeLastEventId((after) => after + 1n),
      }),
      breaks: "client/a2a-1.0-jsonrpc/two-questions/cut",
      says: "cut after",
    },
    {
      what: "does not say where to resume",
      connecting: changeWire({
        headers: ({ "last-event-id": _left, ...headers }) => headers,
      }),
      breaks: "client/a2a-1.0-jsonrpc/two-questions/cut",
      says: "cut after",
    },
    {
      what: "sends a message again under another id",
      connecting: changeWire({
        body: (body) =>
          body.replace(
            /"messageId":"[^"]+"/,
            `"messageId":"${crypto.randomUUID()}"`,
          ),
      }),
      breaks: "client/a2a-1.0-jsonrpc/failure/cut",
      says: "cut after",
    },
    {
      what: "uses JSON-RPC instead of HTTP+JSON",
      over: V1_HTTP_JSON,
      connecting: (url, token) => createA2aTransport({ ...V1, url, token }),
      breaks: "client/a2a-1.0-http-json/appendix-a",
      says: "POST / is not a call of A2A 1.0 over HTTP+JSON: no method has this path",
    },
    {
      what: "resumes from the wrong place over HTTP+JSON",
      over: V1_HTTP_JSON,
      connecting: changeWire(
        { headers: changeLastEventId((after) => after + 1n) },
        "HTTP+JSON",
      ),
      breaks: "client/a2a-1.0-http-json/two-questions/cut",
      says: "cut after",
    },
    {
      what: "ignores the task that a stream starts with",
      connecting: byCard,
      spoil: changeEvents((events) =>
        events.filter(({ payload }) => payload.case !== "message"),
      ),
      breaks: "client/a2a-1.0-jsonrpc/two-questions",
      says: "events[",
    },
  ];
  it.each(variantsOf("faults of clients of A2A 1.0", refusals, 6))(
    "fails one over A2A 1.0 that $what (sabotage)",
    async ({
      breaks = "client/a2a-1.0-jsonrpc/appendix-a",
      says,
      over = V1_JSONRPC,
      ...how
    }) => {
      const failed = await resultOf(breaks, {
        ...how,
        over,
        cutEvery: 499,
        timeoutMs: 20_000,
      });
      expect(failed).toMatchObject({
        status: "failed",
        reason: expect.stringContaining(says),
      });
      const [{ requestBody = "" } = {}] = failed?.exchanges ?? [];
      expect(Object.values(JSON.parse(requestBody))).toMatchObject([
        { conversation: { token: "[hidden]" } },
      ]);
    },
  );

  it("skips an interface that a program does not support, with the reason", async () => {
    const streams = honestProgram({ connecting: overConnect });
    const results = await Array.fromAsync(
      runClientSuite(streams, AbortSignal.timeout(60_000), {
        over: V1_JSONRPC,
      }),
    );
    expect(
      new Set(results.map(({ status, reason }) => `${status}: ${reason}`)),
    ).toEqual(
      new Set([
        "skipped: the program does not support it: A2A 1.0 over JSONRPC",
      ]),
    );
  });

  it("skips work that a program does not support", async () => {
    const results = await play({
      connecting: overConnect,
      spoil: () => ({ case: "unsupported", value: "nothing" }),
    });
    expect(new Set(results.map(({ status }) => status))).toEqual(
      new Set(["skipped"]),
    );
  });

  it("names existing requirements", () => {
    const named = clientCases().cases.flatMap(
      ({ requirements }) => requirements,
    );
    expect(named.filter((id) => !(id in REQUIREMENTS))).toEqual([]);
  });
});

type Outcome = ProgramResponse["outcome"];
type Message = SendMessageRequest["message"];
type Events = Extract<Outcome, { case: "conversation" }>["value"]["events"];

interface Client {
  readonly connecting: Connecting;
  readonly spoil?: (outcome: Outcome) => Outcome;
}

/** A client with a fault, and the failure that the suite must report. */
interface Fault extends Client {
  readonly what: string;
  readonly breaks: string;
  readonly says: string;
}

/**
 * A client of A2A 1.0 with a fault, and the failure that the suite must report.
 */
interface Refusal extends Client {
  readonly what: string;
  /** Default: JSON-RPC. */
  readonly over?: A2aInterface;
  /** Default: the first conversation. */
  readonly breaks?: string;
  readonly says: string;
}

function play(client: Client & ClientSuiteOptions): Promise<CaseResult[]> {
  return Array.fromAsync(results(client));
}

/** Plays the conversations up to one and returns its result. */
async function resultOf(
  wanted: string,
  client: Client & ClientSuiteOptions,
): Promise<CaseResult | undefined> {
  for await (const result of results(client)) {
    if (result.id === wanted) return result;
  }
  return undefined;
}

function results({
  connecting,
  spoil,
  ...options
}: Client & ClientSuiteOptions): AsyncIterable<CaseResult> {
  const streams = honestProgram({
    connecting,
    speaking: () => connecting,
    ...(spoil && { spoil }),
  });
  return runClientSuite(streams, AbortSignal.timeout(LIMIT_MS), {
    timeoutMs: 120_000,
    ...options,
  });
}

/** Changes to the requests of a client. */
interface Wire {
  readonly headers?: (
    headers: Readonly<Record<string, string>>,
  ) => Readonly<Record<string, string>>;
  readonly body?: (body: string) => string;
}

/** devtool's client over A2A 1.0, with each of its requests changed. */
function changeWire(
  { headers = (same) => same, body = (same) => same }: Wire,
  protocolBinding = "JSONRPC",
): Connecting {
  const changed: typeof fetch = (input, init) => {
    const sent = {
      ...init,
      headers: headers(Object.fromEntries(new Headers(init?.headers))),
    };
    return fetch(
      input,
      typeof init?.body === "string"
        ? { ...sent, body: body(init.body) }
        : sent,
    );
  };
  return (url, token) =>
    createA2aTransport({ ...V1, url, token, protocolBinding, fetch: changed });
}

function changeLastEventId(
  change: (after: bigint) => bigint,
): NonNullable<Wire["headers"]> {
  return (headers) => {
    const after = headers["last-event-id"];
    return after === undefined
      ? headers
      : { ...headers, "last-event-id": String(change(BigInt(after))) };
  };
}

function changeEvents(
  change: (events: Events) => Events,
): (outcome: Outcome) => Outcome {
  return (outcome) =>
    outcome.case === "conversation"
      ? {
          ...outcome,
          value: { ...outcome.value, events: change(outcome.value.events) },
        }
      : outcome;
}

function chooseOption(message: Message, selectedOptionId: string): Message {
  if (!message) return undefined;
  const parts = message.parts.map((part) => {
    const { content } = part;
    if (content.case !== "confirmation") return part;
    const { modifiedDetails: _left, ...value } = content.value;
    return {
      ...part,
      content: {
        ...content,
        value: {
          ...value,
          selectedOptionId,
          modifiedDetails: { case: undefined },
        },
      },
    };
  });
  return { ...message, parts };
}

/** devtool's client, with each of its messages changed. */
function changeMessages(
  change: (request: SendMessageRequest) => SendMessageRequest,
  connecting: Connecting = overConnect,
): Connecting {
  return changeInput((input) => {
    const request = Reflect.get(input, "request");
    return request ? { ...input, request: change(request) } : input;
  }, connecting);
}

/** devtool's client, with the sequence that it resumes after changed. */
function changeAfterSequence(
  change: (afterSequence: bigint) => bigint,
): Connecting {
  return changeInput((input) => {
    const after = Reflect.get(input, "afterSequence");
    return after === undefined
      ? input
      : { ...input, afterSequence: change(after) };
  }, overConnect);
}

function changeInput(
  change: (input: object) => object,
  connecting: Connecting,
): Connecting {
  return async (url, token) => {
    const transport = await connecting(url, token);
    const stream: Transport["stream"] = (
      method,
      signal,
      timeoutMs,
      header,
      input,
      values,
    ) => {
      const changed = async function* () {
        for await (const one of input) yield Object(change(one));
      };
      return transport.stream(
        method,
        signal,
        timeoutMs,
        header,
        changed(),
        values,
      );
    };
    return { unary: transport.unary, stream };
  };
}
