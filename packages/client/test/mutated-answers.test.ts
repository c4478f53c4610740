import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import {
  AgentListService,
  EXTENSION_URI,
  PushService,
  SlashCommandService,
  TaskService,
} from "@devtool/schema";
import { AgentCardSchema } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../../../test/depth.ts";
import {
  generator,
  type Mutant,
  mutantOf,
} from "../../../test/json-mutants.ts";
import {
  createA2aTransport,
  createAgentTransport,
  fetchAgentCard,
} from "../src/a2a.ts";
import { createGeminiCliTransport } from "../src/gemini-cli.ts";
import { createDevtoolClient, type DevtoolClient } from "../src/index.ts";
import { deadline } from "./streams.ts";

const MUTANTS = roundsOf("DEVTOOL_ANSWER_MUTANTS", {
  quick: 15,
  ci: 30,
  deep: 10_000,
});
const URL_OF_AGENT = "http://agent.test/";
const VALUES: readonly (JsonValue | undefined)[] = [
  undefined,
  null,
  77,
  "odd",
  "\ud800odd",
  true,
  [],
  [77],
  [null],
  ["odd", 77],
  {},
  { odd: 1 },
  { "odd.1": 77 },
];

/** The words of an answer: each valid text has one of its own. */
const WORD = /w\d\dw/g;

/** What a user sees of an answer, and is told beside it. */
interface Shown {
  readonly seen: unknown;
  readonly told: readonly string[];
}

interface Reader {
  readonly name: string;
  readonly answer: JsonObject;
  /** Paths that decide whose answer it is. */
  readonly spared?: RegExp;
  /** Paths where every value is one. */
  readonly free?: RegExp;
  /** The beginning of a path that is lost as a whole. */
  readonly unit?: RegExp;
  /** Paths without which nothing can be used, so that the call fails. */
  readonly vital?: RegExp;
  /** Whether nobody needs to be told, because a text of its own says it. */
  readonly isTold?: boolean;
  read(answer: JsonObject, tell: (why: string) => void): Promise<unknown>;
}

const INTERFACES: Readonly<Record<string, string>> = {
  "http://agent.test/w01w": "GetTask",
  "http://agent.test/w02w/tasks/t1": "GET",
  "http://agent.test/w03w": "tasks/get",
};

const CARD = {
  name: "w10w",
  description: "w11w",
  version: "w12w",
  provider: { organization: "w13w", url: "w14w" },
  documentationUrl: "w15w",
  defaultInputModes: ["text/w16w", "text/w17w"],
  defaultOutputModes: ["text/w18w", "text/w19w"],
};
const EXTENSIONS = [
  { uri: "https://w20w.test/", description: "w21w", required: false },
  {
    uri: EXTENSION_URI,
    description: "w22w",
    required: false,
    params: { follows: ["w23w", "w24w", "w25w"], other: "w26w" },
  },
];
const SKILL = { name: "w30w", description: "w31w", examples: ["w32w", "w33w"] };
const SKILLS = [
  {
    id: "w34w",
    ...SKILL,
    tags: ["w35w", "w36w"],
    inputModes: ["w37w", "w38w"],
  },
  { id: "w39w", name: "w40w", description: "w41w", tags: [] },
];

const CARD_V03: JsonObject = {
  ...CARD,
  protocolVersion: "0.3.0",
  url: "http://agent.test/w03w",
  preferredTransport: "JSONRPC",
  additionalInterfaces: [
    { url: "http://agent.test/w03w", transport: "JSONRPC" },
    { url: "http://w04w.test/", transport: "GRPC" },
  ],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extensions: EXTENSIONS,
  },
  securitySchemes: {
    w50w: { type: "http", scheme: "bearer", bearerFormat: "w51w" },
    "w52w.x": { type: "apiKey", in: "header", name: "w53w" },
  },
  security: [{ w54w: ["w55w", "w56w"] }, { w57w: [] }],
  skills: [{ ...SKILLS[0], security: [{ w58w: ["w59w"] }] }, SKILLS[1] ?? {}],
  supportsAuthenticatedExtendedCard: false,
};

