import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { CARD_PATH, findSubject } from "./find-subject.ts";

const SIGNAL = new AbortController().signal;
let server: Server | undefined;
afterEach(() => server?.close());

/** Serves a card, at every path or only one, and returns the URL. */
async function serve(
  status: number,
  body: string,
  path?: string,
): Promise<string> {
  server = createServer((request, response) => {
    const isThere = path === undefined || request.url === path;
    response.writeHead(isThere ? status : 404).end(isThere ? body : "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return urlOf(server);
}

function urlOf(of: Server): string {
  const address = of.address();
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

  it("M14: takes the card's own URL, and that of an interface, with its path", async () => {
    const card = {
      supportedInterfaces: ["/rpc/one", "/rpc/two"].map((url) => {
        return { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" };
      }),
    };
    for (const [path, place, endpoint] of [
      ["/rpc/two", CARD_PATH, "/rpc/two"],
      ["/rpc/two/", CARD_PATH, "/rpc/one"],
      [CARD_PATH, CARD_PATH, "/rpc/one"],
      ["/cards/mine.json", "/cards/mine.json", "/rpc/one"],
      ["/agents/a", `/agents/a${CARD_PATH}`, "/rpc/one"],
      ["/agents/a/", `/agents/a${CARD_PATH}`, "/rpc/one"],
    ] as const) {
      const url = await serve(200, JSON.stringify(card), place);
      const subject = await findSubject({ url: `${url}${path}` }, SIGNAL);
      expect(subject.binding.endpoint, path).toBe(`${url}${endpoint}`);
      expect(subject.cardUrl, path).toBe(`${url}${place}`);
      server?.close();
    }
    const url = await serve(200, "{}", CARD_PATH);
    await expect(findSubject({ url: `${url}/a.json` }, SIGNAL)).rejects.toThrow(
      `there is no agent card at ${url}/a.json (HTTP 404)`,
    );
  });

  it("M9, M10: says why no card came: nothing listens, no such host, silence, no TLS", async () => {
    const url = await serve(200, "{}");
    const silent = createServer().listen(0, "127.0.0.1");
    silent.on("request", () => undefined);
    await once(silent, "listening");
    const refused = (target: string, timeoutMs = 60_000): Promise<unknown> =>
      findSubject({ url: target, timeoutMs }, SIGNAL).catch((reason: unknown) =>
        String(reason),
      );
    expect(await refused(urlOf(silent), 300)).toBe(
      `Error: no agent card came from ${urlOf(silent)}${CARD_PATH} in 0.3 s: see whether the server hangs, or allow more time with --timeout`,
    );
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    expect(await refused(urlOf(silent))).toMatch(
      /nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\): start the server, or check host and port$/,
    );
    expect(await refused(url.replace("http:", "https:"))).toMatch(
      /does not speak TLS \(.+\): write the URL with http:/,
    );
    expect(await refused("http://no-such-host.invalid/", 300)).toMatch(
      /the host name "no-such-host.invalid" is not known|in 0\.3 s/,
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
