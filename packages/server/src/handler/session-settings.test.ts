import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { AgentSettingsSchema } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settleSettings, type WorkspaceOptions } from "./session-settings.ts";

describe("the workspace of a session (SESSION-1)", () => {
  let root: string;
  let beside: string;

  beforeAll(async () => {
    const base = await realpath(await mkdtemp(join(tmpdir(), "devtool-settings-")));
    root = join(base, "root");
    beside = join(base, "root-beside");
    await mkdir(join(root, "project"), { recursive: true });
    await mkdir(join(root, "data", "tasks"), { recursive: true });
    await mkdir(beside);
    await writeFile(join(root, "file"), "");
    await symlink(beside, join(root, "way-out"));
    await symlink(root, join(base, "other-name"));
  });
  afterAll(() => rm(join(root, ".."), { recursive: true, force: true }));

  it("is the default one for clients that name none, by its real path", async () => {
    expect(await settled("", { workspace: root })).toBe(root);
    expect(await settled("", { workspace: join(root, "..", "other-name") })).toBe(root);
    await expect(settled("")).rejects.toThrow("this server has no default workspace");
  });

  it("lies in a root, also when one of them goes by another name", async () => {
    expect(await settled(join(root, "project"))).toBe(join(root, "project"));
    expect(await settled(join(root, "..", "other-name", "project"))).toBe(join(root, "project"));
    expect(await settled(root, { workspaceRoots: [beside, join(root, "..", "other-name")] })).toBe(root);
    await expect(settled(beside)).rejects.toThrow("is outside the allowed roots");
    await expect(settled(join(root, "way-out"))).rejects.toThrow("is outside the allowed roots");
    await expect(settled(root, { workspaceRoots: [join(root, "missing"), ""] })).rejects.toThrow("is outside");
  });

  it("is a directory that exists", async () => {
    await expect(settled("project")).rejects.toThrow("must be an absolute path");
    await expect(settled(join(root, "missing"))).rejects.toThrow("must be a directory that exists on the server");
    await expect(settled(join(root, "file"))).rejects.toThrow("must be a directory that exists on the server");
    await expect(settled(`${root}\0`)).rejects.toThrow("must be a directory that exists on the server");
  });

  it("neither holds the server's own data nor lies in it", async () => {
    const dataDirectory = join(root, "data");
    await expect(settled(root, { dataDirectory })).rejects.toThrow("holds the server's own data");
    await expect(settled(join(dataDirectory, "tasks"), { dataDirectory })).rejects.toThrow("or lies in it");
    await expect(settled(dataDirectory, { dataDirectory })).rejects.toThrow("holds the server's own data");
    expect(await settled(join(root, "project"), { dataDirectory })).toBe(join(root, "project"));
    expect(await settled(root, { dataDirectory: join(root, "missing") })).toBe(root);
  });

  async function settled(workspacePath: string, options: Partial<WorkspaceOptions> = {}): Promise<string | undefined> {
    const all: WorkspaceOptions = { workspaceRoots: [root], clientMcpServers: "none", ...options };
    const { settings } = await settleSettings(
      { settings: create(AgentSettingsSchema, { workspacePath }) },
      undefined,
      all,
    );
    return settings?.workspacePath;
  }
});
