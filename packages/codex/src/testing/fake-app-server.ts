/**
 * A fake of `codex app-server`, for tests: a process that speaks its protocol and does what the lines of the prompt say.
 *
 * The messages have the shapes of codex 0.169.0. Threads are kept in `CODEX_HOME`, so that another process can resume them.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

type Json = Record<string, unknown>;

const home = process.env.CODEX_HOME ?? ".";
const pending = new Map<number, (message: Json) => void>();
/** Incomplete prompts end when this is called. */
let interrupt: (() => void) | undefined;
let steer: ((text: string) => void) | undefined;
let lastRequest = 0;
let lastItem = 0;
let lastThread = 0;

writeFileSync(join(home, "pid"), String(process.pid));
/** A file with the method at which a process is killed, once. */
const killedAt = join(home, "killed-at");

const write = (message: unknown): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const notify = (method: string, params: Json): void => write({ method, params, emittedAtMs: 1 });

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Json = JSON.parse(line);
  appendFileSync(join(home, "received.jsonl"), `${line}\n`);
  if (typeof message.method !== "string") return pending.get(Number(message.id))?.(message);
  if (message.id !== undefined) void respond(Number(message.id), message.method, objectOf(message.params));
});

async function respond(id: number, method: string, params: Json): Promise<void> {
  if (existsSync(killedAt) && readFileSync(killedAt, "utf8") === method) {
    rmSync(killedAt);
    return die();
  }
  const threadId = String(params.threadId ?? "");
  const refuse = (message: string): void => write({ id, error: { code: -32600, message } });
  switch (method) {
    case "initialize":
      return write({ id, result: { userAgent: "fake", codexHome: home, platformFamily: "unix", platformOs: "linux" } });
    case "account/read":
      return write({
        id,
        result: { account: process.env.OPENAI_API_KEY ? { type: "apiKey" } : null, requiresOpenaiAuth: false },
      });
    case "thread/start":
    case "thread/fork":
      return write({ id, result: { thread: startThread(), sandbox: sandboxOf(params) } });
    case "thread/resume":
      if (!existsSync(threadFile(threadId))) return refuse(`no rollout found for thread id ${threadId}`);
      notify("thread/tokenUsage/updated", { threadId, turnId: "turn-of-before", tokenUsage: usage });
      return write({ id, result: { thread: { id: threadId }, sandbox: sandboxOf(params) } });
    case "turn/start": {
      const turnId = `turn-${process.pid}-${++lastItem}`;
      write({ id, result: { turn: turn(turnId, "inProgress") } });
      return await runTurn(threadId, turnId, promptOf(params));
    }
    case "turn/steer":
      if (!steer) return refuse("no active turn");
      write({ id, result: { turnId: params.expectedTurnId } });
      return steer(promptOf(params));
    case "turn/interrupt":
      write({ id, result: {} });
      return interrupt?.();
    default:
      return refuse(`Invalid request: unknown variant \`${method}\``);
  }
}

function startThread(): Json {
  const id = `thread-${process.pid}-${++lastThread}`;
  writeFileSync(threadFile(id), "");
  return { id };
}

/** The policy of a thread, as a configuration of Codex with `network_access` makes it. */
function sandboxOf({ sandbox }: Json): Json {
  if (sandbox === "read-only") return { type: "readOnly", networkAccess: false };
  return { type: "workspaceWrite", writableRoots: [], networkAccess: true };
}

const threadFile = (threadId: string): string => join(home, `${threadId}.thread`);
const turn = (id: string, status: string, error: unknown = null): Json => ({ id, items: [], status, error });
const breakdown = { totalTokens: 15, inputTokens: 10, cachedInputTokens: 1, outputTokens: 5, reasoningOutputTokens: 2 };
const usage = { total: breakdown, last: breakdown, modelContextWindow: 258400 };

