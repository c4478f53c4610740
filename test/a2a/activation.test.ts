import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import {
  A2AService,
  A2aTaskSchema,
  encodeA2aJson,
} from "@devtool/schema/a2a-v1";
import { A2aRole } from "@devtool/schema/testing";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { receive } from "../push/receiver.ts";
import {
  type Ask,
  callIdsIn,
  type Heard,
  type Json,
  jsonRpcClient,
  kindsOf,
  type LiteralClient,
  placeOf,
  restClient,
  V1,
  V03,
} from "./activation/literal-client.ts";

const CLIENTS: readonly (readonly [string, LiteralClient])[] = [
  ["A2A 0.3 over JSON-RPC", jsonRpcClient(V03)],
  ["A2A 0.3 over HTTP+JSON", restClient],
  ["A2A 1.0 over JSON-RPC", jsonRpcClient(V1)],
];
const JSON_RPC = CLIENTS.filter(([name]) => name.includes("JSON-RPC"));

const KNOWS = { metadata: { [EXTENSION_URI]: {} } };
const ASKS_ONCE = "write a.txt one\ntext Done.";
const ASKS_TWICE = "write a.txt one\nnext\nwrite b.txt two\ntext Done.";

describe.each(variantsOf("clients without a header", CLIENTS, 2))(
  "a client that sends no header, over %s",
  (_name, client) => {
    it("sees everything once its first message has named the extension, also a second approval (Appendix A, D1, D2)", async () => {
      await using ground = await serve(client);
      const asked = await ground.stream({ text: ASKS_TWICE }, KNOWS);
      expect(kindsOf(asked.frames)).toContain("TOOL_CALL_UPDATE");
      const place = placeOf(asked.frames);
      const [first = ""] = callIdsIn(asked.frames);
      const again = await ground.stream(approval(first), place);
      const [second = ""] = callIdsIn(again.frames).filter(
        (id) => id !== first,
      );
      expect(kindsOf(again.frames)).not.toContain(undefined);
      expect(second).not.toBe("");
      const got = await ground.get(place.taskId);
      expect(callIdsIn(got.frames).toSorted()).toEqual(
        [first, second].toSorted(),
      );
      const subscribed = await ground.subscribe(place.taskId, {
        leaveAfter: 1,
      });
      expect(callIdsIn(subscribed.frames).toSorted()).toEqual(
        [first, second].toSorted(),
      );
      const done = await ground.stream(approval(second), place);
      expect(JSON.stringify(done.frames)).toContain("SUCCEEDED");
      for (const { named } of [asked, again, got, subscribed, done]) {
        expect(named).toBe(EXTENSION_URI);
      }
    });

    it("gets every event with its payload at its webhook (D4)", async () => {
      await using receiver = await receive();
      await using ground = await serve(client, {
        pushTargets: [receiver.target],
      });
      const { frames } = await ground.stream({ text: ASKS_ONCE }, KNOWS);
      const place = placeOf(frames);
      const set = await ground.call(
        client.version.setPush,
        client.version.push(place.taskId, receiver.url),
      );
      expect(set.named).toBeNull();
      const answered = await ground.stream(
        approval(callIdsIn(frames)[0]),
        place,
      );
      await receiver.reached(kindsOf(answered.frames).length);
      const kinds = kindsOf(
        receiver.received.map(({ body }) => JSON.parse(body)),
      );
      expect(kinds.slice(-kindsOf(answered.frames).length)).toEqual(
        kindsOf(answered.frames),
      );
      expect(kinds).not.toContain(undefined);
    });

    it("opts out by a header without the extension, for that request only (CARD-3)", async () => {
      await using ground = await serve(client);
      const { frames } = await ground.stream({ text: ASKS_ONCE }, KNOWS);
      const place = placeOf(frames);
      for (const extensions of ["", "https://example.com/other/v1"]) {
        const plain = await ground.get(place.taskId, { extensions });
        expect([
          plain.named,
          callIdsIn(plain.frames),
          JSON.stringify(plain.frames),
        ]).toEqual([null, [], expect.not.stringContaining(EXTENSION_URI)]);
      }
      const answered = await ground.stream({ text: "yes" }, place, {
        extensions: "",
      });
      expect([answered.named, new Set(kindsOf(answered.frames))]).toEqual([
        null,
        new Set([undefined]),
      ]);
      expect(callIdsIn((await ground.get(place.taskId)).frames)).toHaveLength(
        1,
      );
    });

    it.each([
      [
        "the header",
        {},
        { extensions: `https://example.com/other, ${EXTENSION_URI}` },
      ],
      ["the message's list of extensions", { extensions: [EXTENSION_URI] }, {}],
      ["the message's metadata", KNOWS, {}],
    ])("activates the extension by %s (CARD-3)", async (_way, rest, ask) => {
      await using ground = await serve(client);
      const { frames, named } = await ground.stream(
        { text: ASKS_ONCE },
        rest,
        ask,
      );
      expect([named, callIdsIn(frames)]).toEqual([
        EXTENSION_URI,
        [expect.any(String)],
      ]);
      const got = await ground.get(placeOf(frames).taskId);
      expect([got.named, callIdsIn(got.frames)]).toEqual([
        EXTENSION_URI,
        callIdsIn(frames),
      ]);
    });

    it("activates it by an answer to a tool call: a plain stream has payloads from there on (CARD-3)", async () => {
      await using ground = await serve(client);
      const plain = await ground.stream({ text: ASKS_TWICE });
      expect([
        plain.named,
        new Set(kindsOf(plain.frames)),
        callIdsIn(plain.frames),
      ]).toEqual([null, new Set([undefined]), []]);
      const place = placeOf(plain.frames);
      const [first = ""] = callIdsIn(
        (await ground.get(place.taskId, { extensions: EXTENSION_URI })).frames,
      );
      // A request that only reads does not change the conversation.
      expect(callIdsIn((await ground.get(place.taskId)).frames)).toEqual([]);
      // Resumes after the fourth event, the approval, so that the stream waits
      // for the next events in 0.3 too (STREAM-1).
      const streamed = ground.subscribe(place.taskId, {
        lastEventId: "4",
        leaveAfter: 2,
      });
      const answered = await ground.stream(approval(first), place);
      expect([answered.named, kindsOf(answered.frames)]).toEqual([
        EXTENSION_URI,
        expect.not.arrayContaining([undefined]),
      ]);
      expect(callIdsIn((await streamed).frames)).toContain(first);
    });

    it("activates it by a retry that names the extension for the first time, which the log records (CARD-3)", async () => {
      await using ground = await serve(client);
      const messageId = "said-twice";
      const plain = await ground.stream({ text: ASKS_ONCE }, { messageId });
      const { taskId } = placeOf(plain.frames);
      expect((await ground.get(taskId)).named).toBeNull();
      const again = await ground.stream(
        { text: ASKS_ONCE },
        { messageId, ...KNOWS },
      );
      expect([placeOf(again.frames).taskId, again.named]).toEqual([
        taskId,
        EXTENSION_URI,
      ]);
      await ground.restart();
      const got = await ground.get(taskId);
      expect([got.named, callIdsIn(got.frames)]).toEqual([
        EXTENSION_URI,
        [expect.any(String)],
      ]);
    });

    it("stays plain when a message names the extension and its header does not (CARD-3)", async () => {
      await using ground = await serve(client);
      const wrong = {
        metadata: { [EXTENSION_URI]: { workspace_path: "not/absolute" } },
      };
      await expect(
        ground.stream({ text: "text Hi." }, wrong, { extensions: "" }),
      ).rejects.toThrow("absolute");
      const { frames, named } = await ground.stream(
        { text: ASKS_ONCE },
        KNOWS,
        { extensions: "" },
      );
      expect([named, callIdsIn(frames)]).toEqual([null, []]);
      expect(
        callIdsIn((await ground.get(placeOf(frames).taskId)).frames),
      ).toEqual([]);
    });
  },
);

