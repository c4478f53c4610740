import { mkdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { beforeAll, describe, expect, it } from "vitest";
import {
  completePath,
  localWorkspace,
  mentionBefore,
  missingMentions,
  readMentions,
} from "./mention.ts";

describe("the files that a message mentions", () => {
  let base: string;
  let root: string;
  beforeAll(async () => {
    base = temporaryDirectory();
    root = join(base, "work");
    await mkdir(join(root, "src"), { recursive: true });
    putFile(base, "secret.txt", "secret");
    await symlink(join(base, "secret.txt"), join(root, "link.txt"));
    putFile(root, "src/main.ts", "code");
    putFile(root, ".env", "key");
    putFile(root, "big.txt", "x".repeat(300 * 1024));
    putFile(root, "big.png", Buffer.alloc(3 * 1024 * 1024));
    putFile(root, "half.png", Buffer.alloc(1.5 * 1024 * 1024));
    putFile(root, "other.png", Buffer.alloc(1.5 * 1024 * 1024));
    putFile(root, "data.bin", Buffer.from([1, 0, 2]));
  });

  it.each([
    ["see @src/ma", "src/ma"],
    ["@", ""],
    ["mail@example", undefined],
    ["@done ", undefined],
  ])("are completed behind %j: %j", (text, path) => {
    expect(mentionBefore(text)).toBe(path);
  });

  it("are offered inside the workspace alone, hidden ones to a dot", async () => {
    expect(await completePath(root, "s")).toEqual(["src/"]);
    expect(await completePath(root, "src/")).toEqual(["src/main.ts"]);
    expect(await completePath(root, "")).not.toContain(".env");
    expect(await completePath(root, ".e")).toEqual([".env"]);
    expect(await completePath(root, "../")).toEqual([]);
    expect(await completePath(root, "/etc/pass")).toEqual([]);
  });

  it("are read, with a full stop behind them too", async () => {
    const { parts, problems } = await readMentions(
      "see @src/main.ts. And @nothing or a@b.",
      root,
    );
    expect(parts).toMatchObject([
      { fileName: "src/main.ts", content: { case: "text", value: "code" } },
    ]);
    expect(problems).toEqual([]);
  });

  it.each([
    ["@missing.png", ["missing.png"]],
    ["see @src/main.ts, @src/mian.ts.", ["src/mian.ts"]],
    ["ask @someone about @types/node or a@b.c", []],
  ])("U10: are told where they do not exist: %j", async (text, missing) => {
    expect(await missingMentions(text, root)).toEqual(missing);
    expect((await readMentions(text, root)).problems).toEqual(
      missing.map((path) => `"${path}" does not exist: it was not attached`),
    );
    expect(await missingMentions(text, undefined)).toEqual([]);
  });

  it("are not read when they are too much together", async () => {
    const { parts, problems } = await readMentions(
      "see @half.png @other.png @src/main.ts",
      root,
    );
    expect(
      parts.map(({ content, fileName }) => [content.case, fileName]),
    ).toEqual([
      ["file", ""],
      ["text", "src/main.ts"],
    ]);
    expect(problems).toEqual([
      '"other.png" is too much with the files before it, the limit is 2621440 bytes in all',
    ]);
  });

  it.each([
    ["../secret.txt", "is outside the workspace"],
    ["link.txt", "is outside the workspace"],
    ["big.png", "has 3145728 bytes, the limit is 2621440"],
    ["big.txt", "has 307200 bytes, the limit is 262144"],
    ["data.bin", "is neither text nor an image"],
  ])("are not read when they should not be: %s", async (path, problem) => {
    const { parts, problems } = await readMentions(`see @${path}`, root);
    expect(parts).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it("are of a workspace that exists, where it is on this machine", async () => {
    const missing = join(tmpdir(), "devtool-mistyped");
    const info = create(ServerInfoSchema, { workspace: tmpdir() });
    await expect(localWorkspace(info, missing)).rejects.toThrow(
      `workspace "${missing}" does not exist: name an existing directory with --workspace`,
    );
    expect(await localWorkspace(undefined, missing)).toBeUndefined();
  });
});
