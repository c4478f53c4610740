import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import {
  confirmationPart,
  type DevtoolClient,
  textMessage,
} from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  awaitedToolCalls,
  emptyTask,
  OPTION_CANCEL,
  OPTION_REJECT,
  openToolCalls,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  ToolCallSchema,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import type { PermissionPolicy } from "@devtool/server/agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { roundsOf, seedOf } from "../depth.ts";
import { pathsOf, replaced } from "../json-mutants.ts";
import { ASKING, LAST, SCENES } from "./scenes.ts";

const MUTANTS = roundsOf("DEVTOOL_CODEX_MUTANTS", {
  quick: 40,
  ci: 200,
  deep: 10_000,
});
const ANSWERED = roundsOf("DEVTOOL_CODEX_ANSWERS", {
  quick: 2,
  ci: 5,
  deep: 500,
});
/** How many conversations run at the same time; every second has a policy. */
const PLAYERS = 4;

const WORDS: readonly string[] = [
  ...new Set(
    JSON.stringify(SCENES).match(
      /\b(?:alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliet|kilo|lima|mike|zulu)\b/g,
    ),
  ),
];

/** What stands in place of a value; undefined leaves it out. */
const ODD_VALUES: readonly (JsonValue | undefined)[] = [
  undefined,
  null,
  77777,
  "odd77777",
  "",
  true,
  [],
  [null],
  [77777],
  {},
  { odd: 77777 },
  "77777\ud83d",
  // Stands for a number that JavaScript cannot write.
  "BIG",
];
const BIG = "9007199254999991";

const DECLINING: readonly string[] = [OPTION_CANCEL, OPTION_REJECT];

/** A scene in which one element is odd. */
interface Mutant {
  readonly scene: string;
  /** The index of the message that is odd. */
  readonly at: number;
  readonly path: readonly string[];
  readonly original: JsonObject;
  readonly message: string;
  readonly lines: readonly string[];
}

/** What a client saw of a turn. */
interface Play {
  readonly events: readonly TaskEvent[];
  /** The calls about which the client or the policy decided, as JSON. */
  readonly decided: readonly string[];
  readonly task: Task;
  readonly failure: string;
  readonly hasPolicy: boolean;
}

describe("what Codex sends", () => {
  it(`I37: loses only the element that is odd, which is reported: ${MUTANTS} mutants`, {
    timeout: 3_600_000,
  }, async () => {
    const seed = seedOf();
    const draw = (scenes: readonly string[], numRuns: number): Mutant[] =>
      fc.sample(mutants(scenes), { numRuns, seed });
    const free = draw(Object.keys(SCENES), Math.ceil(MUTANTS * 0.75));
    const ruled = draw(ASKING, Math.floor(MUTANTS * 0.25));
    const problems: string[] = [];
    const play = async (_: unknown, index: number): Promise<void> => {
      const todo = index % 2 === 0 ? free : ruled;
      await using player = await Player.start(index % 2 === 1);
      for (let mutant = todo.pop(); mutant; mutant = todo.pop()) {
        const problem = problemOf(mutant, await player.play(mutant));
        if (problem === "") continue;
        problems.push(
          `${problem}: ${mutant.path.join(".")} in ${mutant.scene}: ${mutant.message}`,
        );
      }
      problems.push(...player.errors.map(String));
    };
    await Promise.all(Array.from({ length: PLAYERS }, play));
    expect(problems.toSorted()).toEqual([]);
  });

  it(`I37: answers oddly ends its request, and is named: ${ANSWERED} answers`, {
    timeout: 3_600_000,
  }, async () => {
    await using player = await Player.start(false);
    const drawn = fc.sample(
      fc.tuple(
        fc.constantFrom(...Object.keys(ANSWERS)),
        fc.nat(),
        fc.constantFrom(...ODD_VALUES),
      ),
      { numRuns: ANSWERED, seed: seedOf() },
    );
    for (const [method, step, value] of drawn) {
      const valid = ANSWERS[method] ?? {};
      const paths = pathsOf(valid);
      const path = paths[step % paths.length] ?? [];
      const result =
        path.length === 0 ? (value ?? null) : replaced(valid, path, value);
      const why = `${method}: ${JSON.stringify(result)}`;
      expect(await player.playAnswer(method, result), why).toBe("");
    }
  });
});

