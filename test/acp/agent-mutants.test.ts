import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import {
  confirmationPart,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import {
  ApprovalMode,
  emptyTask,
  isTerminal,
  OPTION_CANCEL,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { mutantOf } from "../mutants.ts";
import {
  type AgentScript,
  MutantAgent,
  unpairedIn,
} from "./agent/mutant-agent.ts";
import { AcpWorld } from "./agent/world.ts";

const MUTANTS = roundsOf("DEVTOOL_ACP_AGENT_MUTANTS", {
  quick: 100,
  ci: 300,
  deep: 10_000,
});
/** The number of servers that play at the same time: they mostly wait. */
const WORLDS = 8;

/** The words of a validator or of JavaScript, which do not help a user. */
const DUMP =
  /_errors|Zod|invalid_type|Invalid input|Cannot (read|destructure)|is not (a function|iterable)|undefined(?! of ACP)|\[object Object\]/;

const OPTIONS = [
  { optionId: "o-yes", name: "sayonce", kind: "allow_once" },
  { optionId: "o-ever", name: "sayever", kind: "allow_always" },
  { optionId: "o-no", name: "sayno", kind: "reject_once" },
  // Not shown, since there is one that declines this call alone.
  { optionId: "o-never", name: "never", kind: "reject_always" },
];
const VALUES = ["low", "high"].map((value) => ({ value, name: value }));
const SESSION: JsonObject = {
  sessionId: "s",
  modes: {
    currentModeId: "plain",
    availableModes: ["plain", "plan", "wild"].map((id) => ({ id, name: id })),
  },
  configOptions: [
    {
      type: "select",
      id: "effort",
      name: "Effort",
      category: "thought_level",
      currentValue: "low",
      options: VALUES,
    },
    {
      type: "select",
      id: "model",
      name: "Model",
      category: "model",
      currentValue: "first",
      options: [
        { value: "first", name: "First" },
        { value: "alphamodel", name: "Alpha" },
        { group: "g", name: "G", options: [{ value: "betamodel", name: "B" }] },
        { value: "gammamodel", name: "Gamma" },
      ],
    },
  ],
};
/** A session of an agent that has no option for its models. */
const OLD_SESSION: JsonObject = {
  ...SESSION,
  configOptions: listOrEmpty(SESSION.configOptions).slice(0, 1),
  models: {
    currentModelId: "first",
    availableModels: ["first", "alphamodel", "betamodel", "gammamodel"].map(
      (modelId) => ({ modelId, name: modelId }),
    ),
  },
};
const RESULTS = {
  initialize: {
    protocolVersion: 1,
    agentInfo: { name: "mutant", version: "1" },
    authMethods: ["logone", "logtwo"].map((id) => ({
      id,
      name: id,
      description: "d",
    })),
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, close: {}, resume: {} },
    },
  },
  "session/new": SESSION,
  "session/resume": SESSION,
  "session/load": SESSION,
  "session/set_config_option": { configOptions: SESSION.configOptions ?? [] },
  "session/prompt": { stopReason: "end_turn" },
};
const ASK: readonly [string, JsonObject] = [
  "session/request_permission",
  {
    toolCall: {
      toolCallId: "c1",
      title: "titleword",
      kind: "edit",
      status: "pending",
      rawInput: { argword: "valueword", n: [1] },
      locations: [{ path: "/locationword", line: 3 }],
      content: [
        { type: "diff", path: "/pathword", oldText: "oldword", newText: "new" },
        { type: "content", content: { type: "text", text: "contentword" } },
      ],
    },
    options: OPTIONS,
  },
];
const RUN: readonly [string, JsonObject] = [
  "session/request_permission",
  {
    sessionId: "s",
    toolCall: {
      toolCallId: "c2",
      title: "run it",
      kind: "execute",
      rawInput: { command: "lsword -la", cwd: "/" },
    },
    options: OPTIONS,
  },
];
const FORM: readonly [string, JsonObject] = [
  "elicitation/create",
  {
    sessionId: "s",
    mode: "form",
    message: "messageword",
    requestedSchema: {
      type: "object",
      properties: {
        nameword: { type: "string", title: "Name", minLength: 1 },
        countword: { type: "integer", minimum: 1, default: 5 },
        flagword: { type: "boolean", default: false },
        listword: {
          type: "array",
          items: { type: "string", enum: ["xword", "yword"] },
          default: ["xword"],
        },
      },
      required: ["nameword"],
    },
  },
];
const CHOICE: readonly [string, JsonObject] = [
  "elicitation/create",
  {
    sessionId: "s",
    mode: "form",
    message: "whichword",
    requestedSchema: {
      type: "object",
      properties: {
        choice: {
          type: "string",
          oneOf: [
            { const: "c-one", title: "titleone" },
            { const: "c-two", title: "titletwo" },
            { const: "c-three", title: "titlethree" },
          ],
        },
      },
      required: ["choice"],
    },
  },
];
const PAGE: readonly [string, JsonObject] = [
  "elicitation/create",
  {
    sessionId: "s",
    mode: "url",
    elicitationId: "e",
    url: "https://example.com/pageword",
    message: "openword",
  },
];

