import {
  type ChildProcess,
  type ExecFileSyncOptions,
  execFileSync,
  spawn,
} from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";

/**
 * Data directories as initdb makes them, one for each version. Removing them is
 * safe: they are made again.
 */
const TEMPLATES = fileURLToPath(
  new URL("../../node_modules/.cache/postgres/", import.meta.url),
);

/**
 * A server of PostgreSQL for a test, on a socket in a directory of its own.
 * Disposing of it removes it with all its data.
 */
export interface PostgresServer extends AsyncDisposable {
  /** The URL of an empty database of the superuser. */
  readonly url: string;

  /** The directory of the socket, which is the host of other URLs. */
  readonly socketDirectory: string;

  /** Ends the server and its connections; `start` starts it again. */
  stop(): Promise<void>;

  /** Starts the server again, with the data that it had. */
  start(): Promise<void>;

  /** Runs SQL on the database. */
  run(sql: string): Promise<readonly Record<string, unknown>[]>;
}

/** Options of `startPostgres`. */
export interface PostgresServerOptions {
  /**
   * Whether commits wait for the disk. Default `off`, because a test's machine
   * does not crash.
   */
  readonly fsync?: "on" | "off" | undefined;
}

/**
 * Returns the directory with the programs of PostgreSQL 15 or newer on this
 * machine. Without them, returns undefined and says so in a line; in CI, where
 * these tests are required, throws.
 */
export function findPostgres(): string | undefined {
  const installed = globSync("/usr/lib/postgresql/*/bin")
    .toSorted()
    .toReversed();
  const directories = [
    ...installed,
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  const found = directories.find((directory) =>
    ["initdb", "postgres"].every((name) => existsSync(join(directory, name))),
  );
  if (found !== undefined) return found;
  if (process.env.CI === "true") {
    throw new Error("PostgreSQL is not installed: apt-get install postgresql");
  }
  console.info(
    "skipped: PostgreSQL is not installed (apt-get install postgresql)",
  );
  return undefined;
}

/**
 * Appended to the name of a test that needs PostgreSQL: why it is skipped.
 * Empty where PostgreSQL is installed.
 */
export function withoutPostgres(bin: string | undefined): string {
  return bin === undefined
    ? " (skipped: PostgreSQL is not installed: apt-get install postgresql)"
    : "";
}

/**
 * Makes and starts a server. PostgreSQL refuses to run as root, so the server
 * of root runs as `nobody`.
 */
export async function startPostgres(
  bin: string,
  { fsync = "off" }: PostgresServerOptions = {},
): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), "devtool-postgres-"));
  const user = serverUser();
  if (user) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const options = { ...user, cwd: directory };
  copy(templateOf(bin, options, directory), data);
  const settings = {
    listen_addresses: "",
    unix_socket_directories: directory,
    fsync,
    max_connections: "200",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const begin = () =>
    spawn(join(bin, "postgres"), ["-D", data, ...flags], {
      ...options,
      stdio: ["ignore", "ignore", "pipe"],
    });
  let server = begin();
  await ready(server);
  const url = `postgres:///postgres?host=${encodeURIComponent(directory)}&user=devtool`;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const exited = once(server, "exit");
    if (server.exitCode === null && server.kill(signal)) await exited;
  };
  return {
    url,
    socketDirectory: directory,
    // A "fast" stop: transactions are rolled back, and their connections end.
    stop: () => end("SIGINT"),
    start: async () => {
      server = begin();
      await ready(server);
    },
    run: (sql) => run(url, sql),
    // Ends the server and its connections at once. What it wrote is thrown
    // away.
    [Symbol.asyncDispose]: async () => {
      await end("SIGQUIT");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Returns the data directory that those of servers are copied from, which the
 * first call makes with initdb.
 */
function templateOf(
  bin: string,
  options: ExecFileSyncOptions,
  directory: string,
): string {
  const initdb = join(bin, "initdb");
  const template = join(
    TEMPLATES,
    `${initdb.replaceAll("/", "_")}-${statSync(initdb).mtimeMs}`,
  );
  if (existsSync(template)) return template;
  const made = join(directory, "template");
  const args = [
    "-D",
    made,
    "-U",
    "devtool",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  ];
  execFileSync(initdb, args, {
    ...options,
    stdio: ["ignore", "ignore", "inherit"],
  });
  mkdirSync(TEMPLATES, { recursive: true });
  const unfinished = mkdtempSync(join(TEMPLATES, "unfinished-"));
  try {
    copy(made, join(unfinished, "data"));
    renameSync(join(unfinished, "data"), template);
  } catch (reason) {
    // Another process made it meanwhile: this copy is thrown away.
    if (!existsSync(template)) throw reason;
  } finally {
    rmSync(unfinished, { recursive: true });
  }
  return template;
}

/** Copies a directory with the owners of its files. */
function copy(from: string, to: string): void {
  execFileSync("cp", ["-a", from, to]);
}

async function run(
  url: string,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * Waits until a server accepts connections. Its lines are shown when it ends
 * before.
 */
async function ready(server: ChildProcess): Promise<void> {
  let lines = "";
  for await (const chunk of server.stderr ?? []) {
    lines += String(chunk);
    if (!lines.includes("ready to accept connections")) continue;
    // What it says later is read, so that it never waits for a reader.
    server.stderr?.resume();
    return;
  }
  throw new Error(`PostgreSQL did not start:\n${lines}`);
}

function serverUser():
  | { readonly uid: number; readonly gid: number }
  | undefined {
  if (userInfo().uid !== 0) return undefined;
  const idOf = (flag: string): number =>
    Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}
