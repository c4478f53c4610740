import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { SqliteTaskStore } from "../store/sqlite-task-store.ts";

/** Opens the store of a server: a SQLite file in its data directory, which is made when it is missing; without one, memory. */
export async function openStore(dataDirectory: string | undefined): Promise<MemoryTaskStore | SqliteTaskStore> {
  if (dataDirectory === undefined) return new MemoryTaskStore();
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const { SqliteTaskStore } = await import("../store/sqlite-task-store.ts");
  const path = join(dataDirectory, "tasks.db");
  // Made here for its mode, which SQLite takes over for the files beside it.
  await (await open(path, "a", 0o600)).close();
  return SqliteTaskStore.open(path);
}
