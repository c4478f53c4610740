import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer, ServerOptions } from "@devtool/server";
import { afterEach, describe, expect, it } from "vitest";
import { createIssuer } from "./issuer.ts";

const PATH = "/.well-known/oauth-protected-resource";
/** A request of each binding, which needs credentials. */
const REQUESTS = [
  ["POST", "/", "application/json"],
  ["POST", "/v1/message:send", "application/json"],
  ["POST", "/message:send", "application/json"],
  ["POST", "/devtool.v1alpha.TaskService/GetTask", "application/proto"],
  ["POST", "/devtool.v1alpha.TaskService/GetTask", "application/grpc-web"],
  ["GET", "/nothing", "text/plain"],
] as const;

describe("a server with an issuer", () => {
  let server: DevtoolServer;
  afterEach(() => server.close());

  const start = async (
    jwt: object | undefined,
    settings: Partial<ServerOptions> = {},
  ) => {
    const { options } = await createIssuer();
    server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      ...settings,
      ...(jwt && { authentication: { jwt: { ...options, ...jwt } } }),
    });
    return server.url;
  };

  it("leads a client from each 401 to its issuer, which is that of the card", async () => {
    const url = await start({ approveScope: "approve", auditScope: "audit" });
    for (const [method, path, type] of REQUESTS) {
      for (const [authorization, error] of [
        [undefined, ""],
        ["Bearer a.b.c", 'error="invalid_token", '],
      ] as const) {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: {
            "content-type": type,
            ...(authorization && { authorization }),
          },
        });
        expect([path, response.headers.get("www-authenticate")]).toEqual([
          path,
          `Bearer ${error}resource_metadata="${url}${PATH}"`,
        ]);
      }
    }
    const metadata = await fetch(`${url}${PATH}`);
    expect(metadata.headers.get("content-type")).toBe("application/json");
    expect(await metadata.json()).toEqual({
      resource: url,
      authorization_servers: ["https://login.example"],
      bearer_methods_supported: ["header"],
      scopes_supported: ["approve", "audit"],
    });
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    const { securitySchemes } = Object(await card.json());
    expect(JSON.stringify(securitySchemes)).toContain(
      "https://login.example/.well-known/openid-configuration",
    );
  });

  it("names its public URL, below whose path the metadata is, too", async () => {
    const publicUrl = "https://agents.example/team%22x";
    const url = await start({}, { publicUrl, allowedHosts: ["127.0.0.1"] });
    for (const path of [PATH, `${PATH}/team%22x`]) {
      const response = await fetch(`${url}${path}`);
      expect(await response.json()).toMatchObject({ resource: publicUrl });
    }
    const response = await fetch(`${url}/`, { method: "POST" });
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${publicUrl}${PATH}"`,
    );
  });

  it("alone says so", async () => {
    const url = await start(undefined);
    expect((await fetch(`${url}${PATH}`)).status).toBe(401);
    const response = await fetch(`${url}/`, { method: "POST" });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });
});
