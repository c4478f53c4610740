import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { AgentSettingsSchema } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveSettings, type SessionOptions } from "./session-settings.ts";

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

  it("is the default one for clients that name none, by its real path", () => {
    expect(settled("", { workspace: root })).toBe(root);
    expect(settled("", { workspace: join(root, "..", "other-name") })).toBe(root);
    expect(() => settled("")).toThrow("this server has no default workspace");
  });

  it("lies in a root, also when one of them goes by another name", () => {
    expect(settled(join(root, "project"))).toBe(join(root, "project"));
    expect(settled(join(root, "..", "other-name", "project"))).toBe(join(root, "project"));
    expect(settled(root, { workspaceRoots: [beside, join(root, "..", "other-name")] })).toBe(root);
    expect(() => settled(beside)).toThrow("is outside the allowed roots");
    expect(() => settled(join(root, "way-out"))).toThrow("is outside the allowed roots");
    expect(() => settled(root, { workspaceRoots: [join(root, "missing"), ""] })).toThrow("is outside");
  });

  it("is a directory that exists", () => {
    expect(() => settled("project")).toThrow("must be an absolute path");
    expect(() => settled(join(root, "missing"))).toThrow("must be a directory that exists on the server");
    expect(() => settled(join(root, "file"))).toThrow("must be a directory that exists on the server");
    expect(() => settled(`${root}\0`)).toThrow("must be a directory that exists on the server");
  });

  it("neither holds the server's own data nor lies in it", () => {
    const dataDirectory = join(root, "data");
    expect(() => settled(root, { dataDirectory })).toThrow("holds the server's own data");
    expect(() => settled(join(dataDirectory, "tasks"), { dataDirectory })).toThrow("or lies in it");
    expect(() => settled(dataDirectory, { dataDirectory })).toThrow("holds the server's own data");
    expect(settled(join(root, "project"), { dataDirectory })).toBe(join(root, "project"));
    expect(settled(root, { dataDirectory: join(root, "missing") })).toBe(root);
  });

  function settled(workspacePath: string, options: Partial<SessionOptions> = {}): string | undefined {
    const all: SessionOptions = {
      workspace: undefined,
      workspaceRoots: [root],
      dataDirectory: undefined,
      clientMcpServers: "none",
      resolveAgent: String,
      assertMcpServers: () => undefined,
      ...options,
    };
    const { settings } = resolveSettings({ settings: create(AgentSettingsSchema, { workspacePath }) }, undefined, all);
    return settings?.workspacePath;
  }
});
