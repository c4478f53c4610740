import { constants } from "node:fs";
import { access, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { defaultDataDirectory, discoveryPath, readDiscovery } from "../discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { paintFor } from "../render/style.ts";

/** What a check found. */
interface Finding {
  readonly name: string;
  readonly verdict: "good" | "bad" | "info";
  readonly says: string;
}

/** `devtool doctor`: checks that this machine can run a server; fails when it cannot. */
export async function doctor(options: { readonly data?: string }, io: Io): Promise<number> {
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const findings = await Promise.all([
    nodeVersion(),
    sqliteVersion(),
    syncRate(data),
    dataDirectory(data),
    runningServer(data),
    platform(),
    program("bash", "runs shell commands"),
    program("bwrap", "confines shell commands"),
    program("git", "keeps checkpoints"),
  ]);
  const paint = paintFor(io);
  for (const { name, verdict, says } of findings) {
    writeLine(io.stdout, `${paint(verdict === "info" ? "dim" : verdict, MARKS[verdict])} ${name.padEnd(16)} ${says}`);
  }
  return findings.some(({ verdict }) => verdict === "bad") ? ExitCode.FAILED : ExitCode.OK;
}

const MARKS = { good: "✓", bad: "✗", info: "·" } as const;

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > 22 || (major === 22 && minor >= 13);
  return {
    name: "Node",
    verdict: fits ? "good" : "bad",
    says: `${process.version}${fits ? "" : ": 22.13 or newer is needed"}`,
  };
}

/** SQLite before 3.51.3 has a bug by which two connections can damage a WAL file. */
async function sqliteVersion(): Promise<Finding> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(":memory:");
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.version);
  database.close();
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const fits = major * 1e6 + minor * 1e3 + patch >= 3_051_003;
  return {
    name: "SQLite",
    verdict: fits ? "good" : "bad",
    says: `${version}${fits ? "" : ": 3.51.3 or newer is needed"}`,
  };
}

/** How many times in a second a write reaches the disk: the rate of single durable events. */
async function syncRate(data: string): Promise<Finding> {
  const where = await access(data).then(
    () => data,
    () => tmpdir(),
  );
  const directory = await mkdtemp(join(where, "doctor-"));
  try {
    await using file = await open(join(directory, "probe"), "w");
    const start = performance.now();
    let syncs = 0;
    for (; performance.now() - start < 200; syncs++) {
      await file.write("x");
      await file.datasync();
    }
    const rate = Math.round((syncs / (performance.now() - start)) * 1000);
    return { name: "disk", verdict: "good", says: `${rate} syncs a second` };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function dataDirectory(data: string): Promise<Finding> {
  const stats = await stat(data).catch(() => undefined);
  if (!stats) return { name: "data directory", verdict: "info", says: `${data} will be made` };
  const open = (stats.mode & 0o077) !== 0;
  return {
    name: "data directory",
    verdict: open ? "bad" : "good",
    says: open ? `${data} can be read by others: chmod 700 it` : data,
  };
}

async function runningServer(data: string): Promise<Finding> {
  const info = await readDiscovery(data);
  const file = await stat(discoveryPath(data)).catch(() => undefined);
  if (file && (file.mode & 0o077) !== 0) {
    return { name: "token file", verdict: "bad", says: `${discoveryPath(data)} can be read by others: chmod 600 it` };
  }
  return { name: "server", verdict: "info", says: info ? `runs at ${info.url}` : "none is running" };
}

function platform(): Finding {
  const fits = process.platform === "linux";
  return {
    name: "platform",
    verdict: fits ? "good" : "bad",
    says: `${process.platform}${fits ? "" : ": the workspace is confined on Linux only"}`,
  };
}

async function program(name: string, use: string): Promise<Finding> {
  const directories = (process.env.PATH ?? "").split(delimiter);
  const found = await Promise.any(directories.map((path) => access(join(path, name), constants.X_OK))).then(
    () => true,
    () => false,
  );
  const needed = name === "bash";
  const verdict = needed ? (found ? "good" : "bad") : "info";
  return { name, verdict, says: `${found ? "found" : "not found"}: ${use}` };
}
