import { readFileSync } from "node:fs";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { describe, expect, it } from "vitest";
import { DEFINITIONS } from "./port/frames.ts";

/**
 * The constants of a choice of ACP's schema: those that tell its variants
 * apart.
 */
function constantsOf(definition: unknown): string[] {
  const { oneOf, anyOf, enum: values } = objectOrEmpty(definition);
  const ofVariants = [...listOrEmpty(oneOf), ...listOrEmpty(anyOf)]
    .filter(isObject)
    .flatMap((variant) => {
      const inside = Object.values(objectOrEmpty(variant.properties)).map(
        (property) => objectOrEmpty(property).const,
      );
      return [variant.const, ...inside];
    });
  return [...ofVariants, ...listOrEmpty(values)].filter(
    (value) => typeof value === "string",
  );
}

const CHOICES = Object.entries(DEFINITIONS).flatMap(([name, definition]) => {
  const constants = constantsOf(definition);
  return constants.length > 0 ? [{ name, constants }] : [];
});

describe.each([
  ["docs/agents.md", "agents behind the port"],
  ["docs/acp.md", "the port as an agent"],
])("%s, about %s", (file) => {
  const page = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

  it.each(CHOICES)(
    "says of all variants of $name what becomes of them",
    ({ name, constants }) => {
      expect(missingIn(page, name, constants)).toEqual([]);
    },
  );

  it("names no variants that the schema does not have", () => {
    const rows = rowsOf(page).map(([name]) => name);
    expect(
      rows.filter((name) => !CHOICES.some((choice) => choice.name === name)),
    ).toEqual([]);
  });

  it("fails when a variant, or a whole choice, is new", () => {
    expect(missingIn(page, "McpServer", ["http", "sse", "pigeon"])).toEqual([
      "pigeon",
    ]);
    expect(missingIn(page, "Weather", ["sunny"])).toEqual(["sunny"]);
  });
});

/** The constants that the row of a choice does not name. */
function missingIn(
  page: string,
  name: string,
  constants: readonly string[],
): string[] {
  const [, row = ""] = rowsOf(page).find(([of]) => of === name) ?? [];
  return constants.filter((constant) => !row.includes(`\`${constant}\``));
}

/**
 * The rows of the section on variants: the name of the choice, and the whole
 * row.
 */
function rowsOf(page: string): (readonly [name: string, row: string])[] {
  const [, rest = ""] = page.split(/\n###? Variants\n/);
  const [section = ""] = rest.split(/\n###? /);
  return [...section.matchAll(/^\| `(\w+)`.*$/gm)].map(([row, name = ""]) => [
    name,
    row,
  ]);
}
