import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));

describe("the built entries", () => {
  for (const entry of [
    "index.js",
    "a2a-v03.js",
    "a2a-v1.js",
    "reflection.js",
  ]) {
    it(`import no module of Node: ${entry}`, () => {
      const seen = new Set<string>();
      expect(builtinsBelow(join(dist, entry), seen)).toEqual([]);
      expect(seen.size).toBeGreaterThan(10);
    });
  }
});

/**
 * Returns the Node built-ins that a module loads, directly or through its
 * imports, including dependencies.
 */
function builtinsBelow(file: string, seen: Set<string>): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const specifiers = [
    ...readFileSync(file, "utf8").matchAll(
      /(?:from|import)\s*\(?["']([^"']+)["']/g,
    ),
  ].map(([, name = ""]) => name);
  return specifiers.flatMap((name) =>
    isBuiltin(name)
      ? [`${file}: ${name}`]
      : builtinsBelow(resolved(name, file), seen),
  );
}

function resolved(name: string, from: string): string {
  return name.startsWith(".")
    ? join(dirname(from), name)
    : createRequire(from).resolve(name).replace("/dist/cjs/", "/dist/esm/");
}
