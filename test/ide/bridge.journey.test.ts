import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  FakeTerminal,
  ideBridge,
  OperatorIde,
  runProgram,
} from "@devtool/cli/testing";
import { codingAgent } from "@devtool/coding-agent";
import { isObject } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { IdeGround, playIde } from "./agent-ground.ts";
import { until } from "./agents.ts";

describe("GET /context and POST /diff", () => {
  let place: IdeGround;
  let server: DevtoolServer;
  let bob: string;
  /** What ends the time of each diff, in the order of the requests. */
  let times: AbortController[];

  beforeEach(async () => {
    times = [];
    place = await IdeGround.prepare({ "a.ts": "one\n" });
    await place.companion();
    await place.trust();
    const { workspace, dataDirectory } = place.ground;
    const late = (): AbortSignal => {
      const time = new AbortController();
      times.push(time);
      return time.signal;
    };
    const issuer = await createIssuer();
    bob = await issuer.tokenFor("bob");
    const ide = new OperatorIde({
      ide: place.links(),
      dataDirectory,
      onNotice: () => undefined,
    });
    server = await createServer({
      agents: { devtool: codingAgent({ sandbox: "none" }) },
      dialects: [ideBridge({ ide, workspace, late }), ...defaultDialects()],
      workspace,
      dataDirectory,
      authentication: { jwt: issuer.options },
    });
  });

  afterEach(async () => {
    await server.close();
    await place[Symbol.asyncDispose]();
  });

  it("say why the editor cannot be read, and not that nothing is open", async () => {
    putFile(place.ground.dataDirectory, "policy.toml", "rule = [");
    const [status, body] = await ask("GET", "/context");
    expect(status).toBe(409);
    expect(JSON.stringify(body)).toMatch(
      /the editor cannot be read: .*policy\.toml/,
    );
  });

  it("say what the user sees in the workspace", async () => {
    const path = place.ground.path("a.ts");
    place.editor.show({
      openFiles: [
        { path, focusedAtMs: 1, isActive: true, selectedText: "one" },
        { path: "/etc/passwd", focusedAtMs: 2 },
      ],
    });
    const shown = await ask("GET", "/context");
    expect(shown).toEqual([
      200,
      {
        editor: "Scripted Editor",
        isWhole: true,
        files: [{ path, isActive: true, isDirty: false, selectedText: "one" }],
      },
    ]);
    const elsewhere = temporaryDirectory();
    const query = `?workspace_path=${encodeURIComponent(elsewhere)}`;
    expect(await ask("GET", `/context${query}`)).toEqual([
      409,
      { error: expect.stringContaining(`no editor shows "${elsewhere}": `) },
    ]);
    expect(await ask("GET", "/context?workspace_path=a")).toEqual([
      400,
      { error: expect.stringContaining("must be an absolute path") },
    ]);
  });

  it("answer with the content that the user accepts, or that they reject", async () => {
    const asked = ask("POST", "/diff", { path: "a.ts", content: "two\n" });
    const diff = await until(() => place.editor.diffs.at(0));
    expect([diff.path, diff.content]).toEqual([
      place.ground.path("a.ts"),
      "two\n",
    ]);
    diff.draft = "three\n";
    diff.accept();
    expect(await asked).toEqual([
      200,
      { decision: "DIFF_DECISION_ACCEPTED", content: "three\n" },
    ]);
    expect(await place.ground.read("a.ts")).toBe("one\n");
    const second = ask("POST", "/diff", { path: "new.ts", content: "" });
    (await until(() => place.editor.diffs.at(1))).reject();
    expect(await second).toEqual([200, { decision: "DIFF_DECISION_REJECTED" }]);
  });

  it("close the diff when nobody decides in time", async () => {
    const request = { path: "a.ts", content: "two\n" };
    const asked = ask("POST", "/diff", request);
    const diff = await until(() => place.editor.diffs.at(0));
    expect(diff.isOpen).toBe(true);
    times[0]?.abort();
    expect(await asked).toEqual([200, { decision: "DIFF_DECISION_CLOSED" }]);
    await until(() => !diff.isOpen || undefined);
  });

  it("wait no longer while another diff of the file is open, and say so", async () => {
    const first = ask("POST", "/diff", { path: "a.ts", content: "one\n" });
    const diff = await until(() => place.editor.diffs.at(0));
    const second = ask("POST", "/diff", { path: "a.ts", content: "two\n" });
    (await until(() => times[1])).abort();
    expect(await second).toEqual([
      409,
      {
        error:
          '"a.ts" is not shown in Scripted Editor: another diff of the file is open: answer that one first',
      },
    ]);
    // Nor is it shown when its turn comes, to nobody.
    const third = ask("POST", "/diff", { path: "a.ts", content: "three\n" });
    diff.accept();
    expect((await first)[0]).toBe(200);
    (await until(() => place.editor.diffs.at(1))).reject();
    expect(await third).toEqual([200, { decision: "DIFF_DECISION_REJECTED" }]);
    expect(place.editor.diffs.map(({ content }) => content)).toEqual([
      "one\n",
      "three\n",
    ]);
  });

  it("close the diff when the program hangs up", async () => {
    const request = { path: "a.ts", content: "two\n" };
    const gone = new AbortController();
    const asked = ask("POST", "/diff", request, { signal: gone.signal });
    await until(() => place.editor.diffs.at(0));
    gone.abort();
    await expect(asked).rejects.toThrow(/abort/);
    await until(() => !place.editor.diffs.at(0)?.isOpen || undefined);
  });

  it("show no file outside of the workspace, and take no other requests", async () => {
    for (const path of ["../x", "/etc/passwd", "", "."]) {
      const body = { path, content: "" };
      expect(await ask("POST", "/diff", body)).toEqual([
        400,
        { error: expect.stringContaining("is not a file of the workspace") },
      ]);
    }
    expect(await ask("POST", "/diff", { file: "a.ts" })).toEqual([
      400,
      { error: expect.stringContaining("file") },
    ]);
    expect(place.editor.diffs).toEqual([]);
  });

  it("are for the holder of the operator's token alone", async () => {
    for (const [token, status] of [
      [bob, 403],
      ["wrong", 401],
      ["", 401],
    ] as const) {
      const answers = [
        await ask("GET", "/context", undefined, { token }),
        await ask("POST", "/diff", { path: "a.ts", content: "" }, { token }),
      ];
      expect(answers.map(([code]) => code)).toEqual([status, status]);
    }
    expect(place.editor.diffs).toEqual([]);
  });

  /** Returns the status of the answer, and its JSON. */
  async function ask(
    method: string,
    path: string,
    body?: object,
    options: { readonly token?: string; readonly signal?: AbortSignal } = {},
  ): Promise<[number, unknown]> {
    const { token = server.token, signal } = options;
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(token !== "" && { authorization: `Bearer ${token}` }),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    return [response.status, await response.json()];
  }
});

