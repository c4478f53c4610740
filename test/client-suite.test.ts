import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import {
  type CaseResult,
  type ClientSuiteOptions,
  clientCases,
  REQUIREMENTS,
  runClientSuite,
} from "@devtool/conformance";
import type { SendMessageRequest } from "@devtool/schema";
import type { ProgramResponse } from "@devtool/schema/conformance";
import { describe, expect, it } from "vitest";
import { type Connecting, honestProgram } from "./bindings/honest-program.ts";

const overConnect: Connecting = (baseUrl, token) =>
  createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [bearerInterceptor(token)] });
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

const CUT_EVERY = Number(process.env.DEVTOOL_CUT_EVERY ?? 499);

describe("the client suite", () => {
  it.each([
    ["Connect", overConnect],
    ["gRPC", overGrpc],
    ["A2A 0.3", overA2a],
  ])(`passes our client over %s, cut at every ${CUT_EVERY}th byte`, { timeout: 600_000 }, async (_name, connecting) => {
    const results = await play({ connecting, cutEvery: CUT_EVERY });
    expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(results).toHaveLength(2 * clientCases().cases.length);
  });

  const faults: readonly Fault[] = [
    {
      what: "sends no token",
      connecting: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      breaks: "client/failure",
      says: "the bearer token is missing or wrong",
    },
    {
      what: "chooses another option than it is told to",
      connecting: sending((request) => ({ ...request, message: choosing(request.message, "proceed_always") })),
      breaks: "client/appendix-a",
      says: "the message must hold proceed_once for call-1: it holds proceed_always for call-1",
    },
    {
      what: "leaves out the user's content",
      connecting: sending((request) => ({ ...request, message: choosing(request.message, "proceed_once") })),
      breaks: "client/edit-modified",
      says: "the message must hold",
    },
    {
      what: "answers outside the task",
      connecting: sending((request) => ({ ...request, taskId: "" })),
      breaks: "client/asked-again",
      says: 'the message must name task "task-1": it names ""',
    },
    {
      what: "sends a message again under another id",
      connecting: sending(({ message, ...request }) => ({
        ...request,
        ...(message && { message: { ...message, messageId: crypto.randomUUID() } }),
      })),
      breaks: "client/failure/cut",
      says: "cut after",
    },
    {
      what: "sends an answer again under another id, over a connection for each call",
      connecting: sending(
        ({ message, ...request }) => ({
          ...request,
          ...(message && { message: request.taskId === "" ? message : { ...message, messageId: crypto.randomUUID() } }),
        }),
        overManyConnections,
      ),
      breaks: "client/asked-again/cut",
      says: "cut after",
    },
    {
      what: "resumes from the wrong place",
      connecting: resuming((afterSequence) => afterSequence + 1n),
      breaks: "client/two-questions/cut",
      says: "cut after",
    },
    {
      what: "tells of an event twice",
      connecting: overConnect,
      spoil: changing((events) => [...events.slice(0, 3), ...events.slice(2)]),
      breaks: "client/odd-text",
      says: "events[3].sequence must be",
    },
    {
      what: "loses the last event",
      connecting: overConnect,
      spoil: changing((events) => events.slice(0, -1)),
      breaks: "client/failure",
      says: "events[3] must be",
    },
  ];
  it.each(faults)("fails one that $what (sabotage)", { timeout: 60_000 }, async ({ breaks, says, ...how }) => {
    const results = await play({ ...how, cutEvery: 499, timeoutMs: 2_000 });
    const failed = results.find(({ id }) => id === breaks);
    expect(failed).toMatchObject({ status: "failed", reason: expect.stringContaining(says) });
  });

  it("shows what was asked and answered, without the token, where a client fails", async () => {
    const results = await play({
      connecting: overConnect,
      cutEvery: 499,
      spoil: changing((events) => events.slice(0, -1)),
    });
    const shown = results.find(({ id }) => id === "client/failure")?.exchanges ?? [];
    expect(shown).toMatchObject([{ requestLine: "converse", status: "conversation" }]);
    expect(JSON.parse(shown[0]?.requestBody ?? "")).toMatchObject({ converse: { token: "[hidden]" } });
    expect(JSON.parse(shown[0]?.responseBody ?? "").conversation.events).toHaveLength(3);
  });

  it("skips with a reason what a program does not do", async () => {
    const results = await play({ connecting: overConnect, spoil: () => ({ case: "unsupported", value: "nothing" }) });
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["skipped"]));
  });

  it("names requirements that there are", () => {
    const named = clientCases().cases.flatMap(({ requirements }) => requirements);
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

/** A client with a fault, and what the suite says of it. */
interface Fault extends Client {
  readonly what: string;
  readonly breaks: string;
  readonly says: string;
}

function play({ connecting, spoil, ...options }: Client & ClientSuiteOptions): Promise<CaseResult[]> {
  return Array.fromAsync(runClientSuite(honestProgram(spoil, connecting), AbortSignal.timeout(600_000), options));
}

function changing(change: (events: Events) => Events): (outcome: Outcome) => Outcome {
  return (outcome) =>
    outcome.case === "conversation"
      ? { ...outcome, value: { ...outcome.value, events: change(outcome.value.events) } }
      : outcome;
}

function choosing(message: Message, selectedOptionId: string): Message {
  if (!message) return undefined;
  const parts = message.parts.map((part) => {
    const { content } = part;
    if (content.case !== "confirmation") return part;
    const { modifiedDetails: _left, ...value } = content.value;
    return {
      ...part,
      content: { ...content, value: { ...value, selectedOptionId, modifiedDetails: { case: undefined } } },
    };
  });
  return { ...message, parts };
}

/** Our client, with each message that it sends changed. */
function sending(
  change: (request: SendMessageRequest) => SendMessageRequest,
  connecting: Connecting = overConnect,
): Connecting {
  return changedInput((input) => {
    const request = Reflect.get(input, "request");
    return request ? { ...input, request: change(request) } : input;
  }, connecting);
}

/** Our client, with the place that it resumes from changed. */
function resuming(change: (afterSequence: bigint) => bigint): Connecting {
  return changedInput((input) => {
    const after = Reflect.get(input, "afterSequence");
    return after === undefined ? input : { ...input, afterSequence: change(after) };
  }, overConnect);
}

function changedInput(change: (input: object) => object, connecting: Connecting): Connecting {
  return (url, token) => {
    const transport = connecting(url, token);
    const stream: Transport["stream"] = (method, signal, timeoutMs, header, input, values) => {
      const changed = async function* () {
        for await (const one of input) yield Object(change(one));
      };
      return transport.stream(method, signal, timeoutMs, header, changed(), values);
    };
    return { unary: transport.unary, stream };
  };
}
