import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { findSubject } from "./find-subject.ts";

const SIGNAL = AbortSignal.timeout(300_000);
let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** Serves a card and returns the URL. */
async function serve(status: number, body: string): Promise<string> {
  server = createServer((_request, response) =>
    response.writeHead(status).end(body),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

const BOTH = {
  name: "agent",
  version: "3",
  url: "/rpc",
  protocolVersion: "0.3.0",
  additionalInterfaces: [{ url: "/rest", transport: "HTTP+JSON" }],
  supportedInterfaces: [
    {
      url: "https://agent.example/",
      protocolBinding: "urn:odd",
      protocolVersion: "1.0",
    },
    { url: "127.0.0.1:5000", protocolBinding: "GRPC", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: false },
};

describe("findSubject", () => {
  it("chooses the first interface of the card that the kit supports", async () => {
    const url = await serve(200, JSON.stringify(BOTH));
    const { binding, agent, agentVersion, claims } = await findSubject(
      { url },
      SIGNAL,
    );
    expect([binding.name, binding.protocolVersion, binding.endpoint]).toEqual([
      "GRPC",
      "1.0",
      "http://127.0.0.1:5000",
    ]);
    expect([agent, agentVersion, [...claims]]).toEqual([
      "agent",
      "3",
      ["streaming"],
    ]);
  });

  it("chooses the requested interface, even in the older form of the card", async () => {
    const url = await serve(200, JSON.stringify(BOTH));
    const { binding } = await findSubject(
      { url, protocolVersion: "0.3", binding: "HTTP+JSON" },
      SIGNAL,
    );
    expect(binding.endpoint).toBe(`${url}/rest`);
  });

  it("needs no card if version and binding are named", async () => {
    const url = await serve(404, "");
    const { binding } = await findSubject(
      { url, protocolVersion: "1.0", binding: "JSONRPC" },
      SIGNAL,
    );
    expect(binding.endpoint).toBe(`${url}/`);
    await expect(findSubject({ url }, SIGNAL)).rejects.toThrow(
      "there is no agent card at http://127.0.0.1",
    );
  });

  it("does not send the token to another host", async () => {
    const card = {
      supportedInterfaces: [
        {
          url: "https://other.example/",
          protocolBinding: "JSONRPC",
          protocolVersion: "1.0",
        },
      ],
    };
    const url = await serve(200, JSON.stringify(card));
    const refused = findSubject({ url, token: "secret" }, SIGNAL);
    await expect(refused).rejects.toThrow(
      "the card sends clients from 127.0.0.1 to other.example",
    );
    expect((await findSubject({ url }, SIGNAL)).binding.endpoint).toBe(
      "https://other.example/",
    );
  });

  it("quotes a card that is not valid JSON", async () => {
    const url = await serve(200, "<html>");
    await expect(findSubject({ url }, SIGNAL)).rejects.toThrow(
      'is not valid JSON: got "<html>"',
    );
  });
});
