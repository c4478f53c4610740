import { mkdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { Workspace } from "../tool/workspace.ts";
import { TrustStore } from "../trust/trust-store.ts";
import { loadMemory, MAX_MEMORY_FILE_BYTES, type Memory } from "./memory.ts";

describe("loadMemory", () => {
  let base: string;
  let workspace: string;
  let trust: TrustStore;
  let operatorNotices: string[];

  beforeEach(async () => {
    operatorNotices = [];
    base = temporaryDirectory();
    workspace = join(base, "root/team/repository");
    await write("config/AGENTS.md", "operator");
    await write("AGENTS.md", "above the root");
    await write("root/GEMINI.md", "root");
    await write("root/team/AGENTS.md", "team");
    await write("root/team/repository/AGENTS.md", "repository");
    await write("root/team/repository/GEMINI.md", "repository for Gemini");
    trust = new TrustStore({
      dataDirectory: join(base, "data"),
      openDirectory: (path) => new Workspace(path),
      now: () => new Date(0),
    });
  });

  it("reads only the operator's files for an untrusted workspace, with a notice (S4)", async () => {
    const memory = await load();
    expect(textsOf(memory)).toEqual(["operator"]);
    expect(memory.notices).toEqual([
      `configuration in "${workspace}" is not read: nobody trusted it: look at it, then run: devtool trust add ${workspace}`,
    ]);
  });

  it("reads files from the most general to the most specific, and none above the root", async () => {
    for (const directory of [
      ".",
      "root",
      "root/team",
      "root/team/repository",
    ]) {
      await grant(directory);
    }
    const memory = await load();
    expect(textsOf(memory)).toEqual([
      "operator",
      "root",
      "team",
      "repository",
      "repository for Gemini",
    ]);
    expect(memory.notices).toEqual([]);
  });

  it("leaves out an untrusted directory above the workspace silently, and a changed one with a notice", async () => {
    for (const directory of ["root/team", "root/team/repository"]) {
      await grant(directory);
    }
    expect((await load()).notices).toEqual([]);
    await write("root/team/AGENTS.md", "team, changed");
    const memory = await load();
    expect(textsOf(memory)).toEqual([
      "operator",
      "repository",
      "repository for Gemini",
    ]);
    expect(memory.notices).toEqual([
      expect.stringContaining("(AGENTS.md changed)"),
    ]);
  });

  it("cuts a file that is too large at the end of a line, with a notice", async () => {
    await write("config/AGENTS.md", `${"x".repeat(99)}\n`.repeat(700));
    const memory = await load();
    expect(textsOf(memory)[0]).toHaveLength(
      Math.floor(MAX_MEMORY_FILE_BYTES / 100) * 100,
    );
    expect(memory.notices[1]).toBe(
      `memory file "${join(base, "config/AGENTS.md")}" has 70000 bytes: limit is 65536, the rest is cut`,
    );
  });

  it("leaves out files beyond the total limit", async () => {
    for (const directory of ["root", "root/team", "root/team/repository"]) {
      for (const name of ["AGENTS.md", "GEMINI.md"]) {
        await write(`${directory}/${name}`, "y".repeat(60_000));
      }
      await grant(directory);
    }
    const memory = await load();
    expect(memory.files).toHaveLength(5);
    expect(memory.notices).toHaveLength(2);
    expect(memory.notices[1]).toContain(
      "is left out: all together have more than 262144 bytes",
    );
  });

  it("does not follow links in the operator's directory, and gives a notice", async () => {
    await rm(join(base, "config/AGENTS.md"));
    await symlink(join(base, "AGENTS.md"), join(base, "config/AGENTS.md"));
    const memory = await load();
    expect(memory.files).toEqual([]);
    expect(memory.notices[0]).toContain(
      "goes through a symbolic link: name the place that it points to",
    );
  });

  it("gives no notice when there is nothing to trust", async () => {
    for (const name of ["AGENTS.md", "GEMINI.md"]) {
      await rm(join(workspace, name));
    }
    expect(await load()).toMatchObject({
      files: [{ text: "operator" }],
      notices: [],
    });
  });

  it("reports an internal error to the operator with details, and to the user without", async () => {
    const memory = await load(join(base, "x".repeat(300)));
    expect(memory.notices[0]).toContain(
      "internal error: the server's log says more",
    );
    expect(operatorNotices).toEqual([
      expect.stringMatching(
        /^reading memory failed inside the server: \{.*"error":"Error","code":"ENAMETOOLONG","at":/,
      ),
    ]);
  });

  it("does not need the operator's directory", async () => {
    await rm(join(base, "config"), { recursive: true });
    expect((await load()).files).toEqual([]);
  });

  function load(configDirectory = join(base, "config")): Promise<Memory> {
    const onNotice = (text: string): unknown => operatorNotices.push(text);
    return loadMemory(
      {
        configDirectory,
        workspaceRoots: [join(base, "root")],
        trust,
        onNotice,
      },
      workspace,
    );
  }

  async function grant(directory: string): Promise<void> {
    await trust.grant(await trust.preview(join(base, directory)));
  }

  async function write(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(base, path)), { recursive: true });
    putFile(base, path, content);
  }
});

function textsOf({ files }: Memory): string[] {
  return files.map(({ text }) => text);
}
