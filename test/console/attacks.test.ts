import { Code } from "@connectrpc/connect";
import { textMessage } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bareRun, postRun } from "../ag-ui/post-run.ts";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { accessOf, clientOf, type ServerAddress } from "./console-page.ts";

/** Maximum length of an error in characters, whatever the request has. */
const MAX_ERROR = 1000;

describe("the services that the console calls, under attack", {
  timeout: 120_000,
}, () => {
  let workspace: string;
  let issuer: Issuer;
  let server: DevtoolServer;
  let alice: ServerAddress;
  let mallory: ServerAddress;
  /** A task of Alice that asks. */
  let taskId: string;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    issuer = await createIssuer();
    server = await createServer({
      agents: {
        one: codingAgent({ sandbox: "none" }),
        two: codingAgent({ sandbox: "none" }),
      },
      workspace,
      authentication: { jwt: issuer.options },
      site: await loadConsole(),
    });
    alice = await browserOf("alice");
    mallory = await browserOf("mallory");
    const message = textMessage(crypto.randomUUID(), "write a.txt hello");
    taskId =
      (await clientOf(alice).tasks.sendMessage({ message })).task?.id ?? "";
  });
  afterAll(() => server.close());

  async function codeOf(who: string): Promise<string> {
    return (
      await accessOf(server, await issuer.tokenFor(who)).createAccessCode({})
    ).code;
  }

  /** Lets in a browser of a principal. */
  async function browserOf(who: string): Promise<ServerAddress> {
    const { token } = await accessOf(server, "").redeemAccessCode({
      code: await codeOf(who),
    });
    return { url: server.url, token };
  }

  const run = () => ({
    ...bareRun(crypto.randomUUID()),
    messages: [{ id: crypto.randomUUID(), role: "user", content: "text x" }],
  });

  it("shows the browser of one principal no task of another, and lets it change none", async () => {
    const { tasks } = clientOf(mallory);
    expect((await tasks.listTasks({})).tasks).toEqual([]);
    for (const attempt of [
      () => tasks.getTask({ taskId }),
      () => tasks.renameTask({ taskId, title: "mine" }),
      () => tasks.cancelTask({ taskId }),
      () =>
        tasks.sendMessage({
          taskId,
          message: textMessage(crypto.randomUUID(), "yes"),
        }),
      () => clientOf(mallory).workspaces.listCheckpoints({ taskId }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: Code.NotFound });
    }
    expect((await clientOf(alice).tasks.getTask({ taskId })).task?.title).toBe(
      "write a.txt hello",
    );
  });

  it("takes a code nowhere but where it is redeemed, and the page sends it to nobody", async () => {
    const code = await codeOf("alice");
    const list = `${server.url}/devtool.v1alpha.TaskService/ListTasks`;
    const from = `${server.url}/console/?code=${code}#code=${code}`;
    for (const [url, headers] of [
      [list, { referer: from }],
      [list, { authorization: `Bearer ${code}` }],
      [list, { cookie: `code=${code}` }],
      [`${list}?code=${code}`, {}],
      [`${list}?access_token=${code}`, {}],
    ] as const) {
      const options = {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json", ...headers },
      };
      expect((await fetch(url, options)).status).toBe(401);
    }
    const page = await fetch(from, { headers: { referer: from } });
    expect([page.status, page.headers.get("referrer-policy")]).toEqual([
      200,
      "no-referrer",
    ]);
    expect([
      page.headers.get("set-cookie"),
      (await page.text()).includes(code),
    ]).toEqual([null, false]);
    await accessOf(server, "").redeemAccessCode({ code });
    await expect(
      accessOf(server, "").redeemAccessCode({ code }),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  it("lets a browser that was revoked begin nothing in any dialect, nor one of another origin", async () => {
    const { token, session } = await accessOf(server, "").redeemAccessCode({
      code: await codeOf("alice"),
    });
    const browser = { url: server.url, token };
    expect(
      (await postRun(browser, run(), { origin: "http://evil.example" })).status,
    ).toBe(403);
    expect((await postRun(browser, run(), { origin: server.url })).status).toBe(
      200,
    );
    await accessOf(server, await issuer.tokenFor("alice")).revokeBrowserSession(
      { id: session?.id ?? "" },
    );
    expect((await postRun(browser, run(), { origin: server.url })).status).toBe(
      401,
    );
    const paths = [
      "/",
      "/v1/message:send",
      "/message:send",
      "/devtool.v1alpha.AgentListService/ListModels",
    ];
    for (const path of paths) {
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
      };
      const response = await fetch(`${server.url}${path}`, {
        method: "POST",
        body: "{}",
        headers,
      });
      expect([path, response.status]).toEqual([path, 401]);
    }
  });

  it.each([
    [
      "bidi and escapes",
      "\u202eevil\u202c \u001b[2Jtext\u0000",
      "evil [2Jtext",
    ],
    ["invisible tags", "a\u{e0041}\u{e0042}b\u2060\u180e", "ab"],
    ["lines", "\n\n one\r\ntwo", "one"],
  ])("shows a title without %s", async (_name, title, shown) => {
    const { task } = await clientOf(alice).tasks.renameTask({ taskId, title });
    expect(task?.title).toBe(shown);
  });

  it.each([
    ["a title of a megabyte", { title: "x".repeat(1_000_000) }],
    ["a title of nothing", { title: "\u202e\u2066\n" }],
    ["a label of two lines", { title: "t", clientLabel: "a\nb" }],
    [
      "a label of the other direction",
      { title: "t", clientLabel: "\u202eelosnoc" },
    ],
    [
      "a label of a megabyte",
      { title: "t", clientLabel: "x".repeat(1_000_000) },
    ],
  ])("refuses %s with a short error", async (_name, rename) => {
    const reason = await clientOf(alice)
      .tasks.renameTask({ taskId, ...rename })
      .catch((error: unknown) => error);
    expect(reason).toMatchObject({ code: Code.InvalidArgument });
    expect(String(reason).length).toBeLessThan(MAX_ERROR);
  });

  it("lists no models for unknown callers, nor of agents that are not served", async () => {
    const nobody = clientOf({ url: server.url, token: "x" });
    await expect(
      nobody.agents.listModels({ agent: "one" }),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
    for (const agent of [
      "__proto__",
      "constructor",
      "One",
      "one ",
      "../one",
      "\u202eeno",
      "x".repeat(1_000_000),
    ]) {
      const reason = await clientOf(alice)
        .agents.listModels({ agent })
        .catch((error: unknown) => error);
      expect(reason).toMatchObject({ code: Code.InvalidArgument });
      expect(String(reason).length).toBeLessThan(MAX_ERROR);
    }
  });

  it("refuses a deceiving label of a browser", async () => {
    const token = await issuer.tokenFor("alice");
    for (const label of ["\u202eenohp", "a\nb", "x".repeat(65)]) {
      const refused = accessOf(server, token).createAccessCode({ label });
      await expect(refused).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
    }
  });
});
