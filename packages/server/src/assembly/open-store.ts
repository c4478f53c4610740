import { mkdir, open as openFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { failpoint } from "@devtool/internal/failpoint";
import { Code, DevtoolError } from "../errors.ts";
import type { ServerSettings } from "../server-options.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { SqliteTaskStore } from "../store/sqlite-task-store.ts";
import type { ServerStore } from "../store/task-store.ts";
import { isStore, missingOf } from "../store/whole-store.ts";

/**
 * Opens the store of a server: the one of its options, or a SQLite file in the
 * data directory, which it creates when it is missing, or memory without a data
 * directory.
 *
 * Throws `Code.FailedPrecondition` for a file that is damaged, was written by a
 * newer release, or is in use by another process, and for a store of an
 * application that lacks methods.
 */
export async function openStore({
  dataDirectory,
  taskFile = "tasks.db",
  openStore: open,
}: ServerSettings): Promise<ServerStore> {
  if (dataDirectory === undefined) {
    return open ? wholeStore(await open({})) : new MemoryTaskStore();
  }
  const path = resolve(dataDirectory, taskFile);
  failpoint("devtool:store.make.before");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (open) {
    return wholeStore(await open({ dataDirectory: resolve(dataDirectory) }));
  }
  // Creates the file with its mode; SQLite copies the mode to the files that it
  // creates beside it.
  await (await openFile(path, "a", 0o600)).close();
  failpoint("devtool:store.make.after");
  return SqliteTaskStore.open(path);
}

/** Returns a store of an application, which may be written without types. */
function wholeStore(store: unknown): ServerStore {
  if (isStore(store)) return store;
  throw new DevtoolError(
    `openStore: the store lacks ${missingOf(store).join(", ")}`,
    Code.FailedPrecondition,
    { remedy: "add what is missing" },
  );
}