describe.each(variantsOf("clients in conversation", CLIENTS, 1))(
  "the conversation, over %s",
  (_name, client) => {
    it("decides the view of all its tasks and of no others, also after a restart (CARD-3)", async () => {
      await using ground = await serve(client);
      const waiting = placeOf(
        (await ground.stream({ text: ASKS_ONCE })).frames,
      );
      const { contextId } = waiting;
      expect(callIdsIn((await ground.get(waiting.taskId)).frames)).toEqual([]);
      await ground.stream({ text: "text Hi." }, { contextId, ...KNOWS });
      const resting = await ground.get(waiting.taskId);
      expect([resting.named, callIdsIn(resting.frames)]).toEqual([
        EXTENSION_URI,
        [expect.any(String)],
      ]);
      await ground.restart();
      expect((await ground.get(waiting.taskId)).frames).toEqual(resting.frames);
      for (const text of ["yes", "y", "proceed_once", "no"]) {
        // N5: in an activated conversation these words are prompts.
        await ground.stream({ text }, waiting);
        const still = await ground.get(waiting.taskId);
        expect(JSON.stringify(still.frames)).toContain('"PENDING"');
      }
      const [call = ""] = callIdsIn(resting.frames);
      const answered = await ground.stream(approval(call), waiting);
      expect(kindsOf(answered.frames)).toContain("TOOL_CALL_UPDATE");
      const next = await ground.stream({ text: "text Ho." }, { contextId });
      expect([next.named, kindsOf(next.frames)]).toEqual([
        EXTENSION_URI,
        expect.not.arrayContaining([undefined]),
      ]);
      const other = await ground.stream({ text: "text Ho." });
      expect([other.named, new Set(kindsOf(other.frames))]).toEqual([
        null,
        new Set([undefined]),
      ]);
    });

    it("decides the view of the next events of its open tasks (CARD-3)", async () => {
      await using ground = await serve(client);
      const waiting = placeOf(
        (await ground.stream({ text: ASKS_TWICE })).frames,
      );
      await ground.stream(
        { text: "text Hi." },
        { contextId: waiting.contextId, ...KNOWS },
      );
      const [call = ""] = callIdsIn((await ground.get(waiting.taskId)).frames);
      const answered = await ground.stream(approval(call), waiting);
      expect([answered.named, kindsOf(answered.frames)]).toEqual([
        EXTENSION_URI,
        expect.not.arrayContaining([undefined]),
      ]);
    });

    it("decides the form of notifications: plain first, with payloads once the extension is active (CARD-3)", async () => {
      await using receiver = await receive();
      await using ground = await serve(client, {
        pushTargets: [receiver.target],
      });
      const place = placeOf((await ground.stream({ text: ASKS_TWICE })).frames);
      await ground.call(
        client.version.setPush,
        client.version.push(place.taskId, receiver.url),
      );
      const plain = await ground.stream({ text: "yes" }, place);
      await receiver.reached(plain.frames.length);
      const [second = ""] = callIdsIn(
        (await ground.get(place.taskId, { extensions: EXTENSION_URI })).frames,
      );
      const full = await ground.stream(approval(second), place);
      await receiver.reached(plain.frames.length + kindsOf(full.frames).length);
      const kinds = kindsOf(
        receiver.received.map(({ body }) => JSON.parse(body)),
      );
      expect(new Set(kinds.slice(0, plain.frames.length))).toEqual(
        new Set([undefined]),
      );
      expect(kinds.slice(plain.frames.length)).not.toContain(undefined);
      expect(kinds).toContain("TOOL_CALL_UPDATE");
    });
  },
);

