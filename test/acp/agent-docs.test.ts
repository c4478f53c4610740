import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { describe, expect, it } from "vitest";

const PAGE = readFileSync(
  new URL("../../docs/agents.md", import.meta.url),
  "utf8",
);
const FOLDER = fileURLToPath(
  new URL("../../packages/acp/src/agent/", import.meta.url),
);
const SOURCE = readdirSync(FOLDER)
  .filter((name) => /(?<!\.test)\.ts$/.test(name))
  .map((name) => readFileSync(FOLDER + name, "utf8"))
  .join("\n");
const require = createRequire(
  new URL("../../packages/acp/package.json", import.meta.url),
);
const SCHEMA: unknown = JSON.parse(
  readFileSync(
    require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"),
    "utf8",
  ),
);
const DEFINITIONS = objectOrEmpty(objectOrEmpty(SCHEMA).$defs);

/** The section of the page that has a table of these names. */
const METHODS = {
  agent: "Methods of the agent",
  client: "Methods of the client",
  protocol: "Methods of the agent",
};
/** The methods that the SDK handles by itself. */
const BY_THE_SDK: ReadonlySet<string> = new Set(["$/cancel_request"]);

describe("the page about ACP agents", () => {
  for (const [side, section] of Object.entries(METHODS)) {
    it(`says what becomes of the methods of the ${side}, and the code does so`, () => {
      const methods = methodsOf(DEFINITIONS, side);
      expect(methods.length).toBeGreaterThanOrEqual(
        { agent: 13, client: 11, protocol: 1 }[side] ?? 1,
      );
      expect(problems(methods, section, PAGE, SOURCE)).toEqual([]);
    });
  }

  const kinds: readonly (readonly [
    what: string,
    section: string,
    names: readonly string[],
    least: number,
  ])[] = [
    ["updates", "Updates", variants("SessionUpdate", "sessionUpdate"), 14],
    ["content", "Content", variants("ContentBlock", "type"), 5],
    ["content of calls", "Content", variants("ToolCallContent", "type"), 3],
    ["kinds of options", "Questions", variants("PermissionOptionKind"), 4],
  ];
  for (const [what, section, names, least] of kinds) {
    it(`says what becomes of all ${what}, and the code knows them`, () => {
      expect(names.length).toBeGreaterThanOrEqual(least);
      expect(problems(names, section, PAGE, SOURCE)).toEqual([]);
    });
  }

  const told: readonly (readonly [
    what: string,
    names: readonly string[],
    least: number,
  ])[] = [
    ["stop reasons", variants("StopReason"), 5],
    ["statuses of calls", variants("ToolCallStatus"), 4],
    ["modes of elicitation", variants("CreateElicitationRequest", "mode"), 2],
    ["fields of calls", fieldsOf("ToolCall"), 8],
  ];
  for (const [what, names, least] of told) {
    it(`names all ${what}`, () => {
      expect(names.length).toBeGreaterThanOrEqual(least);
      expect(names.filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([]);
    });
  }
});

describe("the test of that page", () => {
  const added: JsonObject = {
    "x-method": "session/teleport",
    "x-side": "agent",
  };

  it("fails for a method, on either side, that is neither carried nor in the table", () => {
    for (const [side, section] of Object.entries(METHODS)) {
      const methods = methodsOf(
        { ...DEFINITIONS, Teleport: { ...added, "x-side": side } },
        side,
      );
      expect(problems(methods, section, PAGE, SOURCE)).toEqual([
        "session/teleport is not in the table",
      ]);
    }
  });

  it("fails for one that the table says is carried, and the code does not know", () => {
    const page = PAGE.replace(
      "| `session/list` ",
      "| `session/teleport` | told | |\n| `session/list` ",
    );
    const found = problems(["session/teleport"], METHODS.agent, page, SOURCE);
    expect(found).toEqual([
      "session/teleport is said to be carried, and is not in the code",
    ]);
  });

  it("fails for one that the table says is not carried, and the code has", () => {
    const found = problems(
      ["session/list"],
      METHODS.agent,
      PAGE,
      `${SOURCE}\nrequest("session/list")`,
    );
    expect(found).toEqual([
      "session/list is said not to be carried, and is in the code",
    ]);
  });

  it("fails for a name that is told in another section only", () => {
    expect(problems(["plan"], "Content", PAGE, SOURCE)).toEqual([
      "plan is not in the table",
    ]);
  });
});

/**
 * The faults of a table's names: each name must be in the table, and in the
 * code unless the table says that it is not used.
 */
function problems(
  names: readonly string[],
  section: string,
  page: string,
  source: string,
): string[] {
  const rows = rowsOf(page, section);
  return names.flatMap((name) => {
    const cell = rows.get(name);
    if (cell === undefined) return [`${name} is not in the table`];
    if (BY_THE_SDK.has(name)) return [];
    const isCarried = !/^(not used|ignored)/.test(cell);
    const isInCode =
      source.includes(`"${name}"`) || new RegExp(`\\b${name}: `).test(source);
    if (isCarried && !isInCode) {
      return [`${name} is said to be carried, and is not in the code`];
    }
    return !isCarried && isInCode
      ? [`${name} is said not to be carried, and is in the code`]
      : [];
  });
}

/** The second cells of the tables of a section, by the names in the first. */
function rowsOf(page: string, section: string): ReadonlyMap<string, string> {
  const [, rest = ""] = page.split(`\n### ${section}\n`);
  const [text = ""] = rest.split("\n### ");
  return new Map(
    [...text.matchAll(/^\| `([^`]+)` +\| ([^|]*)/gm)].map(
      ([, name = "", cell = ""]) => [name, cell],
    ),
  );
}

function methodsOf(definitions: JsonObject, side: string): string[] {
  const methods = Object.values(definitions).flatMap((one) => {
    const { "x-method": method, "x-side": of } = objectOrEmpty(one);
    return of === side && typeof method === "string" ? [method] : [];
  });
  return [...new Set(methods)];
}

/**
 * The values that a property of the variants of a definition may have; of the
 * variants themselves, if they are constants.
 */
function variants(name: string, property?: string): string[] {
  const { oneOf, anyOf } = objectOrEmpty(DEFINITIONS[name]);
  return [...listOrEmpty(oneOf), ...listOrEmpty(anyOf)]
    .filter(isObject)
    .flatMap((variant) => {
      const owner =
        property === undefined
          ? variant
          : objectOrEmpty(objectOrEmpty(variant.properties)[property]);
      return typeof owner.const === "string" ? [owner.const] : [];
    });
}

function fieldsOf(name: string): string[] {
  return Object.keys(
    objectOrEmpty(objectOrEmpty(DEFINITIONS[name]).properties),
  ).filter((field) => field !== "_meta");
}
