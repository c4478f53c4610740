import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MAX_TOOL_NAME_BYTES,
  qualifyToolNames,
  type ToolIdentity,
} from "./tool-name.ts";

/**
 * Names that were made to read alike: few characters, separators, dots, long
 * ones, other scripts, half surrogates.
 */
const rawName = fc.oneof(
  fc.stringMatching(/^[ab._-]{0,6}$/),
  fc.constantFrom(
    "foo.bar",
    "foo_bar",
    "foo-bar",
    "a__b",
    "a",
    "b__c",
    "",
    "_",
    "__",
    "mcp__a__b",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 200 }),
  fc
    .tuple(fc.constant("x".repeat(200)), fc.string({ maxLength: 2 }))
    .map(([long, end]) => long + end),
);
const identities = fc.uniqueArray(
  fc.record({ server: rawName, tool: rawName }),
  { selector: key, maxLength: 40 },
);

describe("qualifyToolNames", () => {
  it("gives every tool a unique name that models accept", () => {
    fc.assert(
      fc.property(identities, (all) => {
        const named = qualifyToolNames(all);
        expect(new Set([...named.values()].map(key))).toEqual(
          new Set(all.map(key)),
        );
        expect(named.size).toBe(all.length);
        for (const name of named.keys()) {
          expect(name).toMatch(/^mcp__[A-Za-z0-9_-]+$/);
          expect(Buffer.byteLength(name)).toBeLessThanOrEqual(
            MAX_TOOL_NAME_BYTES,
          );
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("does not depend on the order of the tools", () => {
    const shuffled = identities.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([all, other]) => {
        expect(namesOf(other)).toEqual(namesOf(all));
      }),
    );
  });

  it("keeps names when unrelated tools are added", () => {
    const plain = fc.uniqueArray(
      fc.record({
        server: fc.constantFrom("a", "b"),
        tool: fc.stringMatching(/^[c-f]{1,3}$/),
      }),
      {
        selector: key,
      },
    );
    const added = fc.record({
      server: fc.constantFrom("a", "new"),
      tool: fc.stringMatching(/^[x-z]{1,80}$/),
    });
    fc.assert(
      fc.property(plain, added, (all, more) => {
        const before = namesOf(all);
        expect(namesOf([...all, more])).toMatchObject(before);
      }),
    );
  });

  it("names a tool that is listed twice once", () => {
    const tool = { server: "s", tool: "t" };
    expect([...qualifyToolNames([tool, { ...tool }]).keys()]).toEqual([
      "mcp__s__t",
    ]);
  });

  const vectors: readonly {
    readonly what: string;
    readonly all: readonly ToolIdentity[];
    readonly names: string[];
  }[] = [
    {
      what: "a plain name",
      all: [of("git", "status")],
      names: ["mcp__git__status"],
    },
    {
      what: "characters that no name has",
      all: [of("my server", "read/file")],
      names: ["mcp__my_server__read_file"],
    },
    { what: "empty names", all: [of("", "")], names: ["mcp______"] },
    {
      what: "tools that read alike: a hash for both",
      all: [of("s", "foo.bar"), of("s", "foo_bar")],
      names: ["mcp__s__foo_bar_d1758e56c3e0", "mcp__s__foo_bar_5cd23f93469d"],
    },
    {
      what: "servers that read alike: a hash for both",
      all: [of("foo.bar", "x"), of("foo_bar", "y")],
      names: ["mcp__foo_bar_336d1b3d72e0__x", "mcp__foo_bar_5d5f20e74771__y"],
    },
    {
      what: "halves that meet in another place: a hash for both",
      all: [of("a", "b__c"), of("a__b", "c")],
      names: ["mcp__a__b__c_e6f103e5e53e", "mcp__a__b__c_59db6b61ca2c"],
    },
    {
      what: "a tool whose name is too long",
      all: [of("server", "t".repeat(200))],
      names: [`mcp__server__${"t".repeat(38)}_35df6c3ae16a`],
    },
    {
      what: "a server whose name is too long",
      all: [of("s".repeat(200), "tool")],
      names: [`mcp__${"s".repeat(44)}___25e0a778b644`],
    },
  ];
  for (const { what, all, names } of vectors) {
    it(`names ${what}`, () => {
      const named = namesOf(all);
      expect(all.map((identity) => named[key(identity)])).toEqual(names);
    });
  }
});

function of(server: string, tool: string): ToolIdentity {
  return { server, tool };
}

function key({ server, tool }: ToolIdentity): string {
  return JSON.stringify([server, tool]);
}

function namesOf(all: readonly ToolIdentity[]): Record<string, string> {
  return Object.fromEntries(
    [...qualifyToolNames(all)].map(([name, identity]) => [key(identity), name]),
  );
}
