import { execFileSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type AgentConnection, agent, client } from "@agentclientprotocol/sdk";
import {
  checkedAccess,
  type DirectoryAccess,
  directoryAccess,
} from "@devtool/internal/directory-access";
import { Semaphore } from "@devtool/internal/semaphore";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClientGate } from "./client-action.ts";
import { ClientFiles } from "./client-files.ts";

const MAX_BYTES = 1000;
const OUTSIDE = {
  code: -32_602,
  message: expect.stringMatching(/^path ".*" is outside of workspace ".*"$/),
};

const OPEN: ClientGate = { run: (_action, perform) => perform() };

describe("the files of a workspace, for an agent", () => {
  let base: string;
  let workspace: string;
  let connection: AgentConnection;
  let access: DirectoryAccess;
  beforeEach(() => {
    access = directoryAccess;
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    putFile(base, "secret", "secret");
    putFile(workspace, "src/a.txt", "one\ntwo\nthree\n");
    const app = client({ name: "test" });
    const files = new ClientFiles({
      workspacePath: workspace,
      maxBytes: MAX_BYTES,
      gate: OPEN,
      writing: new Semaphore(1),
      get access() {
        return access;
      },
    });
    files.register(app, { readTextFile: true });
    connection = agent({ name: "test" }).connect(app);
  });
  afterEach(() => connection.close());

  const read = async (
    path: string,
    range: { line?: number; limit?: number } = {},
  ): Promise<string> => {
    const { content } = await connection.client.request("fs/read_text_file", {
      sessionId: "s",
      path,
      ...range,
    });
    return content;
  };
  const write = (path: string, content = "new"): Promise<unknown> =>
    connection.client.request("fs/write_text_file", {
      sessionId: "s",
      path,
      content,
    });

  it("are read, whole and in parts", async () => {
    const path = join(workspace, "src/a.txt");
    expect(await read(path)).toBe("one\ntwo\nthree\n");
    expect(await read(path, { line: 2, limit: 1 })).toBe("two");
    expect(await read(path, { line: 2 })).toBe("two\nthree\n");
    expect(await read(path, { limit: 2 })).toBe("one\ntwo");
    expect(await read(path, { line: 1, limit: 0 })).toBe("");
    expect(await read(path, { line: 0, limit: 1 })).toBe("one");
    expect(await read(path, { line: 3, limit: 4_000_000_000 })).toBe("three\n");
  });

  it("have no line beyond their end", async () => {
    const path = join(workspace, "src/a.txt");
    const message = `line 9 is out of range: file ${JSON.stringify(path)} has 3 lines`;
    await expect(read(path, { line: 9 })).rejects.toMatchObject({
      code: -32_602,
      message,
    });
  });

  it("are created and replaced, with the mode that they had", async () => {
    const made = join(workspace, "src/made.txt");
    await write(made, "first");
    expect([readFileSync(made, "utf8"), statSync(made).mode & 0o777]).toEqual([
      "first",
      0o644,
    ]);
    const script = join(workspace, "run.sh");
    writeFileSync(script, "old", { mode: 0o755 });
    await write(script, "");
    expect([
      readFileSync(script, "utf8"),
      statSync(script).mode & 0o777,
    ]).toEqual(["", 0o755]);
  });

  it("are not written over what somebody else has written since the agent began", async () => {
    const path = join(workspace, "both.txt");
    const ends = await Promise.allSettled(
      ["a", "b", "c"].map((letter) => write(path, letter.repeat(500))),
    );
    const refused = ends.flatMap((end): unknown[] =>
      end.status === "rejected" ? [end.reason] : [],
    );
    expect([readFileSync(path, "utf8").length, refused.length]).toEqual([
      500, 2,
    ]);
    const message = `file ${JSON.stringify(path)} was changed since it was shown: read it again`;
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: -32_600, message });
    }
  });

  it.each([
    ["above the workspace", (): string => join(base, "secret")],
    ["by dots", (): string => `${workspace}/src/../../secret`],
    ["behind a link in the path", linked],
    [
      "behind a link and dots",
      (): string => `${join(linked(), "..")}/workspace/../secret`,
    ],
    ["of the system", (): string => "/proc/self/environ"],
    [
      "of a process's root",
      (): string => `/proc/self/root${join(base, "secret")}`,
    ],
    ["of a process's directory", (): string => "/proc/self/cwd/package.json"],
    ["that is a device", (): string => "/dev/null"],
  ])("are not read or written %s", async (_, pathOf) => {
    const path = pathOf();
    await expect(read(path)).rejects.toMatchObject(OUTSIDE);
    await expect(write(path)).rejects.toMatchObject(OUTSIDE);
    expect(fileText(base, "secret")).toBe("secret");
  });

  it.each([
    [
      "is relative",
      "src/a.txt",
      /^path "src\/a.txt" is not absolute: begin it with "/,
    ],
    ["is empty", "", /^path "" is not absolute/],
    ["holds a zero", "/w\0", /^path "\/w\\u0000" is not absolute/],
  ])("are not read or written by a path that %s", async (_, path, message) => {
    const error = { code: -32_602, message: expect.stringMatching(message) };
    await expect(read(path)).rejects.toMatchObject(error);
    await expect(write(path)).rejects.toMatchObject(error);
  });

  it.each(["", "src/", "src/.", "src/.."])(
    "are not the directory %j",
    async (path) => {
      const error = {
        code: -32_602,
        message: expect.stringMatching(/ names no file$| is not a file$/),
      };
      await expect(read(`${workspace}/${path}`)).rejects.toMatchObject(error);
      await expect(write(`${workspace}/${path}`)).rejects.toMatchObject(error);
    },
  );

  it("are not links, wherever these lead", async () => {
    for (const [name, target] of Object.entries({
      out: join(base, "secret"),
      inside: "src/a.txt",
      nowhere: "none",
    })) {
      const path = join(workspace, name);
      symlinkSync(target, path);
      const message = `path ${JSON.stringify(path)} is a symbolic link: name the place that it points to`;
      await expect(read(path)).rejects.toMatchObject({
        code: -32_602,
        message,
      });
      await expect(write(path)).rejects.toMatchObject({
        code: -32_602,
        message,
      });
    }
    expect(fileText(base, "secret")).toBe("secret");
  });

  it("leave what a hard link shares with another place as it is", async () => {
    linkSync(join(base, "secret"), join(workspace, "shared"));
    await write(join(workspace, "shared"), "changed");
    expect([fileText(base, "secret"), fileText(workspace, "shared")]).toEqual([
      "secret",
      "changed",
    ]);
  });

  it("are not pipes: nobody waits for their other end", async () => {
    const path = join(workspace, "pipe");
    execFileSync("mkfifo", [path]);
    const error = {
      code: -32_602,
      message: `path ${JSON.stringify(path)} is not a file`,
    };
    await expect(read(path)).rejects.toMatchObject(error);
    await expect(write(path)).rejects.toMatchObject(error);
  });

  it("that do not exist are not found, nor is one in a directory that does not exist", async () => {
    const path = join(workspace, "none");
    const message = `file ${JSON.stringify(path)} does not exist`;
    await expect(read(path)).rejects.toMatchObject({ code: -32_002, message });
    const deep = join(workspace, "none/deep");
    const missing = {
      code: -32_002,
      message: `the directory of ${JSON.stringify(deep)} does not exist`,
    };
    await expect(read(deep)).rejects.toMatchObject(missing);
    await expect(write(deep)).rejects.toMatchObject(missing);
    await expect(
      write(join(workspace, "src/a.txt/deep")),
    ).rejects.toMatchObject({ code: -32_002 });
  });

  it("that are too large are refused, in bytes and in JSON", async () => {
    const path = join(workspace, "large");
    const error = {
      code: -32_600,
      message: `file ${JSON.stringify(path)} is too large: limit is 1000 bytes`,
    };
    writeFileSync(path, "x".repeat(MAX_BYTES + 1));
    await expect(read(path)).rejects.toMatchObject(error);
    writeFileSync(path, "\u0001".repeat(MAX_BYTES / 2));
    await expect(read(path)).rejects.toMatchObject(error);
    writeFileSync(path, "x".repeat(MAX_BYTES - 2));
    expect(await read(path)).toHaveLength(MAX_BYTES - 2);
  });

  it("that are not text are refused: written back, they would be damaged", async () => {
    const path = join(workspace, "image");
    writeFileSync(path, Buffer.from([0x89, 0x50, 0xff]));
    const message = `file ${JSON.stringify(path)} is not text in UTF-8`;
    await expect(read(path)).rejects.toMatchObject({ code: -32_600, message });
    writeFileSync(path, "\ufeffmarked");
    expect(await read(path)).toBe("\ufeffmarked");
  });

  it("are written into the directory that was checked, although a link has taken its place since", async () => {
    const [inner, moved] = [join(workspace, "inner"), join(workspace, "moved")];
    mkdirSync(inner);
    const exchange = (): void => {
      renameSync(inner, moved);
      symlinkSync(base, inner);
    };
    subscribe("devtool:acp.write.before", exchange);
    try {
      await write(join(inner, "secret"), "changed");
    } finally {
      unsubscribe("devtool:acp.write.before", exchange);
    }
    expect([fileText(base, "secret"), fileText(moved, "secret")]).toEqual([
      "secret",
      "changed",
    ]);
  });

  it("are not written where a link leads that takes the place of their directory, by checked paths too", async () => {
    const inner = join(workspace, "inner");
    mkdirSync(inner);
    access = checkedAccess;
    // After the last check, before the file is made.
    const exchange = (): void => {
      renameSync(inner, join(workspace, "moved"));
      symlinkSync(base, inner);
    };
    subscribe("devtool:file.write.before", exchange);
    try {
      await expect(write(join(inner, "secret"), "changed")).rejects.toThrow(
        "was changed while it was used",
      );
    } finally {
      unsubscribe("devtool:file.write.before", exchange);
    }
    expect(fileText(base, "secret")).toBe("secret");
  });

  function linked(): string {
    symlinkSync(base, join(workspace, "link"));
    return join(workspace, "link", "secret");
  }
});