/** Where an odd value is put: in a result by its method, or in a call. */
interface Part {
  readonly script: (workspace: string) => AgentScript;
  readonly at: string | number;
}

const results = RESULTS;
const plain =
  (...calls: AgentScript["calls"]) =>
  () => ({ results, calls });
const PARTS: readonly Part[] = [
  { at: "initialize", script: plain() },
  {
    at: "initialize",
    script: () => ({ results, calls: [], needsLogin: true }),
  },
  { at: "session/new", script: plain(ASK) },
  {
    at: "session/new",
    script: () => ({
      results: { ...results, "session/new": OLD_SESSION },
      calls: [],
    }),
  },
  {
    at: "session/resume",
    script: () => ({ results, calls: [], endsEarly: true }),
  },
  { at: "session/set_config_option", script: plain() },
  { at: "session/prompt", script: plain() },
  { at: 0, script: plain(ASK, RUN) },
  { at: 1, script: plain(ASK, RUN) },
  { at: 0, script: plain(FORM, CHOICE) },
  { at: 1, script: plain(FORM, CHOICE) },
  { at: 0, script: plain(PAGE, ASK) },
  {
    at: 0,
    script: (workspace) => ({
      results,
      calls: [
        [
          "fs/read_text_file",
          { sessionId: "s", path: join(workspace, "read"), line: 1, limit: 2 },
        ],
        ASK,
      ],
    }),
  },
  {
    at: 0,
    script: (workspace) => ({
      results,
      calls: [
        [
          "fs/write_text_file",
          {
            sessionId: "s",
            path: join(workspace, "written"),
            content: "writtenword",
          },
        ],
        RUN,
      ],
    }),
  },
  {
    at: 0,
    script: (workspace) => ({
      results,
      calls: [
        [
          "terminal/create",
          {
            sessionId: "s",
            command: "true",
            args: ["argone", "argtwo"],
            env: [{ name: "VARWORD", value: "valword" }],
            cwd: workspace,
            outputByteLimit: 100,
          },
        ],
        RUN,
      ],
    }),
  },
  ...["output", "wait_for_exit", "kill", "release"].map(
    (method): Part => ({
      at: 0,
      script: plain(
        [`terminal/${method}`, { sessionId: "s", terminalId: "t" }],
        ASK,
      ),
    }),
  ),
];

/** What happened with one mutant. */
interface Played {
  /** What was odd, for failures. */
  readonly why: string;
  readonly workspace: string;
  readonly events: readonly TaskEvent[];
  readonly task: Task;
  /** The error with which a message of the client was refused. */
  readonly refused: string;
  readonly agents: readonly MutantAgent[];
  /** The names of the answers that the user gave, by the call. */
  readonly chosen: ReadonlyMap<string, string>;
  /** The models that are listed, by their names and titles. */
  readonly models: readonly string[];
}

it(`an odd element of what an ACP agent answers or asks affects nothing else, and is reported: ${MUTANTS} mutants`, {
  timeout: 3_600_000,
}, async () => {
  const random = generator(seedOf());
  let left = MUTANTS;
  await Promise.all(
    Array.from({ length: WORLDS }, async () => {
      const agents: MutantAgent[] = [];
      let script: AgentScript = { results: RESULTS, calls: [] };
      await using acp = await new AcpWorld({
        command: async () => {
          const agent = new MutantAgent(script);
          agents.push(agent);
          return agent;
        },
        clientMethods: { readTextFile: true, terminal: true },
      }).start();
      while (left-- > 0) {
        const part = PARTS[Math.floor(random() * PARTS.length)];
        if (!part) throw new Error("there is no part");
        const whole = part.script(acp.workspace);
        const { json, at } = mutantOf(partOf(whole, part.at), random);
        script = withPart(whole, part.at, json);
        agents.length = 0;
        const played = await play(acp, agents, script, random);
        const why = `${part.at} ${at}: ${JSON.stringify(json)}`;
        check(script, { json, part: part.at, at }, { ...played, why });
      }
    }),
  );
});

function partOf({ results, calls }: AgentScript, at: Part["at"]): JsonObject {
  return objectOrEmpty(typeof at === "string" ? results[at] : calls[at]?.[1]);
}

