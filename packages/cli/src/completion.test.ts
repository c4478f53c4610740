import { create } from "@bufbuild/protobuf";
import { SlashCommandSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { completeCommand } from "./completion.ts";
import { isSlashLine, readSlashLine } from "./slash-line.ts";

const known = [
  create(SlashCommandSchema, { name: "help" }),
  create(SlashCommandSchema, {
    name: "shell",
    arguments: [{ name: "command", isRequired: true }],
  }),
  create(SlashCommandSchema, {
    name: "memory",
    subCommands: [
      { name: "show" },
      { name: "add", arguments: [{ name: "fact" }] },
      { name: "add-file" },
    ],
  }),
  create(SlashCommandSchema, {
    name: "git",
    subCommands: [{ name: "log", subCommands: [{ name: "all" }] }],
  }),
];

describe("completeCommand", () => {
  const cases: readonly {
    readonly typed: string;
    readonly becomes: readonly string[];
  }[] = [
    { typed: "/", becomes: ["/help", "/shell ", "/memory ", "/git ", "/exit"] },
    { typed: "/h", becomes: ["/help"] },
    { typed: "/e", becomes: ["/exit"] },
    { typed: "/mem", becomes: ["/memory "] },
    {
      typed: "/memory ",
      becomes: ["/memory show", "/memory add ", "/memory add-file"],
    },
    { typed: "/memory add", becomes: ["/memory add ", "/memory add-file"] },
    { typed: "/memory  s", becomes: ["/memory  show"] },
    { typed: "/git log a", becomes: ["/git log all"] },
    { typed: "/nothing", becomes: [] },
    { typed: "/nothing s", becomes: [] },
    { typed: "/shell e", becomes: [] },
    { typed: "/help ", becomes: [] },
    { typed: "hel", becomes: [] },
    { typed: "", becomes: [] },
    { typed: "/etc/pas", becomes: [] },
    { typed: "say /he", becomes: [] },
  ];
  for (const { typed, becomes } of cases) {
    it(`makes of ${JSON.stringify(typed)} ${becomes.length === 0 ? "nothing" : becomes.join(", ")}`, () => {
      expect(completeCommand(typed, known, ["exit"])).toEqual([becomes, typed]);
    });
  }
});

describe("a slash line", () => {
  const lines: readonly {
    readonly line: string;
    readonly path: readonly string[];
    readonly args: string;
  }[] = [
    { line: "/help", path: ["help"], args: "" },
    {
      line: "/memory add  two  spaces 'kept' ",
      path: ["memory", "add"],
      args: "two  spaces 'kept'",
    },
    { line: "/shell memory show", path: ["shell"], args: "memory show" },
    { line: "/hepl me", path: ["hepl"], args: "me" },
    { line: "memory show", path: ["memory", "show"], args: "" },
    {
      line: "/shell cat <<x\none\n  two\nx",
      path: ["shell"],
      args: "cat <<x\none\n  two\nx",
    },
    { line: "/memory", path: ["memory"], args: "" },
  ];
  for (const { line, path, args } of lines) {
    it(`is read: ${JSON.stringify(line)}`, () => {
      expect(readSlashLine(line, known)).toEqual({ commandPath: path, args });
    });
  }

  it("is told from a message", () => {
    expect(
      ["/help", "/shell ls /etc", "/memory\nadd"].map(isSlashLine),
    ).toEqual([true, true, true]);
    expect(
      ["help", "/etc/passwd is long", "//comment", "/", " /help", "/ x"].map(
        isSlashLine,
      ),
    ).toEqual(Array.from({ length: 6 }, () => false));
  });
});