const CARD_V1: JsonObject = {
  ...CARD,
  supportedInterfaces: [
    {
      url: "http://agent.test/w01w",
      protocolBinding: "JSONRPC",
      protocolVersion: "1.0",
    },
    {
      url: "http://agent.test/w02w",
      protocolBinding: "HTTP+JSON",
      protocolVersion: "1.0",
    },
    {
      url: "http://agent.test/w03w",
      protocolBinding: "JSONRPC",
      protocolVersion: "0.3",
    },
  ],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extensions: EXTENSIONS,
    extendedAgentCard: false,
  },
  securitySchemes: {
    w50w: {
      httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "w51w" },
    },
    "w52w.x": { apiKeySecurityScheme: { location: "header", name: "w53w" } },
  },
  securityRequirements: [
    { schemes: { w54w: { list: ["w55w", "w56w"] } } },
    { schemes: { w57w: { list: [] } } },
  ],
  skills: [
    {
      ...SKILLS[0],
      securityRequirements: [{ schemes: { w58w: { list: ["w59w"] } } }],
    },
    SKILLS[1] ?? {},
  ],
  signatures: [
    { protected: "w60w", signature: "w61w", header: { kid: "w62w" } },
    { protected: "w63w", signature: "w64w" },
  ],
};

const PART_OF = {
  "0.3": (text: string) => ({ kind: "text", text }),
  "1.0": (text: string) => ({ text }),
};
type Version = keyof typeof PART_OF;

function taskOf(version: Version): JsonObject {
  const part = PART_OF[version];
  const isOld = version === "0.3";
  const message = (messageId: string, role: string, ...texts: string[]) => ({
    ...(isOld ? { kind: "message" } : {}),
    messageId,
    role: isOld ? role : `ROLE_${role.toUpperCase()}`,
    parts: texts.map(part),
    metadata: { "https://a.test/": 1 },
    extensions: ["https://a.test/", "https://b.test/"],
  });
  const file = isOld
    ? { kind: "file", file: { name: "w71w", uri: "http://w72w/" } }
    : { url: "http://w72w/", filename: "w71w" };
  const data = isOld
    ? { kind: "data", data: { w73w: 1 } }
    : { data: { w73w: 1 } };
  return {
    ...(isOld ? { kind: "task" } : {}),
    id: "t1",
    contextId: "w74w",
    status: {
      state: isOld ? "input-required" : "TASK_STATE_INPUT_REQUIRED",
      message: message("m3", "agent", "w75w"),
      timestamp: "2026-01-31T12:00:00Z",
    },
    history: [
      message("m1", "user", "w76w", "w77w"),
      message("m2", "agent", "w78w", "w79w"),
    ],
    artifacts: [
      {
        artifactId: "w80w",
        name: "w81w",
        parts: [part("w82w"), part("w83w"), file, data],
      },
      { artifactId: "w84w", description: "w85w", parts: [part("w86w")] },
    ],
    metadata: { "https://a.test/": 1 },
  };
}

function summaryOf(id: string, contextId: string): JsonObject {
  return {
    id,
    contextId,
    status: {
      state: "TASK_STATE_WORKING",
      timestamp: "2026-01-31T12:00:00Z",
      message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] },
    },
    artifacts: [{ artifactId: "a", parts: [{ text: "y" }] }],
  };
}

const COMMAND = {
  name: "w10w",
  description: "w11w",
  arguments: [
    { name: "w12w", description: "w13w", is_required: true },
    { name: "w14w", description: "w15w", is_required: false },
  ],
  sub_commands: [
    { name: "w16w", description: "w17w" },
    { name: "w18w", description: "w19w" },
  ],
};
const COMMANDS: JsonObject = {
  commands: [COMMAND, { name: "w20w", description: "w21w" }],
};
const NAME_OF_COMMAND = /^commands\.\d+(\.sub_?[cC]ommands\.\d+)?(?=\.name)/;

const INFO = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "TASK_NOT_FOUND",
  domain: "w11w.test",
  metadata: { key: "w12w", other: "w13w" },
};
const VIOLATIONS = {
  "@type": "type.googleapis.com/google.rpc.BadRequest",
  fieldViolations: [{ field: "w14w", description: "x" }],
};
const TWO_DETAILS = [INFO, VIOLATIONS];
const ERRORS: readonly (readonly [Dialect, JsonObject])[] = [
  [
    ["0.3", "JSONRPC"],
    { code: -32001, message: "w10w", data: { field: "w11w" } },
  ],
  [["1.0", "JSONRPC"], { code: -32001, message: "w10w", data: TWO_DETAILS }],
  [
    ["1.0", "HTTP+JSON"],
    { code: 404, status: "NOT_FOUND", message: "w10w", details: TWO_DETAILS },
  ],
];

