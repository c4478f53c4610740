import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  create,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { codexQueues } from "@devtool/codex/queues";
import { codingAgent } from "@devtool/coding-agent";
import {
  accessWeakness,
  directoryAccess,
} from "@devtool/internal/directory-access";
import { defined } from "@devtool/internal/json";
import { mcp } from "@devtool/mcp/server";
import { readRules } from "@devtool/policy";
import { ApprovalMode } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import {
  type Agent,
  createServer,
  type DevtoolServer,
  defaultDialects,
  type ServerOptions,
} from "@devtool/server";
import { assertSafeExposure } from "@devtool/server/operator";
import { agentMakers } from "../agents/agent-makers.ts";
import { agentSpecs, choicesOf, loadAgents } from "../agents/agent-modules.ts";
import {
  agentOptions,
  describeModel,
  type OperatorConfig,
  operatorConfig,
} from "../agents/agent-options.ts";
import { OperatorIde } from "../agents/user-ide.ts";
import { userWorkflows } from "../agents/user-workflows.ts";
import { approvalModeOf } from "../approval-mode.ts";
import {
  defaultDataDirectory,
  removeDiscovery,
  writeDiscovery,
} from "../connection/discovery.ts";
import { type KeptToken, keptToken } from "../connection/kept-token.ts";
import { type ConsoleFlag, consoleOption } from "../console-option.ts";
import { errorMessage } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { ideBridge } from "../ide-bridge/ide-bridge.ts";
import { type Io, writeLine } from "../io.ts";
import { type ListenFlags, listenOptions } from "../listen-options.ts";
import type { Level } from "../log/log-lines.ts";
import { openLog } from "../log/open-log.ts";
import type { ServerLog } from "../log/server-log.ts";
import { type Metrics, openMetrics } from "../metrics/open-metrics.ts";
import { assertPrivateDirectory } from "../private-file.ts";
import { retentionOptions } from "../retention-options.ts";
import {
  notifyReady,
  passedSocket,
  type ServiceManager,
  takeServiceManager,
} from "../service-manager.ts";
import { storeOptions, workflowEngine } from "../store-options.ts";
import { takenPortError } from "../taken-port.ts";
import { type Profile, profileOptions } from "../tck/profile.ts";
import { bothObservers } from "../telemetry/both-observers.ts";
import { openTelemetry } from "../telemetry/open-telemetry.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { assertUsableRoots } from "../usable-roots.ts";
import { assertDirectory, ensureWorkspace } from "../workspace-directory.ts";
import { welcomeText } from "./serve-welcome.ts";

/** The options of `devtool serve`. */
interface ServeOptions extends ListenFlags, ConsoleFlag {
  readonly workspace?: string;
  readonly root?: readonly string[];
  readonly agent?: readonly string[];
  readonly data?: string;
  readonly model?: string;
  readonly approvalMode?: string;
  readonly config?: string;
  readonly store?: string;
  readonly profile?: Profile;
  readonly anonymous?: true;
  readonly rotateToken?: true;
  readonly logLevel?: Level;
  readonly json?: true;
}

/** `devtool serve`: runs a server until SIGTERM or Ctrl-C, then drains it. */
export async function serve(options: ServeOptions, io: Io): Promise<number> {
  if (options.anonymous && !options.profile) {
    throw new Error(
      "--anonymous is only for --profile: the coding agent has tools",
    );
  }
  const manager = takeServiceManager(process.env, process.pid);
  await using place = await dataPlace(options, io);
  const data = place.directory;
  await assertPrivateDirectory(data);
  const operator = await operatorConfig(options.config, data);
  await using log = openLog(options.logLevel, operator.config, io);
  const weakness = accessWeakness(directoryAccess);
  if (weakness !== "") log.onNotice(weakness);
  using metrics = await openMetrics(operator, io.env);
  const started = await start(
    options,
    { operator, data, log, metrics, manager },
    io,
  );
  const { server, about, host, modelLine, hasConsole, isNewWorkspace } =
    started;
  metrics?.watch(server);
  await started.keep();
  const { url, token, proofKey, model } = server;
  const publicUrl = server.publicUrl === url ? "" : server.publicUrl;
  const info = create(ServerInfoSchema, {
    ...about,
    url,
    publicUrl,
    token,
    proofKey,
    model,
    pid: process.pid,
  });
  await writeDiscovery(data, info);
  const welcome = {
    ...options,
    data,
    host,
    model,
    modelLine,
    publicUrl: server.publicUrl,
    hasConsole,
    isNewWorkspace,
  };
  writeLine(
    io.stdout,
    options.json
      ? toJsonString(ServerInfoSchema, info)
      : welcomeText(info, welcome, io),
  );
  log.write({ event: "server begins", level: "info" });
  for (const agent of Object.values(started.agents)) void loadAhead(agent);
  const interrupted = Promise.withResolvers<void>();
  const stopListening = io.onInterrupt(() => interrupted.resolve());
  const ended = Promise.race([interrupted.promise, once(process, "SIGTERM")]);
  await notifyReady(manager).catch((reason: unknown) =>
    log.onNotice(errorMessage(reason)),
  );
  await ended;
  stopListening();
  await server.close();
  await started.telemetry[Symbol.asyncDispose]();
  log.write({ event: "server ends", level: "info" });
  await removeDiscovery(data, process.pid);
  return ExitCode.OK;
}

