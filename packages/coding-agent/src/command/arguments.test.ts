import { describe, expect, it } from "vitest";
import { optional, readArguments, required } from "./arguments.ts";

const declared = [
  required("city", "where"),
  optional("unit", "C or F"),
  optional("note", "anything"),
];

describe("readArguments", () => {
  const cases = [
    { typed: "Paris", values: { city: "Paris" } },
    {
      typed: "Paris C a long note",
      values: { city: "Paris", unit: "C", note: "a long note" },
    },
    {
      typed: 'city="New York" unit=F',
      values: { city: "New York", unit: "F" },
    },
    {
      typed: 'unit=F "New York" and more',
      values: { unit: "F", city: "New York", note: "and more" },
    },
    {
      typed: "Paris C don't say 'no way' twice",
      values: { city: "Paris", unit: "C", note: "don't say no way twice" },
    },
    {
      typed: "Paris C x=1 y",
      values: { city: "Paris", unit: "C", note: "x=1 y" },
    },
    { typed: "  Paris\n C ", values: { city: "Paris", unit: "C" } },
  ];
  for (const { typed, values } of cases) {
    it(`reads ${JSON.stringify(typed)}`, () => {
      expect(readArguments(declared, typed)).toEqual(values);
    });
  }

  it.each(['monday "unbalanced', "unit='F", 'city="New York', '"'])(
    "refuses %j, whose quote is not closed (CMD-2)",
    (typed) => {
      expect(() => readArguments(declared, typed)).toThrow(
        /quote ["'] is not closed/,
      );
    },
  );

  it("names the missing argument", () => {
    expect(() => readArguments(declared, "unit=C note=x")).toThrow(
      "<city> is missing: where",
    );
  });
});
