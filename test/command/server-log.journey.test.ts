import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { startServing } from "../durability/crash/server-process.ts";

/** Serves with a config file, and returns what the log says after a session. */
async function logOf(config: string, flags: readonly string[] = []) {
  const root = temporaryDirectory();
  const data = join(root, "data");
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, "config.toml"), config);
  const workspace = join(root, "workspace");
  const server = await startServing([
    ...["--data", data, "--workspace", workspace],
    ...flags,
  ]);
  const { url, token } = server.info;
  const { tasks } = clientOf({ url, token });
  const { task } = await tasks.sendMessage({
    message: textMessage("m", "text My secret."),
  });
  await tasks.listTasks({});
  for (const headers of [
    { authorization: "Bearer my-secret" },
    { authorization: `Bearer ${token}`, origin: "https://x.example" },
  ]) {
    for (let count = 0; count < 3; count++) {
      await fetch(`${url}/?q=my-secret`, { method: "POST", headers });
    }
  }
  expect(await server.stop()).toBe(0);
  return { log: server.said.stderr, taskId: task?.id ?? "", token };
}

describe("the log of `devtool serve`", () => {
  it("has a line for each exchange, turn and refusal, as JSON where nobody sits at a terminal", async () => {
    const { log, taskId, token } = await logOf("", ["--log-level", "info"]);
    const lines = log.trimEnd().split("\n");
    const ours = { principal: "local", taskId, messageId: "m" };
    const done = { outcome: "succeeded", durationMs: expect.any(Number) };
    const refused = {
      ...{ level: "warn", event: "refused", method: "POST /" },
      ...{ binding: "http", peer: expect.stringContaining("127.0.0.1") },
      ...{ outcome: "failed" },
    };
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const unauthenticated = { ...refused, code: "unauthenticated" };
    const denied = { ...refused, code: "permission_denied" };
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      [
        { level: "info", event: "server begins" },
        { level: "info", event: "turn begins", ...ours, agent: "devtool" },
        {
          level: "info",
          event: "turn ends",
          ...ours,
          agent: "devtool",
          ...done,
        },
        {
          ...{ level: "info", event: "request", method: "SendMessage" },
          ...{ binding: "connect", ...ours, ...done },
        },
        unauthenticated,
        denied,
        { level: "info", event: "server ends" },
        { ...unauthenticated, repeated: 2 },
        { ...denied, repeated: 2 },
      ]
        .map((line) => ({ time, ...line }))
        .map((line) =>
          line.event === "refused" ? expect.objectContaining(line) : line,
        ),
    );
    expect(log).not.toMatch(/secret/i);
    expect(log).not.toContain(token);
  });

  it("is for people, and of a level, where the config file says so", async () => {
    const config = '[log]\nlevel = "debug"\nformat = "pretty"\n';
    const { log } = await logOf(config, ["--log-level", "warn"]);
    expect(log).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} warn {2}refused method="POST \/" binding=http /,
    );
    expect(log).not.toContain("info");
  });
});
