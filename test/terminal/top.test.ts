import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { MAIN } from "../our-command.ts";
import { HAS_TMUX, Tmux } from "./tmux.ts";

describe("devtool top", () => {
  let home: string;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeAll(async () => {
    home = temporaryDirectory();
    server = await serveCodingAgent({ workspace: home, sandbox: "none" });
    client = clientOf(server);
    const devtool = `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`;
    writeFileSync(join(home, "devtool"), devtool, { mode: 0o700 });
  });
  afterAll(() => server.close());

  async function begin(text: string): Promise<string> {
    const { task } = await client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
      returnImmediately: text.startsWith("wait"),
    });
    return task?.id ?? "";
  }

  it("prints the sessions of a server by its address and token, once where there is no terminal", async () => {
    await begin("text Hello");
    await begin("write a.txt a");
    const flags = ["top", "--url", server.url, "--token", server.token];
    const env = { ...process.env, HOME: home };
    const run = promisify(execFile);
    const ran = run(process.execPath, [MAIN, ...flags], { env });
    const { stdout, stderr } = await ran;
    expect(stderr).toBe("");
    const [head, , asking, done, ...rest] = stdout.trimEnd().split("\n");
    expect(head).toBe("0 work · 1 wait for you · 2 sessions");
    expect(asking).toMatch(/^\S{8} {2}input-required you: write_file +devtool/);
    expect(done).toMatch(/^\S{8} {2}completed {6} +devtool .* text Hello$/);
    expect(rest).toEqual([]);
  });

  it.skipIf(!HAS_TMUX)(
    "shows live in a terminal who waits for whom, and leaves it as it was (skipped without tmux)",
    async () => {
      await using terminal = await Tmux.open({
        env: {
          ...{ PATH: `${home}:${process.env.PATH ?? ""}`, HOME: home },
          ...{ TERM: "xterm", DEVTOOL_TOKEN: server.token, URL: server.url },
        },
        rows: 12,
      });
      await terminal.type("echo before; devtool top --url $URL", "Enter");
      await terminal.shows(/^0 work · 1 wait for you .* 0 turns\/min$/m);
      const taskId = await begin("wait 600000");
      await terminal.shows(/^1 work · 1 wait for you .* 1 turns\/min$/m);
      await terminal.shows(/ working +model scripted +devtool .*wait 600000$/m);
      await client.tasks.cancelTask({ taskId });
      await terminal.shows(/^0 work[\s\S]* canceled +devtool .*wait 600000$/m);
      await terminal.type("", "C-c");
      await terminal.shows(/^before\n\$$/m);
    },
  );
});
