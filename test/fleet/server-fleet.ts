import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DevtoolClient } from "@devtool/client";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { PostgresServer } from "@devtool/postgres/testing";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { type Balancer, freePorts, startBalancer } from "./balancer.ts";

const TOKEN = "one-token-for-all-servers-of-32-characters";

/** How a fleet is set up. */
export interface FleetOptions {
  readonly database: Pick<PostgresServer, "run" | "url">;
  /** The schema of its tables. */
  readonly schema: string;
  readonly replicas: number;
  /** A module that each server loads first. Default: none. */
  readonly loaded?: URL | undefined;
  /** Further flags of each server. Default: none. */
  readonly flags?: readonly string[] | undefined;
  /** Lines at the top of each server's `config.toml`. Default: none. */
  readonly settings?: string | undefined;
  /**
   * The lease of each server, such as `60s`. Default: 10 seconds, as a busy
   * machine stops a server for longer than the three of its own default.
   */
  readonly lease?: string | undefined;
}

/**
 * Servers in processes of their own, as their users start them, that share a
 * database and a workspace behind a balancer.
 */
export class ServerFleet implements AsyncDisposable {
  readonly token: string = TOKEN;
  readonly #options: FleetOptions;
  readonly #root: string;
  readonly #ports: readonly number[];
  readonly #balancer: Balancer;
  readonly #servers: ServerProcess[] = [];

  static async start(options: FleetOptions): Promise<ServerFleet> {
    const root = temporaryDirectory();
    await mkdir(join(root, "work"));
    await writeFile(join(root, "token"), TOKEN, { mode: 0o600 });
    const [port = 0, ...ports] = await freePorts(options.replicas + 1);
    const fleet = new ServerFleet(
      options,
      root,
      ports,
      await startBalancer(root, ports, port),
    );
    try {
      for (let index = 0; index < options.replicas; index++) {
        await fleet.launch(index);
      }
      return fleet;
    } catch (reason) {
      await fleet[Symbol.asyncDispose]();
      throw reason;
    }
  }

  private constructor(
    options: FleetOptions,
    root: string,
    ports: readonly number[],
    balancer: Balancer,
  ) {
    this.#options = options;
    this.#root = root;
    this.#ports = ports;
    this.#balancer = balancer;
  }

  get size(): number {
    return this.#ports.length;
  }

  get workspace(): string {
    return join(this.#root, "work");
  }

  /** The URL of the balancer. */
  get url(): string {
    return this.#balancer.url;
  }

  /**
   * Starts a server, or starts it again after it has ended.
   *
   * @param settings lines at the top of its `config.toml`. Default: the fleet's
   */
  async launch(
    index: number,
    settings: string = this.#options.settings ?? "",
  ): Promise<void> {
    const { database, schema, flags = [], loaded } = this.#options;
    const { lease = "10s" } = this.#options;
    const data = join(this.#root, `data-${index}`);
    await mkdir(data, { recursive: true, mode: 0o700 });
    const store = [
      `url = "${database.url}"`,
      `schema = "${schema}"`,
      `lease = "${lease}"`,
    ];
    const lines = [settings, "[store]", ...store, ""];
    putFile(data, "config.toml", lines.join("\n"));
    const place = [
      "--data",
      data,
      "--workspace",
      this.workspace,
      "--token-file",
      join(this.#root, "token"),
    ];
    const entry = [
      "--port",
      String(this.#ports[index]),
      "--public-url",
      this.url,
    ];
    const environment = {
      ...process.env,
      NODE_OPTIONS: loaded ? `--import ${loaded}` : "",
    };
    this.#servers[index] = await startServing(
      [...place, ...entry, ...flags],
      environment,
    );
  }

  server(index: number): ServerProcess {
    const server = this.#servers[index];
    if (!server) throw new Error(`server ${index} was never started`);
    return server;
  }

  signal(index: number, signal: NodeJS.Signals): void {
    process.kill(this.server(index).info.pid, signal);
  }

  /** A client of the balancer, or of one server. */
  client(index?: number): DevtoolClient {
    const baseUrl =
      index === undefined ? this.url : `http://127.0.0.1:${this.#ports[index]}`;
    return clientOf({ url: baseUrl, token: TOKEN });
  }

  /** Reads rows of a table of the fleet. */
  rows(
    columns: string,
    table: string,
    condition: string,
  ): Promise<readonly Record<string, unknown>[]> {
    const { database, schema } = this.#options;
    return database.run(
      `SELECT ${columns} FROM ${schema}.${table} WHERE ${condition}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server?.kill();
    await this.#balancer[Symbol.asyncDispose]();
    await rm(this.#root, { recursive: true, force: true });
  }
}