it("devtool serve has them, and tells an agent of others what the editor shows", async () => {
  await using place = await IdeGround.prepare({ "a.ts": "" });
  await place.companion();
  await place.trust();
  const path = place.ground.path("a.ts");
  place.editor.show({ openFiles: [{ path, isActive: true }] });
  const { workspace, dataDirectory } = place.ground;
  const { command, args = [] } = fakeAgentCommand();
  const agent = [command, ...args].map((word) => `'${word}'`).join(" ");
  const terminal = new FakeTerminal({
    ...place.env,
    PATH: process.env.PATH ?? "",
  });
  const code = runProgram(
    [
      ...["serve", "--json", "--log-level", "error", "--port", "0"],
      ...["--agent", `other=acp:${agent}`],
      ...["--data", dataDirectory, "--workspace", workspace],
    ],
    terminal.io,
  );
  await terminal.shows('"token"');
  const info: unknown = JSON.parse(terminal.said);
  if (!isObject(info)) throw new Error("no address");
  const address = { url: String(info.url), token: String(info.token) };
  const response = await fetch(`${address.url}/context`, {
    headers: { authorization: `Bearer ${address.token}` },
  });
  expect(await response.json()).toMatchObject({ files: [{ path }] });
  const { task } = await clientOf(address).tasks.sendMessage({
    message: {
      messageId: "m1",
      parts: [{ content: { case: "text", value: "say Hello." } }],
    },
  });
  expect(task?.ideContext).toMatchObject({ files: [{ path }] });
  expect(JSON.stringify(task?.history.at(-1)?.parts)).toContain(
    "got resource attachment:///editor-context",
  );
  const { contextId = "" } = task ?? {};
  expect(await playIde(address, "disable", { contextId })).toMatch(
    /^No editor is used: it is turned off in this session/,
  );
  terminal.interrupt();
  expect(await code).toBe(0);
});
