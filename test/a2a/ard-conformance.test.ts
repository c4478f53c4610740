import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postJson } from "../post-json.ts";

/** `urn:air:PUBLISHER[:NAMESPACE]:NAME`. */
const IDENTIFIER =
  /^urn:air:[a-zA-Z0-9.-]+(?::[a-zA-Z0-9._:-]+)?:[a-zA-Z0-9._-]+$/;

/** The media types that the tool of the standard knows. */
const TYPES: readonly unknown[] = [
  "application/ai-catalog+json",
  "application/agent-card+json",
  "application/a2a-agent-card+json",
  "application/mcp-server-card+json",
  "application/agent-skills+zip",
  "application/agent-skills+gzip",
  "application/ai-registry",
  "application/ai-registry+json",
];

/** An agent of forecasts, which the query of the tool of the standard finds. */
function forecaster(examples: readonly string[]): Agent {
  return {
    about: {
      name: "Forecaster",
      description: "Writes tools for a weather forecast.",
      skills: [
        {
          id: "forecast",
          name: "Forecast",
          description: "",
          tags: [],
          examples,
        },
      ],
    },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn) {
          yield* turn.say("It rains.");
        },
      }),
    }),
  };
}

/** What each entry must have, in a catalog and in results. */
function problemsOf(entry: unknown): readonly string[] {
  const fields = objectOrEmpty(entry);
  const { identifier, displayName, type, url, data } = fields;
  const queries = fields.representativeQueries;
  return [
    !IDENTIFIER.test(`${identifier}`) && "identifier is not urn:air:…",
    !displayName && "displayName is missing",
    !TYPES.includes(type) && `type ${type} is not known`,
    (url === undefined) === (data === undefined) &&
      "it needs url or data, and not both",
    queries !== undefined &&
      !isListOf(queries, "string", 2, 5) &&
      "representativeQueries are not 2 to 5 texts",
  ].filter((problem) => problem !== false);
}

function isListOf(
  value: unknown,
  type: "string",
  least: number,
  most: number,
): boolean {
  return (
    Array.isArray(value) &&
    value.length >= least &&
    value.length <= most &&
    value.every((each) => typeof each === type)
  );
}

// The checks of `conformance-test` of the ARD specification 0.9, as our own. Its
// query asks for MCP servers, of which a server of agents has none: its own run
// has no results, and so never checks one.
describe("ARD 0.9 conformance", () => {
  let server: DevtoolServer;

  beforeEach(async () => {
    server = await createServer({
      agents: {
        one: forecaster(["forecast for Chicago"]),
        two: forecaster(["forecast for Seattle", "wind in Oslo"]),
      },
      workspace: temporaryDirectory(),
    });
  });
  afterEach(() => server.close());

  async function search(type: string): Promise<Record<string, unknown>> {
    const response = await postJson(server, "/search", {
      query: { text: "weather forecast tools", filter: { type: [type] } },
      federation: "none",
      pageSize: 2,
    });
    expect(response.status).toBe(200);
    return objectOrEmpty(await response.json());
  }

  it("holds for the manifest", async () => {
    const url = `${server.url}/.well-known/ai-catalog.json`;
    const catalog = objectOrEmpty(await (await fetch(url)).json());
    expect(catalog.specVersion).toBe("1.0");
    expect(catalog).not.toHaveProperty("collections");
    const entries = listOrEmpty(catalog.entries);
    expect(entries).toHaveLength(3);
    expect(entries.map(problemsOf)).toEqual([[], [], []]);
  });

  it("holds for results of the tool's query among agents", async () => {
    const { results } = await search("application/a2a-agent-card+json");
    const found = listOrEmpty(results);
    expect(found).toHaveLength(2);
    for (const one of found) {
      expect(problemsOf(one)).toEqual([]);
      const { score, source } = objectOrEmpty(one);
      expect(score).toSatisfy(
        (value) => Number.isInteger(value) && value >= 0 && value <= 100,
      );
      expect(source).toBe(server.url);
    }
  });

  it("answers the tool's own query, for MCP servers, with an empty list", async () => {
    expect(await search("application/mcp-server-card+json")).toEqual({
      results: [],
    });
  });

  it.each([
    ["GET", "/agents"],
    ["POST", "/explore"],
  ])(
    "says that %s %s, which is optional, is not there",
    async (method, path) => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${server.token}`,
          "content-type": "application/json",
        },
        ...(method === "POST" && { body: "{}" }),
      });
      expect(response.status).toBe(404);
      expect(isObject(await response.json().catch(() => undefined))).toBe(true);
    },
  );
});
