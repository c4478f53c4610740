import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { storeError } from "./sqlite-database.ts";
import { SqliteTaskStore } from "./sqlite-task-store.ts";
import type { ServerStore } from "./task-store.ts";
import { type AuditVerdict, verifyAudit } from "./verify-audit.ts";

/** The contents of a backup. */
export interface BackupContents {
  /** The number of tasks. */
  readonly tasks: number;
  /** The names of the configuration files, sorted. */
  readonly files: readonly string[];
  readonly audit: AuditVerdict;
}

/** The files of a data directory that say how a server works. */
const CONFIGURATION = /^[A-Za-z0-9_-][\w.-]*\.(?:toml|json)$/;

/** Files that belong to a running server, and let its callers in. */
const OF_THE_PROCESS: ReadonlySet<string> = new Set([
  "server.json",
  "token.json",
  "browser-sessions.json",
]);

/**
 * Writes a backup to a new file: a SQLite database with all that the store has
 * at one moment, and the configuration files of the data directory in a table
 * of their own. The store can be written meanwhile.
 *
 * Rejects with `Code.Unimplemented` for a store that cannot be backed up so,
 * and with `Code.ResourceExhausted` when the disk is full.
 */
export async function writeBackup(
  store: ServerStore,
  dataDirectory: string,
  path: string,
): Promise<void> {
  if (!store.backUp) {
    const remedy = "use the tool of the database, such as pg_dump";
    const problem = "the tasks are in a database with a backup of its own";
    throw new DevtoolError(problem, Code.Unimplemented, { remedy });
  }
  const files = await configurationFiles(dataDirectory);
  try {
    // SQLite keeps the mode of a file that is there.
    await (await open(path, "wx", 0o600)).close();
    await store.backUp(path);
    using database = openFile(path, {});
    database.exec(
      "PRAGMA journal_mode = DELETE; BEGIN; CREATE TABLE backup_file (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
    );
    const add = database.prepare("INSERT INTO backup_file VALUES (?, ?)");
    for (const { name, data } of files) add.run(name, data);
    database.exec("COMMIT");
  } catch (reason) {
    await rm(path, { force: true });
    throw reason instanceof DevtoolError ? reason : storeError(reason);
  }
}

async function configurationFiles(
  directory: string,
): Promise<readonly { readonly name: string; readonly data: Uint8Array }[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter((name) => CONFIGURATION.test(name) && !OF_THE_PROCESS.has(name));
  return Promise.all(
    names.map(async (name) => ({
      name,
      data: await readFile(join(directory, name)),
    })),
  );
}

/**
 * Verifies a backup that this release has written: the pages of the file, and
 * the audit log from its first record.
 *
 * Rejects with `Code.FailedPrecondition` for a file that is not a whole backup.
 */
export async function verifyBackup(path: string): Promise<BackupContents> {
  using database = openFile(path, { readOnly: true });
  const files = fileNames(database, path);
  return { files, ...(await contentsOf(new SqliteTaskStore(database))) };
}

/**
 * Restores a backup into a data directory that is missing or empty, and
 * verifies its audit log there. When it fails, the directory is unchanged.
 *
 * Rejects with `Code.FailedPrecondition` for a directory that has files, and
 * for a file that is not a whole backup or was written by a newer release.
 */
export async function restoreBackup(
  path: string,
  dataDirectory: string,
): Promise<BackupContents> {
  const directory = resolve(dataDirectory);
  await mkdir(dirname(directory), { recursive: true });
  // A whole directory takes the place of an empty one, or nothing does.
  const temporary = await mkdtemp(
    join(dirname(directory), `.${basename(directory)}-restore-`),
  );
  try {
    const tasks = join(temporary, "tasks.db");
    await copyFile(path, tasks);
    await chmod(tasks, 0o600);
    const files = await takeFiles(tasks, temporary, path);
    await using store = await SqliteTaskStore.open(tasks);
    const contents = { files, ...(await contentsOf(store)) };
    await store[Symbol.asyncDispose]();
    await rename(temporary, directory).catch((cause: unknown) => {
      const problem = `${quoted(directory)} has files already`;
      const remedy = "choose a directory that is missing or empty";
      const options = { remedy, cause };
      throw new DevtoolError(problem, Code.FailedPrecondition, options);
    });
    return contents;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Moves the configuration files of a backup into the directory. */
async function takeFiles(
  copy: string,
  directory: string,
  path: string,
): Promise<string[]> {
  using database = openFile(copy, {});
  const names = fileNames(database, path);
  const read = database.prepare("SELECT data FROM backup_file WHERE name = ?");
  for (const name of names) {
    const data = read.get(name)?.data;
    if (!(data instanceof Uint8Array)) throw notABackup(path, undefined);
    await writeFile(join(directory, name), data, { mode: 0o600 });
  }
  database.exec("DROP TABLE backup_file");
  return names;
}

/** Lists the configuration files of a backup. Throws for another file. */
function fileNames(database: DatabaseSync, path: string): string[] {
  try {
    const [check] = database.prepare("PRAGMA quick_check(1)").all();
    if (check?.quick_check !== "ok") throw notABackup(path, check);
    const names = database
      .prepare("SELECT name FROM backup_file ORDER BY name")
      .all()
      .map(({ name }) => String(name));
    // A name with a slash would lead out of the directory.
    const foreign = names.find((name) => !CONFIGURATION.test(name));
    if (foreign !== undefined) throw notABackup(path, foreign);
    return names;
  } catch (reason) {
    throw reason instanceof DevtoolError ? reason : notABackup(path, reason);
  }
}

async function contentsOf(
  store: ServerStore,
): Promise<Omit<BackupContents, "files">> {
  let tasks = 0;
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 1000, cursor });
    tasks += page.tasks.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  const audit = await verifyAudit(store.readAudit(0n));
  if (audit.fault === undefined) return { tasks, audit };
  throw new DevtoolError(
    `the audit log of the backup is damaged: ${audit.fault}`,
    Code.DataLoss,
    { remedy: "use an earlier backup" },
  );
}

function openFile(path: string, options: DatabaseSyncOptions): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  return new DatabaseSync(path, options);
}

function notABackup(path: string, cause: unknown): DevtoolError {
  const problem = `${quoted(path)} is not a whole backup`;
  const remedy = "name a file that devtool backup wrote";
  return new DevtoolError(problem, Code.FailedPrecondition, { remedy, cause });
}