describe.each(JSON_RPC)("a slash command, over %s", (_name, client) => {
  it("activates the extension for its updates and approvals (D3)", async () => {
    await using ground = await serve(client);
    const started = await ground.call("command/execute", {
      command_path: ["shell"],
      args: "touch x",
    });
    const [{ execution_id: id, status }] = started.frames;
    expect([started.named, status]).toEqual([
      EXTENSION_URI,
      "AWAITING_SHELL_CONFIRMATION",
    ]);
    const subscribed = await ground.subscribe(id, { leaveAfter: 1 });
    const [callId = ""] = callIdsIn(subscribed.frames);
    expect([subscribed.named, callId]).toEqual([
      EXTENSION_URI,
      expect.stringMatching(/./),
    ]);
    const done = await ground.stream(
      approval(callId),
      placeOf(subscribed.frames),
    );
    expect(JSON.stringify(done.frames)).toContain("SUCCEEDED");
    expect(JSON.stringify((await ground.get(id)).frames)).toContain(
      "SUCCEEDED",
    );
  });

  it("is plain when its request opts out, and leaves its conversation as it was (CARD-3)", async () => {
    await using ground = await serve(client);
    const asked = { command_path: ["shell"], args: "touch x" };
    const started = await ground.call("command/execute", asked, {
      extensions: "",
    });
    expect(started.named).toBeNull();
    expect(
      callIdsIn((await ground.get(started.frames[0].execution_id)).frames),
    ).toEqual([]);
  });
});

