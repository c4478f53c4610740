/**
 * A fake of `codex app-server`, for tests: a process that speaks its protocol
 * and does what the lines of the prompt say.
 *
 * The messages have the shapes of codex 0.169.0. Threads are kept in
 * `CODEX_HOME`, so that another process can resume them.
 */
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { STEPS } from "./fake-steps.ts";
import { running, Turn, turn, usage } from "./fake-turn.ts";
import {
  die,
  home,
  type Json,
  memoryOf,
  nextNumber,
  notify,
  objectOf,
  pending,
  threadFile,
  write,
} from "./fake-wire.ts";

/** Who provides the model, as the configuration of Codex says it. */
const PROVIDER = process.env.MODEL_PROVIDER ?? "openai";

let lastThread = 0;

writeFileSync(join(home, "pid"), String(process.pid));
/** A file with the method at which a process is killed, once. */
const killedAt = join(home, "killed-at");
/** A file with a method and the result that it has, in place of its own. */
const oddAnswer = join(home, "odd-answer.json");

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Json = JSON.parse(line);
  appendFileSync(join(home, "received.jsonl"), `${line}\n`);
  if (typeof message.method !== "string") {
    return pending.get(Number(message.id))?.(message);
  }
  if (message.id === undefined) return;
  if (
    existsSync(killedAt) &&
    readFileSync(killedAt, "utf8") === message.method
  ) {
    rmSync(killedAt);
    return die();
  }
  void respond(Number(message.id), message.method, objectOf(message.params));
});

async function respond(
  id: number,
  method: string,
  params: Json,
): Promise<void> {
  const threadId = String(params.threadId ?? "");
  const refuse = (message: string): void =>
    write({ id, error: { code: -32600, message } });
  const reply = (result: Json): void => write({ id, result });
  if (existsSync(oddAnswer)) {
    const odd: Json = JSON.parse(readFileSync(oddAnswer, "utf8"));
    if (odd.method === method) return write({ id, result: odd.result });
  }
  switch (method) {
    case "initialize":
      return reply({
        userAgent: "fake",
        codexHome: home,
        platformFamily: "unix",
        platformOs: "linux",
      });
    case "account/read":
      return reply({
        account: process.env.OPENAI_API_KEY ? { type: "apiKey" } : null,
        requiresOpenaiAuth: false,
      });
    case "model/list":
      return reply(modelPage(params));
    case "mcpServerStatus/list":
      return process.env.OLD_CODEX
        ? refuse(`Invalid request: unknown variant \`${method}\``)
        : reply(mcpPage(params));
    case "thread/fork":
      if (!existsSync(threadFile(threadId))) {
        return refuse(`no rollout found for thread id ${threadId}`);
      }
      return reply({
        thread: startThread(memoryOf(threadId)),
        model: "gpt-own",
        modelProvider: PROVIDER,
        sandbox: sandboxOf(params),
      });
    case "thread/start":
      for (const name of Object.keys(
        objectOf(objectOf(params.config).mcp_servers),
      )) {
        const [status, error] = name.startsWith("broken")
          ? ["failed", "no such program"]
          : ["ready", null];
        notify("mcpServer/startupStatus/updated", { name, status, error });
      }
      return reply({
        thread: startThread(),
        model: "gpt-own",
        modelProvider: PROVIDER,
        sandbox: sandboxOf(params),
      });
    case "thread/resume":
      if (!existsSync(threadFile(threadId))) {
        return refuse(`no rollout found for thread id ${threadId}`);
      }
      notify("thread/tokenUsage/updated", {
        threadId,
        turnId: "turn-of-before",
        tokenUsage: usage,
      });
      memoryOf(threadId);
      return reply({
        thread: { id: threadId },
        modelProvider: PROVIDER,
        sandbox: sandboxOf(params),
      });
    case "turn/start": {
      const turnId = `turn-${process.pid}-${nextNumber()}`;
      reply({ turn: turn(turnId, "inProgress") });
      return await runTurn(threadId, turnId, promptOf(params));
    }
    case "turn/steer":
      if (!running.steer) return refuse("no active turn");
      reply({ turnId: params.expectedTurnId });
      return running.steer(promptOf(params));
    case "turn/interrupt":
      reply({});
      return running.interrupt?.();
    default:
      return refuse(`Invalid request: unknown variant \`${method}\``);
  }
}

/** Returns a page of the list of models, which has two. */
function modelPage({ cursor }: Json): Json {
  const [model, nextCursor] =
    cursor === "2" ? ["gpt-small", null] : ["gpt-own", "2"];
  return {
    data: [
      {
        id: `preset-${model}`,
        model,
        displayName: model.toUpperCase(),
        hidden: false,
      },
    ],
    nextCursor,
  };
}

/** Returns a page of the list of MCP servers, which has two. */
function mcpPage({ cursor }: Json): Json {
  const of = (name: string, tools: Json): Json => ({
    name,
    tools,
    authStatus: "unsupported",
  });
  return cursor === "2"
    ? { data: [of("broken", {}), 5], nextCursor: null }
    : { data: [of("works", { look: { name: "look" } })], nextCursor: "2" };
}

function startThread(known: readonly string[] = []): Json {
  const id = `thread-${process.pid}-${++lastThread}`;
  writeFileSync(threadFile(id), known.map((line) => `${line}\n`).join(""));
  memoryOf(id);
  return { id };
}

/**
 * The policy of a thread, as a configuration of Codex with `network_access`
 * makes it.
 */
function sandboxOf({ sandbox }: Json): Json {
  if (sandbox === "read-only") {
    return { type: "readOnly", networkAccess: false };
  }
  return { type: "workspaceWrite", writableRoots: [], networkAccess: true };
}

function promptOf({ input }: Json): string {
  const texts = (Array.isArray(input) ? input : []).map((part) =>
    String(objectOf(part).text ?? ""),
  );
  return texts.join("\n");
}

async function runTurn(
  threadId: string,
  turnId: string,
  prompt: string,
): Promise<void> {
  const current = new Turn(threadId, turnId);
  current.note("turn/started", { turn: turn(turnId, "inProgress") });
  running.interrupt = () => current.end("interrupted");
  for (const line of prompt.split("\n")) {
    const [verb = "", ...words] = line.split(" ");
    const step = STEPS[verb];
    if (step && !current.isOver) await step(current, words.join(" "));
  }
  current.end("completed");
}
