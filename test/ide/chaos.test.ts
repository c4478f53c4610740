import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type Companion, startCompanion } from "@devtool/ide";
import { serveEditor } from "@devtool/ide/operator";
import { type ScriptedDiff, ScriptedEditor } from "@devtool/ide/testing";
import { objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClaudeAgent, GeminiAgent, until } from "./agents.ts";

/** A companion that is attacked. */
interface Target {
  readonly port: number;
  readonly token: string;
  /** The file whose diff an agent has open meanwhile. */
  readonly file: string;
}

const message = (method: string, params: unknown = {}, id = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const INITIALIZE = message("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "x", version: "1" },
});

/** Sends a request over HTTP; `lines` are further headers. */
function fetchRaw(
  { port, token }: Target,
  {
    method = "POST",
    path = "/mcp",
    body = INITIALIZE,
    headers = {} as Record<string, string>,
  } = {},
): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    ...(body !== "" && { body }),
  });
}

/** Opens a connection, writes what is given, and keeps what comes back. */
async function open({ port }: Target, ...parts: (string | Buffer)[]) {
  const socket = connect(port, "127.0.0.1");
  let answered = "";
  socket.on("error", () => undefined);
  socket.on("data", (data) => {
    answered += data.toString("latin1");
  });
  await once(socket, "connect");
  for (const part of parts) socket.write(part);
  return { socket, answered: () => answered };
}

const request = (
  { port, token }: Target,
  start: string,
  ...lines: string[]
): string =>
  [
    start,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    ...lines,
    "",
    "",
  ].join("\r\n");

const upgrade = (target: Target): string =>
  request(
    target,
    "GET / HTTP/1.1",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  );

/** The statuses of twenty times fifty requests, fifty at the same time. */
async function flood(send: () => Promise<Response>): Promise<number[]> {
  const statuses = new Set<number>();
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    for (const answer of answers) {
      await answer.body?.cancel();
      statuses.add(answer.status);
    }
  }
  return [...statuses];
}

/** Keeps sockets open until the test has looked at the companion. */
type Keep = (socket: Socket) => void;

