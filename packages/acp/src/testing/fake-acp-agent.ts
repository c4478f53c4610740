import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { flags } from "./fake-flags.ts";
import { find, type Session, save, sessions } from "./fake-session.ts";
import { asStopReason } from "./fake-step.ts";
import { WORDS } from "./fake-words.ts";

// A small ACP agent for tests: each line of a prompt is a word and its
// arguments, and WORDS says what it does.
const { agent: AGENT, client: CLIENT } = acp.methods;
const turns = new Map<string, AbortController>();
let isLoggedIn = flags.auth !== true;
let capabilities: acp.ClientCapabilities | undefined;

async function reach(method: string): Promise<void> {
  if (flags["die-at"] === method) process.exit(9);
  if (flags["hang-at"] === method) await new Promise(() => undefined);
}

function stateOf({
  mode,
  speed,
  options: { effort = "low", verbose = false } = {},
}: Session): Pick<acp.NewSessionResponse, "modes" | "configOptions"> {
  const names = ["default", "plan", "wild"];
  const models = [
    { value: "slow", name: "Slow one" },
    { value: "fast", name: "Fast one" },
  ];
  const availableModels = models.map(({ value, name }) => ({
    modelId: value,
    name,
  }));
  const hasOption = flags["model-list"] !== true && flags["no-models"] !== true;
  return {
    modes: {
      currentModeId: mode,
      availableModes: names.map((id) => ({ id, name: id })),
    },
    ...(flags["model-list"] === true && {
      models: { currentModelId: speed, availableModels },
    }),
    configOptions: [
      ...(hasOption ? [modelOption(speed, models)] : []),
      {
        type: "select",
        id: "effort",
        name: "Effort",
        category: "thought_level",
        currentValue: String(effort),
        options: ["low", "high"].map((value) => ({ value, name: value })),
      },
      {
        type: "boolean",
        id: "verbose",
        name: "Verbose",
        currentValue: verbose === true,
      },
      {
        type: "select",
        id: "permission",
        name: "Permission",
        category: "mode",
        currentValue: mode,
        options: names.map((value) => ({ value, name: value })),
      },
    ],
  };
}

function modelOption(
  currentValue: string,
  options: acp.SessionConfigSelectOption[],
): acp.SessionConfigOption {
  return {
    type: "select",
    id: "speed",
    name: "Model",
    category: "model",
    currentValue,
    options,
  };
}

const commands: acp.SessionUpdate = {
  sessionUpdate: "available_commands_update",
  availableCommands: [
    {
      name: "say",
      description: "Says something.",
      input: { hint: "what to say" },
    },
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
    authMethods: [
      {
        id: "fake-login",
        name: "Fake login",
        description: "Logs in without asking.",
      },
    ],
    agentCapabilities: {
      loadSession: flags["no-load"] !== true,
      promptCapabilities: { image: rich, audio: rich, embeddedContext: rich },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: {
        close: {},
        ...(flags.resume === true ? { resume: {} } : {}),
        ...(flags.fork === true ? { fork: {} } : {}),
      },
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
  setImmediate(
    () =>
      void client.notify(CLIENT.session.update, {
        sessionId: id,
        update: commands,
      }),
  );
  return { sessionId: id, ...stateOf(session) };
});
app.onRequest(AGENT.session.load, async ({ params, client }) => {
  await reach(AGENT.session.load);
  const session = find(params.sessionId);
  for (const update of session.history) {
    await client.notify(CLIENT.session.update, {
      sessionId: session.id,
      update,
    });
  }
  return stateOf(session);
});
app.onRequest(AGENT.session.resume, async ({ params }) => {
  await reach(AGENT.session.resume);
  return stateOf(find(params.sessionId));
});
app.onRequest("session/fork", readObject, async ({ params }) => {
  await reach("session/fork");
  const id = crypto.randomUUID();
  const session = { ...structuredClone(find(String(params.sessionId))), id };
  sessions.set(id, session);
  save(session);
  return { sessionId: id, ...stateOf(session) };
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
  if (params.configId === "speed") {
    session.speed = String(params.value);
  } else if (params.configId === "permission") {
    session.mode = String(params.value);
  } else {
    session.options = { ...session.options, [params.configId]: params.value };
  }
  return { configOptions: stateOf(session).configOptions ?? [] };
});
app.onRequest("session/set_model", readObject, ({ params }) => {
  find(String(params.sessionId)).speed = String(params.modelId);
  return {};
});
app.onRequest(AGENT.session.prompt, async ({ params, client }) => {
  await reach(AGENT.session.prompt);
  const session = find(params.sessionId);
  const turn = new AbortController();
  turns.set(session.id, turn);
  for (const block of params.prompt) {
    session.history.push({
      sessionUpdate: "user_message_chunk",
      content: block,
    });
  }
  const lines = params.prompt.flatMap((block) =>
    block.type === "text"
      ? block.text.split("\n")
      : [`say got ${block.type} ${describe(block)}`],
  );
  // A prompt that begins with "Continue" goes on with what was left to do.
  session.todo =
    lines[0]?.startsWith("Continue") === true ? session.todo : lines;
  for (let [line] = session.todo; line !== undefined; [line] = session.todo) {
    save(session);
    const [word = "", ...words] = line.replace(/^\//, "").split(" ");
    const run = WORDS[word] ?? WORDS.say;
    const rest = WORDS[word] ? words.join(" ") : line;
    const stopReason = asStopReason(
      await run?.({
        session,
        client,
        signal: turn.signal,
        rest,
        words,
        meta: params._meta,
        capabilities,
      }),
    );
    if (stopReason) return { stopReason };
    if (turn.signal.aborted) return { stopReason: "cancelled" };
    session.todo.shift();
  }
  save(session);
  return { stopReason: "end_turn" };
});
app.onNotification(AGENT.session.cancel, ({ params }) =>
  turns.get(params.sessionId)?.abort(),
);
app.connect(
  acp.ndJsonStream(
    Writable.toWeb(process.stdout),
    Readable.toWeb(process.stdin),
  ),
);
process.stdin.on("end", () => process.exit(0));

function readObject(params: unknown): Record<string, unknown> {
  return typeof params === "object" && params !== null ? { ...params } : {};
}

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
