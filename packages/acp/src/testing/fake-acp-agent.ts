import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import * as acp from "@agentclientprotocol/sdk";

// A small ACP agent for tests: each line of a prompt is a word and its arguments, and WORDS says what it does.
const { values: flags } = parseArgs({
  options: {
    /** A directory in which the sessions outlive the process. */
    state: { type: "string" },
    /** Offers `session/resume`. */
    resume: { type: "boolean" },
    /** Does not offer `session/load`. */
    "no-load": { type: "boolean" },
    /** Requires a login before `session/new`. */
    auth: { type: "boolean" },
    /** Takes no images, audio and embedded resources. */
    "text-only": { type: "boolean" },
    /** Ends at the first request of this method. */
    "die-at": { type: "string" },
    /** Never answers requests of this method. */
    "hang-at": { type: "string" },
  },
});

/** A session: what `session/load` replays, and the lines of its prompt that are not done yet. */
interface Session {
  readonly id: string;
  readonly cwd: string;
  readonly mcpServers: readonly string[];
  history: acp.SessionUpdate[];
  todo: string[];
  mode: string;
  speed: string;
  calls: number;
}

/** A line that is being done. */
interface Step {
  readonly session: Session;
  readonly client: acp.AgentContext;
  readonly signal: AbortSignal;
  readonly rest: string;
  readonly words: readonly string[];
}

const { agent: AGENT, client: CLIENT } = acp.methods;
const sessions = new Map<string, Session>();
const turns = new Map<string, AbortController>();
let isLoggedIn = flags.auth !== true;
let capabilities: acp.ClientCapabilities | undefined;

