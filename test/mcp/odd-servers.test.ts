import {
  createServer,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  errorOf,
  nodeServer,
  type PlayedCall,
  play,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const signal = AbortSignal.timeout(300_000);
const ODD = fileURLToPath(new URL("odd-server.ts", import.meta.url));

const GOOD = { name: "good", inputSchema: { type: "object" } };

/** A server that answers methods as given (`odd-server.ts`). */
function odd(answers: Record<string, unknown>, first = ""): McpServer {
  return nodeServer("odd", [ODD, JSON.stringify({ answers, first })]);
}

/** What a server's tools and its state are called. */
async function listed(server: McpServer) {
  const { servers, notices } = serversOf([server]);
  await using _servers = servers;
  const tools = await servers.tools(signal);
  const [status] = servers.status();
  return {
    names: tools.map(({ declaration }) => declaration.name),
    tools,
    status,
    leftOut: (status?.leftOut ?? []).join("\n"),
    notices: notices.join("\n"),
  };
}

/** The text or error of a call of the tool "good". */
async function called(server: McpServer, args = {}): Promise<string> {
  await using servers = serversOf([server]).servers;
  const tool = toolNamed(await servers.tools(signal), "good");
  const played = await play(tool, args, signal);
  return said(played);
}

/** What a call gave: its text, or the message of its error. */
function said(played: PlayedCall): string {
  return played.result.case === "error"
    ? errorOf(played).message
    : textOf(played);
}

const calling = (...answers: unknown[]): McpServer =>
  odd({
    "tools/list": { result: { tools: [GOOD] } },
    "tools/call": answers,
  });

describe("B1: a list with an odd tool", () => {
  const schema = (fields: object) => ({
    inputSchema: { type: "object", ...fields },
  });
  it.each<[string, unknown, string]>([
    ["no inputSchema", {}, "inputSchema is missing"],
    [
      "an inputSchema that is null",
      { inputSchema: null },
      "inputSchema is missing",
    ],
    [
      "an empty inputSchema",
      { inputSchema: {} },
      "inputSchema.type is missing",
    ],
    [
      "type string",
      { inputSchema: { type: "string" } },
      'inputSchema.type is "string": expected "object"',
    ],
    [
      "two types",
      { inputSchema: { type: ["object", "null"] } },
      'inputSchema.type is ["object","null"]',
    ],
    [
      "a title that is not a text",
      { ...GOOD, title: 5 },
      "title is 5: expected string",
    ],
    [
      "a name that is not a text",
      { ...GOOD, name: 5 },
      "name is 5: expected string",
    ],
    [
      "required that is not a list",
      schema({ required: "a" }),
      'inputSchema.required is "a"',
    ],
    [
      "invalid hints",
      { ...GOOD, annotations: { readOnlyHint: "yes" } },
      'annotations.readOnlyHint is "yes"',
    ],
    ["an invalid item", null, "it is null"],
    ["a list in place of a tool", [], "it is []"],
  ])(
    "has the others, and names the one with %s",
    async (_what, tool, problem) => {
      const named = { name: "bad", ...(tool as object) };
      const item = tool === null || Array.isArray(tool) ? tool : named;
      const result = { tools: [item, { ...GOOD, name: "other" }] };
      const { names, leftOut, notices } = await listed(
        odd({ "tools/list": { result } }),
      );
      expect(names).toEqual(["mcp__odd__other"]);
      expect(leftOut).toContain(`is left out: ${problem}`);
      expect(notices).toContain(problem);
      expect(`${leftOut}${notices}`).not.toMatch(/invalid_|"code"/);
    },
  );

  it("leaves out a tool that requires the tasks of 2025-11-25, and names it", async () => {
    const tasks = {
      ...GOOD,
      name: "t",
      execution: { taskSupport: "required" },
    };
    const result = { tools: [GOOD, tasks] };
    const { names, leftOut, notices } = await listed(
      odd({ "tools/list": { result } }),
    );
    expect(names).toEqual(["mcp__odd__good"]);
    const text = 'tool "t" is left out: it requires the tasks of 2025-11-25';
    expect(leftOut).toContain(text);
    expect(notices).toContain(text);
  });

  it.each<[string, object]>([
    ["properties", schema({ properties: null })],
    ["required", schema({ required: null })],
    ["description", { description: null }],
    ["annotations", { annotations: null }],
    ["hint", { annotations: { title: null, readOnlyHint: null } }],
    ["outputSchema", { outputSchema: null }],
    [
      "_meta, icons, execution and title",
      { _meta: null, icons: null, execution: null, title: null },
    ],
    [
      "property",
      schema({
        properties: { a: null, b: { type: "string", description: null } },
      }),
    ],
  ])("takes null for absent: %s", async (_what, fields) => {
    const tool = { ...GOOD, ...fields };
    const { names, leftOut } = await listed(
      odd({ "tools/list": { result: { tools: [tool], nextCursor: null } } }),
    );
    expect([names, leftOut]).toEqual([["mcp__odd__good"], ""]);
  });

  it.each([{}, { type: "array", items: {} }, 5, "x"])(
    "needs no outputSchema: %j",
    async (outputSchema) => {
      const tools = [{ ...GOOD, outputSchema }];
      const { names } = await listed(
        odd({ "tools/list": { result: { tools } } }),
      );
      expect(names).toEqual(["mcp__odd__good"]);
    },
  );

  it.each<[string, object, string]>([
    ["no list", { result: { tools: {} } }, "the list of tools is {}"],
    [
      "an invalid cursor",
      { result: { tools: [GOOD], nextCursor: 5 } },
      "nextCursor is 5",
    ],
    [
      "an error",
      { error: { code: 1, message: "no\nway" } },
      "its tools cannot be listed: no",
    ],
    [
      "an invalid error",
      { error: "plain" },
      'invalid answer: its error is "plain"',
    ],
    ["null", { result: null }, "invalid answer: its result is null"],
  ])("names the cause of %s", async (_what, answer, problem) => {
    const { leftOut, notices } = await listed(odd({ "tools/list": answer }));
    expect(leftOut).toContain(problem);
    expect(notices).toContain(problem);
  });

  it("K7: has the first of two tools with one name, and names the other", async () => {
    const tools = [{ ...GOOD, description: "first" }, GOOD];
    const { tools: offered, leftOut } = await listed(
      odd({ "tools/list": { result: { tools } } }),
    );
    expect(offered.map(({ declaration }) => declaration)).toMatchObject([
      { name: "mcp__odd__good", description: expect.stringMatching("first") },
    ]);
    expect(leftOut).toContain(
      'tool "good" is left out: another one has its name',
    );
  });

  it("reads 150 pages, and leaves out a page that cannot be read", async () => {
    const pages = Array.from({ length: 150 }, (_one, at) => ({
      result: {
        tools: [{ ...GOOD, name: `t${at}` }],
        nextCursor: at < 149 ? String(at) : null,
      },
    }));
    const whole = await listed(odd({ "tools/list": pages }));
    expect([whole.names.length, whole.leftOut]).toEqual([150, ""]);
    const broken = [
      ...pages.slice(0, 2),
      { error: { code: 1, message: "gone" } },
    ];
    const part = await listed(odd({ "tools/list": broken }));
    expect(part.names).toEqual(["mcp__odd__t0", "mcp__odd__t1"]);
    expect(part.leftOut).toContain(
      "page 3 and further ones are left out: gone",
    );
  });

  it("leaves out a tool that nests too deep", async () => {
    const deep = `${'{"a":'.repeat(15_000)}1${"}".repeat(15_000)}`;
    const tool = `{"name":"bad","inputSchema":{"type":"object","x":DEEP}}`;
    const raw = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[${tool},${JSON.stringify(GOOD)}]}}`;
    const { names, leftOut } = await listed(
      odd({ "tools/list": { raw: raw.replace("DEEP", deep) } }),
    );
    expect(names).toEqual(["mcp__odd__good"]);
    expect(leftOut).toContain("nests too deep");
  });

  it("has prompts and resources but for the odd ones", async () => {
    const { servers } = serversOf([
      odd({
        "tools/list": { result: { tools: [GOOD] } },
        "prompts/list": {
          result: {
            prompts: [
              { name: "p", arguments: null, description: null },
              { name: "q", arguments: 5 },
            ],
          },
        },
        "resources/list": {
          result: {
            resources: [
              { uri: "a:b", name: "r", mimeType: null },
              { uri: "c:d" },
            ],
          },
        },
        "resources/templates/list": {
          result: {
            resourceTemplates: [
              { uriTemplate: "file:///{path}", name: "f", mimeType: null },
              { uriTemplate: 5, name: "g" },
            ],
          },
        },
      }),
    ]);
    await using _servers = servers;
    const prompts = await servers.prompts(signal);
    expect(prompts.map(({ name }) => name)).toEqual(["p"]);
    const tools = await servers.tools(signal);
    const description = tools.at(-1)?.declaration.description;
    expect(description).toContain("a:b (r)");
    expect(description).toContain("file:///{path} (template, f)");
    const [status] = servers.status();
    expect(status?.leftOut?.join("\n")).toContain(
      'prompt "q" is left out: arguments is 5',
    );
    expect(status?.leftOut?.join("\n")).toContain(
      'resource "c:d" is left out: name is missing',
    );
    expect(status?.leftOut?.join("\n")).toContain(
      'resource template "g" is left out: uriTemplate is 5',
    );
  });
});

describe("B17: a schema that no model API takes", () => {
  it.each<[string, object, string]>([
    ["#/$defs/Missing", { $ref: "#/$defs/Missing" }, "$ref"],
    [
      "https://example.org/s",
      { $ref: "https://example.org/s", description: "d" },
      "$ref",
    ],
    ["integr", { type: "integr" }, "type"],
    ["required", { type: "string", required: true }, "required"],
  ])(
    "is offered without the part %s, which is named",
    async (_part, a, keyword) => {
      const inputSchema = {
        type: "object",
        properties: { a, b: { type: "string" } },
      };
      const { tools, leftOut } = await listed(
        odd({
          "tools/list": { result: { tools: [{ name: "good", inputSchema }] } },
        }),
      );
      const parameters = JSON.stringify(tools[0]?.declaration.parameters);
      expect(parameters).not.toContain(
        `"${keyword}":${JSON.stringify(Reflect.get(a, keyword))}`,
      );
      expect(parameters).toContain('"b":{"type":"string"}');
      expect(leftOut).toContain(
        `tool "good": inputSchema.properties.a.${keyword} is`,
      );
    },
  );

  it("is checked at the call through recursive references", async () => {
    const inputSchema = {
      type: "object",
      properties: { node: { $ref: "#/$defs/Node" } },
      $defs: {
        Node: {
          type: "object",
          properties: { v: { type: "string" }, next: { $ref: "#/$defs/Node" } },
        },
      },
    };
    const { tools } = await listed(
      odd({
        "tools/list": { result: { tools: [{ name: "good", inputSchema }] } },
      }),
    );
    const tool = toolNamed(tools, "good");
    await expect(tool.prepare({ node: { v: 1 } }, signal)).rejects.toThrow(
      /string/,
    );
    await expect(
      tool.prepare({ node: { v: "1", next: { v: 2 } } }, signal),
    ).rejects.toThrow(/string/);
    await tool.prepare({ node: { v: "1", next: { v: "2" } } }, signal);
  });
});

it("B18: takes null for no argument where it may not be null", async () => {
  const properties = { a: { type: "string" }, b: { type: ["string", "null"] } };
  const tool = { name: "good", inputSchema: { type: "object", properties } };
  const server = odd({
    "tools/list": { result: { tools: [tool] } },
    "tools/call": "echo",
  });
  expect(JSON.parse(await called(server, { a: null })).arguments).toEqual({});
  expect(JSON.parse(await called(server, { b: null })).arguments).toEqual({
    b: null,
  });
});

describe("F8: a result with content that is not valid", () => {
  it.each<[string, unknown, string]>([
    [
      "an unknown type",
      [{ type: "hologram" }, { type: "text", text: "after" }],
      "[hologram]\nafter",
    ],
    [
      "an image without data",
      [
        { type: "image", mimeType: "image/png" },
        { type: "text", text: "x" },
      ],
      "[image: data is missing]\nx",
    ],
    [
      "invalid text",
      [{ type: "text", text: 5 }, "plain"],
      "[text: text is 5: expected string]\nplain",
    ],
    [
      "annotations that are null",
      [{ type: "text", text: "a", annotations: null, _meta: null }],
      "a",
    ],
    ["text in place of a list", "plain", "plain"],
    ["a block in place of a list", { type: "text", text: "one" }, "one"],
    ["invalid items", [null, 5, { type: "text", text: "x" }], "[null]\n[5]\nx"],
    ["null", null, ""],
    [
      "K7: text in blocks of other types and of none",
      [{ type: "markdown", text: "a" }, { text: "b" }],
      "[markdown]\na\nb",
    ],
    [
      "K7: a resource without a URI and with an odd type",
      [{ type: "resource", resource: { text: "a", blob: null, mimeType: 5 } }],
      "[resource ]\na",
    ],
    [
      "K7: a link without a name",
      [{ type: "resource_link", uri: "a:b" }],
      "[link to resource a:b: a:b]",
    ],
  ])("keeps the rest beside %s", async (_what, content, text) => {
    expect(await called(calling({ result: { content } }))).toBe(text);
  });

  it("keeps the text when the promised structured content is missing", async () => {
    const outputSchema = {
      type: "object",
      properties: { a: {} },
      required: ["a"],
    };
    const content = [{ type: "text", text: "text" }];
    const server = odd({
      "tools/list": { result: { tools: [{ ...GOOD, outputSchema }] } },
      "tools/call": { result: { content, structuredContent: null } },
    });
    expect(await called(server)).toBe("text");
  });
});

describe("F9: a handshake that fails", () => {
  const initialize = (result: object) => odd({ initialize: { result } });
  const whole = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    serverInfo: { name: "x", version: "1" },
  };
  it.each<[string, McpServer, string]>([
    [
      "another protocol",
      initialize({ ...whole, protocolVersion: "2099-01-01" }),
      'it offers protocol "2099-01-01", this client speaks 2025-11-25',
    ],
    [
      "no version of the server",
      initialize({ ...whole, serverInfo: { name: "x" } }),
      "serverInfo.version is missing",
    ],
    [
      "no capabilities",
      initialize({ ...whole, capabilities: null }),
      "capabilities is missing",
    ],
    [
      "frames with lengths",
      odd({}, "Content-Length: 12\r\n\r\n{}"),
      "its output is not lines of JSON: Content-Length: 12",
    ],
    [
      "JSON in several lines",
      odd({}, '{\n  "jsonrpc": "2.0"\n}\n'),
      "its output is not lines of JSON: {",
    ],
  ])("is named with its cause: %s", async (_what, server, cause) => {
    const { status, notices } = await listed(server);
    expect(status?.state).toBe("failed");
    expect(status?.reason).toContain(cause);
    expect(notices).toContain(cause);
  });

  it.each<[string, McpServer]>([
    [
      "fields that may be absent",
      odd({
        initialize: {
          result: {
            ...whole,
            instructions: 5,
            capabilities: { tools: true, logging: 5, experimental: [] },
            serverInfo: { name: "x", version: 1, title: 5, icons: "x" },
          },
        },
        "tools/list": { result: { tools: [GOOD] } },
      }),
    ],
    ...["[INFO] {ready}\n", '{"level":"info"}\n', "{ ready }\n\n"].map(
      (banner): [string, McpServer] => [
        `the banner ${banner.trim()}`,
        odd({ "tools/list": { result: { tools: [GOOD] } } }, banner),
      ],
    ),
  ])("K7: does not fail for %s", async (_what, server) => {
    const { names, status } = await listed(server);
    expect([names, status?.state]).toEqual([["mcp__odd__good"], "ready"]);
  });

  it("is reported by the list soon, and not waited for in each turn", async () => {
    const { servers } = serversOf([
      odd({ initialize: { raw: " " }, "server/discover": { raw: " " } }),
    ]);
    await using _servers = servers;
    const startMs = performance.now();
    await servers.connect(signal);
    // Far below the minute after which it is given up.
    expect(performance.now() - startMs).toBeLessThan(30_000);
    expect(servers.status()).toMatchObject([{ state: "connecting" }]);
  });
});

const NUMBERS = [
  "9007199254740993",
  "-9007199254740993",
  "18446744073709551615",
  "1e400",
  "0.12345678901234567890",
];

describe("B6: a number in the data of a result", () => {
  it.each(NUMBERS)("keeps its digits: %s", async (n) => {
    const result = `{"content":[],"structuredContent":{"id":${n},"s":"${n}","l":[{"x":${n}}],"n":5}}`;
    const raw = `{"jsonrpc":"2.0","id":ID,"result":${result}}`;
    expect(JSON.parse(await called(calling({ raw })))).toEqual({
      id: n,
      s: n,
      l: [{ x: n }],
      n: 5,
    });
  });

  it("is cut with its digits, where the result is too long", async () => {
    const [n = ""] = NUMBERS;
    const list = `[${Array(5000).fill(n)}]`;
    const raw = `{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":${list}}}`;
    expect(await called(calling({ raw }))).toMatch(
      /^\{"value":\["9007199254740993","9007199254740993"/,
    );
  });
});

describe("I37: an answer that is odd in one place", () => {
  const fine = { result: { content: "fine" } };
  const raw = (text: string) => ({ raw: text });
  it.each<[string, object, string]>([
    ...[0, "false", null, "", "0", "False"].map(
      (isError): [string, object, string] => [
        `isError ${JSON.stringify(isError)}`,
        { result: { content: "fine", isError } },
        "fine",
      ],
    ),
    [
      "two on a line",
      raw('{"method":"x"}{"id":ID,"result":{"content":"fine"}}'),
      "fine",
    ],
    [
      "three, and text between",
      raw(
        '{"method":"x"} ok [info] {"method":"y"}{"id":ID,"result":{"content":"fine"}}',
      ),
      "fine",
    ],
    [
      "a list whose first is broken",
      raw('[5,null,{"id":ID,"result":{"content":"fine"}}]'),
      "fine",
    ],
    [
      "one on two lines",
      raw(
        '{"jsonrpc":"2.0","method":"notifications/message",\n"params":{"level":"info","data":1}}\n{"id":ID,"result":{"content":"fine"}}',
      ),
      "fine",
    ],
    ["NUL bytes", raw('\0\0{"id":ID,"result":{"content":"fine"}}\0'), "fine"],
    [
      "blank lines",
      raw('\n  \n\t\r\n{"id":ID,"result":{"content":"fine"}}'),
      "fine",
    ],
    [
      "an error with data",
      { error: { code: 5, message: "no", data: { at: "line\n2\u001b" } } },
      'no: {"at":"line\\n2\\u001b"}',
    ],
    [
      "an error with text",
      { error: { code: 5, message: "no", data: "the \u001b file" } },
      "no: the \\u{1b} file",
    ],
    [
      "an error with a report",
      {
        error: {
          code: 5,
          message: "no",
          data: [{ path: ["a"], message: "bad", code: "x" }],
        },
      },
      "no: a: bad",
    ],
    [
      "an error with much data",
      { error: { code: 5, message: "no", data: "x".repeat(9999) } },
      "characters",
    ],
  ])("loses nothing of %s", async (_what, answer, text) => {
    const played = await called(calling(answer, fine));
    expect(played).toContain(text);
    expect(played.length).toBeLessThan(500);
  });

  it.each([
    "9007199254740993",
    "-9007199254740993",
    "1e400",
    '"9007199254740993"',
  ])("answers a request with the digits of its id, %s", async (id) => {
    const ping = raw(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    const server = odd({
      "tools/list": { result: { tools: [GOOD] } },
      "tools/call": [ping],
      answered: true,
    });
    expect(await called(server)).toContain(`"id":${id}}`);
  });

  it("names a tool whose name another page has", async () => {
    const other = { ...GOOD, name: "other" };
    const { names, leftOut } = await listed(
      odd({
        "tools/list": [
          { result: { tools: [GOOD], nextCursor: "2" } },
          { result: { tools: [GOOD, other] } },
        ],
      }),
    );
    expect(names).toEqual(["mcp__odd__good", "mcp__odd__other"]);
    expect(leftOut).toBe('tool "good" is left out: another one has its name');
  });
});

describe("a list of 2026-07-28 that its server tells no changes of", () => {
  it.each([
    [3_600_000, "good"],
    [0, "better"],
  ])(
    "holds for its ttlMs, %d, and so does what is left out of it",
    async (ttlMs, name) => {
      const [first, next] = ["good", "better"].map((name) => ({
        result: { tools: [{ ...GOOD, name }, { name: "bad" }], ttlMs },
      }));
      const { servers } = serversOf([
        odd({
          "server/discover": {
            result: {
              supportedVersions: ["2026-07-28"],
              capabilities: { tools: {} },
            },
          },
          "tools/list": [first, next],
        }),
      ]);
      await using _servers = servers;
      toolNamed(await servers.tools(signal), "good");
      toolNamed(await servers.tools(signal), name);
      const [status] = servers.status();
      expect(status?.leftOut).toEqual([expect.stringContaining('"bad"')]);
    },
  );
});

describe("F10: a malformed reply", () => {
  it.each<[string, object, string]>([
    [
      "an error that is text",
      { error: "plain" },
      'invalid answer: its error is "plain"',
    ],
    ["an error without a code", { error: { message: "words" } }, "words"],
    ["null", { result: null }, "invalid answer: its result is null"],
    ["neither result nor error", {}, "invalid answer: its result is undefined"],
    [
      "a result that is a list",
      { result: [] },
      "invalid answer: its result is []",
    ],
    [
      "invalid JSON",
      { raw: '{"jsonrpc":"2.0","id":ID,"result":{"content":[NaN]}}' },
      "invalid answer: it is not JSON",
    ],
    [
      "no version of JSON-RPC",
      { raw: '{"id":ID,"result":{"content":"fine"}}' },
      "fine",
    ],
    [
      "K7: a list with the answer",
      { raw: '[{"jsonrpc":"2.0","id":ID,"result":{"content":"fine"}}]' },
      "fine",
    ],
    [
      "K7: an error without the id",
      { raw: '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}' },
      "no",
    ],
    [
      "K7: a byte order mark before it",
      { raw: '\ufeff{"id":ID,"result":{"content":"fine"}}' },
      "fine",
    ],
    [
      "an error that is null",
      { result: { content: "fine" }, error: null },
      "fine",
    ],
  ])("ends its request: %s", async (_what, answer, text) => {
    const played = await called(calling(answer));
    expect(played).toContain(text);
    expect(played).not.toContain("showed no progress");
  });
});

describe("a server over HTTP", () => {
  type Own =
    | { status?: number; type?: string; body: string }
    | ((response: ServerResponse, id: string) => void);

  /**
   * Serves MCP by a function of the method, of MCP or else of HTTP, and calls the
   * tool "good".
   */
  async function callOver(
    answer: (method: string, session: string) => Own | undefined,
    calls = 1,
    more: MessageInitShape<typeof McpServerSchema> = {},
    now: () => number = () => performance.now(),
  ): Promise<string[]> {
    let sessions = 0;
    const handle: RequestListener = (request, response) => {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", () => {
        if (request.method !== "POST") {
          const own = answer(request.method ?? "", "");
          if (typeof own === "function") return own(response, "");
          response.writeHead(405).end();
          return;
        }
        const { id, method } = JSON.parse(text);
        if (id === undefined) {
          response.writeHead(202).end();
          return;
        }
        const session = String(request.headers["mcp-session-id"] ?? "");
        const own = answer(method, session);
        if (typeof own === "function") return own(response, JSON.stringify(id));
        const result =
          method === "initialize"
            ? {
                protocolVersion: "2025-06-18",
                capabilities: { tools: {} },
                serverInfo: { name: "h", version: "1" },
              }
            : { tools: [GOOD], content: [{ type: "text", text: session }] };
        const error = { code: -32601, message: "unknown" };
        const body = method === "server/discover" ? { error } : { result };
        response.writeHead(own?.status ?? 200, {
          "content-type": own?.type ?? "application/json",
          ...(method === "initialize" && {
            "mcp-session-id": `S${++sessions}`,
          }),
        });
        response.end(
          own
            ? own.body.replaceAll("ID", JSON.stringify(id))
            : JSON.stringify({ jsonrpc: "2.0", id, ...body }),
        );
      });
    };
    const server = createServer(handle);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/mcp`;
    const http = create(McpServerSchema, {
      name: "odd",
      transport: { case: "http", value: { url } },
      ...more,
    });
    try {
      await using servers = serversOf([http], { now }).servers;
      const tool = toolNamed(await servers.tools(signal), "good");
      const texts: string[] = [];
      for (let call = 0; call < calls; call++) {
        const played = await play(tool, {}, signal);
        texts.push(said(played));
      }
      return texts;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it("F13: repeats a call in a new session when the old one is forgotten", async () => {
    let isForgotten = false;
    const texts = await callOver((method, session) => {
      if (method !== "tools/call") return undefined;
      if (session === "S1" && isForgotten)
        return { status: 404, body: "session gone" };
      isForgotten = true;
      return undefined;
    }, 3);
    expect(texts).toEqual(["S1", "S2", "S2"]);
  });

  it("F13: says so when each call is answered with 404", async () => {
    const texts = await callOver(
      (method) =>
        method === "tools/call" ? { status: 404, body: "gone" } : undefined,
      2,
    );
    for (const text of texts) {
      expect(text).toContain("the server no longer knows the session");
    }
  });

  it.each<[string, { status?: number; type?: string; body: string }, string]>([
    [
      "a page of HTML",
      { status: 502, type: "text/html", body: `<html>${"x".repeat(5000)}` },
      "the server answered with HTTP 502",
    ],
    [
      "text that is not JSON",
      { body: "<html>" },
      "invalid answer: it is not JSON",
    ],
    [
      "an error that is text",
      { body: '{"id":ID,"error":"plain"}' },
      'invalid answer: its error is "plain"',
    ],
    [
      "a stream that ends",
      { type: "text/event-stream", body: ": hi\n\n" },
      "invalid answer: its stream ended without it",
    ],
    [
      "a stream that ends and cannot be resumed",
      {
        type: "text/event-stream",
        body: "retry: 10\nid: 7\ndata:\n\n",
      },
      "its stream ended without it, and resuming it was answered with HTTP 405",
    ],
    [
      "an event that is not JSON",
      { type: "text/event-stream", body: 'data: {"id":ID,\n\n' },
      "invalid answer: it is not JSON",
    ],
    [
      "an event with an odd block",
      {
        type: "Text/Event-Stream",
        body: 'event: message\ndata: {"id":ID,\ndata: "result":{"content":[{"type":"hologram"}]}}\n\n',
      },
      "[hologram]",
    ],
    [
      "a large number",
      {
        body: '{"id":ID,"result":{"structuredContent":{"n":9007199254740993}}}',
      },
      '{"n":"9007199254740993"}',
    ],
    [
      "an event with a large number",
      {
        type: "text/event-stream",
        body: 'data: {"id":ID,"result":{"structuredContent":{"n":9007199254740993}}}\n\n',
      },
      '{"n":"9007199254740993"}',
    ],
  ])(
    "F10, B6: ends a request that is answered with %s",
    async (_what, answer, text) => {
      const [message = ""] = await callOver((method) =>
        method === "tools/call" ? answer : undefined,
      );
      expect(message).toContain(text);
      expect(message.length).toBeLessThan(400);
    },
  );

  const EVENTS = { "content-type": "text/event-stream" };
  const JSON_TYPE = { "content-type": "application/json" };
  it.each<[string, (response: ServerResponse, id: string) => void, string]>([
    [
      "half of its answer, and then cuts",
      (response, id) =>
        response
          .writeHead(200, JSON_TYPE)
          .write(`{"jsonrpc":"2.0","id":${id},"result":{"con`, () =>
            response.destroy(),
          ),
      "terminated",
    ],
    [
      "half an event, and then cuts",
      (response, id) =>
        response
          .writeHead(200, EVENTS)
          .write(`data: {"jsonrpc":"2.0","id":${id},"result":{"con`, () =>
            response.destroy(),
          ),
      "invalid answer: its stream ended without it",
    ],
    [
      "an answer to what was not asked",
      (response) =>
        response
          .writeHead(200, JSON_TYPE)
          .end('{"jsonrpc":"2.0","id":12345,"result":{"content":[]}}'),
      "invalid answer: it has another id",
    ],
    [
      "an event that has no end",
      (response) => {
        response.writeHead(200, EVENTS).write("data: ");
        pourInto(response, "x".repeat(65_536));
      },
      "it sent a message of more than 8388608 bytes",
    ],
  ])("F10: ends a call whose server sends %s", async (_what, own, text) => {
    const [message = ""] = await callOver((method) =>
      method === "tools/call" ? own : undefined,
    );
    expect(message).toContain(text);
    expect(message.length).toBeLessThan(400);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    [
      "headers that never end",
      (response) => {
        const drip = setInterval(
          () => response.socket?.write("x-more: 1\r\n"),
          50,
        );
        response.socket?.once("close", () => clearInterval(drip));
        response.socket?.write("HTTP/1.1 200 OK\r\n");
      },
    ],
    [
      "an answer byte by byte, without end",
      (response) => {
        response.writeHead(200, EVENTS);
        const drip = setInterval(() => response.write(":"), 50);
        response.once("close", () => clearInterval(drip));
      },
    ],
  ])(
    "F10: ends a call without progress whose server sends %s",
    async (_what, own) => {
      const [message] = await callOver(
        (method) => (method === "tools/call" ? own : undefined),
        1,
        { callTimeout: durationFromMs(1000) },
      );
      expect(message).toContain("showed no progress for 1000 ms");
    },
  );

  it.each([
    ["of an answer", "tools/call", ""],
    ["of an answer that can be resumed", "tools/call", "id: 1\n"],
    ["that answers nothing", "GET", ""],
  ])(
    "F10: is given up when it floods the stream %s",
    async (_what, flooded, id) => {
      const note = {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: { level: "info", data: 1 },
      };
      const events = `${id}data: ${JSON.stringify(note)}\n\n`.repeat(500);
      const opened = Promise.withResolvers<ServerResponse>();
      const open = (method: string, response: ServerResponse): void => {
        response.writeHead(200, EVENTS).flushHeaders();
        if (method === flooded) opened.resolve(response);
        if (method === "GET") return;
        void opened.promise.then((stream) => pourInto(stream, events));
      };
      const texts = await callOver(
        (method) =>
          method === "GET" || method === "tools/call"
            ? (response) => open(method, response)
            : undefined,
        1,
        {},
        // All of the run is in one second, however slow the machine is.
        () => 0,
      );
      expect(texts).toEqual([
        'MCP server "odd": it sent more than 5000 messages within a second; what the call did until then is unknown',
      ]);
    },
  );

  /** Writes a text again and again, as fast as it is read. */
  function pourInto(response: ServerResponse, text: string): void {
    const pour = (): void => {
      while (!response.destroyed && response.write(text));
      if (!response.destroyed) response.once("drain", pour);
    };
    pour();
  }
});