const ATTACKS: readonly (readonly [
  what: string,
  attack: (target: Target, keep: Keep) => Promise<void>,
])[] = [
  [
    "floods it without a token",
    async (target) => {
      const headers = { authorization: "Bearer x" };
      const send = () => fetchRaw(target, { headers });
      expect(await flood(send)).toEqual([401]);
    },
  ],
  [
    "floods its WebSocket without a token",
    async (target) => {
      const head = upgrade({ ...target, token: "x" });
      for (let round = 0; round < 20; round++) {
        const all = Array.from({ length: 50 }, () => open(target, head));
        for (const { answered } of await Promise.all(all)) {
          await until(() => /^HTTP\/1.1 401/.exec(answered()) ?? undefined);
        }
      }
    },
  ],
  [
    "floods it with what is not JSON",
    async (target) => {
      const send = () => fetchRaw(target, { body: "{".repeat(1000) });
      expect(await flood(send)).toEqual([400]);
    },
  ],
  [
    "begins requests and sends no more",
    async (target, keep) => {
      const head = request(target, "POST /mcp HTTP/1.1", "Content-Length: 9");
      for (let cut = 0; cut < head.length; cut += 2) {
        keep((await open(target, head.slice(0, cut))).socket);
      }
      for (let index = 0; index < 50; index++) {
        keep((await open(target, head, '{"json')).socket);
      }
    },
  ],
  [
    "sends two lengths, or none that is a number",
    async (target) => {
      for (const line of [
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: x",
        `X: ${"x".repeat(100_000)}`,
      ]) {
        const head = request(target, "POST /mcp HTTP/1.1", line);
        const { answered } = await open(target, head, "0\r\n\r\n");
        await until(() => /^HTTP\/1.1 4\d\d/.exec(answered()) ?? undefined);
      }
    },
  ],
  [
    "puts the token into the URL",
    async (target) => {
      const { token } = target;
      for (const name of ["token", "authToken", "access_token", "key"]) {
        const path = `/mcp?${name}=${token}&authorization=Bearer%20${token}`;
        const headers = { authorization: "" };
        expect((await fetchRaw(target, { path, headers })).status).toBe(401);
      }
      const head = upgrade(target)
        .replace("GET /", `GET /?token=${token}`)
        .replace(/Authorization.*\r\n/, "");
      const { answered } = await open(target, head);
      await until(() => /^HTTP\/1.1 401/.exec(answered()) ?? undefined);
    },
  ],
  [
    "asks as a web page does before it sends",
    async (target) => {
      const headers = {
        origin: "https://evil.example",
        "access-control-request-method": "POST",
        authorization: "",
      };
      const answer = await fetchRaw(target, {
        method: "OPTIONS",
        body: "",
        headers,
      });
      expect(answer.status).toBe(403);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    },
  ],
  [
    "uses session ids that are not or no longer known",
    async (target) => {
      const { headers } = await fetchRaw(target);
      const own = { "mcp-session-id": String(headers.get("mcp-session-id")) };
      const ended = await fetchRaw(target, {
        method: "DELETE",
        body: "",
        headers: own,
      });
      expect(ended.status).toBe(200);
      const list = message("tools/list");
      for (const id of [...Object.values(own), "x", "__proto__", "undefined"]) {
        const replay = { headers: { "mcp-session-id": id }, body: list };
        expect((await fetchRaw(target, replay)).status).toBe(404);
      }
    },
  ],
  [
    "shares a session id among two clients",
    async (target) => {
      const first = await fetchRaw(target);
      const id = String(first.headers.get("mcp-session-id"));
      const headers = { "mcp-session-id": id };
      const stream = { method: "GET", body: "", headers };
      const listening = await fetchRaw(target, stream);
      expect(listening.status).toBe(200);
      expect((await fetchRaw(target, stream)).status).toBe(409);
      expect((await fetchRaw(target, { headers })).status).toBe(400);
      const stolen = { ...headers, authorization: "Bearer x" };
      expect((await fetchRaw(target, { headers: stolen })).status).toBe(401);
      const body = message("ping");
      expect((await fetchRaw(target, { headers, body })).status).toBe(200);
      await listening.body?.cancel();
      await fetchRaw(target, { ...stream, method: "DELETE" });
    },
  ],
  [
    "sends frames that are too large, cut or not masked",
    async (target, keep) => {
      const huge = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x10, 0, 0, 0]);
      const bare = Buffer.from([0x81, 0x01, 0x7b]);
      const reserved = Buffer.from([0xf1, 0x80, 0, 0, 0, 0]);
      for (const frame of [huge, bare, reserved]) {
        const { socket } = await open(target, upgrade(target), frame);
        await once(socket, "close");
      }
      // A message in pieces, whose end never comes.
      const piece = Buffer.concat([
        Buffer.from([0x01, 0xfe, 0xff, 0xff, 0, 0, 0, 0]),
        Buffer.alloc(65_535, "x"),
      ]);
      keep((await open(target, upgrade(target), piece, piece)).socket);
    },
  ],
  [
    "names tools and arguments that objects have by themselves",
    async ({ port, token }) => {
      using agent = await ClaudeAgent.connect(port, token);
      for (const name of ["__proto__", "constructor", "toString", ""]) {
        const answer = await agent.request("tools/call", {
          name,
          arguments: JSON.parse('{"__proto__": {"filePath": "/x"}}'),
        });
        expect(objectOrEmpty(objectOrEmpty(answer).error).code).toBe(-32602);
      }
    },
  ],
  [
    "wants the file of another agent again and again",
    async ({ port, token, file }) => {
      using agent = await ClaudeAgent.connect(port, token);
      const propose = () =>
        agent.call("openDiff", {
          old_file_path: file,
          new_file_path: join(file, "x", ".."),
          new_file_contents: "stolen",
          tab_name: "x",
        });
      const answers = Array.from({ length: 200 }, propose);
      await agent.call("closeAllDiffTabs", {});
      for (const { texts } of await Promise.all(answers)) {
        expect(texts.join()).toMatch(
          /^DIFF_REJECTED|^6[45] diffs are open: limit is 64/,
        );
      }
    },
  ],
  [
    "closes the diff of another agent over the same dialect",
    async ({ port, token, file }) => {
      await using agent = await GeminiAgent.connect({ port, authToken: token });
      const closed = await agent.call("closeDiff", { filePath: file });
      expect(closed.texts).toEqual(["{}"]);
    },
  ],
  [
    "dies at each step of a session over HTTP",
    async (target) => {
      const { headers } = await fetchRaw(target);
      const session = `Mcp-Session-Id: ${headers.get("mcp-session-id")}`;
      const accept = "Accept: application/json, text/event-stream";
      const post = (body: string, ...lines: string[]): string =>
        request(
          target,
          "POST /mcp HTTP/1.1",
          "Content-Type: application/json",
          `Content-Length: ${body.length}`,
          accept,
          ...lines,
        ) + body;
      const input = { filePath: "/dies", newContent: "x" };
      const call = { name: "openDiff", arguments: input };
      const openDiff = post(message("tools/call", call, 3), session);
      const steps = [
        post(INITIALIZE),
        post('{"jsonrpc":"2.0","method":"notifications/initialized"}', session),
        request(target, "GET /mcp HTTP/1.1", accept, session),
        post(message("tools/list", {}, 2), session),
      ];
      for (const step of [...steps, openDiff.slice(0, -9)]) {
        const half = await open(target, step.slice(0, step.length / 2));
        half.socket.resetAndDestroy();
        const whole = await open(target, step);
        if (step !== openDiff.slice(0, -9)) {
          await until(
            () => /^HTTP\/1.1 20/.exec(whole.answered()) ?? undefined,
          );
        }
        whole.socket.resetAndDestroy();
      }
    },
  ],
  [
    "dies at each step of a session over a WebSocket",
    async (target) => {
      const steps = [
        upgrade(target),
        frame(INITIALIZE),
        frame('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
        frame(message("tools/list", {}, 2)),
        frame(
          message("tools/call", {
            name: "openDiff",
            arguments: {
              old_file_path: "/dies",
              new_file_path: "/dies",
              new_file_contents: "x",
              tab_name: "dies",
            },
          }),
        ),
      ];
      for (let count = 1; count <= steps.length; count++) {
        const whole = steps.slice(0, count);
        const { socket, answered } = await open(target, ...whole);
        await until(() => /101 Switching/.exec(answered()) ?? undefined);
        socket.resetAndDestroy();
        const last = steps[count] ?? "";
        const half = last.slice(0, last.length / 2);
        const other = await open(target, ...whole, half);
        other.socket.resetAndDestroy();
      }
    },
  ],
];