/** What the words do. A word that gives a stop reason ends the turn with it. */
const WORDS: Readonly<Record<string, (step: Step) => Promise<unknown>>> = {
  say: (step) => send(step, { sessionUpdate: "agent_message_chunk", content: text(step.rest) }),
  think: (step) => send(step, { sessionUpdate: "agent_thought_chunk", content: text(step.rest.replace("|", "\n")) }),
  show: (step) => send(step, { sessionUpdate: "agent_message_chunk", content: JSON.parse(step.rest) }),
  /** Any update, as JSON. */
  update: (step) =>
    step.client.notify(CLIENT.session.update, { sessionId: step.session.id, update: JSON.parse(step.rest) }),
  tool: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: step.rest,
      kind: "read",
      status: "pending",
      rawInput: {},
    });
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, rawInput: { name: step.rest } });
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "in_progress",
      content: [content("half")],
    });
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      content: [content(`${step.rest} done`)],
    });
  },
  /** A call that runs until the turn is canceled. */
  work: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: "work",
      kind: "execute",
      status: "in_progress",
      content: [content("working")],
    });
    await waitForAbort(step.signal);
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  },
  ask: (step) => ask(step, nextCall(step), step.rest),
  /** Announces the call as running, with its terminal, before it asks, as Codex does. */
  codexask: async (step) => {
    const toolCallId = nextCall(step);
    const content = [{ type: "terminal" as const, terminalId: toolCallId }];
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: step.rest,
      kind: "execute",
      status: "in_progress",
      content,
    });
    await ask(step, toolCallId, step.rest);
  },
  /** Announces the call as running before it asks, as opencode does. */
  runask: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, { sessionUpdate: "tool_call", toolCallId, title: step.rest, kind: "execute", status: "pending" });
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    await ask(step, toolCallId, step.rest);
  },
  /** Asks, and once it is allowed adds a line to a file: `job FILE`. With `job FILE hang` it says nothing after that. */
  job: async (step) => {
    const [file = "", end] = step.words;
    const toolCallId = nextCall(step);
    const rawInput = { command: `echo done >> ${file}` };
    const isDone = await isAllowed(step, { toolCallId, title: file, kind: "execute", rawInput });
    if (isDone) appendFileSync(absolute(step, file), "done\n");
    if (end === "hang") await new Promise(() => undefined);
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: isDone ? "completed" : "failed" });
  },
  /** Asks with the options and the call that the line has as JSON, and reports the answer. */
  permit: (step) =>
    report(step, () => {
      const toolCallId = nextCall(step);
      const { options, ...call } = JSON.parse(step.rest);
      const toolCall = { toolCallId, title: "permit", kind: "execute" as const, ...call };
      return step.client.request(CLIENT.session.requestPermission, { sessionId: step.session.id, toolCall, options });
    }),
  /** Asks the questions of a JSON array at once, without waiting for their answers. */
  permits: async (step) => {
    for (const { options, ...toolCall } of JSON.parse(step.rest)) {
      const question = { sessionId: step.session.id, toolCall, options };
      void step.client.request(CLIENT.session.requestPermission, question).catch(() => undefined);
    }
  },
  /** Asks, and withdraws the question a moment later. */
  withdraw: (step) =>
    report(step, () => {
      const toolCall = { toolCallId: nextCall(step), title: step.rest, kind: "execute" as const };
      const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" as const }];
      const question = { sessionId: step.session.id, toolCall, options };
      const cancellationSignal = AbortSignal.timeout(300);
      return step.client.request(CLIENT.session.requestPermission, question, { cancellationSignal });
    }),
  /** Asks about several calls at once. */
  asks: async (step) => {
    await Promise.all(step.words.map((word) => ask(step, nextCall(step), word)));
  },
  diff: async (step) => {
    const [path = "", newText = ""] = step.words;
    const toolCallId = nextCall(step);
    const change = [{ type: "diff" as const, path: join(step.session.cwd, path), oldText: null, newText }];
    if (await isAllowed(step, { toolCallId, title: `Write ${path}`, kind: "edit", content: change }))
      await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "completed", content: change });
    else await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  },
  write: async (step) => {
    const [path = "", body = ""] = step.words;
    const sessionId = step.session.id;
    await report(step, () =>
      step.client.request(CLIENT.fs.writeTextFile, { sessionId, path: absolute(step, path), content: body }),
    );
  },
  read: async (step) => {
    const sessionId = step.session.id;
    await report(step, () =>
      step.client.request(CLIENT.fs.readTextFile, { sessionId, path: absolute(step, step.rest) }),
    );
  },
  /** Asks about a change and then writes it: `edit PATH CONTENT`, or other content: `edit PATH CONTENT OTHER`. */
  edit: async (step) => {
    const [path = "", newText = "", written = newText] = step.words;
    const [sessionId, toolCallId] = [step.session.id, nextCall(step)];
    const change = [{ type: "diff" as const, path: absolute(step, path), oldText: null, newText }];
    if (!(await isAllowed(step, { toolCallId, title: `Edit ${path}`, kind: "edit", content: change }))) return;
    await report(step, () =>
      step.client.request(CLIENT.fs.writeTextFile, { sessionId, path: absolute(step, path), content: written }),
    );
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  },
  /** Asks about a command and then runs it in a terminal of the client. */
  askrun: async (step) => {
    const [sessionId, toolCallId] = [step.session.id, nextCall(step)];
    const rawInput = { command: step.rest };
    if (!(await isAllowed(step, { toolCallId, title: step.rest, kind: "execute", rawInput }))) return;
    await report(step, async () => {
      await using terminal = await step.client.createTerminal({
        sessionId,
        command: "/bin/sh",
        args: ["-c", step.rest],
      });
      await terminal.waitForExit();
      return terminal.currentOutput();
    });
    await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  },
  /** Runs a command in a terminal of the client: the request as JSON. */
  terminal: (step) =>
    report(step, async () => {
      await using terminal = await step.client.createTerminal({
        sessionId: step.session.id,
        ...JSON.parse(step.rest),
      });
      await terminal.waitForExit();
      return terminal.currentOutput();
    }),
  run: async (step) => {
    const [command = "", ...args] = step.words;
    await report(step, async () => {
      await using terminal = await step.client.createTerminal({ sessionId: step.session.id, command, args });
      const toolCallId = nextCall(step);
      await send(step, {
        sessionUpdate: "tool_call",
        toolCallId,
        title: step.rest,
        kind: "execute",
        status: "in_progress",
        content: [{ type: "terminal", terminalId: terminal.id }],
      });
      const { exitCode } = await terminal.waitForExit();
      const { output } = await terminal.currentOutput();
      await send(step, {
        sessionUpdate: "tool_call_update",
        toolCallId,
        status: exitCode === 0 ? "completed" : "failed",
      });
      return { exitCode, output };
    });
  },
  elicit: (step) =>
    report(step, () =>
      step.client.request(CLIENT.elicitation.create, {
        mode: "form",
        sessionId: step.session.id,
        message: step.rest,
        requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      }),
    ),
  /** Says what the client is, what the session has, or which variables are in the environment. */
  tell: async (step) => {
    const { mode, speed, mcpServers, cwd } = step.session;
    const facts = {
      capabilities,
      session: { mode, speed, mcpServers, cwd },
      environment: Object.keys(process.env).sort(),
    };
    await send(step, { sessionUpdate: "agent_message_chunk", content: text(JSON.stringify(facts)) });
  },
  stop: async (step) => asStopReason(step.rest),
  fail: async (step) => {
    throw new acp.RequestError(Number(step.words[0] ?? -32603), step.words.slice(1).join(" ") || "failed");
  },
  wait: (step) => waitForAbort(step.signal),
  hang: () => new Promise(() => undefined),
  die: async (step) => process.exit(Number(step.words[0] ?? 1)),
  flood: async (step) => {
    const line = JSON.stringify({
      jsonrpc: "2.0",
      method: CLIENT.session.update,
      params: { sessionId: step.session.id, update: { sessionUpdate: "agent_message_chunk", content: text("x") } },
    });
    process.stdout.write(`${line}\n`.repeat(Number(step.words[0])));
  },
  /** One line of this many bytes. */
  long: async (step) => {
    process.stdout.write(`"${"x".repeat(Number(step.words[0]))}"\n`);
  },
  /** Prints the rest of the line on standard output, as it is. */
  print: async (step) => {
    process.stdout.write(`${step.rest}\n`);
  },
  complain: async (step) => {
    process.stderr.write(`${step.rest}\n`);
  },
};

