import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import {
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  BrowserAccessService,
  isAtRest,
  type Message,
  type SendMessageRequestSchema,
  type Task,
  type ToolCall,
} from "@devtool/schema";
import type { ServerInfo } from "@devtool/schema/operator";
import { type Receiver, receive } from "../../push/receiver.ts";
import { type ServerProcess, startServing } from "../crash/server-process.ts";
import {
  approve,
  clientFor,
  fold,
  transportTo,
  Witness,
} from "../crash/workload.ts";
import { KILL_ORDER, type KillOrder } from "./kill-at.ts";
import { command, type Scene } from "./scenes.ts";

const EFFECTS_SERVER = fileURLToPath(
  new URL("effects-server.ts", import.meta.url),
);
const KILL_AT = new URL("kill-at.ts", import.meta.url).href;
const LATE_COMMIT = new URL("late-commit.ts", import.meta.url).href;

/** A request that no event answered yet. */
type Unanswered = MessageInitShape<typeof SendMessageRequestSchema>;

/**
 * The data of a server that is killed and started again, and what its clients
 * know of it.
 */
export class World implements AsyncDisposable {
  readonly receiver: Receiver;
  readonly #root: string;
  /** The events that clients received of the tasks that are not checked yet. */
  witness = new Witness();
  /** Requests that were sent and not answered: clients send them again. */
  readonly unanswered = new Map<string, Unanswered>();
  /** The last sequence that a client was shown in its own stream, by task. */
  readonly heads = new Map<string, bigint>();
  /** Tasks that a client was told are deleted. */
  readonly gone = new Set<string>();
  /** Tasks that are being deleted, with the numbers of their events. */
  readonly leaving = new Map<string, number>();
  /** Tasks of which a client was told that their config is deleted. */
  readonly deleted = new Set<string>();
  /** The tokens of browser sessions that a client was given, by their ids. */
  readonly browsers = new Map<string, string>();
  /** Those of browser sessions that have ended, as a client was told. */
  readonly revokedBrowsers = new Map<string, string>();
  readonly #isSabotaged: boolean;
  /** How long a post is waited for, in milliseconds. */
  readonly postTimeoutMs: number;

  static async open(
    sabotage: "none" | "late commit",
    postTimeoutMs: number,
  ): Promise<World> {
    const root = temporaryDirectory();
    const world = new World(root, await receive(), {
      isSabotaged: sabotage === "late commit",
      postTimeoutMs,
    });
    await mkdir(world.data, { mode: 0o700 });
    await mkdir(world.workspace);
    const append = join(world.workspace, "append.sh");
    await writeFile(append, '#!/bin/sh\necho "$1" >> effects.txt\n');
    await chmod(append, 0o755);
    const stdio = `{ command = ${JSON.stringify(process.execPath)}, args = [${JSON.stringify(EFFECTS_SERVER)}] }`;
    const config = `push_targets = ["${world.receiver.target}"]\n[[mcp_servers]]\nname = "effects"\nstdio = ${stdio}\n`;
    await writeFile(join(world.data, "config.toml"), config, { mode: 0o600 });
    return world;
  }

  private constructor(
    root: string,
    receiver: Receiver,
    {
      isSabotaged,
      postTimeoutMs,
    }: { readonly isSabotaged: boolean; readonly postTimeoutMs: number },
  ) {
    this.#root = root;
    this.receiver = receiver;
    this.#isSabotaged = isSabotaged;
    this.postTimeoutMs = postTimeoutMs;
  }

