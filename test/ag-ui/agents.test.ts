import { EventType } from "@ag-ui/client";
import { create } from "@bufbuild/protobuf";
import {
  ArtifactUpdateSchema,
  CitationSchema,
  NoticeSchema,
  SummarySchema,
  type Task,
  TaskState,
  UsageSchema,
} from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import type { AgentEvent } from "@devtool/server/agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FrontEnd } from "./front-end.ts";

const LIMIT_MS = 60_000;

/** What an agent does for each first line of a message. */
const PLAYS: ReadonlyMap<string, readonly AgentEvent[]> = new Map<
  string,
  readonly AgentEvent[]
>([
  [
    "ask",
    [
      {
        case: "end",
        value: { state: TaskState.INPUT_REQUIRED, text: "Which file?" },
      },
    ],
  ],
  [
    "sign in",
    [
      {
        case: "end",
        value: { state: TaskState.AUTH_REQUIRED, text: "Open the page." },
      },
    ],
  ],
  [
    "refuse",
    [{ case: "end", value: { state: TaskState.REJECTED, text: "Not this." } }],
  ],
  [
    "work",
    [
      { case: "notice", value: create(NoticeSchema, { text: "Slow today." }) },
      {
        case: "citation",
        value: create(CitationSchema, {
          uri: "https://example.test/a",
          title: "A",
        }),
      },
      {
        case: "usage",
        value: create(UsageSchema, {
          inputTokens: 10n,
          cachedTokens: 4n,
          outputTokens: 3n,
          thoughtTokens: 1n,
        }),
      },
      {
        case: "usage",
        value: create(UsageSchema, { inputTokens: 20n, outputTokens: 2n }),
      },
      artifact("one", false),
      artifact(" two", true),
      { case: "summary", value: create(SummarySchema, { text: "So far." }) },
      { case: "text", value: "Worked." },
    ],
  ],
  ["promise", [{ case: "text", value: "Promised." }]],
]);

function artifact(text: string, append: boolean): AgentEvent {
  const parts = [{ content: { case: "text" as const, value: text } }];
  return {
    case: "artifact",
    value: create(ArtifactUpdateSchema, {
      artifact: { artifactId: "report", parts },
      append,
    }),
  };
}

function lastSaid({ history }: Task): string {
  const parts = history.at(-1)?.parts ?? [];
  return parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}

const agent: Agent = {
  about: { name: "Player", description: "Plays what it is told." },
  open: () => ({
    createExecutor: () => ({
      modelFor: () => "test-model",
      answersWith: (task) =>
        lastSaid(task) === "promise" ? "message" : "task",
      async *execute({ task }) {
        const said = lastSaid(task);
        yield* PLAYS.get(said) ?? [
          { case: "text", value: `You said ${said}.` } as const,
        ];
      },
    }),
  }),
};

describe("own agents, in AG-UI", { timeout: LIMIT_MS }, () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await createServer({
      agents: { player: agent },
      workspace: process.cwd(),
    });
  });
  afterAll(() => server.close());

  it("has an event for everything", async () => {
    const page = new FrontEnd(server);
    const events = await page.say("work");
    const customs = events.filter(({ type }) => type === EventType.CUSTOM);
    expect(customs).toMatchObject([
      { name: "devtool.notice", value: { text: "Slow today." } },
      { name: "devtool.citation", value: { uri: "https://example.test/a" } },
      { name: "devtool.summary", value: { text: "So far." } },
    ]);
    expect(page.messages).toMatchObject([
      { role: "user" },
      {
        role: "activity",
        activityType: "devtool.artifact",
        content: { parts: [{ text: "one" }, { text: " two" }] },
      },
      { role: "assistant", content: "Worked." },
    ]);
    expect(events.at(-1)).toMatchObject({
      usage: [
        {
          model: "test-model",
          inputTokens: 30,
          cachedInputTokens: 4,
          outputTokens: 5,
          reasoningTokens: 1,
        },
      ],
    });
  });

  it("waits for a message, which answers an interrupt", async () => {
    const page = new FrontEnd(server);
    await page.say("ask");
    expect(page.interrupt).toMatchObject({
      reason: "input_required",
      message: "Which file?",
      responseSchema: { required: ["text"] },
    });
    const resume = [
      {
        interruptId: page.interrupt.id,
        status: "resolved" as const,
        payload: { text: "a.txt" },
      },
    ];
    await page.run({ resume });
    expect(page.texts.at(-1)).toBe("You said a.txt.");
    // The same answer again counts once.
    const events = await page.run({ resume });
    expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
    expect(
      page.texts.filter((text) => text === "You said a.txt."),
    ).toHaveLength(1);
  });

  it("waits for a message, which a client may just send", async () => {
    const page = new FrontEnd(server);
    await page.say("ask");
    const other = new FrontEnd(server, { threadId: page.threadId });
    await other.say("b.txt");
    expect(other.texts).toEqual(["Which file?", "You said b.txt."]);
  });

  it("is canceled when nobody gives what it waits for", async () => {
    const page = new FrontEnd(server);
    await page.say("sign in");
    expect(page.interrupt).toMatchObject({
      reason: "devtool:auth_required",
      message: "Open the page.",
    });
    const events = await page.run({
      resume: [{ interruptId: page.interrupt.id, status: "cancelled" }],
    });
    expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  });

  it("refuses with an error", async () => {
    const page = new FrontEnd(server);
    const events = await page.say("refuse");
    expect(events.at(-1)).toMatchObject({
      type: EventType.RUN_ERROR,
      code: "rejected",
      message: "Not this.",
    });
  });

  it("answers with a message alone, and the thread goes on", async () => {
    const page = new FrontEnd(server);
    await page.say("promise");
    await page.say("more");
    expect(page.texts).toEqual(["Promised.", "You said more."]);
    const reloaded = new FrontEnd(server, { threadId: page.threadId });
    await reloaded.run();
    expect(
      reloaded.messages.map(({ role, content }) => [role, content]),
    ).toEqual([
      ["user", "promise"],
      ["assistant", "Promised."],
      ["user", "more"],
      ["assistant", "You said more."],
    ]);
  });
});
