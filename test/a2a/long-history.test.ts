import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type TaskEvent, TaskState } from "@devtool/schema";
import { type AgentEvent, createServer, type Turn } from "@devtool/server";
import { SqliteTaskStore } from "@devtool/server/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** What the agent says in its first turns: more than a server keeps. */
const PIECE = "x".repeat(1_000_000);
const PIECES = 8;

/** The forms of A2A, and their words. */
const FORMS = [
  {
    form: "0.3",
    role: "user",
    part: (text: string) => ({ kind: "text", text }),
    methods: {
      send: "message/send",
      stream: "message/stream",
      get: "tasks/get",
    },
    taskIn: (result: Result) => result,
  },
  {
    form: "1.0",
    role: "ROLE_USER",
    part: (text: string) => ({ text }),
    methods: {
      send: "SendMessage",
      stream: "SendStreamingMessage",
      get: "GetTask",
    },
    taskIn: (result: Result) => result.task ?? result,
  },
];

describe.each(FORMS)(
  "a long task over A2A $form, for a client without the extension",
  ({ form, role, part, methods, taskIn }) => {
    let server: Awaited<ReturnType<typeof createServer>>;
    const read = { characters: 0 };
    let taskId: string;
    beforeEach(async () => {
      const path = `${temporaryDirectory()}/tasks.db`;
      server = await createServer({
        agents: { talker: TALKER },
        workspace: temporaryDirectory(),
        openStore: async () => counting(await SqliteTaskStore.open(path), read),
      });
      const first = taskIn(await call(methods.send, said("one")));
      taskId = first.id ?? "";
      await call(methods.send, said("two", taskId));
      read.characters = 0;
    });
    afterEach(() => server.close());

    it("ends a turn with its answer, and reads no other turn", async () => {
      const task = taskIn(await call(methods.send, said("last", taskId)));
      expect(task.artifacts?.[0]?.parts?.[0]?.text).toBe("small");
      expect(read.characters).toBeLessThan(1000);
    });

    it("ends a stream with its answer, and reads no other turn", async () => {
      const answer = await post(methods.stream, said("last", taskId));
      expect(await answer.text()).toContain("small");
      expect(read.characters).toBeLessThan(1000);
    });

    it("reads of the history what the client asks for", async () => {
      await call(methods.send, said("last", taskId));
      const get = async (historyLength?: number) =>
        taskIn(await call(methods.get, { id: taskId, historyLength }))
          .history ?? [];
      const whole = await get();
      expect(JSON.stringify(whole).length).toBeGreaterThan(2 * PIECES * 1e6);
      for (const length of [0, 1, 2]) {
        read.characters = 0;
        expect(await get(length)).toEqual(
          whole.slice(whole.length - length, whole.length),
        );
        expect(read.characters).toBeLessThan(1000);
      }
      // The answer of the second turn is one of them.
      expect(await get(3)).toEqual(whole.slice(-3));
      expect(read.characters).toBeLessThan((PIECES + 1) * 1e6);
    });

    function said(text: string, id?: string) {
      const ids = { messageId: crypto.randomUUID(), taskId: id };
      return {
        message: {
          ...ids,
          kind: form === "0.3" ? "message" : undefined,
          role,
          parts: [part(text)],
        },
      };
    }

    async function call(method: string, params: object): Promise<Result> {
      const answer: { readonly result?: Result } = JSON.parse(
        await (await post(method, params)).text(),
      );
      return answer.result ?? expect.fail(JSON.stringify(answer));
    }

    function post(method: string, params: object): Promise<Response> {
      const headers = {
        ...(form === "1.0" && { "a2a-version": "1.0" }),
        authorization: `Bearer ${server.token}`,
        "content-type": "application/json",
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      return fetch(server.url, { method: "POST", headers, body });
    }
  },
);

interface Result {
  readonly task?: Result;
  readonly id?: string;
  readonly history?: readonly object[];
  readonly artifacts?: readonly {
    readonly parts?: readonly { readonly text?: string }[];
  }[];
}

const TALKER = {
  about: { name: "Talker", description: "Talks at length until the end." },
  open: () => ({
    createExecutor: () => ({
      keepsSession: true,
      async *execute({ prompt }: Turn): AsyncIterable<AgentEvent> {
        const content = prompt?.parts[0]?.content;
        if (content?.case === "text" && content.value === "last") {
          yield { case: "text", value: "small" };
          return;
        }
        for (let piece = 0; piece < PIECES; piece++) {
          yield { case: "text", value: PIECE };
        }
        yield {
          case: "end",
          value: { state: TaskState.INPUT_REQUIRED, text: "And now?" },
        };
      },
    }),
  }),
};

/** A store that counts what is read of its logs. */
function counting(
  store: SqliteTaskStore,
  read: { characters: number },
): SqliteTaskStore {
  const { readEvents } = store;
  store.readEvents = async function* (...of): AsyncIterable<TaskEvent> {
    for await (const event of readEvents.apply(store, of)) {
      const { payload } = event;
      if (payload.case === "text") read.characters += payload.value.text.length;
      yield event;
    }
  };
  return store;
}
