import { access, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  openStore,
  restoreBackup,
  verifyBackup,
  writeBackup,
} from "@devtool/server/operator";
import {
  type ConnectionOptions,
  connectionTo,
  createNotifier,
  findServer,
} from "../connection/connection.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";

/** What a backup has, as `verifyBackup` tells it. */
type Contents = Awaited<ReturnType<typeof verifyBackup>>;

/**
 * `devtool backup`: writes a backup of the running server to a new file, or of
 * the data directory when no server runs, and verifies it.
 */
export async function backup(
  file: string,
  options: ConnectionOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const path = resolve(file);
  const { signal } = interrupt;
  const address = await findServer(options, io, signal);
  await assertMissing(path);
  try {
    if (address) {
      const notify = createNotifier(io);
      const { client } = await connectionTo(address, {
        ...options,
        io,
        notify,
      });
      await using target = await open(path, "wx", 0o600);
      for await (const { data } of client.backups.createBackup(
        {},
        { signal },
      )) {
        await target.write(data);
      }
      await target.sync();
    } else {
      await writeAlone(path, options, io);
    }
    writeContents("backed up", await verifyBackup(path), io);
  } catch (reason) {
    await rm(path, { force: true });
    throw reason;
  }
  return ExitCode.OK;
}

/** Backs up a data directory that no server uses. */
async function writeAlone(
  path: string,
  { data = "" }: ConnectionOptions,
  io: Io,
): Promise<void> {
  const directory = resolve(data || defaultDataDirectory(io.env));
  const tasks = join(directory, "tasks.db");
  // Opening a directory without a store would create one.
  await access(tasks).catch(() => {
    throw new Error(
      `no server is running, and ${visibleName(tasks)} is missing: name a data directory with --data, or a server with --url`,
    );
  });
  await using store = await openStore({ dataDirectory: directory });
  await writeBackup(store, directory, path);
}

/**
 * `devtool restore`: makes a data directory out of a backup, and verifies its
 * audit log.
 */
export async function restore(
  file: string,
  { data }: Pick<ConnectionOptions, "data">,
  io: Io,
): Promise<number> {
  const directory = data ?? defaultDataDirectory(io.env);
  const contents = await restoreBackup(resolve(file), directory);
  writeContents("restored", contents, io);
  return ExitCode.OK;
}

function writeContents(
  verb: string,
  { tasks, files, audit }: Contents,
  { stdout }: Io,
): void {
  const named = files.length === 0 ? "" : ` (${files.join(", ")})`;
  const head = audit.head === "" ? "" : `; the last has the hash ${audit.head}`;
  writeLine(
    stdout,
    `${verb} ${countOf(tasks, "task")} and ${countOf(files.length, "file")}${named}`,
  );
  writeLine(stdout, `verified ${countOf(audit.count, "audit record")}${head}`);
}

async function assertMissing(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  throw new Error(`${visibleName(path)} exists already: choose a new file`);
}
