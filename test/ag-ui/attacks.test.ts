import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { clientOf } from "../console/console-page.ts";
import { FrontEnd } from "./front-end.ts";
import { bareRun, postRun } from "./post-run.ts";

/**
 * Maximum size in characters of an answer that refuses a run, whatever the run
 * has.
 */
const MAX_REFUSAL = 2000;

/** A caller of the server, as `postRun` and `FrontEnd` take it. */
type Address = Pick<DevtoolServer, "url" | "token">;

const DENIED = { type: "RUN_ERROR", code: "permission_denied" };

describe("a hostile client of AG-UI", { timeout: 120_000 }, () => {
  let workspace: string;
  let issuer: Issuer;
  let server: DevtoolServer;
  let alice: Address;
  let mallory: Address;
  let files = 0;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    issuer = await createIssuer();
    server = await createServer({
      agents: {
        one: codingAgent({ sandbox: "none" }),
        two: codingAgent({ sandbox: "none" }),
      },
      workspace,
      limits: { maxStreamsPerCaller: 2 },
      authentication: { jwt: { ...issuer.options, approveScope: "approve" } },
    });
    const caller = async (who: string): Promise<Address> => ({
      url: server.url,
      token: await issuer.tokenFor(who, "approve"),
    });
    alice = await caller("alice");
    mallory = await caller("mallory");
  });
  afterAll(() => server.close());

  /**
   * A thread of a caller that asks whether a file of its own may be written.
   */
  async function asking(
    caller: Address,
  ): Promise<{ readonly page: FrontEnd; readonly path: string }> {
    const path = join(workspace, `${++files}.txt`);
    const page = new FrontEnd(caller);
    await page.say(`write ${files}.txt hello\ntext Done.`);
    return { page, path };
  }

  const resume = (
    caller: Address,
    threadId: string,
    interruptId: string,
    payload: JsonValue,
  ) =>
    postRun(caller, {
      ...bareRun(threadId),
      resume: [{ interruptId, status: "resolved", payload }],
    });

  const lastOf = ({
    events,
  }: {
    readonly events: readonly JsonObject[];
  }): JsonObject => events.at(-1) ?? {};

  it("runs no call by an interrupt that its thread did not ask, and the question stays", async () => {
    const [own, other, theirs] = [
      await asking(alice),
      await asking(alice),
      await asking(mallory),
    ];
    const [id, call = "", digest = ""] =
      /^(.*):([\w-]+)$/.exec(own.page.interrupt.id) ?? [];
    const flipped = `${digest.startsWith("A") ? "B" : "A"}${digest.slice(1)}`;
    const forged = [
      other.page.interrupt.id,
      theirs.page.interrupt.id,
      `${call}:${flipped}`,
      `${call}:${digest.slice(0, -4)}`,
      `${call}:${digest}AAAA`,
      `${call}:`,
      call,
      `:${digest}`,
      `${other.page.interrupt.id.replace(/:.*$/, "")}:${digest}`,
      `${call}:input:0`,
      "__proto__:AA",
    ];
    for (const interruptId of forged.filter((one) => one !== id)) {
      const refused = lastOf(
        await resume(alice, own.page.threadId, interruptId, { approved: true }),
      );
      expect(refused, interruptId).toMatchObject({ type: "RUN_ERROR" });
    }
    for (const { page, path } of [own, other, theirs]) {
      expect(existsSync(path)).toBe(false);
      await page.answer({ approved: true });
      expect([page.texts, existsSync(path)]).toEqual([["Done."], true]);
    }
  });

  it("does not reach the thread of another principal, whatever it sends to its id", async () => {
    const { page, path } = await asking(alice);
    const cancel = { forwardedProps: { devtool: { cancel: true } } };
    const attempts = [
      await resume(mallory, page.threadId, page.interrupt.id, {
        approved: true,
      }),
      await resume(mallory, page.threadId, page.interrupt.id, {
        approved: false,
      }),
      await postRun(mallory, { ...bareRun(page.threadId), ...cancel }),
    ];
    for (const attempt of attempts) {
      expect(lastOf(attempt)).toMatchObject({
        type: "RUN_ERROR",
        code: "not_found",
      });
    }
    const shown = await postRun(mallory, bareRun(page.threadId));
    expect(JSON.stringify(shown.events)).not.toContain("hello");
    expect(existsSync(path)).toBe(false);
    await page.answer({ approved: true });
    expect(existsSync(path)).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ["to a file outside", { file_path: "../outside.txt", content: "x" }],
    [
      "to an absolute path outside",
      { file_path: "/etc/outside.txt", content: "x" },
    ],
    ["to none", {}],
    [
      "to a prototype",
      JSON.parse(
        '{"__proto__": {"file_path": "a.txt"}, "file_path": "a.txt", "content": "x"}',
      ),
    ],
  ])(
    "changes arguments %s, and nothing runs by that",
    async (_name, editedArgs) => {
      const { page, path } = await asking(alice);
      await resume(alice, page.threadId, page.interrupt.id, {
        approved: true,
        editedArgs,
      });
      for (const written of [
        path,
        join(workspace, "a.txt"),
        join(dirname(workspace), "outside.txt"),
      ]) {
        expect(existsSync(written)).toBe(false);
      }
      const again = new FrontEnd(alice, { threadId: page.threadId });
      await again.run();
      await again.answer({ approved: false });
      expect(existsSync(path)).toBe(false);
    },
  );

  it("cannot give a command content that was not shown", async () => {
    const page = new FrontEnd(alice);
    await page.say("run touch ran.txt\ntext Done.");
    const refused = await resume(alice, page.threadId, page.interrupt.id, {
      approved: true,
      newContent: "touch b.txt",
    });
    expect(lastOf(refused)).toMatchObject({
      type: "RUN_ERROR",
      message: expect.stringContaining("newContent"),
    });
    expect(existsSync(join(workspace, "ran.txt"))).toBe(false);
  });

  it("does not change a decision", async () => {
    const [declined, approved] = [await asking(alice), await asking(alice)];
    const [yes, no] = [{ approved: true }, { approved: false }];
    for (const [{ page, path }, first, later] of [
      [declined, no, yes],
      [approved, yes, no],
    ] as const) {
      const { id } = page.interrupt;
      await page.answer(first);
      expect(
        lastOf(await resume(alice, page.threadId, id, later)),
      ).toMatchObject({ type: "RUN_ERROR" });
      expect(existsSync(path)).toBe(first.approved);
      // The same answer again is a retry, also in another run.
      expect(
        lastOf(await resume(alice, page.threadId, id, first)),
      ).toMatchObject({ type: "RUN_FINISHED" });
    }
  });

  it("gets one of two opposite answers at the same moment decided, and is told of the other", async () => {
    for (let round = 0; round < 5; round++) {
      const { page, path } = await asking(alice);
      const both = await Promise.all(
        [true, false].map((is) =>
          resume(alice, page.threadId, page.interrupt.id, { approved: is }),
        ),
      );
      expect(both.map((run) => lastOf(run).type).toSorted()).toEqual([
        "RUN_ERROR",
        "RUN_FINISHED",
      ]);
      expect(existsSync(path)).toBe(
        lastOf(both[0] ?? { events: [] }).type === "RUN_FINISHED",
      );
    }
  });

  it.each<[string, JsonObject]>([
    [
      "a long name of a property",
      { forwardedProps: { [`\u202e\u001b${"x".repeat(500_000)}`]: 1 } },
    ],
    [
      "a long name of an own property",
      { forwardedProps: { devtool: { ["x".repeat(500_000)]: 1 } } },
    ],
    [
      "a long property in a setting",
      {
        forwardedProps: {
          devtool: { sessionSettings: { ["x".repeat(500_000)]: 1 } },
        },
      },
    ],
    [
      "many tools",
      {
        tools: Array.from({ length: 20_000 }, (_, at) => ({
          name: `tool-${at}`,
          parameters: {},
        })),
      },
    ],
    ["a large state", { state: { text: "x".repeat(500_000) } }],
    [
      "a prototype as state",
      { state: JSON.parse('{"__proto__": {"isAdmin": true}}') },
    ],
    [
      "a prototype as properties",
      {
        forwardedProps: JSON.parse(
          '{"__proto__": {"devtool": {"cancel": true}}}',
        ),
      },
    ],
    ["a state that is a list", { state: [] }],
    ["a long version", { protocolVersion: "x".repeat(500_000) }],
    [
      "a long name of a part's type",
      {
        messages: [
          { id: "a", role: "user", content: [{ type: "x".repeat(500_000) }] },
        ],
      },
    ],
    [
      "a long id of a message",
      {
        messages: [
          { id: "x".repeat(500_000), role: "user", content: "text Hello." },
        ],
      },
    ],
    [
      "many messages at once",
      {
        messages: Array.from({ length: 20_000 }, (_, at) => ({
          id: `m${at}`,
          role: "user",
          content: "x",
        })),
      },
    ],
    ["a long context", { context: [{ description: "d", value: 1 }] }],
    [
      "many answers",
      {
        resume: Array.from({ length: 20_000 }, (_, at) => ({
          interruptId: `x${at}:AA`,
          status: "cancelled",
        })),
      },
    ],
    [
      "a long field in an answer",
      {
        resume: [
          {
            interruptId: "a:AA",
            status: "resolved",
            payload: { ["x".repeat(500_000)]: 1 },
          },
        ],
      },
    ],
    [
      "a long interrupt",
      {
        resume: [
          { interruptId: `${"x".repeat(500_000)}:AA`, status: "cancelled" },
        ],
      },
    ],
  ])("gets a short error for %s", async (_name, hostile) => {
    const threadId = crypto.randomUUID();
    const messages = [
      { id: crypto.randomUUID(), role: "user", content: "text x" },
    ];
    const { status, events, body } = await postRun(alice, {
      ...bareRun(threadId),
      messages,
      ...hostile,
    });
    const refusal = status === 200 ? JSON.stringify(events.at(-1)) : body;
    expect(refusal.length).toBeLessThan(MAX_REFUSAL);
    expect([status, events.at(-1)?.type]).toEqual(
      status === 200 ? [200, "RUN_ERROR"] : [400, undefined],
    );
    expect(
      (await clientOf(alice).tasks.listTasks({ contextId: threadId })).tasks,
    ).toEqual([]);
  });

  it("gets its long id of a thread back, and no task for it", async () => {
    const threadId = "x".repeat(500_000);
    const messages = [
      { id: crypto.randomUUID(), role: "user", content: "text x" },
    ];
    const { events } = await postRun(alice, { ...bareRun(threadId), messages });
    expect(events).toMatchObject([
      { type: "RUN_STARTED" },
      { type: "RUN_ERROR", code: "invalid_argument" },
    ]);
    expect(JSON.stringify(events.at(-1)).length).toBeLessThan(MAX_REFUSAL);
  });

  it("loses nothing when it disconnects while a call asks, and holds no stream", async () => {
    const path = join(workspace, "left.txt");
    const page = new FrontEnd(alice);
    for (let round = 0; round < 4; round++) {
      const left = new FrontEnd(alice, { threadId: page.threadId });
      left.watch(() => left.agent.abortRun());
      await (round === 0
        ? left.say("write left.txt hello\ntext Done.")
        : left.run());
    }
    await page.run();
    const { id } = page.interrupt;
    const answered = new FrontEnd(alice, { threadId: page.threadId });
    answered.watch(() => answered.agent.abortRun());
    await answered.run({
      resume: [
        { interruptId: id, status: "resolved", payload: { approved: true } },
      ],
    });
    const again = new FrontEnd(alice, { threadId: page.threadId });
    await again.run();
    expect([again.texts, again.interrupts, existsSync(path)]).toEqual([
      ["Done."],
      [],
      true,
    ]);
  });

  it.each([
    [
      "a wider mode, which has no effect",
      { approvalMode: "APPROVAL_MODE_YOLO" },
      { outcome: { type: "interrupt" } },
    ],
    [
      "an MCP server",
      {
        mcpServers: [
          { name: "m", stdio: { command: "touch", args: ["PATH"] } },
        ],
      },
      DENIED,
    ],
    ["an option of the agent", { agentOptions: { mode: "yolo" } }, DENIED],
  ])(
    "gets by the settings of a run nothing that only an approval gives: %s",
    async (_, settings, end) => {
      const path = join(workspace, "made");
      const sessionSettings = JSON.parse(
        JSON.stringify(settings).replace("PATH", path),
      );
      const bob = {
        url: server.url,
        token: await issuer.tokenFor("bob", "read"),
      };
      const messages = [
        { id: crypto.randomUUID(), role: "user", content: `run touch ${path}` },
      ];
      const props = { forwardedProps: { devtool: { sessionSettings } } };
      const { events } = await postRun(bob, {
        ...bareRun(crypto.randomUUID()),
        ...props,
        messages,
      });
      expect(events.at(-1)).toMatchObject(end);
      expect(existsSync(path)).toBe(false);
    },
  );
});