const SERVICES = {
  commands: SlashCommandService.method,
  push: PushService.method,
  tasks: TaskService.method,
};

type Dialect = readonly [Version, "JSONRPC" | "HTTP+JSON"];

const DIALECTS: readonly Dialect[] = [
  ["0.3", "JSONRPC"],
  ["0.3", "HTTP+JSON"],
  ["1.0", "JSONRPC"],
  ["1.0", "HTTP+JSON"],
];

/** The readers of what an agent answers to its calls. */
function readersOf(dialect: Dialect): Reader[] {
  const [version, binding] = dialect;
  const of = `A2A ${version} over ${binding}`;
  const { commands, push, tasks } = SERVICES;
  const readers: Reader[] = [
    {
      name: `a task of ${of}`,
      answer: taskOf(version),
      spared: /^id$|metadata/,
      // Agents leave kinds out, and have roles of their own.
      free: /\.data|(^|\.)(kind|role)$/,
      unit: /^artifacts\.\d+\.parts\.\d+(?=\.url$)/,
      read: async (answer, tell) =>
        toJson(
          tasks.getTask.output,
          await over(dialect, answer, tell).tasks.getTask({ taskId: "t1" }),
        ),
    },
    {
      name: `the push configs of a task of ${of}`,
      answer: {
        configs: ["w10w", "w20w"].map((id) => pushConfigOf(version, id)),
      },
      unit: /^configs\.\d+/,
      vital: /^configs$/,
      read: async (answer, tell) => {
        const isBare = version === "0.3" && binding === "JSONRPC";
        const given = isBare ? (answer.configs ?? null) : answer;
        const client = over(dialect, given, tell);
        return toJson(
          push.listPushConfigs.output,
          await client.push.listPushConfigs({ taskId: "t1" }),
        );
      },
    },
    {
      name: `the commands of an agent of ${of}`,
      answer: COMMANDS,
      unit: NAME_OF_COMMAND,
      read: async (answer, tell) =>
        toJson(
          commands.getAllSlashCommands.output,
          await over(dialect, answer, tell).commands.getAllSlashCommands({}),
        ),
    },
  ];
  const list: Reader = {
    name: `a page of tasks of ${of}`,
    answer: {
      tasks: [
        summaryOf("w10w", "w11w"),
        summaryOf("w12w", "w13w"),
        summaryOf("w14w", "w15w"),
      ],
      nextPageToken: "w16w",
      pageSize: 3,
      totalSize: 4,
    },
    unit: /^tasks\.\d+(?=\.id$)/,
    read: async (answer, tell) =>
      toJson(
        tasks.listTasks.output,
        await over(dialect, answer, tell).tasks.listTasks({ pageToken: "p" }),
      ),
  };
  return version === "0.3" ? readers : [...readers, list];
}

function pushConfigOf(version: Version, id: string): JsonObject {
  const url = `https://${id}.test/`;
  const config = { id, url, token: `x${id}` };
  if (version === "1.0") {
    const authentication = { scheme: "Bearer", credentials: "x" };
    return { taskId: "t1", ...config, authentication };
  }
  const authentication = { schemes: ["Bearer"], credentials: "x" };
  return {
    taskId: "t1",
    pushNotificationConfig: { ...config, authentication },
  };
}