/**
 * Reads what a server without flags reads before it opens its store and its
 * port. Throws for the first that it refuses.
 */
export async function checkServer(
  operator: OperatorConfig,
  data: string,
  io: Io,
): Promise<void> {
  const { config, directory } = operator;
  using _metrics = await openMetrics(operator, io.env);
  const onNotice = (text: string): void => writeLine(io.stderr, text);
  const { decided } = await decideOptions(
    {},
    {
      operator,
      workspaceRoots: [resolve(".")],
      data,
      manager: takeServiceManager({}, process.pid),
      onNotice,
    },
    io,
  );
  assertSafeExposure(decided);
  const files = config.policyFiles.map((path) => resolve(directory, path));
  await readRules(data, files);
}

/** Loads what the first turn of an agent needs. That turn says what fails. */
async function loadAhead(agent: Agent): Promise<void> {
  try {
    await agent.load?.();
  } catch {}
}

interface DataPlace extends AsyncDisposable {
  readonly directory: string;
}

/**
 * Returns the data directory. A test kit gets a temporary one, apart from the
 * user's tasks.
 */
async function dataPlace(
  { data, profile }: ServeOptions,
  { env }: Io,
): Promise<DataPlace> {
  if (data !== undefined || profile === undefined) {
    return {
      directory: resolve(data ?? defaultDataDirectory(env)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const directory = await mkdtemp(join(tmpdir(), "devtool-kit-"));
  return {
    directory,
    [Symbol.asyncDispose]: () =>
      rm(directory, { recursive: true, force: true }),
  };
}

/** A started server. */
interface Started {
  readonly server: DevtoolServer;
  /** What it exports. To be closed after the server. */
  readonly telemetry: Telemetry;
  /** The fields of its discovery file beside its address. */
  readonly about: MessageInitShape<typeof ServerInfoSchema>;
  /** The address that the server is bound to. */
  readonly host: string;
  /** The configured model with its API. Empty for the scripted model. */
  readonly modelLine: string;
  readonly hasConsole: boolean;
  /** Whether the workspace was missing, and was made. */
  readonly isNewWorkspace: boolean;
  /** Stores a new token for the next start. */
  readonly keep: () => Promise<void>;
  readonly agents: ServerOptions["agents"];
}

/** Where a server runs, how it is configured, and where it says what it does. */
interface Setting {
  readonly operator: OperatorConfig;
  /** The data directory. */
  readonly data: string;
  readonly log: ServerLog;
  /** What measures it. Undefined: nothing does. */
  readonly metrics: Metrics | undefined;
  readonly manager: ServiceManager;
}

/** Makes the workspace and starts the server with its agents. */
async function start(
  { root = [], ...options }: ServeOptions,
  { operator, data, log, metrics, manager }: Setting,
  io: Io,
): Promise<Started> {
  const roots = await usableRoots(options.workspace, root, data);
  const { workspace, workspaceRoots } = roots;
  const { decided, approvalMode, ide } = await decideOptions(
    options,
    { operator, workspaceRoots, data, manager, onNotice: log.onNotice },
    io,
  );
  // Checked before the token is added: a generated token does not mean that
  // other machines may connect.
  assertSafeExposure(decided);
  // Options that are refused leave no new directory behind.
  const found = await ensureWorkspace(workspace);
  const { token, keep } = await tokenFor(options, decided.token, data);
  const telemetry = await openTelemetry(
    operator.config,
    { env: io.env, onNotice: log.onNotice, metrics },
    [token],
  );
  const { agents, host = "127.0.0.1", site } = decided;
  const server = await createServer({
    ...decided,
    dialects: [
      ...(metrics?.dialects ?? []),
      codexQueues(),
      mcp(),
      ideBridge({ ide, workspace }),
      ...defaultDialects(),
    ],
    token,
    workspace,
    workspaceRoots,
    dataDirectory: data,
    observer: [metrics?.observer, telemetry.observer].reduce(
      bothObservers,
      log.observer,
    ),
    onNotice: log.onNotice,
    onError: log.onError,
  }).catch(async (reason: unknown) => {
    await telemetry[Symbol.asyncDispose]();
    throw await takenPortError(reason, decided.port ?? 0, data);
  });
  return {
    server,
    telemetry,
    about: { ...choicesAbout(decided), ...roots, approvalMode },
    host,
    modelLine: describeModel(operator, io, options.model),
    hasConsole: site !== undefined,
    isNewWorkspace: found === "new",
    keep,
    agents,
  };
}

function choicesAbout({
  agents,
  tls,
}: Pick<ServerOptions, "agents" | "tls">): Pick<
  Started["about"],
  "agent" | "agents" | "certificate"
> {
  return {
    agent: Object.values(agents)[0]?.about.name ?? "",
    agents: choicesOf(agents),
    ...defined({ certificate: tls?.certificate }),
  };
}

async function usableRoots(
  path: string | undefined,
  further: readonly string[],
  data: string,
): Promise<{
  readonly workspace: string;
  readonly workspaceRoots: string[];
}> {
  const workspace = resolve(path ?? ".");
  const furtherRoots = further.map((each) => resolve(each));
  const workspaceRoots = [workspace, ...furtherRoots];
  assertUsableRoots(workspaceRoots, data);
  for (const each of furtherRoots) await assertDirectory("root", each);
  return { workspace, workspaceRoots };
}

/** Where a server runs, and what its operator has configured. */
interface Operation {
  readonly operator: OperatorConfig;
  readonly workspaceRoots: readonly string[];
  /** The data directory. */
  readonly data: string;
  readonly manager: ServiceManager;
  /** Receives notices for the operator. */
  readonly onNotice: (text: string) => void;
}

/**
 * Returns the options of the server, with its agents loaded, and its approval
 * mode. The flags override the config file.
 */
async function decideOptions(
  options: ServeOptions,
  { operator, workspaceRoots, data, manager, onNotice }: Operation,
  io: Io,
): Promise<{
  readonly decided: ServerOptions;
  readonly approvalMode: ApprovalMode;
  /** The editors of the user. */
  readonly ide: OperatorIde;
}> {
  const configured = {
    ...(await agentOptions(operator, io, options.model)),
    ...(await listenOptions(options, operator)),
    ...defined({ listenFd: passedSocket(manager) }),
    ...storeOptions(options.store, operator),
    ...retentionOptions(operator),
    ...(await consoleOption(options, operator, io)),
  };
  const approvalMode =
    approvalModeOf(options.approvalMode) ||
    configured.approvalMode ||
    ApprovalMode.DEFAULT;
  const ide = new OperatorIde({
    ...configured,
    approvalMode,
    dataDirectory: data,
    onNotice,
  });
  const own = { ...configured, approvalMode };
  let engine: ReturnType<typeof workflowEngine> | undefined;
  const makers = agentMakers(
    own,
    {
      env: io.env,
      workspaces: workspaceRoots,
      data,
      ide,
      onNotice,
      engine: () => (engine ??= workflowEngine(options.store, operator)),
    },
    () => codingAgent(own),
  );
  const decided: ServerOptions = {
    ...configured,
    ...(options.profile
      ? await profileOptions(options.profile, { env: io.env, configured })
      : {
          agents: await loadAgents(
            agentSpecs(options.agent, operator),
            makers,
            [],
            await userWorkflows(data),
          ),
        }),
    ...(options.anonymous && { anonymous: "admit" as const }),
  };
  return { decided, approvalMode, ide };
}

/**
 * Returns the server's token: the one of the token file, of the last start, or
 * a new one.
 */
async function tokenFor(
  { rotateToken }: ServeOptions,
  own: string | undefined,
  data: string,
): Promise<Pick<KeptToken, "token" | "keep">> {
  if (own === undefined) return keptToken(data, rotateToken ? "new" : "kept");
  if (!rotateToken) return { token: own, keep: () => Promise.resolve() };
  throw new Error(
    "--rotate-token does not apply to a token file: change the token in that file",
  );
}
