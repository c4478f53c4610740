import { fetchAgentCard } from "@devtool/client/a2a";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";

/** The pattern of identifiers in the schema of AI Catalog 1.0. */
const IDENTIFIER = /^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$/;

function agent(name: string, description: string, ids: string[] = []): Agent {
  const skills = ids.map((id) => ({
    id,
    name: id,
    description: `It can ${id}.`,
    tags: ["code"],
    examples: [`${id} this`, `${id} that`],
  }));
  return {
    about: { name, description, ...(ids.length > 0 && { skills }) },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn) {
          yield* turn.say(name);
        },
      }),
    }),
  };
}

function namesIn(entries: unknown): unknown[] {
  return listOrEmpty(entries).map((one) => objectOrEmpty(one).displayName);
}

describe("the catalog of a server's agents", () => {
  let server: DevtoolServer;

  beforeEach(async () => {
    server = await createServer({
      agents: {
        coder: agent("Coder", "Writes programs in any language."),
        reviewer: agent("Reviewer", "Reviews changes of programs.", ["review"]),
        cook: agent("Cook", "Plans dinners."),
        second: agent("cook", "Bakes. Knows Go. 请审查代码。"),
      },
      workspace: temporaryDirectory(),
    });
  });
  afterEach(() => server.close());

  async function search(
    body: unknown,
    headers: Record<string, string> = {
      authorization: `Bearer ${server.token}`,
    },
    url = server.url,
  ): Promise<{
    readonly status: number;
    readonly json: Record<string, unknown>;
  }> {
    const response = await fetch(`${url}/search`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const json: unknown = await response.json();
    return { status: response.status, json: isObject(json) ? json : {} };
  }

  it("lists each agent with the URL of its card, and the search", async () => {
    const response = await fetch(`${server.url}/.well-known/ai-catalog.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch("application/json");
    const catalog = objectOrEmpty(await response.json());
    expect(catalog).toMatchObject({
      specVersion: "1.0",
      host: { displayName: "127.0.0.1" },
    });
    const entries = listOrEmpty(catalog.entries).map(objectOrEmpty);
    expect(entries.map(({ identifier }) => identifier)).toEqual([
      "urn:air:127.0.0.1:agent:coder",
      "urn:air:127.0.0.1:agent:reviewer",
      "urn:air:127.0.0.1:agent:cook",
      "urn:air:127.0.0.1:agent:second",
      "urn:air:127.0.0.1:registry:devtool",
    ]);
    for (const entry of entries) {
      expect(entry.identifier).toMatch(IDENTIFIER);
      expect(entry).toMatchObject({
        displayName: expect.stringMatching(/./),
        url: expect.stringMatching(/^http:/),
      });
      expect(entry).not.toHaveProperty("data");
      expect(entry).not.toHaveProperty("score");
    }
    expect(entries[1]).toMatchObject({
      type: "application/a2a-agent-card+json",
      tags: ["code"],
      capabilities: ["review"],
      representativeQueries: ["review this", "review that"],
    });
    expect(entries[0]).not.toHaveProperty("representativeQueries");
    expect(entries[2]?.displayName).toBe("Cook (cook)");
    expect(entries[3]?.displayName).toBe("cook (second)");
    expect(entries[4]).toMatchObject({
      type: "application/ai-registry+json",
      url: server.url,
    });
    const url = `${entries[1]?.url}`.replace(
      "/.well-known/agent-card.json",
      "",
    );
    const card = await fetchAgentCard({ url }, AbortSignal.timeout(60_000));
    expect(card.name).toBe("Reviewer");
  });

  it("has identifiers and examples as the schema wants them, at an IPv6 address and with one example", async () => {
    const skill = {
      ...{ id: "go", name: "go", description: "Goes.", tags: [] },
      examples: ["go there"],
    };
    const walker = agent("Walker", "Walks.");
    await using one = await createServer({
      agents: {
        walker: { ...walker, about: { ...walker.about, skills: [skill] } },
      },
      workspace: temporaryDirectory(),
      publicUrl: "https://[2001:db8::1]",
    });
    const response = await fetch(`${one.url}/.well-known/ai-catalog.json`);
    const { entries } = objectOrEmpty(await response.json());
    for (const entry of listOrEmpty(entries).map(objectOrEmpty)) {
      expect(entry.identifier).toMatch(IDENTIFIER);
      expect(entry).not.toHaveProperty("representativeQueries");
    }
    expect(listOrEmpty(entries)).toHaveLength(2);
  });

  it("is not sent again to whom has it", async () => {
    const url = `${server.url}/.well-known/ai-catalog.json`;
    const etag = (await fetch(url)).headers.get("etag") ?? "";
    const again = await fetch(url, { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
  });

  it("finds agents by words, the best first, with a score and a source", async () => {
    const { status, json } = await search({
      query: { text: "Review my programs" },
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      results: [
        expect.objectContaining({
          displayName: "Reviewer",
          score: 100,
          source: server.url,
        }),
        expect.objectContaining({ displayName: "Coder", score: 50 }),
      ],
    });
  });

  it("filters by fields, one of the values each, and answers with an empty list", async () => {
    const text = "programs reviewer";
    const found = async (filter: Record<string, unknown>) => {
      const { json } = await search({
        query: { text, filter },
        federation: "none",
      });
      return listOrEmpty(json.results).map(
        (one) => objectOrEmpty(one).displayName,
      );
    };
    expect(await found({ capabilities: ["review", "x"] })).toEqual([
      "Reviewer",
    ]);
    expect(await found({ publisher: "127.0.0.1" })).toHaveLength(2);
    expect(await found({ type: ["application/mcp-server-card+json"] })).toEqual(
      [],
    );
  });

  it("finds a short word that is alone, and words that are written without spaces", async () => {
    const found = async (text: string): Promise<unknown[]> => {
      const { json } = await search({ query: { text } });
      return listOrEmpty(json.results).map((one) => {
        const { displayName, score } = objectOrEmpty(one);
        return [displayName, score];
      });
    };
    expect(await found("go")).toEqual([["cook (second)", 100]]);
    expect(await found("in any")).toEqual([["Coder", 100]]);
    expect(await found("代码")).toEqual([["cook (second)", 100]]);
    expect(await found("go 代码")).toEqual([["cook (second)", 100]]);
  });

  it("does not find the words of the catalog itself", async () => {
    const text = "application json agent card identifier urn 127 http tags";
    expect((await search({ query: { text } })).json).toEqual({ results: [] });
  });

  it("names without credentials, and finds, what the caller may use alone", async () => {
    const issuer = await createIssuer();
    const rights = ["run"] as const;
    await using limited = await createServer({
      agents: {
        cook: agent("Cook", "Plans dinners of people."),
        reviewer: agent("Reviewer", "Reviews programs of people."),
        coder: agent("Coder", "Writes programs of people."),
      },
      workspace: temporaryDirectory(),
      authentication: {
        jwt: { ...issuer.options, rolesClaim: "groups" },
        roles: [
          { role: "*", rights, agents: ["cook"] },
          { role: "devs", rights, agents: ["reviewer"] },
        ],
      },
    });
    const token = await issuer.tokenFor("ada", undefined, { groups: ["devs"] });
    const foundBy = async (bearer: string): Promise<unknown[]> => {
      const headers = { authorization: `Bearer ${bearer}` };
      const query = { text: "people" };
      const { json } = await search({ query }, headers, limited.url);
      return namesIn(json.results);
    };
    expect(await foundBy(token)).toEqual(["Cook", "Reviewer"]);
    expect(await foundBy(limited.token)).toEqual(["Cook", "Reviewer", "Coder"]);
    const url = `${limited.url}/.well-known/ai-catalog.json`;
    const catalog = objectOrEmpty(await (await fetch(url)).json());
    expect(namesIn(catalog.entries)).toEqual(["Cook", "Search of 127.0.0.1"]);
  });

  it("answers in pages", async () => {
    const query = { text: "programs" };
    const first = await search({ query, pageSize: 1 });
    const { pageToken } = first.json;
    const second = await search({ query, pageSize: 1, pageToken });
    const names = [first, second].map(
      ({ json }) => objectOrEmpty(listOrEmpty(json.results)[0]).displayName,
    );
    expect(names).toEqual(["Coder", "Reviewer"]);
    expect(second.json).not.toHaveProperty("pageToken");
  });

  it.each([
    [{ query: {} }, "query.text"],
    [{ query: { text: "?!", filter: {} } }, "query.text"],
    [{ query: { text: "programs", filter: { metadata: 1 } } }, "query.filter"],
    [{ query: { text: "programs" }, federation: "all" }, "federation"],
    [{ query: { text: "programs" }, pageSize: 101 }, "pageSize"],
    [{ query: { text: "programs" }, pageSize: 0 }, "pageSize"],
    [{ query: { text: "programs" }, pageToken: "x" }, "pageToken"],
    // The position -1.
    [{ query: { text: "programs" }, pageToken: "LTE" }, "pageToken"],
    [{ query: "programs" }, "query"],
  ])("refuses %j, and names the field", async (body, field) => {
    const { status, json } = await search(body);
    expect(status).toBe(400);
    expect(json).toEqual({
      errorCode: "INVALID_ARGUMENT",
      message: expect.stringContaining(field),
    });
  });

  it("refuses a query whose words would cost others their time", async () => {
    const { status, json } = await search({
      query: { text: "ab ".repeat(1366) },
    });
    expect(status).toBe(400);
    expect(json.message).toMatch(
      /^query\.text "ab .*…" has 4098 characters: limit is 4096/,
    );
  });

  it("searches for callers only", async () => {
    const { status, json } = await search({ query: { text: "programs" } }, {});
    expect(status).toBe(401);
    expect(json.errorCode).toBe("UNAUTHENTICATED");
  });
});
