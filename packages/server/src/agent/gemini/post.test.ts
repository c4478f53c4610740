import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { post } from "./post.ts";

describe("a request to the model's API", () => {
  const seen: IncomingMessage[] = [];
  let server: Server;
  let url: string;
  beforeEach(async () => {
    seen.length = 0;
    server = createServer((request, response) => {
      seen.push(request);
      request.pipe(response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ask`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it("carries headers and body, on a connection that the next one takes over, also when the first one's signal aborts", async () => {
    for (const body of ["grüße", "again"]) {
      const controller = new AbortController();
      const answer = await post({ url, headers: { "x-goog-api-key": "k" }, body }, controller.signal);
      expect(await text(answer)).toBe(body);
      controller.abort();
    }
    expect(seen.map(({ method, headers }) => [method, headers["x-goog-api-key"]])).toEqual([
      ["POST", "k"],
      ["POST", "k"],
    ]);
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(1);
  });

  it("goes through the environment's proxy when NODE_USE_ENV_PROXY says so", async () => {
    const module = new URL("./post.ts", import.meta.url).href;
    const request = { url: "http://model.test/ask", headers: {}, body: "" };
    const script = `const { post } = await import(${JSON.stringify(module)});
      const answer = await post(${JSON.stringify(request)}, AbortSignal.timeout(10_000));
      process.stdout.write(String(answer.statusCode));`;
    const env = { ...process.env, NODE_USE_ENV_PROXY: "1", HTTP_PROXY: new URL(url).origin };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { env });
    expect(stdout).toBe("200");
    expect(seen.map((one) => one.url)).toEqual(["http://model.test/ask"]);
  });
});
