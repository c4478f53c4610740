/**
 * Measures what the port adds to an ACP agent without latency: the same turns,
 * direct and through the port, in one run.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { closeConnections, EXTENSION, stream, taskIdOf } from "./client.ts";
import { watchStolenTime } from "./stolen-time.ts";
import {
  DEVTOOL,
  type Subject,
  type SubjectCommand,
  startSubject,
} from "./subject.ts";

const AGENT = fileURLToPath(new URL("acp-echo-agent.js", import.meta.url));
const MAIN = fileURLToPath(
  new URL("../../packages/cli/dist/main.js", import.meta.url),
);
const WARM_TURNS = 500;
const TURNS = 501;
/**
 * Kept small, since the cost of a long history is measured elsewhere. The tasks
 * share a conversation, and so a session of the agent.
 */
const TURNS_PER_TASK = 16;
/**
 * The bound on what the port adds to the median turn and to the median first
 * event, in milliseconds.
 */
const LIMIT_MS = 5;

/** How long a turn took to its first text and to its end, in milliseconds. */
interface Taken {
  readonly firstMs: number;
  readonly totalMs: number;
}

const PORT: SubjectCommand = {
  name: "devtool over ACP",
  args: (directory) => [
    MAIN,
    "serve",
    "--json",
    "--port",
    "0",
    "--data",
    `${directory}-data`,
    "--workspace",
    directory,
    "--agent",
    `echo=acp:'${process.execPath}' '${AGENT}'`,
  ],
};

/**
 * Speaks with the agent itself: one JSON-RPC message a line, and no library.
 */
class DirectAgent {
  readonly #child: ChildProcessWithoutNullStreams = spawn(process.execPath, [
    AGENT,
  ]);
  #onMessage: (message: {
    id?: number;
    result?: { sessionId?: string };
  }) => void = () => undefined;
  #nextId = 0;

  constructor() {
    createInterface({ input: this.#child.stdout }).on("line", (line) =>
      this.#onMessage(JSON.parse(line)),
    );
  }

  async open(): Promise<string> {
    await this.#request("initialize", { protocolVersion: 1 });
    return (await this.#request("session/new", { cwd: "/", mcpServers: [] }))
      .sessionId;
  }

  async turn(sessionId: string): Promise<Taken> {
    const { startMs, firstMs, endMs } = await this.#request("session/prompt", {
      sessionId,
      prompt: PROMPT,
    });
    return { firstMs: firstMs - startMs, totalMs: endMs - startMs };
  }

  close(): void {
    this.#child.kill();
  }

  #request(method: string, params: object) {
    const id = this.#nextId++;
    const startMs = performance.now();
    let firstMs = 0;
    return new Promise<{
      sessionId: string;
      startMs: number;
      firstMs: number;
      endMs: number;
    }>((resolve) => {
      this.#onMessage = (message) => {
        firstMs ||= performance.now();
        if (message.id !== id) return;
        resolve({
          sessionId: message.result?.sessionId ?? "",
          startMs,
          firstMs,
          endMs: performance.now(),
        });
      };
      this.#child.stdin.write(
        `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`,
      );
    });
  }
}

const PROMPT = [{ type: "text", text: "text hello" }];

/**
 * Plays a turn of a task over A2A 0.3. The first event is the first one with
 * text of the agent.
 */
async function portTurn(
  { url, token }: Subject,
  taskId: string,
): Promise<Taken> {
  const parts = [{ kind: "text", text: "text hello" }];
  const message = {
    kind: "message",
    role: "user",
    messageId: crypto.randomUUID(),
    taskId,
    parts,
  };
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "message/stream",
    params: { message },
  });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    authorization: `Bearer ${token}`,
    "x-a2a-extensions": EXTENSION,
  };
  const startMs = performance.now();
  const response = await fetch(url, { method: "POST", headers, body });
  let [firstMs, seen] = [0, ""];
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString("latin1");
    if (firstMs === 0 && seen.includes('"TEXT_CONTENT"')) {
      firstMs = performance.now() - startMs;
    }
  }
  if (firstMs === 0) throw new Error(`the turn had no text: ${seen}`);
  return { firstMs, totalMs: performance.now() - startMs };
}

/**
 * Plays turns through a server, in tasks of one conversation: an ACP agent has
 * one session for it.
 */
class PortClient {
  readonly #subject: Subject;
  readonly #contextId = crypto.randomUUID();
  #taskId = "";
  #turns = 0;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  async turn(): Promise<Taken> {
    const { prompt } = this.#subject;
    if (this.#turns++ % TURNS_PER_TASK === 0) {
      this.#taskId = taskIdOf(
        await stream(this.#subject, {
          ...prompt("text hello"),
          contextId: this.#contextId,
        }),
      );
    }
    return portTurn(this.#subject, this.#taskId);
  }
}

const stolen = watchStolenTime();
const direct = new DirectAgent();
const session = await direct.open();
await using port = await startSubject(PORT);
await using plain = await startSubject(DEVTOOL);
const [portClient, plainClient] = [new PortClient(port), new PortClient(plain)];
const figures: Record<"direct" | "plain" | "port", Taken[]> = {
  direct: [],
  plain: [],
  port: [],
};
for (let index = 0; index < WARM_TURNS + TURNS; index++) {
  // One after the other, so that all see the same moments of a shared machine.
  const taken = [
    await direct.turn(session),
    await plainClient.turn(),
    await portClient.turn(),
  ] as const;
  if (index < WARM_TURNS) continue;
  figures.direct.push(taken[0]);
  figures.plain.push(taken[1]);
  figures.port.push(taken[2]);
}
direct.close();
closeConnections();

console.log(
  `Node ${process.version}, medians of ${TURNS} turns, ${stolen()}\n`,
);
console.log(
  "| figure | direct | our own agent | through the port | the port adds | of it, ACP |",
);
console.log("| --- | --- | --- | --- | --- | --- |");
for (const [name, field] of [
  ["first event, ms", "firstMs"],
  ["turn, ms", "totalMs"],
] as const) {
  const [alone, inServer] = [
    median(figures.direct, field),
    median(figures.plain, field),
  ];
  const through = median(figures.port, field);
  const added = through - alone;
  const row = [alone, inServer, through, added, through - inServer].map((ms) =>
    ms.toFixed(2),
  );
  console.log(`| ${name} | ${row.join(" | ")} |`);
  if (added > LIMIT_MS) process.exitCode = 1;
}

function median(taken: readonly Taken[], field: keyof Taken): number {
  const sorted = taken.map((one) => one[field]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
