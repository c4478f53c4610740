import { mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { failpoint } from "../failpoint.ts";
import type { ServerSettings } from "../server-options.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { SqliteTaskStore } from "../store/sqlite-task-store.ts";

/** Opens the store of a server: a SQLite file in its data directory, which is made when it is missing; without one, memory. */
export async function openStore({
  dataDirectory,
  taskFile = "tasks.db",
}: Pick<ServerSettings, "dataDirectory" | "taskFile">): Promise<MemoryTaskStore | SqliteTaskStore> {
  if (dataDirectory === undefined) return new MemoryTaskStore();
  const path = resolve(dataDirectory, taskFile);
  failpoint("devtool:store.make.before");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Made here for its mode, which SQLite takes over for the files beside it.
  await (await open(path, "a", 0o600)).close();
  failpoint("devtool:store.make.after");
  return SqliteTaskStore.open(path);
}
