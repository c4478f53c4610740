import { spawnSync } from "node:child_process";
import {
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { replaceFile } from "./replace-file.ts";

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const note = canTrace
  ? "R3"
  : "R3; SKIPPED: strace is missing or may not trace here";

describe("replaceFile", () => {
  let directory: string;
  let path: string;

  beforeEach(() => {
    directory = temporaryDirectory();
    path = join(directory, "file.json");
  });

  it("creates and replaces a file, and leaves no other file", async () => {
    await replaceFile(path, "one");
    await replaceFile(path, Buffer.from("two"));
    expect(await readFile(path, "utf8")).toBe("two");
    expect(await readdir(directory)).toEqual(["file.json"]);
  });

  it("gives the file exactly its mode, whatever the mode of the old file and the umask", async () => {
    const umask = process.umask(0o077);
    try {
      await replaceFile(path, "", 0o644);
      expect((await stat(path)).mode & 0o777).toBe(0o644);
    } finally {
      process.umask(umask);
    }
    await replaceFile(path, "");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("replaces a symbolic link instead of writing through it", async () => {
    const other = join(directory, "other");
    await writeFile(other, "theirs");
    await symlink(other, path);
    await replaceFile(path, "ours");
    expect([
      await readFile(path, "utf8"),
      await readFile(other, "utf8"),
    ]).toEqual(["ours", "theirs"]);
  });

  it("removes temporary files of crashed processes, but not those of running ones", async () => {
    const { pid: gone } = spawnSync(process.execPath, ["--version"]);
    const running = `.file.json.${process.ppid}.new`;
    const names = [
      running,
      `.file.json.${gone}.new`,
      `.file.json.${process.pid}.new`,
      ".other.json.1.new",
    ];
    for (const name of names) putFile(directory, name, "half");
    await replaceFile(path, "whole");
    expect(await readdir(directory)).toEqual([
      running,
      ".other.json.1.new",
      "file.json",
    ]);
    expect(await readFile(path, "utf8")).toBe("whole");
  });

  it("keeps the old file and removes its own when it fails", async () => {
    await mkdir(join(path, "not-empty"), { recursive: true });
    await expect(replaceFile(path, "text")).rejects.toMatchObject({
      code: "EISDIR",
    });
    expect(await readdir(directory)).toEqual(["file.json"]);
    await expect(
      replaceFile(join(directory, "missing", "file"), ""),
    ).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.skipIf(!canTrace)(
    `syncs the file before the rename and the directory after it (${note})`,
    async () => {
      const calls = join(directory, "calls");
      const module = JSON.stringify(
        join(import.meta.dirname, "replace-file.ts"),
      );
      const program = `const { replaceFile } = await import(${module}); await replaceFile(${JSON.stringify(path)}, "text");`;
      // -y names the file behind each descriptor.
      const options = [
        "-f",
        "-y",
        "-e",
        "trace=fsync,rename,renameat,renameat2",
        "-o",
        calls,
      ];
      const node = [
        process.execPath,
        "--conditions=@devtool/source",
        "--input-type=module",
        "-e",
        program,
      ];
      const run = spawnSync("strace", [...options, ...node], {
        encoding: "utf8",
      });
      expect({ status: run.status, stderr: run.stderr }).toEqual({
        status: 0,
        stderr: "",
      });
      const steps = (await readFile(calls, "utf8"))
        .split("\n")
        .flatMap((call) => {
          if (call.includes("fsync(") && call.includes(".new>")) {
            return ["sync file"];
          }
          if (call.includes("rename") && call.includes(".new")) {
            return ["rename"];
          }
          return call.includes("fsync(") && call.includes(`<${directory}>`)
            ? ["sync directory"]
            : [];
        });
      expect(steps).toEqual(["sync file", "rename", "sync directory"]);
    },
  );
});
