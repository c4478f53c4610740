import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import { ApprovalMode, type ServerInfo, ServerInfoSchema } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { agentOptions } from "../agent-options.ts";
import { defaultDataDirectory, discoveryPath, removeDiscovery, writeDiscovery } from "../discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { type Profile, profileOptions } from "../profile.ts";
import { trimMemory } from "../trim-memory.ts";

/** The options of `devtool serve`. */
export interface ServeOptions {
  readonly workspace?: string;
  readonly root?: readonly string[];
  readonly data?: string;
  readonly host: string;
  readonly port: string;
  readonly approvalMode?: string;
  readonly config?: string;
  readonly profile?: Profile;
  readonly anonymous?: true;
  readonly json?: true;
}

/** Once the first clients were served, who start us and wait. */
const SETTLE_AFTER_MS = 100;

/** Loads what the first task needs, then gives back what loading took. */
async function settle(server: DevtoolServer): Promise<void> {
  await server.warmUp();
  trimMemory();
}

/** `devtool serve`: runs a server until it is told to stop (SIGTERM, Ctrl-C), then drains it. */
export async function serve(options: ServeOptions, io: Io): Promise<number> {
  if (options.anonymous && !options.profile)
    throw new Error("--anonymous is only for --profile: the coding agent has tools");
  await using place = await dataPlace(options, io);
  const data = place.directory;
  const server = await start(options, data, io);
  const info = create(ServerInfoSchema, { url: server.url, token: server.token, pid: process.pid });
  await writeDiscovery(data, info);
  announce(info, { ...options, data, model: server.model }, io);
  setTimeout(() => void settle(server), SETTLE_AFTER_MS).unref();
  await stopSignal(io);
  await server.close();
  await removeDiscovery(data, process.pid);
  return ExitCode.OK;
}

interface DataPlace extends AsyncDisposable {
  readonly directory: string;
}

/** Where a server keeps its data. What a kit does is kept apart from the user's tasks, and thrown away. */
async function dataPlace({ data, profile }: ServeOptions, { env }: Io): Promise<DataPlace> {
  if (data !== undefined || profile === undefined) {
    return { directory: resolve(data ?? defaultDataDirectory(env)), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const directory = await mkdtemp(join(tmpdir(), "devtool-kit-"));
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

async function start(
  { root = [], host, port, ...options }: ServeOptions,
  data: string,
  io: Io,
): Promise<DevtoolServer> {
  const workspace = resolve(options.workspace ?? ".");
  await mkdir(workspace, { recursive: true });
  const configured = await agentOptions(options.config, data, io);
  return createServer({
    ...configured,
    ...(options.profile && (await profileOptions(options.profile, { env: io.env, configured }))),
    ...(options.anonymous && { anonymous: "admit" as const }),
    ...(options.approvalMode && { approvalMode: APPROVAL_MODES[options.approvalMode] ?? ApprovalMode.DEFAULT }),
    workspace,
    workspaceRoots: [workspace, ...root.map((path) => resolve(path))],
    dataDirectory: data,
    host,
    port: portOf(port),
  });
}

const APPROVAL_MODES: Readonly<Record<string, ApprovalMode>> = {
  default: ApprovalMode.DEFAULT,
  plan: ApprovalMode.PLAN,
  "auto-edit": ApprovalMode.AUTO_EDIT,
  yolo: ApprovalMode.YOLO,
};

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new Error(`port "${text}" is no port: choose 0 to 65535`);
}

/** What a person is told about a server that started. */
interface Welcome extends ServeOptions {
  readonly data: string;
  readonly model: string;
}

function announce(info: ServerInfo, options: Welcome, io: Io): void {
  writeLine(io.stdout, options.json ? toJsonString(ServerInfoSchema, info) : welcome(info, options, io));
}

function welcome(info: ServerInfo, options: Welcome, io: Io): string {
  if (options.profile) return kitWelcome(info, options, options.profile);
  const { data, workspace, model } = options;
  const at = data === resolve(defaultDataDirectory(io.env)) ? "" : ` --data ${data}`;
  const isScripted = model === "scripted";
  return `devtool serves ${resolve(workspace ?? ".")}

  A2A 0.3, Connect, gRPC   ${info.url}
  agent card               ${info.url}/.well-known/agent-card.json
  bearer token             in ${discoveryPath(data)}
  model                    ${model}${isScripted ? " (plays prompts as scripts; set GEMINI_API_KEY for Gemini)" : ""}

Try it in a second terminal:

  npx -y pnpm@12 devtool chat${at}

and type, for instance:  ${isScripted ? "write hello.txt hello\\n" : "What is this project about?"}
Ctrl-C stops the server; its tasks go on with the next start.`;
}

/** What is open to whom stands first: a server for a kit is less strict than another. */
function kitWelcome({ url }: ServerInfo, { data, anonymous }: Welcome, profile: Profile): string {
  const callers = anonymous
    ? "everybody on this machine, without credentials"
    : `with the bearer token in ${discoveryPath(data)}`;
  return `devtool serves the test agent for ${profile}; it has no tools and runs nothing

  A2A                      ${url}
  agent card               ${url}/.well-known/agent-card.json
  may call                 ${callers}
  may be posted to         any port of this machine
  tasks                    in ${data}

Ctrl-C stops the server.`;
}

async function stopSignal(io: Io): Promise<void> {
  const interrupted = Promise.withResolvers<void>();
  const stopListening = io.onInterrupt(() => interrupted.resolve());
  await Promise.race([interrupted.promise, once(process, "SIGTERM")]);
  stopListening();
}
