import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { BrowserAccessService } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf, transportOf } from "../client-of.ts";
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
  it("has the trace of each request and turn, where spans are exported", async () => {
    const config = '[telemetry]\nendpoint = "http://127.0.0.1:9"\n';
    const { log } = await logOf(config, ["--log-level", "info"]);
    const traced = log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ event }) => /^(request|turn)/.test(event));
    expect(traced.map(({ event }) => event)).toHaveLength(3);
    expect(new Set(traced.map(({ traceId }) => traceId)).size).toBe(1);
    expect(traced[0].traceId).toMatch(/^[0-9a-f]{32}$/);
  });

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

  it("has one line for each exchange of a browser that is let in or refused", async () => {
    const root = temporaryDirectory();
    await using stack = new AsyncDisposableStack();
    const flags = ["--data", join(root, "data"), "--log-level", "info"];
    const server = await startServing(flags);
    stack.defer(() => server.kill());
    const { url, token } = server.info;
    const browsers = (bearer: string) =>
      createClient(BrowserAccessService, transportOf({ url, token: bearer }));
    const ours = browsers(token);
    const { code } = await ours.createAccessCode({ label: "x" });
    await browsers("").redeemAccessCode({ code, browser: "b" });
    await expect(
      browsers("").redeemAccessCode({ code, browser: "b" }),
    ).rejects.toThrow("code");
    await ours.listBrowserSessions({});
    await server.stop();
    const lines = server.said.stderr.trimEnd().split("\n");
    expect(
      lines
        .map((line) => JSON.parse(line))
        .map(({ event, method = "" }) => `${event} ${method}`.trimEnd()),
    ).toEqual([
      "server begins",
      "request CreateAccessCode",
      "request RedeemAccessCode",
      "refused POST /devtool.v1alpha.BrowserAccessService/RedeemAccessCode",
      "server ends",
    ]);
  });

  it("has a line for each request that is refused before it reaches a method, with its trace", async () => {
    const root = temporaryDirectory();
    await using stack = new AsyncDisposableStack();
    const server = await startServing(["--data", join(root, "data")]);
    stack.defer(() => server.kill());
    const { url, token } = server.info;
    const json = { "content-type": "application/json" };
    const v1 = { ...json, "a2a-version": "1.0" };
    const trace = "0123456789abcdef0123456789abcdef";
    const large = "my-secret".repeat(1_000_000);
    const service = "/devtool.v1alpha.TaskService";
    const refusals = [
      ["/nowhere", json, "{}", "not_found"],
      ["/", json, "{my-secret", "invalid_argument"],
      ["/v1/message:send", json, "my-secret", "invalid_argument"],
      ["/message:send", v1, "my-secret", "invalid_argument"],
      ["/ag-ui", json, "my-secret", "invalid_argument"],
      ["/executeCommand", json, "my-secret", "invalid_argument"],
      [`${service}/SendMessage`, json, "my-secret", "invalid_argument"],
      [`${service}/Other`, json, "{}", "not_found"],
      [`${service}/GetTask`, { "content-type": "text/x" }, "", ""],
      ["/message:stream", v1, large, ""],
    ] as const;
    for (const [path, headers, body] of refusals) {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          traceparent: `00-${trace}-0123456789abcdef-01`,
        },
        body,
      });
      await response.text();
    }
    await server.stop();
    const log = server.said.stderr;
    const lines = log.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      refusals.map(([path, _headers, _body, code], index) =>
        expect.objectContaining({
          ...{ level: "warn", event: "refused", method: `POST ${path}` },
          ...{ binding: "http", outcome: "failed" },
          code: code === "" ? expect.any(String) : code,
          // Of a path where nothing is, only the head was read.
          ...(index > 0 && { traceId: trace, principal: "local" }),
        }),
      ),
    );
    expect(log).not.toMatch(/secret/);
  });
});
