import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AgentSettingsSchema,
  ApprovalMode,
  SessionSettingsSchema,
} from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WorkspaceRoots } from "../files/workspace-roots.ts";
import { resolveSettings, type SessionOptions } from "./session-settings.ts";

describe("the workspace of a session (SESSION-1)", () => {
  let root: string;
  let beside: string;

  beforeAll(async () => {
    const base = temporaryDirectory();
    root = join(base, "root");
    beside = join(base, "root-beside");
    await mkdir(join(root, "project"), { recursive: true });
    await mkdir(join(root, "data", "tasks"), { recursive: true });
    await mkdir(beside);
    putFile(root, "file", "");
    await symlink(beside, join(root, "way-out"));
    await symlink(root, join(base, "other-name"));
  });
  afterAll(() => rm(join(root, ".."), { recursive: true, force: true }));

  it("is the default workspace for clients that name none, by its real path", () => {
    expect(resolved("", { workspace: root })).toBe(root);
    expect(resolved("", { workspace: join(root, "..", "other-name") })).toBe(
      root,
    );
    expect(() => resolved("")).toThrow("this server has no default workspace");
  });

  it("lies in one of the roots, after symbolic links are resolved", () => {
    expect(resolved(join(root, "project"))).toBe(join(root, "project"));
    expect(resolved(join(root, "..", "other-name", "project"))).toBe(
      join(root, "project"),
    );
    expect(
      resolved(root, {
        workspaceRoots: new WorkspaceRoots([
          beside,
          join(root, "..", "other-name"),
        ]),
      }),
    ).toBe(root);
    expect(() => resolved(beside)).toThrow("is outside the allowed roots");
    expect(() => resolved(join(root, "way-out"))).toThrow(
      "is outside the allowed roots",
    );
    expect(() =>
      resolved(root, {
        workspaceRoots: new WorkspaceRoots([join(root, "missing"), ""]),
      }),
    ).toThrow("is outside");
  });

  it("is an existing directory", () => {
    for (const path of ["project", "C:\\work", "c:/work"]) {
      expect(() => resolved(path)).toThrow(
        "must be an absolute path of the server, which runs on linux",
      );
    }
    expect(() => resolved(join(root, "missing"))).toThrow(
      "must be a directory that exists on the server",
    );
    expect(() => resolved(join(root, "file"))).toThrow(
      "must be a directory that exists on the server",
    );
    expect(() => resolved(`${root}\0`)).toThrow(
      "must be a directory that exists on the server",
    );
  });

  it("neither contains the server's data directory nor lies in it", () => {
    const dataDirectory = join(root, "data");
    expect(() => resolved(root, { dataDirectory })).toThrow(
      "contains the server's own data",
    );
    expect(() =>
      resolved(join(dataDirectory, "tasks"), { dataDirectory }),
    ).toThrow("or lies in it");
    expect(() => resolved(dataDirectory, { dataDirectory })).toThrow(
      "contains the server's own data",
    );
    expect(resolved(join(root, "project"), { dataDirectory })).toBe(
      join(root, "project"),
    );
    expect(resolved(root, { dataDirectory: join(root, "missing") })).toBe(root);
  });

  it("has settings of a bounded size, which records and events repeat", () => {
    const tools = (count: number, length: number) => ({
      allowedTools: Array<string>(count).fill("x".repeat(length)),
    });
    const effort = { agentOptions: { effort: "x".repeat(1025) } };
    expect(resolved(root, {}, tools(256, 1024))).toBe(root);
    for (const [session, problem] of [
      [tools(257, 1), 'allowed_tools "257" are too many: limit is 256'],
      [tools(1, 1025), "it has 1025 characters, limit is 1024"],
      [effort, "it has 1025 characters, limit is 1024"],
    ] as const) {
      expect(() => resolved(root, {}, session)).toThrow(problem);
    }
  });

  function resolved(
    workspacePath: string,
    options: Partial<SessionOptions> = {},
    session: MessageInitShape<typeof SessionSettingsSchema> = {},
  ): string | undefined {
    const all: SessionOptions = {
      workspace: undefined,
      workspaceRoots: new WorkspaceRoots([root]),
      dataDirectory: undefined,
      clientMcpServers: "none",
      agents: {
        resolve: String,
        assertFollowed: () => undefined,
        assertCapable: async () => undefined,
        checkerOf: () => undefined,
        operatorModeOf: () => ApprovalMode.UNSPECIFIED,
      },
      ...options,
    };
    const requested = {
      settings: create(AgentSettingsSchema, { workspacePath }),
      sessionSettings: create(SessionSettingsSchema, session),
    };
    const { settings } = resolveSettings(
      requested,
      undefined,
      { contextId: "", principal: "local" },
      all,
    );
    return settings?.workspacePath;
  }
});
