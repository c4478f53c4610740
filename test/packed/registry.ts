import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { freePort } from "../free-port.ts";

/**
 * The registry that the tests publish to, pinned: installed when it is first
 * needed, in the cache of the clone.
 */
const VERDACCIO = "6.10.4";
/**
 * Verdaccio asks for a tag of this package, which not every mirror of the
 * registry has.
 */
const OVERRIDES = { "node-fetch": "2.7.0" };
const KEPT = fileURLToPath(
  new URL(
    `../../node_modules/.cache/devtool-verdaccio/${VERDACCIO}`,
    import.meta.url,
  ),
);

/**
 * Finds verdaccio in the cache, and else installs it there. Returns its
 * program, or why it cannot be had.
 */
export async function findVerdaccio(): Promise<
  { readonly program: string } | { readonly reason: string }
> {
  const program = join(KEPT, "node_modules/verdaccio/bin/verdaccio");
  if (existsSync(program)) return { program };
  const unfinished = `${KEPT}-${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    const manifest = {
      private: true,
      dependencies: { verdaccio: VERDACCIO },
      overrides: OVERRIDES,
    };
    await writeFile(join(unfinished, "package.json"), JSON.stringify(manifest));
    await promisify(execFile)("npm", ["install", "--silent", "--no-audit"], {
      cwd: unfinished,
      timeout: 300_000,
    });
    await rename(unfinished, KEPT);
    return { program };
  } catch (reason) {
    await rm(unfinished, { recursive: true, force: true });
    return {
      reason: `verdaccio ${VERDACCIO} cannot be had from npm: ${String(reason).split("\n")[0]}`,
    };
  }
}

/**
 * A registry on loopback that has only what is published to it. It asks no
 * other registry.
 */
export class LocalRegistry implements AsyncDisposable {
  readonly url: string;
  readonly #directory: string;
  readonly #process: ChildProcess;

  private constructor(url: string, directory: string, process: ChildProcess) {
    this.url = url;
    this.#directory = directory;
    this.#process = process;
  }

  /** Starts verdaccio on a free port and waits until it answers. */
  static async start(program: string): Promise<LocalRegistry> {
    const directory = temporaryDirectory();
    const url = `http://127.0.0.1:${await freePort()}/`;
    const config = {
      storage: join(directory, "storage"),
      auth: { htpasswd: { file: join(directory, "htpasswd") } },
      packages: { "@devtool/*": { access: "$all", publish: "$authenticated" } },
      max_body_size: "100mb",
      log: { type: "stdout", format: "json", level: "error" },
    };
    // YAML is a superset of JSON.
    await writeFile(join(directory, "config.yaml"), JSON.stringify(config));
    const args = [
      program,
      "--config",
      join(directory, "config.yaml"),
      "--listen",
      url,
    ];
    const child = spawn(process.execPath, args, {
      cwd: directory,
      stdio: ["ignore", "ignore", "inherit"],
    });
    while (!(await isUp(`${url}-/ping`))) {
      if (child.exitCode !== null) {
        throw new Error(`verdaccio ended with ${child.exitCode}`);
      }
      await sleep(100);
    }
    return new LocalRegistry(url, directory, child);
  }

  /**
   * Makes a user, and a file of npm's settings with which `@devtool` is
   * published to and installed from this registry.
   */
  async settings(): Promise<string> {
    const body = JSON.stringify({
      name: "publisher",
      password: "loopback-only",
    });
    const headers = { "content-type": "application/json" };
    const response = await fetch(
      `${this.url}-/user/org.couchdb.user:publisher`,
      { method: "PUT", headers, body },
    );
    const { token }: { readonly token: string } = JSON.parse(
      await response.text(),
    );
    const file = join(this.#directory, "npmrc");
    const { host } = new URL(this.url);
    await writeFile(
      file,
      `@devtool:registry=${this.url}\n//${host}/:_authToken=${token}\n`,
    );
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#process, "exit");
    if (this.#process.exitCode === null && this.#process.kill("SIGTERM")) {
      await gone;
    }
    await rm(this.#directory, { recursive: true });
  }
}

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
