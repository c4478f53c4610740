import { Code } from "@connectrpc/connect";
import { EXTENSION_URI } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { fetchAgentCard } from "../src/a2a.ts";
import { json, startRecordedAgent } from "./recorded-agent.ts";
import { deadline } from "./streams.ts";

const card = (...uris: string[]) => ({
  protocolVersion: "0.3.0",
  name: "agent",
  url: "http://127.0.0.1:1/",
  capabilities: { extensions: uris.map((uri) => ({ uri })) },
});

const offer = (protocolVersion: string) => ({
  url: "http://127.0.0.1:1/",
  protocolBinding: "JSONRPC",
  protocolVersion,
});

describe("fetching a card (CARD-2)", () => {
  it("returns the card of an agent with the extension in the form of 1.0", async () => {
    const v03 = {
      ...card(EXTENSION_URI),
      preferredTransport: "HTTP+JSON",
      additionalInterfaces: [
        { url: "http://127.0.0.1:1/", transport: "HTTP+JSON" },
        { url: "http://127.0.0.1:1/rpc", transport: "JSONRPC" },
      ],
    };
    await using agent = await startRecordedAgent(json(v03));
    const { name, supportedInterfaces } = await fetchAgentCard(
      agent,
      deadline(),
    );
    expect(name).toBe("agent");
    expect(supportedInterfaces).toMatchObject([
      {
        protocolVersion: "0.3",
        protocolBinding: "HTTP+JSON",
        url: "http://127.0.0.1:1/",
      },
      {
        protocolVersion: "0.3",
        protocolBinding: "JSONRPC",
        url: "http://127.0.0.1:1/rpc",
      },
    ]);
    expect(agent.requests[0]?.headers["a2a-version"]).toBe("1.0");
  });

  it("sends the query of the URL behind the path of the card", async () => {
    await using agent = await startRecordedAgent(json(card(EXTENSION_URI)));
    const url = `${agent.url}one/?tenant=a%2Fb#part`;
    await fetchAgentCard({ url }, deadline());
    expect(agent.requests.map((request) => request.url)).toEqual([
      "/one/.well-known/agent-card.json?tenant=a%2Fb",
    ]);
  });

  it("returns a card that has both forms, and ignores unknown fields", async () => {
    const both = {
      ...card(EXTENSION_URI),
      supportedInterfaces: [offer("1.0")],
      hologram: true,
    };
    await using agent = await startRecordedAgent(json(both));
    expect(
      (await fetchAgentCard(agent, deadline())).supportedInterfaces,
    ).toMatchObject([offer("1.0")]);
  });

  it("returns the card of an agent without an optional extension, and still refuses an incompatible version", async () => {
    const options = { extension: "optional" } as const;
    await using plain = await startRecordedAgent(json(card()));
    expect(
      (await fetchAgentCard({ ...plain, ...options }, deadline())).name,
    ).toBe("agent");
    await using newer = await startRecordedAgent(
      json(card(EXTENSION_URI.replace("/v0/", "/v9/"))),
    );
    await expect(
      fetchAgentCard({ ...newer, ...options }, deadline()),
    ).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining("9.0.0"),
    });
  });

  it.each([
    {
      name: "has no card",
      answer: json("", 404),
      code: Code.NotFound,
      says: "HTTP 404",
    },
    {
      name: "says why it sends no card",
      answer: json({ error: "host is not served: use --allow-host" }, 403),
      code: Code.NotFound,
      says: "HTTP 403: host is not served: use --allow-host",
    },
    ...[502, 503, 504].map((status) => ({
      name: `is behind a proxy that answers with ${status}`,
      answer: json("no upstream", status),
      code: Code.Unavailable,
      says: `cannot be reached now: HTTP ${status}: no upstream`,
    })),
    {
      name: "has a page instead of a card",
      answer: json("<html>"),
      code: Code.FailedPrecondition,
      says: "",
    },
    {
      name: "has a card of another shape",
      answer: json({ name: 7 }),
      code: Code.FailedPrecondition,
      says: "",
    },
    {
      name: "has a list instead of a card",
      answer: json("[]"),
      code: Code.FailedPrecondition,
      says: "AgentCard",
    },
    {
      name: "has no extension",
      answer: json(card()),
      code: Code.FailedPrecondition,
      says: "does not have",
    },
    {
      name: "has another extension",
      answer: json(card("https://example.com/ext/v0")),
      code: Code.FailedPrecondition,
      says: "does not have",
    },
    {
      name: "has a version of the extension that is too new",
      answer: json(card(EXTENSION_URI.replace("/v0/", "/v9/"))),
      code: Code.FailedPrecondition,
      says: "9.0.0",
    },
    {
      name: "has the extension without a version",
      answer: json(card(EXTENSION_URI.replace("/v0/", "/"))),
      code: Code.FailedPrecondition,
      says: "version",
    },
  ])("refuses an agent that $name", async ({ answer, code, says }) => {
    await using agent = await startRecordedAgent(answer);
    const refused = fetchAgentCard(agent, deadline());
    await expect(refused).rejects.toMatchObject({
      code,
      rawMessage: expect.stringContaining(says),
    });
  });

  it("B28: finds a card where A2A 0.2 had it", async () => {
    const old = json({ ...card(EXTENSION_URI), url: "/rpc" });
    await using agent = await startRecordedAgent(json("", 404), old);
    expect((await fetchAgentCard(agent, deadline())).name).toBe("agent");
    expect(agent.requests.map(({ url }) => url)).toEqual([
      "/.well-known/agent-card.json",
      "/.well-known/agent.json",
    ]);
  });

  it("B19: leaves out an element that cannot be read, and says so", async () => {
    const skills = [{ id: "a", tags: 7 }, 8, { id: "b" }];
    await using agent = await startRecordedAgent(
      json({
        ...card(EXTENSION_URI),
        skills,
        version: 1,
        securitySchemes: { oauth: { type: "oauth2" } },
        additionalInterfaces: [{ url: "http://a/", transport: 7 }],
      }),
    );
    const leftOut: string[] = [];
    const onLeftOut = (why: string): unknown => leftOut.push(why);
    const read = await fetchAgentCard({ ...agent, onLeftOut }, deadline());
    expect(read.skills.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(leftOut).toEqual([
      expect.stringMatching(/skills\[0\]\.tags/),
      expect.stringMatching(/version/),
      expect.stringMatching(/additionalInterfaces\[0\]\.transport must be/),
      expect.stringMatching(/skills\[1\] must be an object/),
      expect.stringMatching(/securitySchemes\["oauth"\] "oauth2" is of a type/),
    ]);
  });

  it("distinguishes a timeout and an unreachable agent from an invalid card", async () => {
    await using silent = await startRecordedAgent(() => undefined);
    await expect(
      fetchAgentCard(silent, AbortSignal.timeout(30)),
    ).rejects.toMatchObject({
      code: Code.DeadlineExceeded,
    });
    await expect(
      fetchAgentCard({ url: "http://127.0.0.1:1/" }, deadline()),
    ).rejects.toMatchObject({
      code: Code.Unavailable,
    });
  });
});