const READERS: readonly Reader[] = [
  {
    name: "a card of A2A 0.3",
    answer: CARD_V03,
    free: /params\.other/,
    unit: /^(additionalInterfaces|security|securitySchemes)\.[^.]+/,
    read: readCard,
  },
  {
    name: "a card of A2A 1.0",
    answer: CARD_V1,
    free: /params\.other|header\./,
    unit: /^(supportedInterfaces|securityRequirements)\.\d+/,
    vital: /^supportedInterfaces$/,
    read: readCard,
  },
  ...DIALECTS.flatMap(readersOf),
  ...ERRORS.map(
    ([dialect, error]): Reader => ({
      name: `an error of A2A ${dialect.join(" over ")}`,
      answer: { error },
      // The details are one element each, and only name what the text says.
      unit: /^error\.(data|details)(\.\d+(?=\.@type))?/,
      isTold: true,
      spared: /^error(\.code)?$/,
      read: ({ error: given = null }) => readError(dialect, given),
    }),
  ),
  {
    name: "the commands of Gemini CLI's server",
    answer: {
      commands: [
        {
          name: "w10w",
          description: "w11w",
          arguments: [{ name: "w12w", description: "w13w", isRequired: true }],
          subCommands: [
            { name: "w16w", description: "w17w" },
            { name: "w18w", description: "w19w" },
          ],
        },
        { name: "w20w", description: "w21w" },
      ],
    },
    unit: NAME_OF_COMMAND,
    read: async (answer, tell) =>
      toJson(
        SERVICES.commands.getAllSlashCommands.output,
        await overGeminiCli(answer, tell).commands.getAllSlashCommands({}),
      ),
  },
  {
    name: "the tasks of Gemini CLI's server",
    answer: {
      list: [
        { id: "w10w", contextId: "w11w", taskState: "working", model: "w12w" },
        {
          id: "w13w",
          contextId: "w14w",
          taskState: "working",
          mcpServers: [{ name: "a", status: "connected", tools: [] }],
        },
      ],
    },
    unit: /^list\.\d+(?=\.id$)/,
    vital: /^list$/,
    read: async ({ list = null }, tell) =>
      toJson(
        TaskService.method.listTasks.output,
        await overGeminiCli(list, tell).tasks.listTasks({}),
      ),
  },
];

describe.each(READERS)("$name with one odd element", (reader) => {
  it(`loses that alone, and it is told: ${MUTANTS} mutants`, {
    timeout: 600_000,
  }, async () => {
    const random = generator(seedOf());
    for (let round = 0; round < MUTANTS; round++) {
      const mutant = mutantOf(reader.answer, random, VALUES);
      const at = mutant.path.join(".");
      if (reader.spared?.test(at)) continue;
      const why = `${at}: ${JSON.stringify(mutant.value)}`;
      const shown = await show(reader, mutant.json).catch((reason: unknown) => {
        if (reader.vital?.test(at)) return undefined;
        throw new Error(why, { cause: reason });
      });
      if (shown) check(reader, mutant, shown, why);
    }
  });
});

/** Reads an answer. A call that fails says why in plain words. */
async function show(reader: Reader, answer: JsonObject): Promise<Shown> {
  const told: string[] = [];
  try {
    const seen = await reader.read(answer, (why) => told.push(why));
    return { seen, told };
  } catch (reason) {
    const { rawMessage, code } = ConnectError.from(reason);
    expect([code, rawMessage]).toEqual([
      expect.toSatisfy(
        (one) => one === Code.DataLoss || one === Code.FailedPrecondition,
      ),
      expect.not.stringMatching(JARGON),
    ]);
    throw reason;
  }
}

/** What tells of a library or of a stack, and not of the element. */
const JARGON = /protobuf|lf\.a2a|v1alpha\.|\n|.{500}/;

function check(
  { answer, unit, free, isTold = false }: Reader,
  { json, path, value }: Mutant,
  { seen, told }: Shown,
  why: string,
): void {
  const text = JSON.stringify(seen);
  expect(JSON.stringify([seen, told]), why).not.toMatch(/\\u[dD][89a-fA-F]/);
  const reasons = text.match(LEFT_OUT) ?? [];
  for (const reason of [...told, ...reasons]) {
    expect(reason, why).not.toMatch(JARGON);
  }
  const shown = wordsOf(text.replaceAll(LEFT_OUT, ""));
  const missing = wordsOf(JSON.stringify(answer)).filter(
    (word) => !shown.includes(word),
  );
  const length = unit?.exec(path.join("."))?.[0].split(".").length;
  const lost = path.slice(0, length);
  const own = wordsOf(JSON.stringify(lost) + JSON.stringify(at(answer, lost)));
  expect(
    missing.filter((word) => !own.includes(word)),
    why,
  ).toEqual([]);
  const sent = wordsOf(JSON.stringify(json));
  const isHidden = missing.some((word) => sent.includes(word));
  const isState = path.at(-1) === "state" && typeof value === "string";
  const isOdd =
    !free?.test(path.join(".")) &&
    (isState || !hasForm(value, at(answer, path)));
  expect(
    isTold || told.length + reasons.length > 0 || !(isHidden || isOdd),
    `${why} is told`,
  ).toBe(true);
}

