import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { createDevtoolClient } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { writeDiscovery } from "./discovery.ts";

describe("a command that finds a server by its data directory", () => {
  let base: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    base = temporaryDirectory();
    for (const name of ["served", "served/inner", "shared", "elsewhere"]) {
      await mkdir(join(base, name));
    }
    await symlink(join(base, "served/inner"), join(base, "link"));
    const workspaceRoots = [join(base, "served"), join(base, "shared")];
    server = await serveCodingAgent({
      workspace: join(base, "served"),
      workspaceRoots,
      sandbox: "none",
    });
    const { url, token, proofKey, model } = server;
    const about = {
      agent: "devtool",
      approvalMode: ApprovalMode.PLAN,
      workspace: join(base, "served"),
      workspaceRoots,
    };
    const info = create(ServerInfoSchema, {
      ...about,
      url,
      token,
      proofKey,
      model,
      pid: process.pid,
    });
    await writeDiscovery(join(base, "data"), info);
  });
  afterAll(() => server.close());

  it.each([["served"], ["served/inner"], ["shared"], ["link"]])(
    "gives it a job in %s",
    async (name) => {
      const before = (await tasksOfServer()).length;
      const { code, erred } = await devtool([
        "run",
        "--approve",
        "all",
        "--workspace",
        join(base, name),
        "write it.txt x",
      ]);
      expect([code, erred]).toEqual([
        0,
        expect.not.stringContaining("starting another"),
      ]);
      expect(await tasksOfServer()).toHaveLength(before + 1);
      expect(await readdir(join(base, name))).toContain("it.txt");
    },
  );

  it("starts another for a job in a directory that it may not use, made when it is missing, and says so", async () => {
    const before = (await tasksOfServer()).length;
    for (const name of ["elsewhere", "made"]) {
      const workspace = join(base, name);
      const { code, erred } = await devtool([
        "run",
        "--approve",
        "all",
        "--workspace",
        workspace,
        "write it.txt x",
      ]);
      expect(code).toBe(0);
      expect(erred).toContain(
        `the running server does not allow ${workspace}, only ${join(base, "served")}`,
      );
      expect(erred).toContain(
        '(add directories with "devtool serve --root"): starting another server for this job',
      );
      expect(await readdir(workspace)).toEqual(["it.txt"]);
    }
    expect(await tasksOfServer()).toHaveLength(before);
  });

  it("gives a job to another server where no directory is named and the current one is not served", async () => {
    const { code, erred } = await devtool(["run", "text Hello."]);
    expect([code, erred]).toEqual([
      0,
      expect.stringContaining(`does not allow ${process.cwd()}`),
    ]);
  });

  it("goes on with a task where the task is", async () => {
    await devtool(["run", "--workspace", join(base, "shared"), "text One."]);
    const [{ id = "" } = {}] = await tasksOfServer();
    const { code, erred } = await devtool(["run", "--task", id, "text Two."]);
    expect([code, erred]).toEqual([0, `task ${id}\n`]);
  });

  it("leaves the directory to a server that is named by its URL", async () => {
    const { code, erred } = await devtool([
      "run",
      "--url",
      server.url,
      "text Hello.",
    ]);
    expect([code, erred]).toEqual([
      0,
      expect.not.stringContaining("starting another"),
    ]);
    const outside = await devtool([
      "run",
      "--url",
      server.url,
      "--workspace",
      join(base, "elsewhere"),
      "text Hello.",
    ]);
    expect([outside.code, outside.erred]).toEqual([
      1,
      expect.stringMatching(/is outside the allowed roots: .* --root/),
    ]);
  });

  it("begins a chat with its agent, workspace, model and mode", async () => {
    const { said } = await devtool(["chat"]);
    const [first] = said.split("\n");
    expect(first).toBe(
      `agent devtool · workspace ${base}/served · model scripted · mode plan (changes nothing)`,
    );
    const elsewhere = await devtool([
      "chat",
      "--workspace",
      join(base, "shared"),
    ]);
    expect(elsewhere.said).toContain(`workspace ${base}/shared`);
    const named = await devtool([
      "chat",
      "--url",
      server.url,
      "--token",
      server.token,
    ]);
    expect(named.said).toContain("agent devtool");
  });

  async function tasksOfServer(): Promise<readonly { readonly id: string }[]> {
    const { url, token } = server;
    const client = createDevtoolClient(
      createA2aTransport({ url, token, protocolVersion: "1.0" }),
    );
    return (await client.tasks.listTasks({})).tasks;
  }

  async function devtool([name = "", ...rest]: readonly string[]): Promise<{
    readonly code: number;
    readonly said: string;
    readonly erred: string;
  }> {
    const { code, out, err } = await runCommand([
      name,
      "--data",
      join(base, "data"),
      ...rest,
    ]);
    return { code, said: out, erred: err };
  }
});
