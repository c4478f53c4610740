import { create } from "@bufbuild/protobuf";
import { SlashCommandSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { commandHelp } from "./command-help.ts";

const ADD = {
  name: "add",
  description: "Remembers a fact",
  arguments: [
    { name: "fact", description: "what to remember", isRequired: true },
    { name: "where", description: "" },
  ],
};
const KNOWN = [
  create(SlashCommandSchema, {
    name: "memory",
    description: "Shows the memory",
    subCommands: [ADD, { name: "show" }],
  }),
  create(SlashCommandSchema, {
    name: "evil",
    description: "a\u001b[2J\nchoose > ",
  }),
];

const ALL = { refusalOf: () => "" };

describe("the help of a command that is being typed", () => {
  it.each([
    [
      "/model",
      [
        "  /model [name]: lists the models, or chooses one for the next messages",
      ],
    ],
    [
      "/mode pl",
      [
        "  /mode [name]: shows or changes the approval mode: default, plan, auto-edit, yolo",
      ],
    ],
    ["/memory", ["  /memory add|show: Shows the memory"]],
    [
      "/memory add a fact",
      [
        "  /memory add <fact> [where]: Remembers a fact",
        "    fact: what to remember",
      ],
    ],
    ["/evil", ["  /evil: a\\u{1b}[2J\\u{a}choose > "]],
  ])("is, for %j, %j", (draft, lines) => {
    expect(commandHelp(draft, KNOWN, ALL)).toEqual(lines);
  });

  it.each([
    "",
    "/",
    "/mem",
    "//model",
    "/etc/passwd",
    "say /model",
    "/model\nx",
    "/exit",
    "/unknown x",
  ])("is not shown for %j", (draft) => {
    expect(commandHelp(draft, KNOWN, ALL)).toEqual([]);
  });
});
