import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DevtoolClient } from "@devtool/client";
import { clientOf } from "../../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../../durability/crash/server-process.ts";
import { SteadyAddress } from "../../steady-address.ts";

type Name = "above" | "below";

/** Who is killed, in turn. */
export const KILLS: readonly (readonly Name[])[] = [
  ["above", "below"],
  ["above"],
  ["below"],
];

/**
 * A server and the one below, whose agent it calls as `agent_helper`, each in a
 * process of its own that is killed and started again at the same address. They
 * keep their files in the directories `above` and `below`, and share `work` and
 * `home`.
 */
export class TwoServers implements AsyncDisposable {
  readonly #directory: string;
  readonly #addresses: Readonly<Record<Name, SteadyAddress>>;
  readonly #running = new Map<Name, ServerProcess>();
  readonly #tokens = new Map<Name, string>();

  private constructor(
    directory: string,
    addresses: Readonly<Record<Name, SteadyAddress>>,
  ) {
    this.#directory = directory;
    this.#addresses = addresses;
  }

  /** @param config what their configurations have beside the agent */
  static async start(
    directory: string,
    config: Readonly<Record<Name, string>>,
  ): Promise<TwoServers> {
    const [above, below] = [
      await SteadyAddress.open(),
      await SteadyAddress.open(),
    ];
    const two = new TwoServers(directory, { above, below });
    const token = join(directory, "token");
    const agent = `[[remote_agents]]\nname = "helper"\nurl = "${below.url}"\ntoken_file = ${JSON.stringify(token)}\n`;
    await mkdir(join(directory, "work"), { recursive: true });
    await two.#prepare("below", config.below);
    await two.restart("below");
    await writeFile(token, two.#tokens.get("below") ?? "", { mode: 0o600 });
    await two.#prepare("above", config.above + agent);
    await two.restart("above");
    return two;
  }

  /** Where a server is, whenever it is there. */
  place(name: Name): { readonly url: string; readonly token: string } {
    const token = this.#tokens.get(name) ?? "";
    return { url: this.#addresses[name].url, token };
  }

  client(name: Name): DevtoolClient {
    return clientOf(this.place(name));
  }

  /** Kills servers, and starts them again: the one above finds nobody below. */
  async kill(names: readonly Name[]): Promise<void> {
    await Promise.all(names.map((name) => this.end(name)));
    for (const name of names) await this.restart(name);
  }

  /** Leaves a server at work where nobody can reach it. */
  cutOff(name: Name): void {
    this.#addresses[name].lead(undefined);
  }

  /** Kills a server. */
  async end(name: Name): Promise<void> {
    this.cutOff(name);
    await this.#running.get(name)?.kill();
    this.#running.delete(name);
  }

  /** Starts a server that was killed, or reaches one again that was cut off. */
  async restart(name: Name): Promise<void> {
    const address = this.#addresses[name];
    const server =
      this.#running.get(name) ??
      (await startServing(
        [
          ...["--data", join(this.#directory, name)],
          ...["--workspace", join(this.#directory, "work")],
          ...["--public-url", address.url],
        ],
        { ...process.env, HOME: join(this.#directory, "home") },
      ));
    this.#running.set(name, server);
    this.#tokens.set(name, server.info.token);
    address.lead(server.info.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of ["above", "below"] as const) {
      await this.end(name);
      await this.#addresses[name][Symbol.asyncDispose]();
    }
  }

  async #prepare(name: Name, config: string): Promise<void> {
    const data = join(this.#directory, name);
    await mkdir(data, { mode: 0o700 });
    await writeFile(join(data, "config.toml"), config, { mode: 0o600 });
  }
}
