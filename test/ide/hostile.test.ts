import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type Companion,
  type DiffProposal,
  type EditorDiff,
  startCompanion,
} from "@devtool/ide";
import { ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClaudeAgent, GeminiAgent, until } from "./agents.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "x", version: "1" },
  },
};

/** An editor that takes a while to close a view. */
class SlowEditor extends ScriptedEditor {
  override async openDiff(proposal: DiffProposal): Promise<EditorDiff> {
    const diff = await super.openDiff(proposal);
    const close = async (): Promise<string> => {
      await setTimeout(100);
      return await diff.close();
    };
    return { ...diff, close };
  }
}

/** The IPv4 addresses, and raw IPv6 ones, at which a port is open here. */
function listeningAt(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((table) => readFileSync(table, "utf8").split("\n"))
    .map((row) => row.trim().split(/\s+/))
    .filter(
      ([, local, , state]) => local?.endsWith(`:${hex}`) && state === "0A",
    )
    .map(([, local = ""]) => {
      const bytes = local.split(":")[0] ?? "";
      return bytes.length > 8
        ? bytes
        : Buffer.from(bytes, "hex").reverse().join(".");
    });
}

describe("a companion among hostile programs", () => {
  const home = temporaryDirectory();
  const workspace = temporaryDirectory();
  const editor = new ScriptedEditor(workspace);
  const env = { HOME: home, TMPDIR: home };
  let companion: Companion;
  let port = 0;
  let token = "";

  beforeAll(async () => {
    companion = await startCompanion(editor, { env, editorPid: 4242 });
    port = companion.port;
    token = String(companion.environment.GEMINI_CLI_IDE_AUTH_TOKEN);
  });
  afterAll(() => companion.close());

  const file = (): Record<string, unknown> => ({ port, authToken: token });

  /** Sends a request, and resolves to its status and text. */
  function send(
    headers: Record<string, string>,
    {
      path = "/mcp",
      method = "POST",
      body = JSON.stringify(INITIALIZE),
      port: to = port,
      at = "127.0.0.1",
    } = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number;
      text: string;
    }>();
    const all = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    };
    const target = { host: at, port: to, path, method, headers: all };
    const sent = request(target, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("close", () => {
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    sent.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, text: "" });
    });
    sent.on("error", reject);
    sent.end(method === "GET" ? undefined : body);
    return promise;
  }

  const bearer = (value: string): Record<string, string> => ({
    authorization: `Bearer ${value}`,
  });
  const upgrade = (
    headers: Record<string, string>,
  ): Record<string, string> => ({
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    ...headers,
  });
  const claude = (value: string): Record<string, string> => ({
    "x-claude-code-ide-authorization": value,
  });

  it.each<[string, number, () => Record<string, string>]>([
    ["has the token", 200, () => bearer(token)],
    ["has no token", 401, () => ({})],
    ["has another token", 401, () => bearer(`${token}x`)],
    ["has the beginning of the token", 401, () => bearer(token.slice(0, -1))],
    ["has an empty token", 401, () => bearer("")],
    ["has the token by another scheme", 401, () => ({ authorization: token })],
    [
      "is of a web page",
      403,
      () => ({ ...bearer(token), origin: "https://evil.example" }),
    ],
    [
      "is of a page on this machine",
      403,
      () => ({ ...bearer(token), origin: `http://localhost:${port}` }),
    ],
    [
      "is of a sandboxed page",
      403,
      () => ({ ...bearer(token), origin: "null" }),
    ],
    [
      "names another host, as DNS rebinding does",
      403,
      () => ({ ...bearer(token), host: `evil.example:${port}` }),
    ],
    [
      "names another port",
      403,
      () => ({ ...bearer(token), host: "127.0.0.1:80" }),
    ],
    [
      "comes out of a container, which is not allowed",
      403,
      () => ({ ...bearer(token), host: `host.docker.internal:${port}` }),
    ],
    [
      "names localhost",
      200,
      () => ({ ...bearer(token), host: `localhost:${port}` }),
    ],
  ])("answers a request that %s with %i", async (_what, status, headers) => {
    expect(await send(headers())).toMatchObject({ status });
    // A connection of Claude Code is admitted by the same rules.
    const { authorization = "", ...rest } = headers();
    const own = claude(authorization.replace(/^Bearer /, ""));
    const isToken = authorization.startsWith("Bearer ");
    const expected = status === 200 ? 101 : status;
    const all = upgrade({ ...rest, ...(isToken ? own : {}) });
    expect(await send(all, { method: "GET" })).toMatchObject({
      status: expected,
    });
  });

  it("admits containers only when the editor says so", async () => {
    const options = { env, editorPid: 4243, allowContainers: true };
    await using stack = new AsyncDisposableStack();
    const open = stack.adopt(await startCompanion(editor, options), (each) =>
      each.close(),
    );
    const given = String(open.environment.GEMINI_CLI_IDE_AUTH_TOKEN);
    const { promise, resolve } = Promise.withResolvers<number>();
    const headers = {
      ...bearer(given),
      host: `host.docker.internal:${open.port}`,
    };
    request({ port: open.port, path: "/mcp", headers }, (response) => {
      resolve(response.statusCode ?? 0);
      response.resume();
    }).end();
    // Admitted: what it lacks is a session.
    expect(await promise).toBe(400);
  });

  it.each([
    "0.0.0.0",
    "::",
    "",
    "127.0.0.1",
    "203.0.113.7",
    "::ffff:0.0.0.0",
    "host.docker.internal",
  ])("refuses to listen for containers at %j", async (address) => {
    const options = { env, allowContainers: { address } };
    await expect(startCompanion(editor, options)).rejects.toThrow(
      `address "${address}" for containers is not a private IP address: give that of their bridge, such as 172.17.0.1`,
    );
  });

  it("says when the address for containers is not this machine's", async () => {
    const options = { env, allowContainers: { address: "10.255.255.254" } };
    await expect(startCompanion(editor, options)).rejects.toThrow(
      /^port \d+ of address "10.255.255.254" cannot be opened for containers: .*EADDRNOTAVAIL/,
    );
  });

  const bridge = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ address }) =>
      /^(10|192\.168|172\.(1[6-9]|2\d|3[01]))\.|^f[cd]/.test(address),
    );
  if (!bridge) console.info("skipped: no private address to listen at");
  it.skipIf(!bridge)(
    "admits containers at the address of their bridge, by their name for the host alone",
    async () => {
      const address = String(bridge?.address);
      await using stack = new AsyncDisposableStack();
      const open = stack.adopt(
        await startCompanion(editor, {
          env,
          editorPid: 4244,
          allowContainers: { address },
        }),
        (each) => each.close(),
      );
      const given = bearer(String(open.environment.GEMINI_CLI_IDE_AUTH_TOKEN));
      const container = { host: `host.docker.internal:${open.port}` };
      const knock = (headers: Record<string, string>, at = address) =>
        send(headers, { port: open.port, at });
      const { origin } = { origin: "http://host.docker.internal" };
      const statuses = await Promise.all([
        knock({ ...given, ...container }),
        knock(container),
        knock({ ...given, ...container, origin }),
        knock({ ...given, host: `${address}:${open.port}` }),
        knock({ ...given, host: `127.0.0.1:${open.port}` }),
        knock({ ...given, ...container }, "127.0.0.1"),
        knock(given, "127.0.0.1"),
      ]);
      expect(statuses.map(({ status }) => status)).toEqual([
        200, 401, 403, 403, 403, 403, 200,
      ]);
      expect(listeningAt(open.port)).toHaveLength(2);
      await stack.disposeAsync();
      expect(listeningAt(open.port)).toEqual([]);
    },
  );

  it("listens on the loopback interface alone", async () => {
    expect(listeningAt(port)).toEqual(["127.0.0.1"]);
  });

  it.each([
    ["not JSON", 400, "{"],
    [
      "no message of a session",
      400,
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    ],
    ["too deep", 400, "[".repeat(100)],
    ["too many values", 400, `[${"1,".repeat(100_000)}1]`],
  ])("answers a body that is %s with %i", async (_what, status, body) => {
    expect(await send(bearer(token), { body })).toMatchObject({ status });
  });

  it("refuses what is too large with an error that says how large it may be", async () => {
    const huge = `"${"x".repeat(65 * 1024 * 1024)}"`;
    const answer = await send(bearer(token), { body: huge }).catch(() => ({
      status: 413,
      text: "67108864",
    }));
    expect(answer.status).toBe(413);
    await using agent = await GeminiAgent.connect(file());
    const newContent = "x".repeat(10 * 1024 * 1024 + 1);
    const filePath = join(workspace, "big.txt");
    expect(await agent.call("openDiff", { filePath, newContent })).toEqual({
      isError: true,
      texts: [
        `proposed content of "${filePath}" is 10485761 bytes: limit is 10485760`,
      ],
    });
    // The session goes on.
    expect(await agent.call("closeDiff", { filePath })).toMatchObject({
      isError: false,
    });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    [
      "a relative path",
      { filePath: "../a", newContent: "" },
      /is not absolute/,
    ],
    ["no content", { filePath: "/a" }, /^openDiff: newContent: /],
    [
      "a content that is a number",
      { filePath: "/a", newContent: 1 },
      /newContent/,
    ],
  ])("refuses a diff with %s", async (_what, input, message) => {
    await using agent = await GeminiAgent.connect(file());
    const { isError, texts } = await agent.call("openDiff", input);
    expect(isError).toBe(true);
    expect(texts.join()).toMatch(message);
  });

  it("bounds the diffs of an agent, and the number of agents", async () => {
    using agent = await ClaudeAgent.connect(port, token);
    const before = editor.diffs.length;
    const propose = (index: number) =>
      agent.call("openDiff", {
        old_file_path: `/f${index}`,
        new_file_path: `/f${index}`,
        new_file_contents: "",
        tab_name: "f",
      });
    for (let index = 0; index < 64; index++) void propose(index);
    await until(() => editor.diffs[before + 63]);
    expect(await propose(64)).toEqual({
      isError: true,
      texts: ["64 diffs are open: limit is 64, answer some first"],
    });
    const agents: ClaudeAgent[] = [agent];
    for (;;) {
      const more = await ClaudeAgent.connect(port, token).catch(
        () => undefined,
      );
      if (!more) break;
      agents.push(more);
    }
    expect(agents).toHaveLength(32);
    for (const each of agents) each[Symbol.dispose]();
    await until(() => editor.diffs.every(({ isOpen }) => !isOpen) || undefined);
  });

  it("outlives frames that are not messages, and floods of them", async () => {
    using agent = await ClaudeAgent.connect(port, token);
    for (const text of ["", "{", "null", "[]", "{}", '{"jsonrpc":"1.0"}']) {
      agent.sendText(text);
    }
    for (let index = 0; index < 1000; index++) {
      agent.sendText('{"jsonrpc":"2.0","method":"unknown"}');
    }
    expect(await agent.call("getWorkspaceFolders", {})).toMatchObject({
      isError: false,
    });
    const errors = agent.heard.filter(({ method }) => method === "error");
    expect(errors).toHaveLength(6);
  });

  it("does not read from a client that does not read, and loses nothing", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write(
      [
        `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}`,
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        `x-claude-code-ide-authorization: ${token}\r\n\r\n`,
      ].join("\r\n"),
    );
    await once(socket, "data");
    socket.pause();
    // A frame of text with its length in two bytes and a mask of zeros.
    const frame = Buffer.from(
      `\x81\xfe\x03\xe8\0\0\0\0${"{".repeat(1000)}`,
      "latin1",
    );
    const hundred = Buffer.concat(Array(100).fill(frame));
    let count = 0;
    for (let isStuck = false; !isStuck && count < 200_000; count += 100) {
      if (socket.write(hundred)) continue;
      isStuck = await Promise.race([
        once(socket, "drain").then(() => false),
        setTimeout(3000, true),
      ]);
    }
    expect(count).toBeLessThan(200_000);
    const error = { code: -32700, message: "not a message of JSON-RPC 2.0" };
    const text = JSON.stringify({ jsonrpc: "2.0", error, id: null });
    const answer = `\x81${String.fromCharCode(text.length)}${text}`;
    let said = "";
    for await (const chunk of socket) {
      said += chunk.toString("latin1");
      if (said.length < count * answer.length) continue;
      if (said.split(answer).length > count) break;
    }
    // It asks from time to time whether the client is there.
    const others = said.replaceAll(answer, "").replaceAll("\x89\0", "");
    expect([said.split(answer).length - 1, others]).toEqual([count, ""]);
  });

  it.each(["hangs", "fails"] as const)(
    "says when the editor %s, and works once it does not",
    async (fault) => {
      await using agent = await GeminiAgent.connect(file());
      using claude = await ClaudeAgent.connect(port, token);
      const filePath = join(workspace, fault);
      const old_file_path = join(workspace, `${fault}-claude`);
      editor.fault = fault;
      const answers = await Promise.all([
        agent.call("openDiff", { filePath, newContent: "x" }),
        claude.call("openDiff", {
          old_file_path,
          new_file_path: old_file_path,
          new_file_contents: "x",
          tab_name: "x",
        }),
      ]);
      editor.fault = undefined;
      for (const { isError, texts } of answers) {
        expect(isError).toBe(true);
        expect(texts.join()).toMatch(
          fault === "hangs"
            ? /did not answer within 10000 ms/
            : /the editor failed: no window is open/,
        );
      }
      expect((await claude.call("getOpenEditors", {})).isError).toBe(false);
      const again = { filePath, newContent: "x" };
      expect((await agent.call("openDiff", again)).isError).toBe(false);
    },
  );

  it("closes the diffs of an agent that dies at any step", async () => {
    const filePath = join(workspace, "left.txt");
    const agent = await ClaudeAgent.connect(port, token);
    const before = editor.diffs.length;
    void agent.call("openDiff", {
      old_file_path: filePath,
      new_file_path: filePath,
      new_file_contents: "",
      tab_name: "left",
    });
    const view = await until(() => editor.diffs[before]);
    agent[Symbol.dispose]();
    await until(() => !view.isOpen || undefined);
    // In the middle of a request, of a handshake, and with nothing sent.
    for (const start of [
      "",
      "POST /mcp HTTP/1.1\r\n",
      "GET / HTTP/1.1\r\nupg",
    ]) {
      const socket = connect(port, "127.0.0.1");
      socket.write(start);
      socket.destroy();
    }
    await using other = await GeminiAgent.connect(file());
    expect(await other.call("openDiff", { filePath, newContent: "x" })).toEqual(
      {
        texts: [],
        isError: false,
      },
    );
  });

  it.each([
    ["was refused", false],
    ["answers no close", true],
  ])(
    "ends soon when a client that %s keeps its connection",
    async (_what, isAdmitted) => {
      const place = temporaryDirectory();
      const options = { env: { HOME: place, TMPDIR: place }, editorPid: 1 };
      const other = await startCompanion(new ScriptedEditor(place), options);
      const { GEMINI_CLI_IDE_AUTH_TOKEN: given } = other.environment;
      const headers = {
        ...upgrade(claude(isAdmitted ? String(given) : "")),
        host: `127.0.0.1:${other.port}`,
      };
      const socket = connect({
        port: other.port,
        host: "127.0.0.1",
        allowHalfOpen: true,
      });
      socket.on("error", () => undefined);
      const lines = Object.entries(headers).map((each) => each.join(": "));
      socket.write(["GET / HTTP/1.1", ...lines, "", ""].join("\r\n"));
      await once(socket, "data");
      const begun = performance.now();
      await other.close();
      // Whoever waits for the client waits without an end.
      expect(performance.now() - begun).toBeLessThan(20_000);
      socket.destroy();
    },
  );

  it("has closed the views of its agents when it has ended", async () => {
    const place = temporaryDirectory();
    const env = { HOME: place, TMPDIR: place };
    const slow = new SlowEditor(place);
    const other = await startCompanion(slow, { env, editorPid: 1 });
    await using agent = await GeminiAgent.connect({
      port: other.port,
      authToken: other.environment.GEMINI_CLI_IDE_AUTH_TOKEN,
    });
    const filePath = join(place, "a.txt");
    await agent.call("openDiff", { filePath, newContent: "x" });
    await other.close();
    expect(slow.diffs[0]?.isOpen).toBe(false);
  });

  it("writes nothing through a link that somebody planted", async () => {
    const [place, victim] = [temporaryDirectory(), temporaryDirectory()];
    mkdirSync(join(place, "gemini"));
    symlinkSync(victim, join(place, "gemini/ide"));
    const options = { env: { HOME: place, TMPDIR: place }, editorPid: 1 };
    const other = await startCompanion(editor, options);
    expect(readdirSync(victim)).toEqual([]);
    expect(other.problems).toEqual([
      expect.stringMatching(
        /^Gemini CLI finds this editor in its own terminals only, as ".*" could not be written: ".*" is a link, which may lead to others' files$/,
      ),
    ]);
    expect(readdirSync(join(place, ".qwen/ide"))).toHaveLength(1);
    await other.close();
  });

  it("never lets its token be read by others, whatever the umask", async () => {
    const place = temporaryDirectory();
    putFile(place, "gemini/ide/.keep", "");
    const before = process.umask(0);
    try {
      const options = { env: { HOME: place, TMPDIR: place }, editorPid: 1 };
      const other = await startCompanion(editor, options);
      const name = `gemini-ide-server-1-${other.port}.json`;
      const path = join(place, "gemini/ide", name);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      await other.close();
    } finally {
      process.umask(before);
      rmSync(place, { recursive: true });
    }
  });
});
