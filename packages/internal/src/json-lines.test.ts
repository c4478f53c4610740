import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../../../test/depth.ts";
import { parseJsonOrUndefined } from "./json.ts";
import { JsonLines } from "./json-lines.ts";
import { LineReader } from "./line-reader.ts";

const ROUNDS = roundsOf("DEVTOOL_LINE_MUTANTS", {
  quick: 100,
  ci: 400,
  deep: 10_000,
});
const said = (text: string) => ({ method: "say", params: { text } });
const [A, B, C] = [said("a }{ ["), said('b "\\"'), said("c\nd")];
const [a, b, c] = [JSON.stringify(A), JSON.stringify(B), JSON.stringify(C)];
const answer = '{"id":1,"result":{"text":"';

/** Reads the output of a program in chunks. */
function read(...chunks: string[]) {
  const lines = new LineReader(10_000);
  const json = new JsonLines(parseJsonOrUndefined);
  const found = chunks
    .flatMap((chunk) => [...lines.push(Buffer.from(chunk))])
    .map((line) => json.read(line));
  return {
    values: found.flatMap(({ values }) => values),
    broken: found.flatMap(({ broken }) => broken),
    cut: found.flatMap(({ cut }) => (cut === "" ? [] : [cut])),
  };
}

describe("JsonLines", () => {
  it.each<[string, string[], unknown[], string[]?]>([
    ["one a line", [`${a}\n${b}\r\n${c}\n`], [A, B, C]],
    ["two on a line", [`${a}${b}\n`], [A, B]],
    ["three, with blanks between", [`${a} ${b}\t${c}\n`], [A, B, C]],
    ["other text between them", [`${a}50% done${b}\n`], [A, B]],
    [
      "a log line behind one",
      [`${a}[info] it's {ready}\n`],
      [A],
      ["[info]", "{ready}"],
    ],
    ["lists of them", [`[${a},null]${b}[]\n`], [[A, null], B, []]],
    ["a broken one between", [`${a}{no}${b}\n`], [A, B], ["{no}"]],
    [
      "a log line that begins as a list",
      ["[info] {ready}\n"],
      [],
      ["[info] {ready}"],
    ],
    ["a byte order mark", [`\ufeff${a}\n`], [A]],
    ["NUL bytes", [`\0\0${a}\0${b}\0\n\0\n`], [A, B]],
    ["blank lines", [`\n \t\r\n\u00a0\n${a}\n`], [A]],
    ["carriage returns alone", [`${a}\r`, `${b}\r${c}\r`], [A, B, C]],
    ["one on two lines", [`${a.slice(0, 9)}\n${a.slice(9)}\n${b}\n`], [A, B]],
    ["one on many lines", [`${JSON.stringify(A, null, 2)}\n${b}\n`], [A, B]],
    [
      "one behind another on two lines",
      [`${a}${b.slice(0, 16)}\n${b.slice(16)}${c}\n`],
      [A, B, C],
    ],
    [
      "a line break that is not escaped",
      [`${c.replace("\\n", "\n")}\n${a}\n`],
      [C, A],
    ],
    [
      "one behind one that is cut",
      [`${a.slice(0, 9)}\n${b}\n`],
      [B],
      [a.slice(0, 9)],
    ],
    [
      "two behind one that is cut",
      [`${a.slice(0, 9)}\n${b}${c}\n`],
      [B, C],
      [a.slice(0, 9)],
    ],
    [
      "one on two lines behind one that is cut",
      [`${a.slice(0, 9)}\n${b.slice(0, 16)}\n${b.slice(16)}\n`],
      [B],
      [a.slice(0, 9)],
    ],
  ])("reads %s", (_what, chunks, values, broken = []) => {
    expect(read(...chunks)).toMatchObject({ values, broken });
  });

  it("shows at once what may never be whole", () => {
    expect(read(`${answer}\n`)).toEqual({
      values: [],
      broken: [],
      cut: [answer],
    });
  });

  it("keeps no value of more than 100 lines", () => {
    const lines = Array.from({ length: 100 }, () => '"x",');
    const { values, broken } = read(`[{\n${lines.join("\n")}\n${a}\n`);
    expect([values, broken.length]).toEqual([[A], 1]);
  });

  it("reads glued messages in linear time", () => {
    const json = new JsonLines(parseJsonOrUndefined);
    const many = 20_000;
    const begun = process.cpuUsage();
    expect(json.read(a.repeat(many)).values).toHaveLength(many);
    expect(json.read("{".repeat(1_000_000)).values).toEqual([]);
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(10);
  });

  it("loses no message, whatever happens to one", () => {
    const mutations: ((json: string) => string)[] = [
      (json) => json.slice(0, -1),
      (json) => json.slice(1),
      (json) => `${json}]`,
      (json) => `\0${json}`,
      (json) => `${json}\n\n`,
      (json) => json.replaceAll('"', "'"),
      (json) => `# ${json}`,
      (json) => json.replace(":", ":\n"),
      () => "{}",
      () => "null",
    ];
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }), { minLength: 3, maxLength: 6 }),
        fc.nat(),
        fc.constantFrom(...mutations),
        (texts, place, mutate) => {
          const messages = texts.map((text) => JSON.stringify(said(text)));
          const at = place % messages.length;
          const lines = messages.map((json, index) =>
            index === at ? mutate(json) : json,
          );
          const { values } = read(`${lines.join("\n")}\n`);
          const others = texts.filter((_text, index) => index !== at);
          const found = values.flatMap((value) =>
            value && typeof value === "object" && "params" in value
              ? [JSON.stringify(value)]
              : [],
          );
          const wanted = others.map((text) => JSON.stringify(said(text)));
          expect(
            found.filter((each) => wanted.includes(each)).length,
          ).toBeGreaterThanOrEqual(wanted.length);
        },
      ),
      { numRuns: ROUNDS, seed: seedOf() },
    );
  });
});
