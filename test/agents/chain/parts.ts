import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EXTENSION_URI } from "@devtool/schema";
import { startServing } from "../../durability/crash/server-process.ts";
import { MAIN } from "../../our-command.ts";

/** An agent that a client or another agent can give work to, over A2A. */
export interface ChainAgent {
  readonly url: string;
  readonly token: string;
}

const NODE = [
  process.execPath,
  "--experimental-transform-types",
  "--disable-warning=ExperimentalWarning",
];
const PAYMENTS = [
  ...NODE,
  fileURLToPath(new URL("../../mcp/payment-server.ts", import.meta.url)),
];
const BRIDGE = fileURLToPath(new URL("./bridge.ts", import.meta.url));

/** The programs of a chain, each in a process of its own. */
export class ChainParts implements AsyncDisposable {
  readonly #directory: string;
  readonly #opened: (() => Promise<unknown>)[] = [];
  #count = 0;

  /** @param directory where all of them keep their files */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Where the MCP server at the end writes a line for each call. */
  get payments(): string {
    return join(this.#directory, "payments");
  }

  /** Our server with our agent, which calls another one as `agent_NAME`. */
  async ours(below: Below): Promise<ChainAgent> {
    return this.#serve(await this.#prepare(below));
  }

  /**
   * Our server with an agent that speaks ACP: `devtool acp` in a process of its
   * own, with our agent, which calls another one as `agent_NAME`.
   */
  async acp(below: Below): Promise<ChainAgent> {
    const inner = await this.#prepare(below);
    const command = [process.execPath, MAIN, "acp", ...inner.flags];
    const config = `[[agents]]\nname = "acp"\nmodule = ${JSON.stringify(`acp:${command.join(" ")}`)}\n`;
    return this.#serve(await this.#prepare("nothing", config));
  }

  /** An agent on the official JavaScript SDK, which hands its work on. */
  async foreign(
    below: ChainAgent | "tool",
    speaks: "extension" | "words" = "extension",
  ): Promise<ChainAgent> {
    const child = spawn(process.execPath, [...NODE.slice(1), BRIDGE], {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        PATH: process.env.PATH,
        PAYMENTS: this.payments,
        ...(speaks === "extension" && { BRIDGE_EXTENSION: EXTENSION_URI }),
        ...(below === "tool"
          ? { BRIDGE_MCP: JSON.stringify(PAYMENTS) }
          : { BRIDGE_URL: below.url, BRIDGE_TOKEN: below.token }),
      },
    });
    const gone = once(child, "exit");
    this.#opened.push(() => {
      child.kill();
      return gone;
    });
    const ended = gone.then(() =>
      Promise.reject(new Error("the bridge ended")),
    );
    const [line]: unknown[] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      ended,
    ]);
    ended.catch(() => undefined);
    return { url: String(line), token: "" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#opened.splice(0).toReversed()) await close();
  }

  async #serve({ flags }: Prepared): Promise<ChainAgent> {
    const server = await startServing(flags);
    this.#opened.push(() => server.kill());
    return server.info;
  }

  /** Writes the files of a server of ours with what is below its agent. */
  async #prepare(below: Below, more = ""): Promise<Prepared> {
    const data = join(this.#directory, `data${++this.#count}`);
    const workspace = join(this.#directory, "work");
    await mkdir(data, { mode: 0o700 });
    await mkdir(workspace, { recursive: true });
    const file = join(data, "far-token");
    const config =
      below === "nothing"
        ? ""
        : below === "tool"
          ? `[[mcp_servers]]\nname = "payments"\n[mcp_servers.stdio]\ncommand = ${JSON.stringify(PAYMENTS[0])}\nargs = ${JSON.stringify(PAYMENTS.slice(1))}\nenv = { PAYMENTS = ${JSON.stringify(this.payments)} }\n`
          : `[[remote_agents]]\nname = "far"\nurl = ${JSON.stringify(below.url)}\n${below.token === "" ? "" : `token_file = ${JSON.stringify(file)}\n`}`;
    if (typeof below !== "string") {
      await writeFile(file, below.token, { mode: 0o600 });
    }
    await writeFile(join(data, "config.toml"), more + config, { mode: 0o600 });
    return { flags: ["--data", data, "--workspace", workspace] };
  }
}

/** What is below an agent of ours: an agent, the tool of an MCP server. */
type Below = ChainAgent | "tool" | "nothing";

interface Prepared {
  readonly flags: readonly string[];
}