/** What Codex answers, but for the turn, which has an id of its own. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  initialize: { userAgent: "fake" },
  "account/read": { account: { type: "apiKey" }, requiresOpenaiAuth: false },
  "thread/start": {
    thread: { id: "t" },
    model: "gpt-own",
    sandbox: { type: "workspaceWrite", writableRoots: [], networkAccess: true },
  },
  "turn/start": {},
  "model/list": {
    data: [
      { model: "gpt-one", displayName: "One" },
      { model: "gpt-two", displayName: "Two" },
    ],
    nextCursor: null,
  },
};

/** A client in a conversation with an agent that is Codex. */
class Player implements AsyncDisposable {
  readonly errors: unknown[] = [];
  readonly #directory: string;
  readonly #hasPolicy: boolean;
  #server: DevtoolServer | undefined;
  #client: DevtoolClient | undefined;
  #decided: string[] = [];
  #contextId = "";

  private constructor(directory: string, hasPolicy: boolean) {
    this.#directory = directory;
    this.#hasPolicy = hasPolicy;
  }

  /** Starts a server. With a policy, that allows all that it may. */
  static async start(hasPolicy: boolean): Promise<Player> {
    const directory = temporaryDirectory();
    const player = new Player(directory, hasPolicy);
    const allow: PermissionPolicy = async (request) => {
      player.#decided.push(JSON.stringify(request));
      return { case: "allow", rule: "all" };
    };
    const server = await createServer({
      agents: {
        codex: codexAgent({
          command: FAKE_APP_SERVER,
          environment: { CODEX_HOME: directory, PATH: process.env.PATH ?? "" },
          permission: hasPolicy ? allow : undefined,
        }),
      },
      workspace: directory,
      onError: (reason) => void player.errors.push(reason),
    });
    player.#server = server;
    player.#client = clientOf(server);
    return player;
  }

