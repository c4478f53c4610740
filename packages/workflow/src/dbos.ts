import { AsyncLocalStorage } from "node:async_hooks";
import { isSea } from "node:sea";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type StepRun, StepRunSchema, type Task } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import {
  isLostConnection,
  LostConnection,
  overConnections,
} from "./lost-connection.ts";
import type {
  StartedEngine,
  WorkflowDriver,
  WorkflowEngine,
} from "./workflow-driver.ts";

type DbosSdk = typeof import("@dbos-inc/dbos-sdk");
type Dbos = DbosSdk["DBOS"];

/** Options of `dbosEngine`. */
interface DbosOptions {
  /** URL of the database of PostgreSQL, such as that of the store. */
  readonly url: string;
  /**
   * Schema of the store. The tables of DBOS are in one beside it, whose name
   * has `_dbos` behind. Default: `devtool`.
   */
  readonly schema?: string | undefined;
}

/** Maximum time that tries have to record that they were cut, in milliseconds. */
const DRAIN_MS = 5_000;

/**
 * Makes the engine that keeps the runs of workflows with DBOS, for servers that
 * share a database: each try of a step is a workflow of DBOS, with the id
 * `TASK/CALL/COUNT`.
 *
 * A run is that of the server that has the lease of its task. DBOS recovers
 * nothing by itself: a server that takes a task cancels in DBOS what another
 * one left at work, so that this can record nothing more, and begins it again.
 *
 * Needs the package `@dbos-inc/dbos-sdk`, which is loaded at the start, and which
 * a process starts once: all workflows of a process share an engine.
 */
export function dbosEngine(options: DbosOptions): WorkflowEngine {
  return new DbosEngine(options);
}

class DbosEngine implements WorkflowEngine {
  readonly #options: DbosOptions;
  #running: Promise<RunningDbos> | undefined;
  #users = 0;

  constructor(options: DbosOptions) {
    this.#options = options;
  }

  async start(name: string): Promise<StartedEngine> {
    this.#users++;
    this.#running ??= RunningDbos.launch(this.#options, name);
    const running = await this.#running;
    return {
      driverOf: (task) => DbosDriver.open(running, task),
      forget: running.forget,
      [Symbol.asyncDispose]: async () => {
        if (--this.#users > 0) return;
        this.#running = undefined;
        await running.shutdown();
      },
    };
  }
}

/** DBOS in this process, and the work that it is to do. */
class RunningDbos {
  readonly dbos: Dbos;
  readonly #step: (id: string) => Promise<JsonValue>;
  readonly #works = new Map<string, () => Promise<StepRun>>();

  static async launch(
    { url, schema = "devtool" }: DbosOptions,
    name: string,
  ): Promise<RunningDbos> {
    const sdk = await import("@dbos-inc/dbos-sdk").catch((reason: unknown) => {
      throw new DevtoolError(
        "workflows are to be kept with DBOS, but @dbos-inc/dbos-sdk cannot be loaded",
        Code.FailedPrecondition,
        {
          cause: reason,
          remedy: isSea()
            ? "a single executable loads no packages: install the command with npm"
            : "npm install @dbos-inc/dbos-sdk",
        },
      );
    });
    const { DBOS } = sdk;
    if (DBOS.isInitialized()) {
      throw new DevtoolError(
        "DBOS runs in this process already",
        Code.FailedPrecondition,
        { remedy: "give all workflows the same engine" },
      );
    }
    const running = new RunningDbos(DBOS);
    DBOS.setConfig({
      name: "devtool",
      // A release goes on with the runs of the one before.
      applicationVersion: "devtool",
      // Nothing is recovered by the name of a process: the lease decides.
      executorID: name,
      systemDatabaseUrl: dbosUrl(url),
      systemDatabaseSchemaName: `${schema}_dbos`,
      logger: SILENT,
    });
    await DBOS.launch();
    return running;
  }

  private constructor(dbos: Dbos) {
    this.dbos = dbos;
    this.#step = dbos.registerWorkflow(
      async (id: string): Promise<JsonValue> => {
        const work = this.#works.get(id);
        if (!work) throw new Error(`there is no work ${id}`);
        return toJson(StepRunSchema, await work());
      },
      { name: "step" },
    );
  }