function withPart(
  script: AgentScript,
  at: Part["at"],
  json: JsonObject,
): AgentScript {
  if (typeof at === "string") {
    return { ...script, results: { ...script.results, [at]: json } };
  }
  const [method = ""] = script.calls[at] ?? [];
  return { ...script, calls: script.calls.with(at, [method, json]) };
}

/** Plays a turn, or two, and answers each question with any of its answers. */
async function play(
  acp: AcpWorld,
  agents: readonly MutantAgent[],
  { endsEarly = false }: AgentScript,
  random: () => number,
): Promise<Omit<Played, "why">> {
  putFile(acp.workspace, "read", "readword\nsecond\nthird\n");
  rmSync(join(acp.workspace, "written"), { force: true, recursive: true });
  const { client } = acp;
  const events: TaskEvent[] = [];
  const chosen = new Map<string, string>();
  let task = emptyTask();
  let refused = "";
  const asking = () =>
    pendingToolCalls(task).filter(({ toolCallId }) => !chosen.has(toolCallId));
  /** Sends a message, and follows until the turn ends or asks something. */
  const send = async (
    request: MessageInitShape<typeof SendMessageRequestSchema>,
  ): Promise<void> => {
    const { id: taskId, sequence: afterSequence } = task;
    const limit = AbortSignal.timeout(60_000);
    const taken = streamMessage(client, request, limit);
    if (taskId !== "") for await (const _event of taken) break;
    const following =
      taskId === ""
        ? taken
        : subscribeTask(client, { taskId, afterSequence }, limit);
    for await (const event of following) {
      task = reduceTask(task, event);
      events.push(event);
      if (asking().length > 0 || isTerminal(task.state)) return;
    }
  };
  const settings = {
    agentOptions: random() < 0.5 ? { effort: "high" } : {},
    approvalMode: random() < 0.5 ? ApprovalMode.PLAN : ApprovalMode.UNSPECIFIED,
  };
  try {
    const hello = textMessage(crypto.randomUUID(), "hello");
    await send({ message: hello, sessionSettings: settings });
    if (endsEarly) {
      await agents.at(-1)?.[Symbol.asyncDispose]();
      const again = textMessage(crypto.randomUUID(), "again");
      await send({ message: again, taskId: task.id });
    }
    for (;;) {
      const calls = asking();
      if (calls.length === 0) break;
      const parts = calls.map((call) => {
        const options = call.confirmationRequest?.options ?? [];
        expect(options.at(-1)?.id).toBe(OPTION_CANCEL);
        const option = options[Math.floor(random() * options.length)];
        chosen.set(call.toolCallId, option?.name ?? "");
        return confirmationPart(call, option?.id ?? "");
      });
      const messageId = crypto.randomUUID();
      await send({ message: { messageId, parts }, taskId: task.id });
    }
  } catch (reason) {
    refused = String(reason);
  }
  const { models } = await client.agents
    .listModels({})
    .catch(() => ({ models: [] }));
  return {
    workspace: acp.workspace,
    events,
    task,
    refused,
    agents,
    chosen,
    models: models.flatMap(({ name, displayName }) => [name, displayName]),
  };
}

/** The odd element. */
interface Odd {
  readonly json: JsonObject;
  readonly part: Part["at"];
  /** Its path in the part. */
  readonly at: string;
}

/**
 * Throws where more is lost than the odd element, or the loss is not reported.
 */
function check(script: AgentScript, odd: Odd, played: Played): void {
  const { events, task, refused, agents, why } = played;
  const log = events.map((event) => toJson(TaskEventSchema, event));
  const notices = noticesIn(played);
  const replies = agents.flatMap((agent) => [...agent.replies.values()].flat());
  const words = [refused, task.error, task.stateText, log, replies];
  expect(JSON.stringify(words), why).not.toMatch(DUMP);
  const outgoing = replies.map(({ id: _, ...reply }) => reply);
  const asked = agents.map((agent) => agent.asked);
  expect(unpairedIn([log, outgoing, asked]), why).toEqual([]);
  expect(notices, why).toEqual([...new Set(notices)]);
  // A setting that the agent no longer offers is refused by its name.
  const isAnswer = typeof odd.part === "string";
  if (!isAnswer) expect(refused, why).toBe("");
  if (refused !== "") return;

  const state = TaskState[task.state];
  if (script.needsLogin && state === "AUTH_REQUIRED") {
    const lost = missingOf(wordsIn(odd.json), task.stateText);
    const isCut = task.stateText.includes("more characters]");
    expect(isCut ? [] : lost, why).toEqual([]);
  } else if (isAnswer && state === "FAILED") {
    expect(task.error, why).not.toBe("");
  } else {
    expect([state, task.error], why).toEqual(["COMPLETED", ""]);
    expect(JSON.stringify(log), why).toContain('"after"');
    checkModels(odd, played);
    for (const index of script.calls.keys()) {
      checkCall(script, index, odd, played);
    }
  }
}

