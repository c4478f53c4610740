import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { accessCode, accessOf, clientOf } from "./console-page.ts";

const NEVER = { code: "A".repeat(43) };

describe("the access of browsers", () => {
  let data: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    data = temporaryDirectory();
    server = await serveCodingAgent({
      workspace: data,
      dataDirectory: data,
      site: await loadConsole(),
    });
  });
  afterAll(() => server?.close());

  it("comes by a code, for the principal who asked for it, for 12 hours", async () => {
    const { token, session } = await redeem();
    expect(session).toMatchObject({ label: "test" });
    const hours =
      Number(
        (session?.expireTime?.seconds ?? 0n) -
          (session?.createTime?.seconds ?? 0n),
      ) / 3600;
    expect(hours).toBe(12);
    await clientOf({ ...server, token }).tasks.listTasks({});
    expect(token).not.toBe(server.token);
  });

  it("is given once for a code, even when many redeem it at the same moment", async () => {
    const code = await accessCode(server);
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        accessOf(server, "").redeemAccessCode({ code }),
      ),
    );
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(
      1,
    );
    await expect(
      accessOf(server, "").redeemAccessCode({ code }),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  it("is not given for a guess, for a part of a code, or for a token", async () => {
    const code = await accessCode(server);
    for (const guess of [
      "",
      NEVER.code,
      code.slice(1),
      `${code}A`,
      ` ${code}`,
      server.token,
      code.toLowerCase(),
    ]) {
      const tried = accessOf(server, "").redeemAccessCode({ code: guess });
      await expect(tried, guess).rejects.toMatchObject({
        code: Code.Unauthenticated,
      });
    }
  });

  it("is not given from another origin or for another host", async () => {
    const code = await accessCode(server);
    for (const headers of [
      { origin: "http://evil.example" },
      { origin: "http://127.0.0.1:1" },
      { origin: "null" },
      { host: "evil.example" },
    ]) {
      expect(
        await statusOf(
          "/devtool.v1alpha.BrowserAccessService/RedeemAccessCode",
          { code },
          headers,
        ),
      ).toBe(403);
    }
    // Nothing of that has used the code.
    await accessOf(server, "").redeemAccessCode({ code });
  });

  it("is not given to another program's page at the same port of another loopback address", async () => {
    const { port } = new URL(server.url);
    const redeem = "/devtool.v1alpha.BrowserAccessService/RedeemAccessCode";
    for (const name of [
      "localhost",
      "[::1]",
      "LOCALHOST",
      "localhost.",
      "127.0.0.1.",
      "127.1",
      "[::ffff:127.0.0.1]",
    ]) {
      expect(
        await statusOf(redeem, NEVER, { origin: `http://${name}:${port}` }),
        name,
      ).toBe(403);
    }
    for (const origin of [
      `https://127.0.0.1:${port}`,
      `HTTP://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}/`,
      "",
    ]) {
      expect(await statusOf(redeem, NEVER, { origin }), origin).toBe(403);
    }
    // The page itself, called by such a name, leads to the address at which its
    // calls are taken.
    const page = await answerTo("/console/", undefined, {
      host: `localhost:${port}`,
    });
    expect([page.statusCode, page.headers.location]).toEqual([
      307,
      `${server.url}/console/`,
    ]);
    expect(await statusOf(redeem, NEVER, { origin: server.url })).toBe(401);
  });

  it("is asked for with credentials only, and not by a browser that was let in", async () => {
    await expect(
      accessOf(server, "").createAccessCode({}),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
    await expect(
      accessOf(server, "").listBrowserSessions({}),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
    const { token } = await redeem();
    await expect(
      accessOf(server, token).createAccessCode({}),
    ).rejects.toMatchObject({ code: Code.PermissionDenied });
  });

  it("ends when it is revoked, also for a stream that is open", async () => {
    const { token, session } = await redeem();
    const watching = clientOf({ ...server, token })
      .tasks.watchTasks({})
      [Symbol.asyncIterator]();
    await watching.next();
    const waiting = Promise.allSettled([watching.next()]);
    await accessOf(server, server.token).revokeBrowserSession({
      id: session?.id ?? "",
    });
    expect(await waiting).toMatchObject([{ status: "rejected" }]);
    await expect(
      clientOf({ ...server, token }).tasks.listTasks({}),
    ).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    const { sessions } = await accessOf(
      server,
      server.token,
    ).listBrowserSessions({});
    expect(sessions.map(({ id }) => id)).not.toContain(session?.id);
  });

  it("is kept without its token, in a file for its owner alone, and lasts over a restart", async () => {
    const { token, session } = await redeem();
    const file = join(data, "browser-sessions.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, "utf8");
    expect(text).toContain(session?.id);
    expect(text).not.toContain(token);
    await server.close();
    const kept = { token: server.token };
    server = await serveCodingAgent({
      workspace: data,
      dataDirectory: data,
      site: await loadConsole(),
      ...kept,
    });
    await clientOf({ ...server, token }).tasks.listTasks({});
  });

  it("ends with the credentials that asked for it: a new token, or an issuer's tokens that are accepted for less", async () => {
    const base = temporaryDirectory();
    const issuer = await createIssuer();
    const [first, second] = ["first".repeat(10), "second".repeat(10)];
    const start = async (token: string, approveScope?: string) =>
      serveCodingAgent({
        workspace: base,
        dataDirectory: base,
        site: await loadConsole(),
        token,
        authentication: {
          jwt: {
            ...issuer.options,
            ...(approveScope !== undefined && { approveScope }),
          },
        },
      });
    const tokenOf = async (at: DevtoolServer, credentials: string) => {
      const { code } = await accessOf(at, credentials).createAccessCode({});
      return (await accessOf(at, "").redeemAccessCode({ code })).token;
    };
    const lets = async (at: DevtoolServer, token: string) =>
      clientOf({ ...at, token })
        .tasks.listTasks({})
        .then(
          () => "in",
          ({ code }: { code: Code }) => Code[code],
        );
    let other = await start(first);
    const [operator, alice] = [
      await tokenOf(other, first),
      await tokenOf(other, await issuer.tokenFor("alice")),
    ];
    const restarts: [
      token: string,
      approveScope: string | undefined,
      operator: string,
      alice: string,
    ][] = [
      [first, undefined, "in", "in"],
      [second, undefined, "Unauthenticated", "in"],
      // A token that comes back does not bring its sessions with it.
      [first, undefined, "Unauthenticated", "in"],
      [first, "devtool.approve", "Unauthenticated", "Unauthenticated"],
    ];
    for (const [token, approveScope, ...expected] of restarts) {
      await other.close();
      other = await start(token, approveScope);
      expect(
        [await lets(other, operator), await lets(other, alice)],
        `${token} ${approveScope}`,
      ).toEqual(expected);
    }
    await other.close();
  });

  it("ends at a start without the list of roles that gave its rights", async () => {
    const issuer = await createIssuer();
    const dataDirectory = temporaryDirectory();
    const workspace = temporaryDirectory();
    const site = await loadConsole();
    const auditors = [{ role: "*", rights: ["read", "audit"] }] as const;
    let browser = "";
    const outcomes: string[] = [];
    for (const roles of [auditors, auditors, []]) {
      await using other = await serveCodingAgent({
        ...{ workspace, dataDirectory, site },
        authentication: { jwt: issuer.options, roles },
      });
      if (browser === "") {
        const alice = await issuer.tokenFor("alice");
        const { code } = await accessOf(other, alice).createAccessCode({});
        browser = (await accessOf(other, "").redeemAccessCode({ code })).token;
      }
      const { audit } = clientOf({ ...other, token: browser });
      outcomes.push(
        await Array.fromAsync(audit.readAudit({})).then(
          () => "reads",
          (reason: unknown) => Code[ConnectError.from(reason).code] ?? "",
        ),
      );
    }
    expect(outcomes).toEqual(["reads", "reads", "Unauthenticated"]);
  });

  it("cannot back the server up, and neither can another principal with all rights", async () => {
    const issuer = await createIssuer();
    await using other = await serveCodingAgent({
      workspace: temporaryDirectory(),
      dataDirectory: temporaryDirectory(),
      authentication: { jwt: issuer.options },
      site: await loadConsole(),
    });
    const { code } = await accessOf(other, other.token).createAccessCode({});
    const browser = await accessOf(other, "").redeemAccessCode({ code });
    const outcome = async (token: string): Promise<string> => {
      let bytes = 0;
      try {
        const { backups } = clientOf({ ...other, token });
        for await (const { data } of backups.createBackup({})) {
          bytes += data.length;
        }
      } catch (reason) {
        return ConnectError.from(reason).message;
      }
      return bytes > 4096 ? "a backup" : "nothing";
    };
    const refused =
      "[permission_denied] only the operator may do this: use the operator's token";
    expect([
      await outcome(other.token),
      await outcome(browser.token),
      await outcome(await issuer.tokenFor("alice")),
    ]).toEqual(["a backup", refused, refused]);
  });

  it("is not there for other principals: they neither see nor end it", async () => {
    const issuer = await createIssuer();
    const base = temporaryDirectory();
    const authentication = { jwt: issuer.options };
    await using other = await serveCodingAgent({
      workspace: base,
      authentication,
      site: await loadConsole(),
    });
    const [alice, bob] = [
      await issuer.tokenFor("alice"),
      await issuer.tokenFor("bob"),
    ];
    const { code } = await accessOf(other, alice).createAccessCode({});
    const { token, session } = await accessOf(other, "").redeemAccessCode({
      code,
    });
    expect(
      (await accessOf(other, bob).listBrowserSessions({})).sessions,
    ).toEqual([]);
    const ended = accessOf(other, bob).revokeBrowserSession({
      id: session?.id ?? "",
    });
    await expect(ended).rejects.toMatchObject({ code: Code.NotFound });
    // The same principal as the one who asked, and no right more.
    expect(
      (await accessOf(other, token).listBrowserSessions({})).sessions,
    ).toHaveLength(1);
    await expect(auditOf({ ...other, token })).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
  });

  it("lasts no longer than the credentials that asked for it", async () => {
    const issuer = await createIssuer();
    const base = temporaryDirectory();
    const authentication = { jwt: issuer.options };
    await using other = await serveCodingAgent({
      workspace: base,
      authentication,
      site: await loadConsole(),
    });
    const alice = await issuer.tokenFor("alice");
    const { exp = 0 } = decodeJwt(alice);
    const { code } = await accessOf(other, alice).createAccessCode({});
    const { session } = await accessOf(other, "").redeemAccessCode({ code });
    expect(Number(session?.expireTime?.seconds)).toBe(exp + 60);
  });

  it("takes no more memory from a caller without credentials than a code needs", async () => {
    const redeem = "/devtool.v1alpha.BrowserAccessService/RedeemAccessCode";
    expect(await statusOf(redeem, { code: "A".repeat(1000) }, {})).toBe(401);
    expect(await statusOf(redeem, { code: "A".repeat(100_000) }, {})).toBe(429);
  });

  it("is not there on a server without a console", async () => {
    await using plain = await serveCodingAgent({ workspace: data });
    await expect(
      accessOf(plain, plain.token).createAccessCode({}),
    ).rejects.toMatchObject({ code: Code.Unimplemented });
    await expect(
      accessOf(plain, "").redeemAccessCode(NEVER),
    ).rejects.toMatchObject({ code: Code.Unauthenticated });
    const own = { origin: plain.url };
    expect(
      await statusOf("/devtool.v1alpha.TaskService/ListTasks", {}, own, plain),
    ).toBe(403);
    expect(await statusOf("/console/", undefined, {}, plain)).toBe(401);
  });

  it("stops the start of a server when its file is damaged or open to others", async () => {
    const base = temporaryDirectory();
    const start = async () =>
      serveCodingAgent({
        workspace: base,
        dataDirectory: base,
        site: await loadConsole(),
      });
    await writeFile(join(base, "browser-sessions.json"), "{}", { mode: 0o644 });
    await expect(start()).rejects.toThrow("other users can access it");
    await rm(join(base, "browser-sessions.json"));
    await writeFile(join(base, "browser-sessions.json"), "[", { mode: 0o600 });
    await expect(start()).rejects.toThrow(
      "remove it, which ends the sessions of browsers",
    );
  });

  async function redeem() {
    return accessOf(server, "").redeemAccessCode({
      code: await accessCode(server),
    });
  }

  async function statusOf(
    ...call: Parameters<typeof answerTo>
  ): Promise<number | undefined> {
    return (await answerTo(...call)).statusCode;
  }

  async function answerTo(
    path: string,
    body: object | undefined,
    headers: Record<string, string>,
    at = server,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } =
      Promise.withResolvers<IncomingMessage>();
    const method = body ? "POST" : "GET";
    const sent = request(new URL(path, at.url), {
      method,
      headers: { "content-type": "application/json", ...headers },
    });
    sent
      .on("response", (response) => resolve(response.resume()))
      .on("error", reject);
    sent.end(body && JSON.stringify(body));
    return promise;
  }
});

async function auditOf(address: { url: string; token: string }): Promise<void> {
  for await (const _record of clientOf(address).audit.readAudit({}));
}
