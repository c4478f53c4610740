/**
 * An MCP server of 2026-07-28 whose calls become tasks (SEP-2663), written
 * without an SDK. The tool `ask` asks for a name, `slow` works until it is
 * cancelled, `fail` fails, `gone` withdraws its question, `many` asks 101; a
 * client that does not declare the extension does not see them. `log` returns
 * the requests that came before.
 */
import { createInterface } from "node:readline";

interface Call {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly taskId?: string;
    readonly inputResponses?: Readonly<Record<string, unknown>>;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

const EXTENSION = "io.modelcontextprotocol/tasks";
const QUESTION = {
  q1: {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: "Who are you?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string" } },
      },
    },
  },
};
const log: unknown[] = [];
const looks = new Map<string, number>();
const answers = new Map<string, unknown>();

for await (const line of createInterface({ input: process.stdin })) {
  const call: Call = JSON.parse(line);
  if (call.id === undefined) continue;
  const result = { resultType: "complete", ...answer(call) };
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: "2.0", id: call.id, result })}\n`,
  );
}

function answer({ method, params = {} }: Call): object {
  const { name = "", taskId = "", inputResponses } = params;
  if (method.startsWith("tasks/")) log.push({ method, taskId, inputResponses });
  switch (method) {
    case "server/discover":
      return {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {}, extensions: { [EXTENSION]: {} } },
        serverInfo: { name: "tasks", version: "1" },
      };
    case "tools/list": {
      const tasks = ["ask", "slow", "fail", "gone", "many"];
      const offered = declaresTasks(params) ? [...tasks, "log"] : ["log"];
      return {
        tools: offered.map((tool) => ({
          name: tool,
          inputSchema: { type: "object" },
          execution: { taskSupport: "required" },
        })),
      };
    }
    case "tools/call": {
      if (name === "log") return text(JSON.stringify(log.splice(0)));
      if (!declaresTasks(params)) return text("the client takes no tasks");
      return { resultType: "task", ...task(name, "working") };
    }
    case "tasks/get":
      return look(taskId);
    case "tasks/update":
      for (const [key, value] of Object.entries(inputResponses ?? {})) {
        answers.set(key, value);
      }
      return {};
    default:
      return {};
  }
}

function declaresTasks({ _meta }: NonNullable<Call["params"]>): boolean {
  const declared = _meta?.["io.modelcontextprotocol/clientCapabilities"];
  return EXTENSION in Object(Object(declared).extensions);
}

function look(taskId: string): object {
  const count = (looks.get(taskId) ?? 0) + 1;
  looks.set(taskId, count);
  if (taskId === "fail") {
    return {
      ...task(taskId, "failed"),
      error: { code: -32603, message: "no paper" },
    };
  }
  if (taskId === "many") {
    const questions = Array.from({ length: 101 }, (_, at) => [
      `many-${at}`,
      QUESTION.q1,
    ]);
    return {
      ...task(taskId, "input_required"),
      inputRequests: Object.fromEntries(questions),
    };
  }
  if (taskId === "slow") return task(taskId, "working");
  const isAnswered = answers.has("q1");
  // What was answered is still there for a while.
  if (taskId === "ask" && isAnswered && looks.get("after") !== 2) {
    looks.set("after", (looks.get("after") ?? 0) + 1);
    return { ...task(taskId, "input_required"), inputRequests: QUESTION };
  }
  if (taskId === "ask" && isAnswered) {
    const said = JSON.stringify(answers.get("q1"));
    return { ...task(taskId, "completed"), result: text(`hello ${said}`) };
  }
  if (taskId === "gone" && count > 20) {
    return { ...task(taskId, "completed"), result: text("without you") };
  }
  if (taskId === "gone" && count > 2) return task(taskId, "working");
  return { ...task(taskId, "input_required"), inputRequests: QUESTION };
}

function task(taskId: string, status: string): object {
  const at = "2026-11-30T09:00:00Z";
  return {
    ...{ taskId, status, createdAt: at, lastUpdatedAt: at },
    ...{ ttlMs: null, pollIntervalMs: 100, statusMessage: `is ${status}` },
  };
}

function text(said: string): object {
  return { content: [{ type: "text", text: said }] };
}
