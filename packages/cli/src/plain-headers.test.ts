import { describe, expect, it } from "vitest";
import { PlainHeaders } from "./plain-headers.ts";

const INITS: readonly (readonly [
  string,
  ConstructorParameters<typeof Headers>[0],
])[] = [
  ["nothing", undefined],
  ["an object", { "X-One": "1", __proto__x: "2", constructor: "3" }],
  [
    "pairs",
    [
      ["X-One", " 1\t"],
      ["x-one", "2"],
      ["__proto__", "3"],
    ],
  ],
  ["Node's own", new Headers({ "X-One": "1", b: "é" })],
];

describe("PlainHeaders", () => {
  it.each(INITS)("reads %s as Node's own does", (_name, init) => {
    const ours = new PlainHeaders(init);
    const own = new Headers(init);
    expect([...ours].toSorted()).toEqual([...own].toSorted());
    expect([...new Headers([...ours])]).toEqual([...own]);
    for (const name of ["x-one", "X-ONE", "constructor", "__proto__", "no"]) {
      expect([name, ours.get(name), ours.has(name)]).toEqual([
        name,
        own.get(name),
        own.has(name),
      ]);
    }
  });

  it("sets, appends and deletes a name in any case", () => {
    const headers = new PlainHeaders({ a: "1", b: "2" });
    headers.append("A", "2");
    headers.set("B", "3");
    expect([...headers]).toEqual([
      ["a", "1, 2"],
      ["b", "3"],
    ]);
    headers.delete("A");
    expect([...headers.keys()]).toEqual(["b"]);
  });

  it.each([
    ["a b", "1"],
    ["a\r\nb", "1"],
    ["", "1"],
    ["a", "1\r\nb: 2"],
    ["a", "1\0"],
    ["a", "€"],
  ])("refuses %j: %j, as Node's own does", (name, value) => {
    for (const headers of [new PlainHeaders(), new Headers()]) {
      expect(() => headers.set(name, value)).toThrow(TypeError);
      expect(() => headers.append(name, value)).toThrow(TypeError);
    }
  });
});