  get data(): string {
    return join(this.#root, "data");
  }

  get workspace(): string {
    return join(this.#root, "workspace");
  }

  /**
   * Starts the server; undefined when it passed its failpoint before it was
   * ready. Nothing else may end it.
   */
  async start(scene: Scene, order?: KillOrder): Promise<Life | undefined> {
    const loaded = [
      ...(order ? [KILL_AT] : []),
      ...(this.#isSabotaged ? [LATE_COMMIT] : []),
    ];
    const environment = {
      ...process.env,
      NODE_OPTIONS: loaded.map((url) => `--import ${url}`).join(" "),
      ...(order && { [KILL_ORDER]: JSON.stringify(order) }),
    };
    const flags = ["--data", this.data, "--workspace", this.workspace];
    const server = await startServing(flags, environment).catch(
      (reason: unknown) => {
        if (order?.from === "start" && String(reason).includes("SIGKILL")) {
          return undefined;
        }
        throw reason;
      },
    );
    return server && new Life(this, scene, server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.receiver[Symbol.asyncDispose]();
    await rm(this.#root, { recursive: true, force: true });
  }
}

/** One life of the server, from its start to its end, with a client. */
export class Life {
  readonly world: World;
  readonly client: DevtoolClient;
  readonly signal: AbortSignal;
  readonly #scene: Scene;
  readonly #server: ServerProcess;
  readonly #over = new AbortController();
  #endedBy: NodeJS.Signals | null = null;

  constructor(world: World, scene: Scene, server: ServerProcess) {
    this.world = world;
    this.#scene = scene;
    this.#server = server;
    this.client = clientFor(server.info);
    this.signal = this.#over.signal;
    void server.ended.then((signal) => {
      this.#endedBy = signal;
      this.#over.abort();
    });
  }

  get info(): ServerInfo {
    return this.#server.info;
  }

  /** Whether the server is gone. */
  get isOver(): boolean {
    return this.signal.aborted;
  }

  get ended(): Promise<unknown> {
    return this.#server.ended;
  }

  /**
   * The service that lets browsers in, for a caller with a token. Default: that
   * of the server.
   */
  browserAccess(token = this.info.token): Client<typeof BrowserAccessService> {
    // The end of a browser session ends its connections, which no other caller
    // may share.
    const agent = new Agent({ keepAlive: false });
    return createClient(
      BrowserAccessService,
      transportTo({ url: this.info.url, token }, agent),
    );
  }

  /** Whether tasks are started with a push config. */
  get notifies(): boolean {
    return this.#scene.notifies ?? false;
  }

  /** Whether a signal ended the server that cannot be handled. */
  get wasKilled(): boolean {
    return this.#endedBy === "SIGKILL";
  }

  /** From now on passages of the failpoint count. */
  arm(): void {
    process.kill(this.#server.info.pid, "SIGUSR2");
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async kill(): Promise<void> {
    await this.#server.kill();
  }

  /**
   * Lets tasks begin, two at a time, and what else the scene has, until the
   * server is gone.
   */
  async work(): Promise<void> {
    const { beside } = this.#scene;
    await Promise.all([
      this.#repeat(() => this.begin()),
      this.#repeat(() => this.begin()),
      ...(beside ? [this.#repeat(() => beside(this))] : []),
    ]);
  }

  /** Begins a task as the scene has it, and approves all that it asks. */
  async begin(): Promise<void> {
    const token = `token-${crypto.randomUUID()}`;
    const message = textMessage(token, (this.#scene.script ?? command)(token));
    const pushConfig = this.#scene.notifies && {
      pushConfig: { id: "all", url: this.world.receiver.url },
    };
    this.world.unanswered.set(token, { message, ...pushConfig });
    await this.send(token);
  }

  /** Sends a request that is not answered yet, for the first time or again. */
  async send(token: string): Promise<void> {
    const request = this.world.unanswered.get(token);
    if (!request) return;
    const { binding } = this.#scene;
    const client = binding === "A2A 0.3" ? this.#overA2a() : this.client;
    const { witness, unanswered, heads } = this.world;
    const answered = client.tasks.streamMessage(
      { request },
      { signal: this.signal },
    );
    async function* noting(): typeof answered {
      for await (const response of answered) {
        unanswered.delete(token);
        const { taskId = "", sequence = 0n } = response.event ?? {};
        witness.tokens.set(taskId, token);
        heads.set(taskId, sequence);
        yield response;
      }
    }
    // A dialect shows less of an event than the log has, so only its sequence
    // can be compared.
    const seen = binding === undefined ? witness : new Witness();
    await this.approveAll(
      await fold(noting(), { token, witness: seen }),
      token,
    );
  }

  /**
   * Plays a message in a task of its own, whose tools leave no token, and
   * approves all that it asks.
   */
  async play(message: Message): Promise<Task> {
    const token = message.messageId;
    const { witness } = this.world;
    const started = await fold(
      this.client.tasks.streamMessage(
        { request: { message } },
        { signal: this.signal },
      ),
      {
        token,
        witness,
      },
    );
    return this.approveAll(started, token);
  }

  /** Runs a slash command and approves all that it asks. */
  async run(name: string, args: string): Promise<Task> {
    const { client, signal, world } = this;
    const request = { command: { commandPath: name.split(" "), args } };
    const { result } = await client.commands.runSlashCommand(request, {
      signal,
    });
    const taskId = result?.executionId ?? "";
    const token = crypto.randomUUID();
    for (;;) {
      const { task } = await client.tasks.getTask({ taskId }, { signal });
      if (!task) throw new Error(`slash command ${name} has no task`);
      world.witness.tokens.set(taskId, token);
      if (pendingToolCalls(task).length > 0) {
        await approve(client, task, { token, witness: world.witness, signal });
      } else if (isAtRest(task.state)) {
        return task;
      } else {
        await delay(5, undefined, { signal });
      }
    }
  }

  /** Approves all that a task asks, until it asks no more. */
  async approveAll(task: Task, token: string): Promise<Task> {
    const { client, signal, world } = this;
    const optionOf = (call: ToolCall): string => this.#optionOf(call);
    let now = task;
    while (pendingToolCalls(now).length > 0) {
      now = await approve(client, now, {
        token,
        witness: world.witness,
        signal,
        optionOf,
      });
    }
    return now;
  }

  #optionOf({ confirmationRequest }: ToolCall): string {
    const offered = confirmationRequest?.options.map(({ id }) => id) ?? [];
    const { option = "" } = this.#scene;
    return offered.includes(option) ? option : "proceed_once";
  }

  /**
   * A request that fails because the server is gone ends it; any other failure
   * is the test's.
   */
  async #repeat(act: () => Promise<void>): Promise<void> {
    while (!this.isOver) {
      try {
        await act();
      } catch (reason) {
        await Promise.race([
          this.ended,
          delay(2000, undefined, { ref: false }),
        ]);
        if (!this.isOver) throw reason;
      }
    }
  }

  #overA2a(): DevtoolClient {
    const { url, token } = this.info;
    return createDevtoolClient(createA2aTransport({ url, token }));
  }
}
