import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { BrowserSessions } from "../../handler/browser-sessions.ts";
import { createAuthenticator } from "./authentication.ts";
import { roleAuthenticator } from "./role-authenticator.ts";

const TOKEN = "the-operators-token-of-32-characters";
const ROLES = [
  { role: "devs", rights: ["run"], agents: ["one"] },
  { role: "leads", rights: ["run", "approve"] },
] as const;

describe("an authenticator with roles", () => {
  it("gives a browser what the roles of its caller give, also after a restart", async () => {
    const file = join(temporaryDirectory(), "browser-sessions.json");
    const open = () =>
      BrowserSessions.open({
        file,
        sources: new Set(["issuer"]),
        now: Date.now,
        sleep: (_ms, signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener("abort", reject),
          ),
      });
    const first = await open();
    const caller = {
      principal: "https://login.example#ada",
      rights: new Set(["read", "run", "approve", "audit"] as const),
      roles: ["devs"],
      source: "issuer",
    };
    const { token } = await first.redeem(first.createCode(caller, "").code);
    for (const browsers of [first, await open()]) {
      const authenticator = roleAuthenticator(
        await createAuthenticator(TOKEN, { browsers }, () => new Date()),
        ROLES,
      );
      expect(await authenticator.authenticate(requestWith(token))).toEqual({
        case: "caller",
        value: expect.objectContaining({
          principal: caller.principal,
          roles: ["devs"],
          rights: new Set(["run"]),
          agents: new Set(["one"]),
        }),
      });
      const operator = await authenticator.authenticate(requestWith(TOKEN));
      expect(operator).toMatchObject({
        value: {
          rights: new Set([
            ...["read", "run", "approve", "audit", "list_all", "register"],
          ]),
        },
      });
    }
  });
});

function requestWith(token: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers.authorization = `Bearer ${token}`;
  return request;
}