  /**
   * Does work as a workflow of DBOS, and returns what it came to, once kept.
   * Rejects with `LostConnection` when the connection was lost before that.
   */
  async run(id: string, work: () => Promise<StepRun>): Promise<StepRun> {
    let failure: { readonly reason: unknown } | undefined;
    // Agents of this process that the work calls are not inside of its step.
    const outside = AsyncLocalStorage.snapshot();
    this.#works.set(id, () =>
      outside(work).catch((reason: unknown) => {
        failure = { reason };
        throw reason;
      }),
    );
    try {
      const start = this.dbos.startWorkflow(this.#step, { workflowID: id });
      const handle = await start(id);
      return fromJson(StepRunSchema, await handle.getResult());
    } catch (reason) {
      // DBOS throws a copy.
      if (failure) throw failure.reason;
      throw isLostConnection(reason) ? new LostConnection(reason) : reason;
    } finally {
      this.#works.delete(id);
    }
  }

  readonly forget = async (taskId: string): Promise<void> => {
    const all = await this.dbos.listWorkflows({
      workflow_id_prefix: `${taskId}/`,
      loadInput: false,
      loadOutput: false,
    });
    if (all.length === 0) return;
    await this.dbos.deleteWorkflows(all.map(({ workflowID }) => workflowID));
  };

  shutdown(): Promise<void> {
    return this.dbos.shutdown({
      deregister: true,
      workflowCompletionTimeoutMS: DRAIN_MS,
    });
  }
}

/**
 * Returns the URL of a database as DBOS wants it, with the directory of a socket
 * as its host, which a URL may have as a parameter.
 *
 * Throws `Code.InvalidArgument` for one without a host or user.
 */
function dbosUrl(text: string): string {
  const url = new URL(text);
  const { searchParams, pathname } = url;
  const host =
    url.hostname || encodeURIComponent(searchParams.get("host") ?? "");
  const user =
    url.username || encodeURIComponent(searchParams.get("user") ?? "");
  if (host === "" || user === "") {
    throw new DevtoolError(
      `the URL of the database has no ${host === "" ? "host" : "user"}, which DBOS needs`,
      Code.InvalidArgument,
      { remedy: "write it as postgres://USER@HOST/DATABASE" },
    );
  }
  const password = url.password && `:${url.password}`;
  const port = url.port || searchParams.get("port") || "5432";
  for (const name of ["host", "user", "port"]) searchParams.delete(name);
  return `postgres://${user}${password}@${host}:${port}${pathname}${url.search}`;
}

/** Failures of its database reach the run that waits for it. */
const SILENT = {
  debug: () => undefined,
  error: () => undefined,
  info: () => undefined,
  warn: () => undefined,
};

class DbosDriver implements WorkflowDriver {
  readonly #running: RunningDbos;
  readonly #prefix: string;
  readonly #ended = new Map<string, StepRun>();
  /** How often a try was begun, by its id. */
  readonly #counts = new Map<string, number>();

  static async open(running: RunningDbos, task: Task): Promise<DbosDriver> {
    const { dbos } = running;
    const driver = new DbosDriver(running, `${task.id}/`);
    const all = await dbos.listWorkflows({
      workflow_id_prefix: `${task.id}/`,
      loadInput: false,
    });
    const cut = all.filter(({ status }) => status === "PENDING");
    if (cut.length > 0) {
      await dbos.cancelWorkflows(cut.map(({ workflowID }) => workflowID));
    }
    for (const { workflowID, status, output } of all) {
      const id = workflowID.slice(task.id.length + 1).replace(/\/\d+$/, "");
      driver.#counts.set(id, (driver.#counts.get(id) ?? 0) + 1);
      if (status !== "SUCCESS") continue;
      driver.#ended.set(id, fromJson(StepRunSchema, jsonOf(output)));
    }
    return driver;
  }

  private constructor(running: RunningDbos, prefix: string) {
    this.#running = running;
    this.#prefix = prefix;
  }

  ended(id: string): StepRun | undefined {
    return this.#ended.get(id);
  }

  /**
   * The log of the task has the end of work that was done: where it is begun
   * again since a connection was lost, it only returns that.
   */
  async step(
    id: string,
    work: () => Promise<StepRun>,
    signal: AbortSignal,
  ): Promise<StepRun> {
    const { dbos } = this.#running;
    let lost: string | undefined;
    return await overConnections(async () => {
      // The next server that has the task does it otherwise.
      if (lost) await dbos.cancelWorkflow(lost).catch(() => undefined);
      const count = (this.#counts.get(id) ?? 0) + 1;
      this.#counts.set(id, count);
      const workflowId = `${this.#prefix}${id}/${count}`;
      lost = workflowId;
      return await this.#running.run(workflowId, work);
    }, signal);
  }
}

/** Returns the same value as JSON: DBOS does not say what it has read. */
function jsonOf(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}