/** A text as a frame of a WebSocket, with a mask of zeros. */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.from([0x81, 0xfe, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(body.length, 2);
  return Buffer.concat([head, body]);
}

describe("a companion, beside a client that", () => {
  const home = temporaryDirectory();
  const editor = new ScriptedEditor(home);
  let companion: Companion;
  let target: Omit<Target, "file">;

  beforeAll(async () => {
    const env = { HOME: home, TMPDIR: home };
    companion = await startCompanion(editor, { env, editorPid: 4242 });
    const { port, environment } = companion;
    const token = String(environment.GEMINI_CLI_IDE_AUTH_TOKEN);
    target = { port, token };
  });
  afterAll(() => companion.close());

  it.each(ATTACKS)(
    "%s, serves another one as before",
    async (_what, attack) => {
      const { port, token } = target;
      // A session ends 30 s after its agent: each attack has another file.
      const file = join(home, `innocent-${editor.diffs.length}.txt`);
      const kept: Socket[] = [];
      await using agent = await GeminiAgent.connect({ port, authToken: token });
      const input = { filePath: file, newContent: "proposed\n" };
      expect((await agent.call("openDiff", input)).isError).toBe(false);
      const view = editor.diffs.at(-1);
      await attack({ ...target, file }, (socket) => kept.push(socket));

      // Nothing of the other one is lost, or open to the attacker.
      expect(view).toMatchObject({ path: file, isOpen: true });
      const others = editor.diffs.filter(
        (each) => each !== view && each.isOpen,
      );
      await until(() => (others.every(isClosed) ? true : undefined));
      editor.show({ openFiles: [{ path: `/seen-${editor.diffs.length}` }] });
      await until(() =>
        JSON.stringify(agent.last("ide/contextUpdate")).includes("/seen-")
          ? true
          : undefined,
      );
      view?.accept();
      await until(() => agent.last("ide/diffAccepted"));
      for (const socket of kept) socket.destroy();
    },
  );
});

function isClosed({ isOpen }: ScriptedDiff): boolean {
  return !isOpen;
}

describe("a companion in a child process, whose editor", () => {
  const HELLO = '{"hello":{"name":"e","displayName":"E","pid":1}}';
  const STATE = '{"state":{"workspaceFolders":["/w"]}}';

  /** What the companion says, and how its editor talks to it. */
  function serve() {
    const home = temporaryDirectory();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const env = { HOME: home, TMPDIR: home };
    const ended = serveEditor(
      { input, output, env },
      new AbortController().signal,
    );
    let text = "";
    output.on("data", (data) => {
      text += data;
    });
    const said = (): Record<string, unknown>[] =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => objectOrEmpty(JSON.parse(line)));
    const say = (...lines: readonly string[]): void => {
      for (const line of lines) input.write(`${line}\n`);
    };
    const state = () =>
      until(() => said().find((each) => "state" in each)?.state);
    const agent = async (): Promise<GeminiAgent> => {
      const { port, environment } = objectOrEmpty(await state());
      const authToken = objectOrEmpty(environment).GEMINI_CLI_IDE_AUTH_TOKEN;
      return await GeminiAgent.connect({ port, authToken });
    };
    return { input, output, ended, said, say, state, agent };
  }

  it.each([
    ["sends what is not JSON", ["{", "null", "[]", '"', "\u0000", "💥"]],
    ["sends fields of the wrong type", ['{"state":1}', '{"answer":{"id":-1}}']],
    ["says who it is twice", [HELLO, HELLO]],
    ["answers what nobody asked", ['{"answer":{"id":7,"content":"x"}}']],
    ["ends a diff that is not open", ['{"diffEnded":{"diffId":9}}']],
    ["says nothing that is known", ['{"later":{}}', "{}", ""]],
    ["repeats its state", Array.from({ length: 5000 }, () => STATE)],
  ])("%s, goes on", async (_what, lines) => {
    const { input, ended, say, said, agent: connected } = serve();
    say(STATE, HELLO, ...lines, STATE, ...lines);
    await using agent = await connected();
    expect(said()[0]).toEqual({
      problem: {
        message: 'the first line must be a "hello": say who the editor is',
      },
    });
    const shown = agent.call("openDiff", { filePath: "/f", newContent: "x" });
    const asked = await until(() => said().find((each) => "request" in each));
    const { id } = objectOrEmpty(asked.request);
    say(`{"answer":{"id":${id}}}`, ...lines, `{"answer":{"id":${id}}}`);
    expect((await shown).isError).toBe(false);
    const end = `{"diffEnded":{"diffId":${id},"outcome":{"decision":"DIFF_DECISION_ACCEPTED","content":"y"}}}`;
    say(end, end.replace("ACCEPTED", "REJECTED"));
    expect((await until(() => agent.last("ide/diffAccepted"))).params).toEqual({
      filePath: "/f",
      content: "y",
    });
    expect(agent.last("ide/diffRejected")).toBeUndefined();
    input.end();
    await ended;
  });

  it("sends a line that is too long, ends with an error", async () => {
    const { input, ended, say, state } = serve();
    say(HELLO, STATE);
    await state();
    const failed = expect(ended).rejects.toThrow(/more than 67108864 bytes/);
    for (let index = 0; index < 65; index++) {
      input.write("x".repeat(1024 * 1024));
    }
    await failed;
  });

  it.each([
    ["before it said who it is", []],
    ["before it said what is open", [HELLO]],
    ["within a line", [HELLO, '{"state":{"work']],
    ["while a diff is being opened", [HELLO, STATE]],
  ])("dies %s, ends and leaves nobody waiting", async (_what, lines) => {
    const { input, ended, say, said, agent: connected } = serve();
    say(...lines.slice(0, -1));
    input.write(lines.at(-1) ?? "");
    if (lines[1] === STATE) {
      input.write("\n");
      await using agent = await connected();
      const shown = agent
        .call("openDiff", { filePath: "/f", newContent: "x" })
        .catch(() => "gone");
      await until(() => said().find((each) => "request" in each));
      input.end();
      await ended;
      await shown;
      return;
    }
    input.end();
    await ended;
    expect(said()).toEqual([]);
  });
});
