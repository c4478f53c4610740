import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import type { AgentEvent } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import { RecordedCalls } from "../testing/recorded-calls.ts";
import { CallBook } from "./call-book.ts";
import { UpdateEvents } from "./update-events.ts";

describe("the updates of an ACP agent as events", () => {
  let updates: UpdateEvents;
  beforeEach(() => {
    const log = new RecordedCalls();
    const book = new CallBook({
      task: () => log.task,
      terminalOutput: () => undefined,
    });
    updates = new UpdateEvents(book, new Set());
  });

  const of = (sessionUpdate: string, fields: JsonObject = {}): AgentEvent[] => [
    ...updates.of({ sessionUpdate, ...fields }),
  ];
  const chunk = (kind: string, text: string): AgentEvent[] =>
    of(kind, { content: { type: "text", text } });
  const thoughts = (events: readonly AgentEvent[]): unknown[] =>
    events.flatMap((event) =>
      event.case === "thought" ? [event.value.description] : [],
    );

  it("have text, and nothing for an empty one", () => {
    expect([
      chunk("agent_message_chunk", "Hello"),
      chunk("agent_message_chunk", ""),
    ]).toEqual([[{ case: "text", value: "Hello" }], []]);
  });

  it("join the pieces of a thought, and end it with the next thought, with anything else, or with the turn", () => {
    expect(chunk("agent_thought_chunk", "**One** first, ")).toEqual([]);
    expect(chunk("agent_thought_chunk", "second.")).toEqual([]);
    expect(thoughts(chunk("agent_thought_chunk", "**Two** third."))).toEqual([
      "first, second.",
    ]);
    expect(thoughts(chunk("agent_message_chunk", "Hello"))).toEqual(["third."]);
    chunk("agent_thought_chunk", "fourth");
    expect(thoughts([...updates.flush()])).toEqual(["fourth"]);
    expect([...updates.flush()]).toEqual([]);
  });

  it("cut a thought that grows without end", () => {
    const pieces = Array.from({ length: 10 }, () =>
      chunk("agent_thought_chunk", "x".repeat(16 * 1024)),
    );
    const cut = thoughts(pieces.flat());
    expect(cut).toHaveLength(2);
    expect(cut.every((text) => String(text).length <= 64 * 1024)).toBe(true);
  });

  it("number the files, and show links as text", () => {
    const image = {
      content: { type: "image", mimeType: "image/png", data: "AAAA" },
    };
    const link = {
      content: { type: "resource_link", name: "a", uri: "file:///w/a" },
    };
    const events = [image, image, link].flatMap((fields) =>
      of("agent_message_chunk", fields),
    );
    expect(events).toMatchObject([
      {
        case: "artifact",
        value: {
          artifact: {
            artifactId: "file-1",
            parts: [{ content: { value: { mediaType: "image/png" } } }],
          },
        },
      },
      { case: "artifact", value: { artifact: { artifactId: "file-2" } } },
      { case: "text", value: "[a](file:///w/a)" },
    ]);
  });

  it("replace the plan", () => {
    const entries = [{ content: "Think", priority: "high", status: "pending" }];
    expect(of("plan", { entries })).toMatchObject([
      {
        case: "artifact",
        value: {
          append: false,
          artifact: { artifactId: "plan", name: "Plan" },
        },
      },
    ]);
    expect(of("plan", { entries })).toEqual([]);
    expect(of("plan", { entries: [null, ...entries] })).toMatchObject([
      { case: "notice", value: { text: expect.stringContaining("a plan") } },
    ]);
    expect(of("plan", { entries: "none" })).toMatchObject([
      { case: "artifact" },
    ]);
  });

  it("count the tokens that each step added to the context", () => {
    const used = [100, 250, 200, 300].map((value) =>
      of("usage_update", { used: value }),
    );
    const added = used.map(([event]) =>
      event?.case === "usage" ? Number(event.value.inputTokens) : undefined,
    );
    expect(added).toEqual([100, 150, 0, 100]);
    expect(of("usage_update", { used: 300 })).toEqual([]);
    expect(
      [-1, 0.5, "9", null].flatMap((value) =>
        of("usage_update", { used: value }),
      ),
    ).toEqual([]);
  });

  it("say how full the context is", () => {
    const sizes = [
      { used: 100, size: 1000 },
      { used: 40, size: 1000 },
      { used: 50, size: -1 },
      { used: 60 },
    ];
    const said = sizes.flatMap((size) => of("usage_update", size));
    const pairs = said.map((event) =>
      event.case === "usage"
        ? [event.value.contextTokens, event.value.contextWindowTokens]
        : [],
    );
    expect(pairs).toEqual([
      [100n, 1000n],
      [40n, 1000n],
      [50n, 0n],
      [60n, 0n],
    ]);
  });

  it("tell of notices, modes and summaries", () => {
    const told = [
      of("notice", { title: "Slow", description: "retrying" }),
      of("notice", { title: "Slow" }),
      of("current_mode_update", { currentModeId: "plan" }),
      of("compaction_update", { status: "in_progress" }),
      of("compaction_update", { status: "completed" }),
      of("compaction_update", { status: "failed", error: "too long" }),
    ];
    expect(
      told.flatMap((events) =>
        events.map((event) => event.case === "notice" && event.value.text),
      ),
    ).toEqual([
      "Slow: retrying",
      "Slow",
      'The agent is in mode "plan".',
      "The agent summarized the conversation.",
      "The agent could not summarize the conversation: too long",
    ]);
  });

  it("say nothing of what is ours or not shown, and tell once of what is not known", () => {
    const silent = [
      "user_message_chunk",
      "available_commands_update",
      "config_option_update",
      "session_info_update",
    ];
    expect(
      [...silent, "compaction_summary_chunk"].flatMap((kind) => of(kind)),
    ).toEqual([]);
    expect(
      ["invented", "", "invented"].flatMap((kind) => of(kind)),
    ).toMatchObject(
      ["invented", ""].map((kind) => ({
        case: "notice",
        value: {
          text: `The agent sent an update of the kind "${kind}", which cannot be shown: it is left out.`,
        },
      })),
    );
  });

  it.each([
    [{ type: "hologram" }, "hologram"],
    [{ type: "text", text: 5 }, "text"],
    [{ type: "image", mimeType: "image/png" }, "image"],
    [{ type: "image", mimeType: "image/png", data: "***" }, "image"],
    [{ type: "resource", resource: { uri: "a:b", blob: "***" } }, "resource"],
    [{ type: "resource", resource: null }, "resource"],
    [{ type: "resource_link", name: "a" }, "resource_link"],
    [null, ""],
  ])("F8: lose only the content %j, which is named", (content, type) => {
    const after = { type: "text", text: "after" };
    for (const kind of ["agent_message_chunk", "agent_thought_chunk"]) {
      const events = [
        ...of(kind, { content }),
        ...of(kind, { content: [content, after] }),
        ...updates.flush(),
      ];
      const told = events.flatMap((event) =>
        event.case === "notice" ? [event.value.text] : [],
      );
      expect(told).toEqual(
        kind === "agent_message_chunk"
          ? [
              `The agent sent content of the type "${type}", which cannot be shown: it is left out.`,
            ]
          : [],
      );
      expect(events.at(-1)).toMatchObject(
        kind === "agent_message_chunk"
          ? { case: "text", value: "after" }
          : { case: "thought", value: { description: "after" } },
      );
    }
  });

  it.each(["AB", { text: "AB" }, ["A", { text: "B" }]])(
    "K8: have the text of %j, which does not say that it is one",
    (content) => {
      const said = of("agent_message_chunk", { content });
      expect(said.map(({ value }) => value).join("")).toBe("AB");
    },
  );

  it("K8: have the data of a URL", () => {
    const data = "data:image/png;base64,aGk=";
    const content = { type: "image", mimeType: "image/png", data };
    expect(of("agent_message_chunk", { content })).toMatchObject([
      {
        value: {
          artifact: {
            parts: [
              {
                content: {
                  value: { source: { value: new Uint8Array([104, 105]) } },
                },
              },
            ],
          },
        },
      },
    ]);
  });

  it("carry calls, but none without an id", () => {
    expect(
      of("tool_call", { toolCallId: "c1", title: "Read", status: "pending" }),
    ).toMatchObject([
      {
        case: "toolCalls",
        value: [{ call: { toolCallId: "c1", description: "Read" } }],
      },
    ]);
    expect(of("tool_call", { title: "Read" })).toMatchObject([
      {
        case: "notice",
        value: { text: expect.stringContaining("a call without an id") },
      },
    ]);
  });

  it("F8: lose no other update than the one with an odd value, wherever that is", () => {
    for (const [at, valid] of UPDATES.entries()) {
      for (const mutant of mutantsOf(valid)) {
        const log = new RecordedCalls();
        const book = new CallBook({
          task: () => log.task,
          terminalOutput: () => undefined,
        });
        const mutated = new UpdateEvents(book, new Set());
        const before = UPDATES.slice(0, at);
        const after = UPDATES.slice(at + 1);
        const said = [...before, objectOrEmpty(mutant), ...after, LAST]
          .flatMap((update) => [...mutated.of(update)])
          .map(({ case: kind }) => kind);
        const kinds = [...before, ...after, LAST].flatMap(
          ({ sessionUpdate }) => KINDS.get(String(sessionUpdate)) ?? [],
        );
        for (const kind of new Set(kinds)) {
          const wanted = kinds.filter((each) => each === kind).length;
          expect(
            said.filter((each) => each === kind).length,
            `${kind} of ${JSON.stringify(mutant)}`,
          ).toBeGreaterThanOrEqual(wanted);
        }
      }
    }
  });
});

