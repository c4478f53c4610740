import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/schema/json";
import { describe, expect, it } from "vitest";

const page = readFileSync(new URL("../docs/agents-acp.md", import.meta.url), "utf8");
const require = createRequire(new URL("../packages/acp/package.json", import.meta.url));
const schema: unknown = JSON.parse(
  readFileSync(require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"), "utf8"),
);
const definitions = objectOrEmpty(objectOrEmpty(schema).$defs);

/** The values that a property of the variants of a definition may have; of the variants themselves, if they are constants. */
function variants(name: string, property?: string): string[] {
  const { oneOf, anyOf } = objectOrEmpty(definitions[name]);
  return [...listOrEmpty(oneOf), ...listOrEmpty(anyOf)].filter(isObject).flatMap((variant) => {
    const owner = property === undefined ? variant : objectOrEmpty(objectOrEmpty(variant.properties)[property]);
    return typeof owner.const === "string" ? [owner.const] : [];
  });
}

/** The names of the first column of the tables of the page, and all names of ACP in code. */
const told = new Set([...page.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name));

describe("the page about ACP agents", () => {
  const methods = [...new Set(Object.values(definitions).flatMap((one) => objectOrEmpty(one)["x-method"] ?? []))];
  const kinds: Readonly<Record<string, readonly unknown[]>> = {
    methods,
    updates: variants("SessionUpdate", "sessionUpdate"),
    content: variants("ContentBlock", "type"),
    "content of calls": variants("ToolCallContent", "type"),
    "statuses of calls": variants("ToolCallStatus"),
    "kinds of options": variants("PermissionOptionKind"),
    "stop reasons": variants("StopReason"),
    "modes of elicitation": variants("CreateElicitationRequest", "mode"),
    "fields of calls": Object.keys(objectOrEmpty(objectOrEmpty(definitions.ToolCall).properties)).filter(
      (name) => name !== "_meta",
    ),
  };
  const least: Readonly<Record<string, number>> = { methods: 24, updates: 14, content: 5, "stop reasons": 5 };
  for (const [what, names] of Object.entries(kinds)) {
    it(`says what becomes of all ${what}`, () => {
      expect(names.length).toBeGreaterThanOrEqual(least[what] ?? 2);
      expect(names.filter((name) => !told.has(String(name)))).toEqual([]);
    });
  }
});