function text(value: string): acp.ContentBlock {
  return { type: "text", text: value };
}

function content(value: string): acp.ToolCallContent {
  return { type: "content", content: text(value) };
}

function nextCall({ session }: Step): string {
  return `call-${++session.calls}`;
}

function absolute({ session }: Step, path: string): string {
  return path.startsWith("/") ? path : join(session.cwd, path);
}

function asStopReason(value: unknown): acp.StopReason | undefined {
  const reasons = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] as const;
  return reasons.find((reason) => reason === value);
}

async function send({ session, client }: Step, update: acp.SessionUpdate): Promise<void> {
  session.history.push(update);
  save(session);
  await client.notify(CLIENT.session.update, { sessionId: session.id, update });
}

async function report(step: Step, run: () => Promise<unknown>): Promise<void> {
  const result = await run().catch((reason: Error) => ({ error: reason.message }));
  await send(step, { sessionUpdate: "agent_message_chunk", content: text(JSON.stringify(result ?? {})) });
}

async function isAllowed({ session, client }: Step, toolCall: acp.ToolCallUpdate): Promise<boolean> {
  const options: acp.PermissionOption[] = [
    { optionId: "no-thanks", name: "No", kind: "reject_once" },
    { optionId: "yes-please", name: "Yes", kind: "allow_once" },
    { optionId: "yes-always", name: "Always", kind: "allow_always" },
  ];
  const { outcome } = await client.request(CLIENT.session.requestPermission, {
    sessionId: session.id,
    toolCall,
    options,
  });
  return outcome.outcome === "selected" && outcome.optionId !== "no-thanks";
}

async function ask(step: Step, toolCallId: string, title: string): Promise<void> {
  const rawInput = { command: title };
  const allowed = await isAllowed(step, { toolCallId, title, kind: "execute", status: "pending", rawInput });
  if (allowed) await send(step, { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  const outcome = allowed
    ? { status: "completed" as const, content: [content(`ran ${title}`)] }
    : { status: "failed" as const };
  await send(step, { sessionUpdate: "tool_call_update", toolCallId, ...outcome });
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const held = setInterval(() => undefined, 60_000);
    signal.addEventListener("abort", () => {
      clearInterval(held);
      resolve();
    });
  });
}

async function reach(method: string): Promise<void> {
  if (flags["die-at"] === method) process.exit(9);
  if (flags["hang-at"] === method) await new Promise(() => undefined);
}

function pathOf(id: string): string {
  return join(flags.state ?? "", `${id}.json`);
}

function save(session: Session): void {
  if (flags.state !== undefined) writeFileSync(pathOf(session.id), JSON.stringify(session));
}

function find(id: string): Session {
  const known = sessions.get(id);
  if (known) return known;
  if (flags.state === undefined || !existsSync(pathOf(id))) throw acp.RequestError.sessionNotFound(id);
  const session: Session = JSON.parse(readFileSync(pathOf(id), "utf8"));
  sessions.set(id, session);
  return session;
}

function stateOf({ mode, speed }: Session): Pick<acp.NewSessionResponse, "modes" | "configOptions"> {
  const names = ["default", "plan", "wild"];
  const options = ["slow", "fast"].map((value) => ({ value, name: value }));
  return {
    modes: { currentModeId: mode, availableModes: names.map((id) => ({ id, name: id })) },
    configOptions: [{ type: "select", id: "speed", name: "Model", category: "model", currentValue: speed, options }],
  };
}

