import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { commonVersion } from "../../scripts/release/manifests.ts";
import { TARBALLS } from "../temporary-directory.ts";
import type { FoundNode } from "./nodes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/**
 * Another project, with the packed packages in it and a home directory that is
 * empty.
 */
export class PackedProject {
  readonly directory: string;
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
    this.directory = join(base, "project");
  }

  /**
   * Installs packages as they are built with npm, and what else is named.
   * Default: all of ours.
   */
  static async install(
    others: readonly string[],
    ours: readonly string[] = [],
  ): Promise<PackedProject> {
    const project = new PackedProject(temporaryDirectory());
    await mkdir(join(project.#base, "home"));
    await mkdir(project.directory);
    await writeFile(
      join(project.directory, "package.json"),
      '{ "private": true, "type": "module" }',
    );
    const files = await tarballsOf(ours);
    // What npm downloaded before is not downloaded again; all else of a home
    // directory is missing.
    const cache = process.env.npm_config_cache ?? join(homedir(), ".npm");
    const flags = ["--silent", "--no-audit", "--no-fund", "--cache", cache];
    await run("npm", ["install", ...flags, ...files, ...others], {
      cwd: project.directory,
      env: project.environment(),
    });
    return project;
  }

  /**
   * The environment of this process, with the empty home directory and without
   * what pnpm adds for its scripts.
   */
  environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return {
      ...process.env,
      HOME: join(this.#base, "home"),
      NODE_OPTIONS: "",
      NODE_PATH: "",
      ...more,
    };
  }

  /** Runs a module of this text with a Node, and gives what it prints. */
  async runModule(
    node: string,
    text: string,
    environment: NodeJS.ProcessEnv = {},
  ): Promise<string> {
    const file = join(this.directory, `${crypto.randomUUID()}.mjs`);
    await writeFile(file, text);
    const { stdout } = await run(node, [file], {
      cwd: this.directory,
      env: this.environment(environment),
    });
    return stdout;
  }

  /** Runs the command with a Node, and gives how it ended. */
  async devtool(node: string, ...args: readonly string[]): Promise<Ended> {
    const words = [
      join(this.directory, "node_modules/@devtool/cli/dist/main.js"),
      ...args,
    ];
    const options = { cwd: this.directory, env: this.environment() };
    const ended = await run(node, words, options).catch(
      (reason: unknown) => reason,
    );
    return isEnded(ended)
      ? { code: ended.code ?? 0, stdout: ended.stdout, stderr: ended.stderr }
      : Promise.reject(ended);
  }
}

/**
 * The tarballs of packages, all of them by default. The first test of a run
 * that asks packs them all: starting pnpm takes longer than packing.
 */
export async function tarballsOf(ours: readonly string[]): Promise<string[]> {
  const packed = join(tmpdir(), TARBALLS);
  if (!existsSync(packed)) {
    const unfinished = join(temporaryDirectory(), TARBALLS);
    const script = join(root, "scripts/tarballs.ts");
    await run(process.execPath, [script, unfinished], { cwd: root });
    await rename(unfinished, packed).catch((reason: unknown) => {
      // Another test was quicker.
      if (!existsSync(packed)) throw reason;
    });
  }
  const names =
    ours.length === 0
      ? await readdir(packed)
      : ours.map((name) => `devtool-${name}-${commonVersion()}.tgz`);
  return names.map((name) => join(packed, name));
}

/** How a program ended, and what it wrote. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function isEnded(
  value: unknown,
): value is Omit<Ended, "code"> & Partial<Pick<Ended, "code">> {
  return (
    typeof value === "object" &&
    value !== null &&
    "stdout" in value &&
    "stderr" in value
  );
}

/**
 * The program of a Node that was found; skips the test with the reason
 * otherwise.
 */
export function programOf(
  found: FoundNode | undefined,
  skip: (reason: string) => never,
): string {
  return (
    found?.program ??
    skip(found && "reason" in found ? found.reason : "no Node was looked for")
  );
}

/** The names of the packages that npm installed. */
export function packagesIn(modules: string): string[] {
  const names = readdirSync(modules).filter((name) => !name.startsWith("."));
  const scoped = (name: string): string[] =>
    readdirSync(join(modules, name)).map((own) => `${name}/${own}`);
  return names
    .flatMap((name) => (name.startsWith("@") ? scoped(name) : name))
    .toSorted();
}

/** The bytes of the files below a directory. */
export function sizeOf(directory: string): number {
  const files = readdirSync(directory, {
    recursive: true,
    withFileTypes: true,
  }).filter((entry) => entry.isFile());
  return files.reduce(
    (sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size,
    0,
  );
}
