import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteTaskStore } from "./sqlite-task-store.ts";
import { testTaskStore } from "./task-store.contract.ts";

describe("SqliteTaskStore", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "devtool-store-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  testTaskStore(() => SqliteTaskStore.open(join(directory, "tasks.db")));

  it("refuses a file that another server uses, and names it", async () => {
    await using _first = await SqliteTaskStore.open(join(directory, "tasks.db"));
    await expect(SqliteTaskStore.open(join(directory, "tasks.db"))).rejects.toThrow(
      /tasks\.db" is in use by another server/,
    );
  });

  it("refuses a file that is damaged, and leaves it as it is", async () => {
    const path = join(directory, "tasks.db");
    writeFileSync(path, "this is no database, whatever its name says ".repeat(100));
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(/tasks\.db" is damaged/);
  });

  it("refuses a file of a newer release", async () => {
    const path = join(directory, "tasks.db");
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    await expect(SqliteTaskStore.open(path)).rejects.toThrow("was written by a newer release (layout 99)");
  });

  it("refuses a directory that is not there, and a page token that it did not give", async () => {
    await expect(SqliteTaskStore.open(join(directory, "missing", "tasks.db"))).rejects.toThrow("cannot be opened");
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    expect(() => store.list({ limit: 1, cursor: "nonsense" })).toThrow('page_token "nonsense" is no token');
  });
});