const commands: acp.SessionUpdate = {
  sessionUpdate: "available_commands_update",
  availableCommands: [
    { name: "say", description: "Says something.", input: { hint: "what to say" } },
    { name: "memory show", description: "Shows the memory." },
  ],
};

const app = acp.agent({ name: "fake" });
app.onRequest(AGENT.initialize, async ({ params }) => {
  await reach(AGENT.initialize);
  capabilities = params.clientCapabilities;
  const rich = flags["text-only"] !== true;
  return {
    protocolVersion: 1,
    agentInfo: { name: "fake-acp-agent", version: "1.0.0" },
    authMethods: [{ id: "fake-login", name: "Fake login", description: "Logs in without asking." }],
    agentCapabilities: {
      loadSession: flags["no-load"] !== true,
      promptCapabilities: { image: rich, audio: rich, embeddedContext: rich },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { close: {}, ...(flags.resume === true ? { resume: {} } : {}) },
    },
  };
});
app.onRequest(AGENT.authenticate, async ({ params }) => {
  await reach(AGENT.authenticate);
  if (params.methodId !== "fake-login") throw acp.RequestError.invalidParams();
  isLoggedIn = true;
  return {};
});
app.onRequest(AGENT.session.new, async ({ params, client }) => {
  await reach(AGENT.session.new);
  if (!isLoggedIn) throw acp.RequestError.authRequired();
  const id = crypto.randomUUID();
  const mcpServers = params.mcpServers.map(({ name }) => name);
  const session: Session = {
    id,
    cwd: params.cwd,
    mcpServers,
    history: [],
    todo: [],
    mode: "default",
    speed: "slow",
    calls: 0,
  };
  sessions.set(id, session);
  save(session);
  setImmediate(() => void client.notify(CLIENT.session.update, { sessionId: id, update: commands }));
  return { sessionId: id, ...stateOf(session) };
});
app.onRequest(AGENT.session.load, async ({ params, client }) => {
  await reach(AGENT.session.load);
  const session = find(params.sessionId);
  for (const update of session.history) await client.notify(CLIENT.session.update, { sessionId: session.id, update });
  return stateOf(session);
});
app.onRequest(AGENT.session.resume, async ({ params }) => {
  await reach(AGENT.session.resume);
  return stateOf(find(params.sessionId));
});
app.onRequest(AGENT.session.close, async ({ params }) => {
  sessions.delete(params.sessionId);
  return {};
});
app.onRequest(AGENT.session.setMode, async ({ params }) => {
  await reach(AGENT.session.setMode);
  find(params.sessionId).mode = params.modeId;
  return {};
});
app.onRequest(AGENT.session.setConfigOption, async ({ params }) => {
  const session = find(params.sessionId);
  session.speed = String(params.value);
  return { configOptions: stateOf(session).configOptions ?? [] };
});
app.onRequest(AGENT.session.prompt, async ({ params, client }) => {
  await reach(AGENT.session.prompt);
  const session = find(params.sessionId);
  const turn = new AbortController();
  turns.set(session.id, turn);
  for (const block of params.prompt) session.history.push({ sessionUpdate: "user_message_chunk", content: block });
  const lines = params.prompt.flatMap((block) =>
    block.type === "text" ? block.text.split("\n") : [`say got ${block.type} ${describe(block)}`],
  );
  // A prompt that begins with "Continue" goes on with what was left to do.
  session.todo = lines[0]?.startsWith("Continue") === true ? session.todo : lines;
  for (let [line] = session.todo; line !== undefined; [line] = session.todo) {
    save(session);
    const [word = "", ...words] = line.replace(/^\//, "").split(" ");
    const run = WORDS[word] ?? WORDS.say;
    const rest = WORDS[word] ? words.join(" ") : line;
    const stopReason = asStopReason(await run?.({ session, client, signal: turn.signal, rest, words }));
    if (stopReason) return { stopReason };
    if (turn.signal.aborted) return { stopReason: "cancelled" };
    session.todo.shift();
  }
  save(session);
  return { stopReason: "end_turn" };
});
app.onNotification(AGENT.session.cancel, ({ params }) => turns.get(params.sessionId)?.abort());
app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
process.stdin.on("end", () => process.exit(0));

function describe(block: acp.ContentBlock): string {
  switch (block.type) {
    case "image":
    case "audio":
      return `${block.mimeType} ${block.data}`;
    case "resource_link":
      return `${block.name} ${block.uri}`;
    case "resource":
      return block.resource.uri;
    default:
      return "";
  }
}