function promptOf({ input }: Json): string {
  const texts = (Array.isArray(input) ? input : []).map((part) => String(objectOf(part).text ?? ""));
  return texts.join("\n");
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

class Turn {
  readonly threadId: string;
  readonly turnId: string;
  readonly #base: Json;
  isOver = false;

  constructor(threadId: string, turnId: string) {
    this.threadId = threadId;
    this.turnId = turnId;
    this.#base = { threadId, turnId };
  }

  note(method: string, params: Json): void {
    if (!this.isOver) notify(method, { ...this.#base, ...params });
  }

  start(item: Json): void {
    this.note("item/started", { item, startedAtMs: 1 });
  }

  complete(item: Json): void {
    this.note("item/completed", { item, completedAtMs: 1 });
  }

  async request(method: string, params: Json): Promise<Json> {
    const id = lastRequest++;
    const answer = Promise.withResolvers<Json>();
    pending.set(id, answer.resolve);
    write({ method, id, params: { ...this.#base, startedAtMs: 1, ...params } });
    const { result, error } = await answer.promise;
    notify("serverRequest/resolved", { threadId: this.threadId, requestId: id });
    return error === undefined ? objectOf(result) : { refused: error };
  }

  end(status: string, error?: Json): void {
    if (this.isOver) return;
    this.isOver = true;
    notify("thread/status/changed", { threadId: this.threadId, status: { type: "idle" } });
    notify("turn/completed", { threadId: this.threadId, turn: turn(this.turnId, status, error) });
  }
}

async function runTurn(threadId: string, turnId: string, prompt: string): Promise<void> {
  const current = new Turn(threadId, turnId);
  current.note("turn/started", { turn: turn(turnId, "inProgress") });
  interrupt = () => current.end("interrupted");
  for (const line of prompt.split("\n")) {
    const [verb = "", ...words] = line.split(" ");
    const step = STEPS[verb];
    if (step && !current.isOver) await step(current, words.join(" "));
  }
  current.end("completed");
}

/** A command that asks before it runs, and runs again after a restart if the user approved it. */
async function runAsking(current: Turn, command: string, more: Json = {}): Promise<void> {
  const wrapped = `/bin/bash -lc '${command}'`;
  const id = `call_${++lastItem}`;
  const item = { type: "commandExecution", id, command: wrapped, cwd: process.cwd(), status: "inProgress" };
  current.start({ ...item, processId: null, commandActions: [{ type: "unknown", command }] });
  const amendment = { acceptWithExecpolicyAmendment: { execpolicy_amendment: command.split(" ") } };
  const availableDecisions = ["accept", "acceptForSession", amendment, "decline", "cancel"];
  const asked = { itemId: id, kind: "command", command: wrapped, cwd: process.cwd(), availableDecisions, ...more };
  const { decision } = await current.request("item/commandExecution/requestApproval", asked);
  if (more.dies) die();
  if (decision === "decline" || decision === "cancel") current.complete({ ...item, status: "declined" });
  if (decision === "cancel") return current.end("interrupted");
  if (decision === "decline") return say(current, "declined");
  current.note("item/commandExecution/outputDelta", { itemId: id, delta: "out" });
  appendFileSync(join(home, "ran.txt"), `${command}\n`);
  current.complete({ ...item, status: "completed", aggregatedOutput: `${JSON.stringify(decision)}\n`, exitCode: 0 });
}

function runCommand(current: Turn, command: string, exitCode: number, output: string): void {
  const item = { type: "commandExecution", id: `call_${++lastItem}`, command, cwd: process.cwd(), processId: "1" };
  current.start({ ...item, status: "inProgress" });
  for (let at = 0; at < output.length; at += 1000)
    current.note("item/commandExecution/outputDelta", { itemId: item.id, delta: output.slice(at, at + 1000) });
  const status = exitCode === 0 ? "completed" : "failed";
  current.complete({ ...item, status, exitCode, aggregatedOutput: output });
}

function say(current: Turn, text: string): void {
  const id = `msg_${++lastItem}`;
  current.start({ type: "agentMessage", id, text: "" });
  for (const delta of text.split(/(?= )/)) current.note("item/agentMessage/delta", { itemId: id, delta });
  current.complete({ type: "agentMessage", id, text });
}

async function patch(current: Turn, changes: Json[]): Promise<void> {
  const id = `call_${++lastItem}`;
  current.start({ type: "fileChange", id, changes, status: "inProgress" });
  const { decision } = await current.request("item/fileChange/requestApproval", { itemId: id, reason: null });
  const accepted = decision === "accept" || decision === "acceptForSession";
  current.complete({ type: "fileChange", id, changes, status: accepted ? "completed" : "declined" });
  if (decision === "cancel") return current.end("interrupted");
  current.note("turn/diff/updated", { diff: "diff --git a/a.txt b/a.txt\n" });
}

const update = (name: string): Json => ({
  path: join(process.cwd(), name),
  kind: { type: "update", move_path: null },
  diff: "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n",
});

const STEPS: Readonly<Record<string, (current: Turn, rest: string) => void | Promise<void>>> = {
  say,
  run: (current, rest) => runCommand(current, rest, 0, "out\n"),
  fail: (current, rest) => runCommand(current, rest, 3, "bad\n"),
  big: (current, rest) => runCommand(current, "big", 0, "x".repeat(Number(rest))),
  ask: (current, rest) => runAsking(current, rest),
  escalate: (current, rest) => runAsking(current, rest, { reason: "outside, please" }),
  connect: (current, rest) => runAsking(current, rest, { networkApprovalContext: { host: "h", protocol: "https" } }),
  // A line that a bridge writes after a restart.
  The: async (current, rest) => {
    const command = /^user approved this call.*: shell: (.*)$/.exec(rest)?.[1];
    if (command !== undefined) await runAsking(current, command);
  },
  patch: (current, rest) => patch(current, rest === "" ? [update("a.txt")] : rest.split(" ").map(update)),
  think: (current, rest) => {
    const id = `rs_${++lastItem}`;
    current.start({ type: "reasoning", id, summary: [], content: [] });
    current.note("item/reasoning/summaryPartAdded", { itemId: id, summaryIndex: 0 });
    current.note("item/reasoning/summaryTextDelta", { itemId: id, delta: rest, summaryIndex: 0 });
    current.complete({ type: "reasoning", id, summary: [rest], content: [] });
  },
  plan: (current) =>
    current.note("turn/plan/updated", { explanation: "why", plan: [{ step: "a", status: "completed" }] }),
  usage: (current) => current.note("thread/tokenUsage/updated", { tokenUsage: usage }),
  mcp: (current) => {
    const item = { type: "mcpToolCall", id: `call_${++lastItem}`, server: "s", tool: "t", arguments: { a: 1 } };
    current.start({ ...item, status: "inProgress", result: null, error: null });
    const result = { content: [{ type: "text", text: "hello" }], structuredContent: null };
    current.complete({ ...item, status: "completed", result, error: null });
  },
  collab: (current) => {
    const item = { type: "collabAgentToolCall", id: `call_${++lastItem}`, tool: "spawnAgent", prompt: "Help." };
    const threads = { senderThreadId: current.threadId, receiverThreadIds: ["child"] };
    current.start({ ...item, ...threads, status: "inProgress", agentsStates: {} });
    const child = { type: "agentMessage", id: "msg_child", text: "for the parent only" };
    notify("item/completed", { threadId: "child", turnId: "t", item: child });
    const agentsStates = { child: { status: "running", message: null } };
    current.complete({ ...item, ...threads, status: "completed", agentsStates });
  },
  permit: async (current) => {
    const permissions = { network: { enabled: true }, fileSystem: null };
    say(
      current,
      JSON.stringify(await current.request("item/permissions/requestApproval", { permissions, reason: "r" })),
    );
  },
  input: async (current) => {
    const options = [
      { label: "A", description: "a" },
      { label: "B", description: "b" },
    ];
    const questions = [
      { id: "q1", header: "H", question: "Which?", isOther: false, isSecret: false, options },
      { id: "q2", header: "", question: "Why?", isOther: true, isSecret: false, options: null },
    ];
    say(current, JSON.stringify(await current.request("item/tool/requestUserInput", { itemId: "i", questions })));
  },
  elicit: async (current) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const asked = { serverName: "s", mode: "form", message: "Name?", requestedSchema };
    say(current, JSON.stringify(await current.request("mcpServer/elicitation/request", asked)));
  },
  tool: async (current) => say(current, JSON.stringify(await current.request("item/tool/call", { tool: "x" }))),
  withdraw: async (current, command) => {
    const id = `call_${++lastItem}`;
    current.start({ type: "commandExecution", id, command, cwd: ".", processId: null, status: "inProgress" });
    const asked = current.request("item/commandExecution/requestApproval", { itemId: id, command });
    await waitForSteer();
    pending.get(lastRequest - 1)?.({ result: {} });
    await asked;
    current.complete({ type: "commandExecution", id, command, cwd: ".", status: "declined" });
  },
  steer: async (current) => {
    // A finished item is where the bridge looks for messages that steer.
    while (!current.isOver) {
      const text = await Promise.race([waitForSteer(), delay(20)]);
      if (text !== undefined) return say(current, `steered: ${text}`);
      current.complete({ type: "reasoning", id: `rs_${++lastItem}`, summary: [], content: [] });
    }
  },
  hang: async () => {
    const stopped = Promise.withResolvers<void>();
    const end = interrupt;
    interrupt = () => {
      end?.();
      stopped.resolve();
    };
    await stopped.promise;
  },
  deaf: () => new Promise(() => (interrupt = undefined)),
  broken: (current) => {
    const codexErrorInfo = { responseStreamDisconnected: { httpStatusCode: 502 } };
    current.end("failed", { message: "stream disconnected", codexErrorInfo });
  },
  login: (current) => current.end("failed", { message: "log in", codexErrorInfo: "unauthorized" }),
  askdie: (current, rest) => runAsking(current, rest, { dies: true }),
  rundie: (current, command) => {
    const item = { type: "commandExecution", id: `call_${++lastItem}`, command, cwd: process.cwd(), processId: "1" };
    current.start({ ...item, status: "inProgress" });
    die();
  },
  killed: die,
  die: () => process.exit(7),
  garbage: (_current, rest) => {
    for (let count = 0; count < Number(rest); count++) process.stdout.write("this is not JSON\n");
  },
  flood: (current, rest) => {
    for (let count = 0; count < Number(rest); count++)
      current.note("item/agentMessage/delta", { itemId: "m", delta: "x" });
  },
  long: () => void process.stdout.write("x".repeat(40 * 1024 * 1024)),
  unknown: (current) => {
    current.note("some/new/notification", { x: 1 });
    current.start({ type: "someNewItem", id: "new" });
    current.complete({ type: "someNewItem", id: "new", newField: true });
  },
};

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

function waitForSteer(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  steer = (text) => {
    steer = undefined;
    resolve(text);
  };
  return promise;
}