const LAST: JsonObject = {
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: "the end" },
};
const UPDATES: readonly JsonObject[] = [
  LAST,
  {
    sessionUpdate: "agent_message_chunk",
    content: { type: "image", mimeType: "image/png", data: "AAAA" },
  },
  {
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: "think" },
  },
  {
    sessionUpdate: "tool_call",
    toolCallId: "c",
    title: "T",
    kind: "edit",
    status: "pending",
    rawInput: { command: ["a", "b"], cwd: "/" },
    locations: [{ path: "/a", line: 1 }],
    content: [
      { type: "diff", path: "/a", oldText: "x", newText: "y" },
      { type: "content", content: { type: "text", text: "o" } },
    ],
  },
  {
    sessionUpdate: "plan",
    entries: [{ content: "a", priority: "high", status: "pending" }],
  },
  { sessionUpdate: "usage_update", used: 5, size: 10 },
  { sessionUpdate: "current_mode_update", currentModeId: "x" },
];
/** What each update becomes. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["agent_thought_chunk", "thought"],
  ["tool_call", "toolCalls"],
  ["usage_update", "usage"],
  ["current_mode_update", "notice"],
]);

/** Returns a value with each of its parts replaced by odd ones, or left out. */
function mutantsOf(value: JsonValue): JsonValue[] {
  const odd: JsonValue[] = [null, 5, "", "x", true, [], {}, [null], { a: 1 }];
  if (Array.isArray(value)) {
    return [
      ...odd,
      ...value.flatMap((each, at) =>
        mutantsOf(each).map((mutant) => value.with(at, mutant)),
      ),
    ];
  }
  if (!isObject(value)) return odd;
  return [
    ...odd,
    ...Object.entries(value).flatMap(([name, each]) => {
      const { [name]: _left, ...others } = value;
      const changed = mutantsOf(each).map((one) => ({ ...value, [name]: one }));
      return [others, ...changed];
    }),
  ];
}
