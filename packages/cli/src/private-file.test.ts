import { chmod, chown, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import {
  assertPrivateDirectory,
  readPrivateFile,
  writePrivateFile,
} from "./private-file.ts";

describe("what only its user may read", () => {
  let directory: string;

  beforeEach(() => {
    directory = temporaryDirectory();
  });

  it("is a directory without any permission for others", async () => {
    await assertPrivateDirectory(directory);
    await assertPrivateDirectory(join(directory, "missing"));
    for (const mode of [0o755, 0o750, 0o701, 0o710, 0o702, 0o720]) {
      await chmod(directory, mode);
      await expect(assertPrivateDirectory(directory)).rejects.toThrow(
        `data directory "${directory}" is open to other users: chmod 700 ${directory}`,
      );
    }
  });

  it("rejects a directory of another user", async () => {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(directory, 65_534, 65_534);
    await expect(
      assertPrivateDirectory(isRoot ? directory : "/root"),
    ).rejects.toThrow("belongs to another user: chown");
  });

  it("is a file of mode 0600 that is there whole or not at all, in a directory of mode 0700", async () => {
    const path = join(directory, "made/file.json");
    await writePrivateFile(path, "one");
    await writePrivateFile(path, "two");
    expect([
      (await stat(path)).mode & 0o777,
      (await stat(join(directory, "made"))).mode & 0o777,
    ]).toEqual([0o600, 0o700]);
    expect(await readPrivateFile(path)).toBe("two");
    await rm(path);
    expect(await readPrivateFile(path)).toBeUndefined();
  });

  it("is not read when others may read it, and says what to do", async () => {
    const path = join(directory, "file.json");
    await writeFile(path, "text", { mode: 0o644 });
    await expect(readPrivateFile(path)).rejects.toThrow(
      `file "${path}" is open to other users: chmod 600 ${path}`,
    );
    expect(await readFile(path, "utf8")).toBe("text");
  });
});