describe("another principal", () => {
  it("sees nothing of a context with the same id (CARD-3)", async () => {
    await using ground = await serve(jsonRpcClient(V1));
    const { contextId } = placeOf(
      (await ground.stream({ text: "text Hi." }, KNOWS)).frames,
    );
    const other = await ground.stream(
      { text: "text Ho." },
      { contextId },
      {},
      { tenant: "other" },
    );
    expect([other.named, new Set(kindsOf(other.frames))]).toEqual([
      null,
      new Set([undefined]),
    ]);
  });
});

describe.each(JSON_RPC)(
  "a server that requires the extension, over %s",
  (_name, client) => {
    const { get, send, cancel, setPush, push } = client.version;

    it("accepts the RFC's own steps, commands and the card, and refuses requests that do not use the extension (CARD-1, D5)", async () => {
      await using receiver = await receive();
      await using ground = await serve(client, {
        extensionRequired: true,
        pushTargets: [receiver.target],
      });
      await ground.call("commands/get", {});
      await ground.call("command/execute", { command_path: ["about"] });
      const asked = await ground.stream({ text: ASKS_ONCE }, KNOWS);
      const place = placeOf(asked.frames);
      await ground.get(place.taskId);
      await ground.call(setPush, push(place.taskId, receiver.url));
      await ground.stream(approval(callIdsIn(asked.frames)[0]), place);
      const waiting = placeOf(
        (
          await ground.stream(
            { text: ASKS_ONCE },
            { contextId: place.contextId },
          )
        ).frames,
      );
      await ground.call(cancel, { id: waiting.taskId });
      const refused =
        /needs the development-tool extension: .* in the header (X-)?A2A-Extensions/;
      const message = client.version.message({ text: "text Hi." });
      await expect(ground.call(send, { message })).rejects.toThrow(refused);
      await expect(
        ground.stream({ text: "text Hi." }, { contextId: "new" }),
      ).rejects.toThrow(refused);
      await expect(
        ground.get(place.taskId, { extensions: "" }),
      ).rejects.toThrow(refused);
      await expect(
        ground.stream({ text: "text Hi." }, KNOWS, { extensions: "" }),
      ).rejects.toThrow(refused);
      await expect(ground.call(get, { id: "nope" })).rejects.toThrow(
        "does not exist",
      );
    });
  },
);