  /** Plays a turn, and answers each question with one of its options. */
  async play({ lines, at }: Pick<Mutant, "lines" | "at">): Promise<Play> {
    this.#decided = [];
    const events: TaskEvent[] = [];
    let task = emptyTask();
    const text = lines.map((line) => `emit ${line}`).join("\n");
    let request: object = {
      message: textMessage(crypto.randomUUID(), text),
      contextId: this.#contextId,
    };
    const end = (failure: string): Play => {
      return {
        events,
        decided: this.#decided,
        task,
        failure,
        hasPolicy: this.#hasPolicy,
      };
    };
    for (let exchange = 0; exchange < 9; exchange++) {
      try {
        const signal = AbortSignal.timeout(60_000);
        const stream = this.#client?.tasks.streamMessage(
          { request },
          { signal },
        );
        for await (const { event } of stream ?? [])
          if (event) events.push(event);
      } catch (reason) {
        return end(`hangs: ${String(reason)}`);
      }
      task = events.reduce(reduceTask, emptyTask());
      this.#contextId = task.contextId;
      const [asking] = awaitedToolCalls(task);
      if (!asking) break;
      this.#decided.push(JSON.stringify(toJson(ToolCallSchema, asking)));
      const { options = [] } = asking.confirmationRequest ?? {};
      if (options.length === 0) return end("asks without an answer");
      const allowing = options.filter(({ id }) => !DECLINING.includes(id));
      const option = (allowing[at % allowing.length] ?? options[0])?.id ?? "";
      const words = textMessage(crypto.randomUUID(), '{"x":"y"}');
      const parts = [confirmationPart(asking, option), ...words.parts];
      request = { message: { ...words, parts }, taskId: task.id };
    }
    return end("");
  }

  /**
   * Begins a conversation while Codex answers a method oddly, and lists the
   * models. Returns what is wrong with what the client saw.
   */
  async playAnswer(method: string, result: JsonValue): Promise<string> {
    const file = join(this.#directory, "odd-answer.json");
    await writeFile(file, write({ method, result }));
    this.#contextId = "";
    const { task } = await this.play({ at: 0, lines: [write(LAST)] });
    const { message: failure, models } = await this.#models();
    await rm(file);
    const { task: after } = await this.play({ at: 0, lines: [write(LAST)] });
    const names = models.map(({ name }) => name);
    const isNamed = /^$|^Codex.* (?:without|refused|invalid)/;
    return [
      task.state === TaskState.COMPLETED || isNamed.test(task.error)
        ? ""
        : `fails as ${task.error}`,
      isNamed.test(failure) ? "" : `lists no models: ${failure}`,
      names.includes("") ? "lists a model without a name" : "",
      after.state === TaskState.COMPLETED ? "" : `then fails: ${after.error}`,
    ]
      .filter((problem) => problem !== "")
      .join("; ");
  }

  async #models(): Promise<{
    readonly message: string;
    readonly models: readonly { readonly name: string }[];
  }> {
    try {
      const { models = [] } = (await this.#client?.agents.listModels({})) ?? {};
      return { message: "", models };
    } catch (reason) {
      return { message: ConnectError.from(reason).rawMessage, models: [] };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
    await rm(this.#directory, { recursive: true });
  }
}

/** Returns what is wrong with a turn in which one element was odd. */
function problemOf(mutant: Mutant, play: Play): string {
  // The user is not asked what a policy decides.
  const losses = play.hasPolicy ? [] : [lossProblem];
  return [turnProblem, ...losses, approvalProblem]
    .map((find) => find(mutant, play))
    .filter((problem) => problem !== "")
    .join("; ");
}

/** Returns what is wrong with the end of a turn, or with the form of it. */
function turnProblem({ scene, at }: Mutant, play: Play): string {
  const { task, failure } = play;
  if (failure !== "") return failure;
  const isEnd = scene === "end" && at === 1;
  const wanted = isEnd || scene === "end" ? "FAILED" : "COMPLETED";
  if (TaskState[task.state] !== wanted) {
    return `is ${TaskState[task.state]}: ${task.error}`;
  }
  if (openToolCalls(task).length > 0) return "leaves a call open";
  const shown = shownIn(play);
  const [dump = ""] =
    /(?<!\\)\\ud[89a-f]..|.{0,30}(?:undefined|\[object|NaN|TypeError|not iterable|invalid_type).{0,30}/.exec(
      shown,
    ) ?? [];
  return dump === "" ? "" : `shows ${dump}`;
}

/** Returns what was lost beside the odd element, or without a notice. */
function lossProblem({ original, message, lines }: Mutant, play: Play): string {
  const shown = shownIn(play) + play.decided.join();
  const isTold = /it is left out|cannot be used|gave no reason/.test(shown);
  const own = JSON.stringify(original);
  const all = lines.join("\n") + own;
  const missing = wordsIn(all).filter((word) => !shown.includes(word));
  // Nothing is approved whose item was lost.
  const isRefused =
    shown.includes("asked for an approval") ||
    textIn(play).includes('"cancel"');
  const others = missing.filter((word) => !own.includes(word));
  if (others.length > 0 && !isRefused) return `loses ${others}`;
  if (isTold || missing.length === 0) return "";
  const isHeld = marksIn(message).length > 0 && marksIn(shown).length === 0;
  const untold = missing.filter((word) => isHeld || message.includes(word));
  return untold.length > 0 ? `loses ${untold} without a notice` : "";
}

/** Returns what was approved, but not shown to who approved it. */
function approvalProblem({ lines }: Mutant, play: Play): string {
  const answers = [...textIn(play).matchAll(/answer: (.*?);;/g)];
  const requests = lines.flatMap((line, index) => {
    const { id } = objectOrEmpty(JSON.parse(line));
    return id === undefined ? [] : [index];
  });
  const decided = play.decided.join("\n");
  for (const [at, [, answer = ""]] of answers.entries()) {
    if (!/"accept|"permissions":\{"|Amendment/.test(answer)) continue;
    const before = lines.slice(0, requests[at]);
    const request = lines[requests[at] ?? 0] ?? "";
    // A request about changes has them in its item.
    const changes = request.includes("fileChange")
      ? (before.findLast((line) => line.includes('"changes":')) ?? "")
      : "";
    const asked = [request, changes].filter(Boolean).map(withoutPlace);
    const unseen = [answer, ...asked]
      .flatMap((text) => [...wordsIn(text), ...marksIn(text)])
      .filter((word) => !decided.includes(word));
    if (unseen.length > 0) return `approves ${unseen} unseen: ${answer}`;
  }
  return "";
}

/** Returns a message without what says only which one it is. */
function withoutPlace(line: string): string {
  const json: JsonValue = JSON.parse(line.replaceAll(BIG, '"BIG"'));
  return JSON.stringify(json, (name, value) =>
    OF_PLACE.has(name) || (name === "_meta" && !isObject(value))
      ? undefined
      : value,
  ).replaceAll('"BIG"', BIG);
}
const OF_PLACE: ReadonlySet<string> = new Set([
  "id",
  "threadId",
  "turnId",
  "itemId",
  "approvalId",
  "type",
  "status",
  "reason",
  "mode",
  "availableDecisions",
  "persist",
  "codex_approval_kind",
]);

/** All that a client saw but its own messages, as JSON. */
function shownIn({ events, task }: Play): string {
  return (
    events
      .map((event) => JSON.stringify(toJson(TaskEventSchema, event)))
      .filter((json) => !json.includes("emit {"))
      .join("\n") + task.error
  );
}

function textIn({ events }: Play): string {
  return events
    .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
    .join("");
}

function wordsIn(text: string): string[] {
  return WORDS.filter((word) => text.includes(word));
}

function marksIn(text: string): string[] {
  return ["77777", BIG.slice(0, -1)].filter((mark) => text.includes(mark));
}

/** One of the scenes with one element that is odd, or with one too many. */
function mutants(scenes: readonly string[]): fc.Arbitrary<Mutant> {
  return fc
    .tuple(
      fc.constantFrom(...scenes),
      fc.nat(),
      fc.nat(),
      fc.constantFrom(...ODD_VALUES, "TWICE", "UNKNOWN", "SAME ID"),
    )
    .map(([scene, place, step, value]) => {
      const messages = SCENES[scene] ?? [];
      const at = place % messages.length;
      const original = messages[at] ?? {};
      const paths = pathsOf(original).filter((path) => !isPlace(path, value));
      const path = paths[step % paths.length] ?? [];
      const made = { scene, at, original };
      const whole = messages.map(write);
      const message = write(original);
      if (value === "TWICE" || value === "UNKNOWN") {
        const other = value === "TWICE" ? message : UNKNOWN;
        return {
          ...made,
          path: [value],
          message,
          lines: whole.toSpliced(at, 0, other),
        };
      }
      if (value === "SAME ID") {
        const ids = [...new Set(whole.join().match(/"[a-z]\d"/g))];
        const lines = whole.map((line) =>
          line.replaceAll(ids[0] ?? "", ids[1] ?? ids[0] ?? ""),
        );
        const original = { messages: [...messages] };
        return {
          ...made,
          original,
          path: [value],
          message: lines.join(),
          lines,
        };
      }
      const odd = write(replaced(original, path, value));
      return { ...made, path, message: odd, lines: whole.with(at, odd) };
    });
}

const UNKNOWN = '{"method":"some/unknown","params":{"x":[1]}}';

/** What a message is about decides whose message it is. */
function isPlace(
  path: readonly string[],
  value: JsonValue | undefined,
): boolean {
  const isId = ["threadId", "turnId", "itemId"].includes(path.at(-1) ?? "");
  return (
    ["id", "method"].includes(path.join(".")) ||
    (typeof value === "string" && (isId || path.join(".") === "params.turn.id"))
  );
}

function write(json: JsonValue): string {
  return JSON.stringify(json).replaceAll('"BIG"', BIG);
}
