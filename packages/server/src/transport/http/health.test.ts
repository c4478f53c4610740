import { createHmac, hkdfSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { idleAgent } from "../../../test/idle-agent.ts";
import { createServer, type DevtoolServer } from "../../server.ts";

const agents = { idle: idleAgent };

describe("the health probes", () => {
  let server: DevtoolServer;

  beforeAll(async () => {
    server = await createServer({ agents });
  });
  afterAll(() => server.close());

  it("report that the server runs and accepts work, without credentials and without a proof", async () => {
    expect([await answerTo("/healthz"), await answerTo("/readyz")]).toEqual([
      { status: 200, body: { status: "ok" } },
      { status: 200, body: { status: "ok" } },
    ]);
    expect(await answerTo(`/healthz?challenge=${encoded(1)}`)).toEqual({
      status: 200,
      body: { status: "ok" },
    });
  });

  it("prove that the server holds its token and its proof key, as the proto describes it", async () => {
    const key = Buffer.from(
      hkdfSync(
        "sha256",
        server.token,
        server.proofKey,
        "devtool server proof v1",
        32,
      ),
    );
    for (const value of [1, 2]) {
      const proof = createHmac("sha256", key)
        .update(bytes(value))
        .digest("base64");
      expect(await answerTo(`/readyz?challenge=${encoded(value)}`)).toEqual({
        status: 200,
        body: { status: "ok", proof },
      });
    }
  });

  it("give another proof at each start, also with the same token", async () => {
    await using other = await createServer({ agents, token: server.token });
    const path = `/readyz?challenge=${encoded(1)}`;
    expect((await answerTo(path, other)).body).not.toEqual(
      (await answerTo(path)).body,
    );
  });

  it.each([
    ["that is empty", "?challenge="],
    ["that is too short", `?challenge=${encoded(1).slice(1)}`],
    ["that is too long", `?challenge=${encoded(1)}${encoded(1)}`],
    ["of many bytes", `?challenge=${"A".repeat(8_000)}`],
    ["that is not base64url", `?challenge=${"+".repeat(43)}`],
    ["that is sent twice", `?challenge=${encoded(1)}&challenge=${encoded(2)}`],
  ])("refuse a challenge %s", async (_what, query) => {
    const { status, body } = await answerTo(`/readyz${query}`);
    expect([status, body]).toEqual([
      400,
      { error: "challenge cannot be read: send 32 bytes, once, in base64url" },
    ]);
  });

  async function answerTo(
    path: string,
    { url } = server,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, body: await response.json() };
  }
});

function bytes(value: number): Buffer {
  return Buffer.alloc(32, value);
}

function encoded(value: number): string {
  return bytes(value).toString("base64url");
}