describe("A2A 1.0 over gRPC", () => {
  it("inherits the extension, opts out by metadata, and names it in the response metadata (CARD-3)", async () => {
    await using ground = await serve(jsonRpcClient(V1));
    const { url, token } = ground.server();
    const headers = { authorization: `Bearer ${token}` };
    const grpc = createClient(
      A2AService,
      createGrpcTransport({ baseUrl: url }),
    );
    let named: string | null = null;
    const onHeader = (received: Headers): void => {
      named = received.get("a2a-extensions");
    };
    const text = (value: string) => ({
      content: { case: "text" as const, value },
    });
    const message = {
      messageId: "m1",
      role: A2aRole.USER,
      parts: [text(ASKS_TWICE)],
      extensions: [EXTENSION_URI],
    };
    const { payload } = await grpc.sendMessage(
      { message },
      { headers, onHeader },
    );
    const { id: taskId = "", contextId = "" } =
      payload.case === "task" ? payload.value : {};
    expect([named, taskId]).toEqual([
      EXTENSION_URI,
      expect.stringMatching(/./),
    ]);
    const got = await grpc.getTask({ id: taskId }, { headers, onHeader });
    expect([
      named,
      callIdsIn(encodeA2aJson(A2aTaskSchema, got)).length,
    ]).toEqual([EXTENSION_URI, 1]);
    const plain = await grpc.getTask(
      { id: taskId },
      { headers: { ...headers, "a2a-extensions": "" }, onHeader },
    );
    expect([
      named,
      plain.metadata,
      callIdsIn(encodeA2aJson(A2aTaskSchema, plain)),
    ]).toEqual([null, undefined, []]);
    const kinds: Json[] = [];
    const answer = {
      messageId: "m2",
      role: A2aRole.USER,
      parts: [
        {
          content: {
            case: "data" as const,
            value: fromJson(ValueSchema, {
              tool_call_id:
                callIdsIn(encodeA2aJson(A2aTaskSchema, got))[0] ?? "",
              selected_option_id: "proceed_once",
            }),
          },
        },
      ],
      taskId,
      contextId,
    };
    for await (const { payload } of grpc.sendStreamingMessage(
      { message: answer },
      { headers, onHeader },
    )) {
      if (payload.case === "statusUpdate") {
        kinds.push(payload.value.metadata?.[EXTENSION_URI]);
      }
    }
    expect([named, kinds]).toEqual([
      EXTENSION_URI,
      expect.not.arrayContaining([undefined]),
    ]);
  });
});

function approval(callId = ""): { readonly data: object } {
  return { data: { tool_call_id: callId, selected_option_id: "proceed_once" } };
}

interface Ground extends AsyncDisposable {
  server(): DevtoolServer;
  call(method: string, params: object, ask?: Ask): Promise<Heard>;
  /**
   * Streams the exchange of a message. `rest` holds further fields of the
   * message, `beside` those of the request.
   */
  stream(
    part: { text: string } | { data: object },
    rest?: object,
    ask?: Ask,
    beside?: object,
  ): Promise<Heard>;
  get(taskId: string, ask?: Ask): Promise<Heard>;
  subscribe(taskId: string, ask?: Ask): Promise<Heard>;
  restart(): Promise<void>;
}

async function serve(
  client: LiteralClient,
  options: CodingServerOptions = {},
): Promise<Ground> {
  const workspace = temporaryDirectory();
  // An unused connection of the client would otherwise delay the stop of the
  // server.
  const all = {
    workspace,
    dataDirectory: temporaryDirectory(),
    drainMs: 0,
    ...options,
  };
  let server = await serveCodingAgent(all);
  const { version } = client;
  const call: Ground["call"] = (method, params, ask) =>
    client.call(server, method, params, ask);
  return {
    server: () => server,
    call,
    stream: (part, rest, ask, beside) =>
      call(
        version.stream,
        { message: version.message(part, rest), ...beside },
        ask,
      ),
    get: (id, ask) => call(version.get, { id }, ask),
    subscribe: (id, ask) => call(version.subscribe, { id }, ask),
    async restart() {
      await server.close();
      server = await serveCodingAgent(all);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}
