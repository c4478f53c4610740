import { once } from "node:events";
import { createServer, type Http2Server } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { A2AService, ErrorInfoSchema } from "@devtool/schema/a2a-v1";
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  it,
  vi,
} from "vitest";
import { grpcBinding } from "./grpc-v1.ts";
import { Recording } from "./recording.ts";

const NOT_FOUND = {
  desc: ErrorInfoSchema,
  value: { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
};
const CALL = { method: "GetTask", headers: {}, leaveAfter: 1 } as const;

describe("the gRPC binding", () => {
  let server: Http2Server;
  let url: string;
  let subscriptions = 0;
  beforeAll(async () => {
    const adapter = connectNodeAdapter({
      routes: (router) =>
        router.service(A2AService, {
          getTask({ id }) {
            if (id === "known") {
              return { id, contextId: "c", status: { state: 3 } };
            }
            throw new ConnectError(
              "no such task",
              id === "right" ? Code.NotFound : Code.Internal,
              undefined,
              [NOT_FOUND],
            );
          },
          async *subscribeToTask({ id }, { signal }) {
            subscriptions++;
            const state = id === "has ended" ? 3 : 2;
            const task = { id, contextId: "c", status: { state } };
            if (id !== "is silent") {
              yield { payload: { case: "task" as const, value: task } };
            }
            await once(signal, "abort");
          },
        }),
    });
    server = createServer(adapter).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(() => server.close());

  const get = (id: string, recording = new Recording()) =>
    grpcBinding({ url, token: "secret" }).play(
      { ...CALL, params: { id } },
      recording,
      AbortSignal.timeout(60_000),
    );

  it("converts results and errors to the form of JSON-RPC", async () => {
    const { documents, breaches } = await get("known");
    expect(documents[0]?.json.result).toEqual({
      id: "known",
      contextId: "c",
      status: { state: "TASK_STATE_COMPLETED" },
    });
    expect(breaches).toEqual([]);
    const refused = await get("right");
    expect(refused.documents[0]?.json.error).toMatchObject({
      code: -32001,
      message: "no such task",
    });
    expect(refused.breaches).toEqual([]);
  });

  it("reports an error whose status does not match its name (A2A1-GRPC-STATUS)", async () => {
    const { breaches } = await get("wrong");
    expect(breaches).toEqual([
      {
        requirement: "A2A1-GRPC-STATUS",
        reason: "TASK_NOT_FOUND must have the status NOT_FOUND: got INTERNAL",
      },
    ]);
  });

  it.each([
    ["has ended", { seconds: 1, hasEnded: true }, 1],
    ["is working", { seconds: 1, hasEnded: false }, 1],
    ["is silent", { seconds: 1, hasEnded: false }, 0],
  ])(
    "says that a stream was left open: its task %s",
    async (id, open, count) => {
      vi.useFakeTimers({ toFake: ["performance"] });
      const call = { ...CALL, method: "SubscribeToTask", leaveAfter: Infinity };
      const recording = new Recording();
      const limit = new AbortController();
      const before = subscriptions;
      const waits = (): boolean =>
        count === 0
          ? subscriptions > before
          : (recording.records[0]?.responseBody ?? "") !== "";
      const [exchange] = await Promise.all([
        grpcBinding({ url, token: "secret" }).play(
          { ...call, params: { id } },
          recording,
          limit.signal,
        ),
        expect
          .poll(waits)
          .toBe(true)
          .then(() => {
            vi.advanceTimersByTime(1_000);
            limit.abort(new DOMException("the time is up", "TimeoutError"));
          }),
      ]);
      expect(exchange.open).toEqual(open);
      expect(exchange.documents).toHaveLength(count);
      expect(recording.isAnswered).toBe(true);
    },
  );

  it("says that no answer came in time", async () => {
    const limit = AbortSignal.timeout(1);
    await setTimeout(50);
    await expect(
      grpcBinding({ url, token: "secret" }).play(
        { ...CALL, params: { id: "known" } },
        new Recording(),
        limit,
      ),
    ).rejects.toThrow(expect.objectContaining({ name: "TimeoutError" }));
  });

  it("records request and answer without credentials", async () => {
    const recording = new Recording();
    await get("right", recording);
    const [record] = recording.records;
    expect(record?.requestHeaders.authorization).toBe("[hidden]");
    expect(record?.requestBody).toBe('{"id":"right"}');
    expect(record?.status).toBe("5 NOT_FOUND");
    expect(record?.responseBody).toContain("TASK_NOT_FOUND");
  });
});