/**
 * The models that an agent still offers are listed, or left out with a notice.
 */
function checkModels({ json, part, at }: Odd, played: Played): void {
  const isOpened = part === "session/new" || part === "session/resume";
  // A category that a later version of ACP adds is not known here.
  if (!isOpened || at.endsWith(".category")) return;
  const offered = wordsIn(json).filter((word) => word.endsWith("model"));
  const lost = missingOf(offered, played.models.join(" "));
  const isTold = noticesIn(played).length > 0;
  expect(lost.length === 0 || isTold, played.why).toBe(true);
}

/** A call is shown with all that it says, and answered once. */
function checkCall(
  { calls }: AgentScript,
  index: number,
  { part }: Odd,
  played: Played,
): void {
  const { agents, events, why, workspace } = played;
  const [method, json] = calls[index] ?? [];
  const params = objectOrEmpty(json);
  const replies = agents.flatMap(
    (agent) => agent.replies.get(`r${index}`) ?? [],
  );
  expect(replies, why).toHaveLength(1);
  const [reply = {}] = replies;
  const log = events.map((event) => toJson(TaskEventSchema, event));
  const lost = missingOf(wordsIn(params), JSON.stringify(log));
  const isTold = noticesIn(played).length > 0 || reply.error !== undefined;
  const isOdd = index === part;
  expect(isOdd && isTold ? [] : lost, why).toEqual([]);
  if (!isOdd) expect(reply, why).toHaveProperty("result");
  const result = objectOrEmpty(reply.result);
  const isAsked = reply.result !== undefined;
  if (isAsked && method === "session/request_permission") {
    checkAnswer(params, result, played);
  }
  if (method === "elicitation/create" && result.action === "accept") {
    checkChoice(params, result, played);
  }
  const path = join(workspace, "written");
  if (method === "fs/write_text_file" && existsSync(path)) {
    expect(isAsked || params.path !== path, why).toBe(true);
    expect(readFileSync(path, "utf8"), why).toBe(params.content);
  }
}

/** The answer to a question about a call is the one that its user chose. */
function checkAnswer(
  { options, toolCall }: JsonObject,
  { outcome }: JsonObject,
  { chosen, why }: Played,
): void {
  const { optionId } = objectOrEmpty(outcome);
  const { toolCallId } = objectOrEmpty(toolCall);
  const name = chosen.get(String(toolCallId));
  // An id with an unpaired surrogate is another one in the log.
  const isKnown = typeof toolCallId !== "string" || toolCallId.isWellFormed();
  if (name === undefined) {
    expect(optionId === undefined || !isKnown, why).toBe(true);
    return;
  }
  const kinds = listOrEmpty(options)
    .map(objectOrEmpty)
    .filter((option) => option.optionId === optionId)
    .map(({ kind }) => String(kind));
  const wanted = [
    [/^Allow once/, "allow_once"],
    [/^Always allow/, "allow_always"],
    [/^Decline/, "reject_once"],
    [/^Always decline/, "reject_always"],
  ] as const;
  const [, kind] = wanted.find(([label]) => label.test(name)) ?? [];
  const isDeclined = kind?.startsWith("reject") && optionId === undefined;
  expect(isDeclined ? [kind] : [...new Set(kinds)], why).toEqual([kind]);
}

/** A value that the agent gets for a choice is one that its user chose. */
function checkChoice(
  { requestedSchema }: JsonObject,
  { content }: JsonObject,
  { chosen, why }: Played,
): void {
  const { choice } = objectOrEmpty(content);
  const { properties } = objectOrEmpty(requestedSchema);
  const { oneOf } = objectOrEmpty(objectOrEmpty(properties).choice);
  const titles = listOrEmpty(oneOf)
    .map(objectOrEmpty)
    .filter((offer) => offer.const === choice)
    .map(({ title }) => String(title));
  const names = [...chosen.values()].join("\n");
  if (choice === undefined || titles.length === 0) return;
  expect(missingOf(wordsIn(titles), names), why).toEqual([]);
}

function noticesIn({ events }: Played): string[] {
  return events.flatMap(({ payload }) =>
    payload.case === "notice" ? [payload.value.text] : [],
  );
}

/** The words in JSON by which its elements are known. */
function wordsIn(json: unknown): string[] {
  const text = JSON.stringify(json ?? null);
  const words = text.match(/\b\w+(?:word|one|two|three|model)\b|\bsay\w+/g);
  return [...new Set(words)];
}

function missingOf(words: readonly string[], shown: string): string[] {
  return words.filter((word) => !shown.includes(word));
}
