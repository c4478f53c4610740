import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runServerSuite } from "@devtool/conformance";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Ways in which a server can be wrong, as changes of what ours sends, and the requirement, or the case, that each breaks. */
const FAULTS: readonly { readonly fault: string; readonly spoil: (text: string) => string; readonly breaks: string }[] =
  [
    {
      fault: "no frame is final",
      spoil: (text) => text.replaceAll('"final":true', '"final":false'),
      breaks: "STREAM-1",
    },
    {
      fault: "fields are in camelCase",
      spoil: (text) => text.replaceAll("tool_call_id", "toolCallId"),
      breaks: "TOOL-1",
    },
    { fault: "events have no ids", spoil: (text) => text.replaceAll(/^id: .*\n/gm, ""), breaks: "STREAM-3" },
    {
      fault: "thoughts have another kind",
      spoil: (text) => text.replaceAll('"THOUGHT"', '"thought"'),
      breaks: "STREAM-2",
    },
    {
      fault: "calls are never executing",
      spoil: (text) => text.replaceAll('"EXECUTING"', '"PENDING"'),
      breaks: "TOOL-1",
    },
    {
      fault: "questions have no options",
      spoil: (text) => text.replaceAll(/"options":\[[^\]]*\]/g, '"options":[]'),
      breaks: "TOOL-4",
    },
    {
      fault: "errors do not say which field",
      spoil: (text) => text.replaceAll(/,"data":\{"field":[^}]*\}/g, ""),
      breaks: "ERR-1",
    },
    {
      fault: "failures have no type",
      spoil: (text) => text.replaceAll(/"type":"(execution_failed|invalid_tool_params)"/g, '"type":""'),
      breaks: "TOOL-8",
    },
    {
      fault: "the card has another extension",
      spoil: (text) => text.replaceAll("developer-profile/v0", "developer-profile/v7"),
      breaks: "CARD-1",
    },
    {
      fault: "commands never ask",
      spoil: (text) => text.replaceAll("AWAITING_SHELL_CONFIRMATION", "STARTED"),
      breaks: "CMD-2",
    },
    {
      fault: "the user's content is not told of",
      spoil: (text) => text.replaceAll("The user changed the proposed content.", ""),
      breaks: "TOOL-6",
    },
    {
      fault: "clients' commands are refused without a name",
      spoil: (text) => text.replaceAll('"value":"conformance"', '"value":""'),
      breaks: "session/own-servers-need-leave",
    },
    {
      fault: "the model is that of the first message",
      spoil: (text) => text.replaceAll("conformance-second", "conformance-first"),
      breaks: "session/model-of-a-message",
    },
    {
      fault: "what is put anew is what was put before",
      spoil: (text) => text.replaceAll('"new_content":"shown again\\n"', '"new_content":"proposed\\n"'),
      breaks: "tool/shown-again",
    },
    {
      fault: "a file cannot be shown again",
      spoil: (text) => text.replaceAll('"modify_with_editor"', '"modify"'),
      breaks: "tool/shown-again",
    },
    {
      fault: "what follows a declined call runs",
      spoil: (text) =>
        text.replaceAll(/^.*"status":"CANCELLED","tool_name":"read_file".*$/gm, (frame) =>
          frame.replace("CANCELLED", "EXECUTING"),
        ),
      breaks: "tool/declined-with-what-follows",
    },
    {
      fault: "one command approved for good approves others",
      spoil: (text) =>
        text.replaceAll(/^.*eval echo other.*$/gm, (frame) => frame.replace(/,"confirmation_request":.*?}}/, "")),
      breaks: "tool/always-is-this-command",
    },
    {
      fault: "a command is missing",
      spoil: (text) => text.replaceAll('"name":"stats"', '"name":"status"'),
      breaks: "command/built-in",
    },
    {
      fault: "sub-commands are not listed",
      spoil: (text) => text.replaceAll('"sub_commands"', '"subcommands"'),
      breaks: "command/nested",
    },
  ];

describe("the conformance kit, played against broken servers", { timeout: 240_000 }, () => {
  let server: DevtoolServer;
  let workspace: string;
  let proxy: Server;
  let spoil = (text: string): string => text;

  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "devtool-self-"));
    server = await createServer({ workspace, dataDirectory: `${workspace}-data` });
    proxy = createHttpServer((request, response) => {
      // A client that leaves ends the relay in the middle.
      relay(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  });

  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await server.close();
    await rm(workspace, { recursive: true, force: true });
    await rm(`${workspace}-data`, { recursive: true, force: true });
  });

  /** Passes a request on and its answer back, spoilt: a stream frame by frame, anything else whole. */
  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = Object.entries(request.headers).filter(
      ([name]) => !["host", "connection", "content-length"].includes(name),
    );
    const answer = await fetch(new URL(request.url ?? "/", server.url), {
      method: request.method ?? "GET",
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    response.writeHead(
      answer.status,
      Object.fromEntries([...answer.headers].filter(([name]) => name !== "content-length")),
    );
    const streams = answer.headers.get("content-type")?.startsWith("text/event-stream");
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of answer.body ?? []) {
      rest += decoder.decode(chunk, { stream: true });
      const end = streams ? rest.lastIndexOf("\n\n") + 2 : 0;
      if (end > 1) response.write(spoil(rest.slice(0, end)));
      rest = end > 1 ? rest.slice(end) : rest;
    }
    response.end(spoil(rest));
  }

  async function whatFails(change: (text: string) => string): Promise<Set<string>> {
    spoil = change;
    const address = proxy.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const failed = new Set<string>();
    const options = { timeoutMs: 3000 };
    for await (const { id: name, status, requirements } of runServerSuite(
      { url, token: server.token },
      AbortSignal.timeout(200_000),
      options,
    )) {
      if (status === "failed") for (const id of [name, ...requirements]) failed.add(id);
    }
    return failed;
  }

  it("finds nothing wrong when nothing is", async () => {
    expect([...(await whatFails((text) => text))]).toEqual([]);
  });

  for (const { fault, spoil: change, breaks } of FAULTS) {
    it(`notices that ${fault} (${breaks})`, async () => {
      expect([...(await whatFails(change))]).toContain(breaks);
    });
  }
});
