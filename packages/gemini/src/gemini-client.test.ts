import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect } from "node:net";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGeminiClient, openAnswer } from "./gemini-client.ts";

const PARAMETERS = { model: "gemini-test", contents: "hi" };
const piece = (text: string): string =>
  JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] });

describe("a Gemini client on Google's SDK", () => {
  const requests: IncomingMessage[] = [];
  let answer: (response: ServerResponse) => void;
  let server: Server;
  let baseUrl: string;
  beforeEach(async () => {
    requests.length = 0;
    server = createServer((request, response) => {
      requests.push(request);
      request.resume().on("end", () => answer(response));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends a request, and collects the texts of the answer as they come. */
  async function ask(texts: string[] = []): Promise<string[]> {
    const client = createGeminiClient({ apiKey: "k", baseUrl });
    for await (const { candidates } of client.ask(
      ({ models }, signal) =>
        openAnswer(models.generateContentStream(PARAMETERS), signal),
      AbortSignal.timeout(60_000),
    )) {
      texts.push(candidates?.[0]?.content?.parts?.[0]?.text ?? "");
    }
    return texts;
  }

  /** Answers with bytes in chunks of a given size, each in its own packet. */
  function respondWith(bytes: Uint8Array, size = bytes.length): void {
    answer = async (response) => {
      response.socket?.setNoDelay();
      for (let from = 0; from < bytes.length; from += size) {
        response.write(bytes.subarray(from, from + size));
        await new Promise(setImmediate);
      }
      response.end();
    };
  }

  it.each([1, 2, 7, 1000])(
    "reads an answer in chunks of %d bytes",
    async (size) => {
      const text = `: comment\r\n\r\ndata: ${piece("grüße")}\r\n\r\nevent: x\n\ndata:${piece("日本")}\n\n`;
      respondWith(new TextEncoder().encode(text), size);
      expect(await ask()).toEqual(["grüße", "日本"]);
    },
  );

  it("skips a line that was cut off", async () => {
    respondWith(
      new TextEncoder().encode(`data: ${piece("a")}\n\ndata: {"candi`),
      9,
    );
    expect(await ask()).toEqual(["a"]);
  });

  it("fails at a piece that is not JSON, after the pieces before it", async () => {
    respondWith(
      new TextEncoder().encode(`data: ${piece("a")}\n\ndata: {"candi\n\n`),
    );
    const texts: string[] = [];
    await expect(ask(texts)).rejects.toMatchObject({
      message: expect.stringContaining("not JSON"),
      retriable: true,
    });
    expect(texts).toEqual(["a"]);
  });

  it("fails at bytes that are not UTF-8, after the pieces before them in the same chunk", async () => {
    const good = new TextEncoder().encode(`data: ${piece("a")}\n\n`);
    const bad = new TextEncoder()
      .encode(`data: ${piece("b")}\n\n`)
      .fill(0xff, 40, 42);
    respondWith(Uint8Array.of(...good, ...bad));
    const texts: string[] = [];
    await expect(ask(texts)).rejects.toThrow("not UTF-8");
    expect(texts).toEqual(["a"]);
  });

  it("fails at an endless line", async () => {
    respondWith(new Uint8Array(5_000_000).fill(120), 65_536);
    await expect(ask()).rejects.toThrow("more than 4194304 bytes");
  });

  it("reads a large piece that comes in small packets", async () => {
    const large = "x".repeat(3_000_000);
    respondWith(new TextEncoder().encode(`data: ${piece(large)}\n\n`), 1000);
    expect(await ask()).toEqual([large]);
  });

  it("reuses its connection, even after the signal of the first request aborts", async () => {
    respondWith(new TextEncoder().encode(`data: ${piece("a")}\n\n`));
    const client = createGeminiClient({ apiKey: "k", baseUrl });
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController();
      for await (const _ of client.ask(
        ({ models }, signal) =>
          openAnswer(models.generateContentStream(PARAMETERS), signal),
        controller.signal,
      )) {
      }
      controller.abort();
      // The connection is free once its answer was read to the end, in a later
      // turn of the event loop.
      await new Promise(setImmediate);
    }
    expect(
      requests.map(({ method, headers }) => [
        method,
        headers["x-goog-api-key"],
      ]),
    ).toEqual([
      ["POST", "k"],
      ["POST", "k"],
    ]);
    expect(new Set(requests.map(({ socket }) => socket)).size).toBe(1);
  });

  it("uses the environment's proxy if NODE_USE_ENV_PROXY is set", async () => {
    respondWith(new TextEncoder().encode(`data: ${piece("by proxy")}\n\n`));
    const targets: unknown[] = [];
    server.on("connect", ({ url }, socket) => {
      targets.push(url);
      const tunnel = connect(Number(new URL(baseUrl).port), "127.0.0.1");
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(tunnel).pipe(socket);
    });
    const module = new URL("./gemini-client.ts", import.meta.url).href;
    const script = `const { createGeminiClient } = await import(${JSON.stringify(module)});
      const client = createGeminiClient({ apiKey: "k", baseUrl: "http://model.test" });
      const signal = AbortSignal.timeout(60_000);
      for await (const piece of client.ask(({ models }) => models.generateContentStream(${JSON.stringify(PARAMETERS)}), signal))
        process.stdout.write(piece.candidates[0].content.parts[0].text);`;
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: "1",
      HTTP_PROXY: baseUrl,
    };
    const flags = [
      "--experimental-transform-types",
      "--no-warnings",
      "-C",
      "@devtool/source",
    ];
    const args = [...flags, "--input-type=module", "-e", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env,
    });
    expect(stdout).toBe("by proxy");
    expect(targets).toEqual(["model.test:80"]);
  });
});