/** What a list or a history says of elements that were left out. */
const LEFT_OUT = /"left out: (?:[^"\\]|\\.)*"/g;

function wordsOf(text: string): string[] {
  return [...new Set(text.match(WORD) ?? [])];
}

function at(
  json: JsonValue | undefined,
  [key, ...rest]: readonly string[],
): JsonValue | undefined {
  if (key === undefined) return json;
  const next = Array.isArray(json)
    ? json[Number(key)]
    : objectOrEmpty(json)[key];
  return at(next, rest);
}

/** Whether a value has the JSON type that its field has, or is absent. */
function hasForm(
  value: JsonValue | undefined,
  model: JsonValue | undefined,
): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(model)) {
    return (
      Array.isArray(value) && value.every((each) => hasForm(each, model[0]))
    );
  }
  return isObject(model) ? isObject(value) : typeof value === typeof model;
}

/** Reads a card, connects to its agent, and asks it for a task. */
async function readCard(
  answer: JsonObject,
  tell: (why: string) => void,
): Promise<unknown> {
  const called: string[] = [];
  const fetch = (url: string | URL | Request, init?: RequestInit) => {
    if (String(url).endsWith(".json")) return answerWith(answer);
    called.push(String(url));
    const { id, method = init?.method } = JSON.parse(
      String(init?.body ?? "{}"),
    );
    const { kind: _kind, ...task } = taskOf(
      method === "tasks/get" ? "0.3" : "1.0",
    );
    const spoken = INTERFACES[String(url)] ?? /odd$/.exec(String(url))?.[0];
    if (spoken !== method && spoken !== "odd") return answerWith({}, 404);
    return answerWith(
      method === "GET" ? task : { jsonrpc: "2.0", id, result: task },
    );
  };
  const options = { url: URL_OF_AGENT, fetch, onLeftOut: tell };
  const card = await fetchAgentCard(
    { ...options, extension: "optional" },
    deadline(),
  );
  const client = createDevtoolClient(createAgentTransport(card, options));
  const listed = await client.agents.listAgents({});
  const { task } = await client.tasks.getTask({ taskId: "t1" });
  expect(task?.id).toBe("t1");
  return [
    toJson(AgentCardSchema, card),
    toJson(AgentListService.method.listAgents.output, listed),
  ];
}

/** Reads an error, and returns all that a client sees of it. */
async function readError(
  [protocolVersion, protocolBinding]: Dialect,
  error: JsonValue,
): Promise<unknown> {
  const isRpc = protocolBinding === "JSONRPC";
  const transport = createA2aTransport({
    url: URL_OF_AGENT,
    protocolVersion,
    protocolBinding,
    fetch: () =>
      answerWith(isRpc ? { jsonrpc: "2.0", id: 1, error } : { error }, 404),
  });
  const got: unknown = await createDevtoolClient(transport)
    .tasks.getTask({ taskId: "t1" })
    .catch((reason: unknown) => reason);
  const { code, rawMessage, details } = ConnectError.from(got);
  // Each of code, status and reason names the failure.
  expect(Code[code]).toBe("NotFound");
  return [rawMessage, details];
}

/** Returns a client of an agent that answers each call with the same result. */
function over(
  [protocolVersion, protocolBinding]: Dialect,
  result: JsonValue,
  onLeftOut: (why: string) => void,
): DevtoolClient {
  const isRpc = protocolBinding === "JSONRPC";
  const transport = createA2aTransport({
    url: URL_OF_AGENT,
    protocolVersion,
    protocolBinding,
    onLeftOut,
    fetch: () => answerWith(isRpc ? { jsonrpc: "2.0", id: 1, result } : result),
  });
  return createDevtoolClient(transport);
}

function overGeminiCli(
  answer: JsonValue,
  onLeftOut: (why: string) => void,
): DevtoolClient {
  const fetch = () => answerWith(answer);
  return createDevtoolClient(
    createGeminiCliTransport({ url: URL_OF_AGENT, onLeftOut, fetch }),
  );
}

function answerWith(json: JsonValue, status: number = 200): Promise<Response> {
  return Promise.resolve(Response.json(json, { status }));
}
